"""Forms of the newest conventions, and of what programs in public repositories add to them by hand."""

import pytest

from tests.runs.requests import agent, chat, runs, span, tool


def _workflow(id, parent=None, name="trip", took=30, **told):
    told = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.agent.name": name} | told
    return span(id, parent, f"invoke_workflow {name}", took=took, attributes=told)


def test_a_workflow_that_bears_its_name_as_an_agents_is_none():
    (run,) = runs(
        _workflow(1),
        agent(2, "scout", 1, at=1, took=8),
        chat(3, 2, "found", "find it", at=2),
        span(4, 1, "invoke_agent", at=10, took=8, gen_ai__operation__name="invoke_agent"),
        chat(5, 4, "all done", "found", at=11),
    )
    assert run["agents"] == ["scout"]
    assert [call["agent"] for call in run["llm_calls"]] == ["scout", None]
    (run,) = runs(_workflow(1), chat(2, 1, at=1), tool(3, 1, "look", at=3), chat(4, 1, at=5))
    assert (run["agents"], [call["agent"] for call in run["tool_calls"]]) == ([], [None])


def _live(id, trace, at, answer):
    told = {"gen_ai.operation.name": "realtime_inference", "gen_ai.live_session.id": "s1"}
    return chat(id, None, answer, trace=trace, at=at, attributes=told)


def test_what_is_generated_in_one_live_session_is_one_run_where_each_span_has_a_trace_of_its_own():
    (run,) = runs(
        _live(1, 1, 0, [("c1", "look", {})]), tool(2, None, "look", "c1", "fine", trace=2, at=2), _live(3, 3, 4, "good")
    )
    assert (run["conversation_id"], run["output"], len(run["llm_calls"])) == ("s1", "good", 2)


@pytest.mark.parametrize(("target", "calls"), [("human", ["escalate"]), ("agent", []), ("workflow", []), (None, [])])
def test_what_a_tool_hands_over_to_may_be_a_human(target, calls):
    told = {"gen_ai.transfer.mode": "pass_control", "gen_ai.transfer.target.name": "desk"}
    told |= {} if target is None else {"gen_ai.transfer.target.type": target}
    (run,) = runs(
        agent(1, "boss", took=9),
        chat(2, 1, [("c1", "escalate", {})], at=1),
        tool(3, 1, "escalate", "c1", at=3, attributes=told),
    )
    assert [call["name"] for call in run["tool_calls"]] == calls
    assert [d["to"] for d in run["delegations"]] == ([] if calls else ["desk"])
