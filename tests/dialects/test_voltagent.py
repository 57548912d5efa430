"""What VoltAgent's spans (2.10) tell of guards, limits, workflows that wait, and who waits below another."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import span


def _volt(id, parent, name, at, took=1, entity="agent", **told):
    told = {"entity.type": entity, "entity.name": "planner"} | told
    return span(id, parent, name, at=at, took=took, status=1, scope="@voltagent/core", attributes=told)


def _agent(id, parent, at, took, why="stop", **told):
    told = {"input": "go", "ai.response.finish_reason": why, "agent.state": "completed"} | told
    return _volt(id, parent, "planner", at, took, **told)


def _tool(id, parent, at, name="look", took=1, **told):
    told = {"span.type": "tool", "tool.name": name, "tool.call.id": f"c{id}", "input": "{}", "output": "cold"} | told
    return _volt(id, parent, f"tool.execution:{name}", at, took, **told)


def _flow(id, state, trace=1, at=0, links=(), **told):
    told |= {"workflow.state": state, "input": json.dumps({"q": "go"})}
    return _volt(id, None, "workflow.trip", at, 9, "workflow", **told) | {"trace": trace, "links": links}


def test_the_user_said_what_a_guard_put_other_words_for():
    guard = {"span.type": "guardrail", "guardrail.input.original": "bad go", "guardrail.input.after": "good go"}
    (run,) = agreed(
        _agent(1, None, 0, 9, input="good go", output="done"),
        _volt(2, 1, "guardrail.input.g", 1, **guard),
        _tool(3, 1, 3),
    )
    assert (run["input"], run["output"]) == ("bad go", "done")


@pytest.mark.parametrize(
    ("why", "stopped", "met"),
    [
        ("tool-calls", True, ["max_steps"]),
        ("stop", True, []),
        ("tool-calls", None, []),
        ("length", None, ["length"]),
        ("content-filter", None, ["content_filter"]),
    ],
)
def test_an_agent_tells_why_its_models_ended_that_do_not(why, stopped, met):
    told = {} if stopped is None else {"voltagent.stopped_by_max_steps": stopped}
    (run,) = agreed(_agent(1, None, 0, 9, why, output="", **told), _tool(2, 1, 3))
    assert run["boundaries"] == met


@pytest.mark.parametrize(("why", "calls"), [("tool-calls", None), ("stop", [])])
def test_who_ends_on_a_request_below_another_may_wait_for_leave(why, calls):
    (run,) = agreed(
        _agent(1, None, 0, 20, output="led"),
        _tool(2, 1, 2, "delegate_task", 9, output="[]"),
        _agent(3, 2, 3, 7, why, output="", **{"subagent.name": "asker"}),
    )
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("planner", "asker")]
    assert run["tool_calls"] == calls


@pytest.mark.parametrize("state", ["suspended", "error", "cancelled", "completed"])
def test_what_a_step_said_is_no_answer_of_a_workflow(state):
    out = {"output": json.dumps({"t": "warm"})} if state == "completed" else {}
    (run,) = agreed(_flow(1, state, **out), _agent(2, 1, 1, 5, output="cold"), _tool(3, 2, 2))
    assert run["output"] == (out.get("output"))
    assert run["status"] == ("unknown" if state == "cancelled" else "ok")


def test_a_workflow_that_goes_on_is_a_run_of_its_own():
    link = (1, 1, {"link.type": "resume"})
    found = agreed(
        _flow(1, "suspended"),
        _agent(2, 1, 1, 5, output="cold"),
        _flow(3, "completed", 2, 10, [link], output="done"),
        _agent(4, 3, 11, 5, output="warm") | {"trace": 2},
    )
    assert [r["output"] for r in found] == [None, "done"]


def test_who_scores_a_run_is_none_of_its_agents():
    (run,) = agreed(
        _agent(1, None, 0, 9, output="done"),
        _volt(2, 1, "eval.scorer.s", 5, 3, **{"span.type": "scorer", "entity.name": "s"}),
        _tool(3, 2, 6),
        _tool(4, 1, 2),
    )
    assert [c["call_id"] for c in run["tool_calls"]] == ["c4"]
