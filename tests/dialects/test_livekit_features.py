"""LiveKit's agents 1.8 for Python by their own tracing: sessions in jobs, greetings, hand-offs, what is broken off."""

import json

import pytest

from tests.runs.requests import runs, span

pytestmark = pytest.mark.full

_SCOPE = "livekit-agents"


def _of(id, parent, name, at=0.0, took=1.0, **told):
    told = {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, name, at=at, took=took, scope=_SCOPE, attributes=told)


def _turn(id, at, words=None, agent="triage", took=4.0, parent=1, **more):
    said = {} if words is None else {"lk__pii__user_input": words}
    named = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": agent}
    return _of(id, parent, "agent_turn", at, took, **named, **said, **more)


def _asked(id, parent, at, *said, why="stop", took=0.5, **more):
    calls = [{"type": "tool_call", "id": i, "name": name, "arguments": {}} for i, name in said if i]
    texts = [{"type": "text", "content": text} for i, text in said if not i]
    answer = [{"role": "assistant", "parts": texts + calls, "finish_reason": why}]
    told = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "m", "gen_ai__usage__input_tokens": 9}
    told |= {"gen_ai__input__messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "go"}]}])}
    if answer[0]["parts"]:
        told |= {"gen_ai__output__messages": json.dumps(answer)}
        told |= {"gen_ai__response__finish_reasons": json.dumps([why])}
    return _of(id, parent, "llm_request", at, took, **told, **more)


def _ran(id, parent, at, name, call, result="", took=0.5):
    named = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": name, "gen_ai__tool__call__id": call}
    return _of(id, parent, "function_tool", at, took, lk__function_tool__name=name, **named) | {
        "attributes": {
            "lk.function_tool.name": name,
            "lk.function_tool.id": call,
            "lk.function_tool.is_error": "false",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": call,
            "gen_ai.tool.call.result": json.dumps(result),
        }
    }


def _session(*spans, took=60.0):
    return [_of(1, None, "agent_session", 0, took), *spans]


def _one_tool(id, at, words, name="look", result="seen", agent="triage", last="done"):
    return [
        _turn(id, at, words, agent),
        _asked(id + 1, id, at + 0.1, (f"c{id}", name), why="tool_call"),
        _ran(id + 2, id, at + 1, name, f"c{id}", result),
        *([_asked(id + 3, id, at + 2, (None, last))] if last else []),
    ]


def test_a_session_within_a_job_holds_a_request_for_each_turn():
    """A worker's sessions lie in the span of its job."""
    job = _of(9, None, "job_entrypoint", 0, 90)
    session = [
        s | {"parent": 9} if s["id"] == 1 else s for s in _session(*_one_tool(10, 1, "a"), *_one_tool(20, 9, "b"))
    ]
    found = runs(job, *session)
    assert [(r["input"], r["output"], len(r["tool_calls"])) for r in found] == [("a", "done", 1), ("b", "done", 1)]


def test_two_sessions_that_a_program_stands_around_have_their_own_requests():
    two = [s | {"id": s["id"] + 100, "parent": s["parent"] + 100} for s in _one_tool(20, 2, "b")]
    found = runs(
        span(9, None, "work", took=90),
        _of(1, 9, "agent_session", 0, 60),
        *_one_tool(10, 1, "a"),
        _of(101, 9, "agent_session", 0, 60),
        *two,
    )
    assert [(r["input"], len(r["tool_calls"])) for r in found] == [("a", 1), ("b", 1)]


def test_a_greeting_is_no_part_of_the_first_request_nor_was_it_asked_for():
    greeting = [_turn(10, 1), _asked(11, 10, 1.1, (None, "hello"))]
    again = [_turn(30, 30), _asked(31, 30, 31, (None, "still there?"))]
    found = runs(*_session(*greeting, *_one_tool(20, 9, "a"), *again))
    assert [(r["input"], r["output"], len(r["llm_calls"])) for r in found] == [
        (None, "hello", 1),
        ("a", "done", 2),
        (None, "still there?", 1),
    ]


def test_a_stop_is_said_of_whatever_was_answered_and_a_limit_asks_once_more():
    (run,) = runs(*_session(*_one_tool(10, 1, "a")))
    assert {"length", "content_filter", "max_steps"} <= set(run["boundaries_unknown"])
    assert run["llm_calls"][-1]["finish_reason"] is None


@pytest.mark.parametrize("tool", ["transfer_to_billing", "billing_please"])
@pytest.mark.parametrize("goes_on", [True, False])
def test_a_tool_that_gives_a_session_another_agent_hands_over(tool, goes_on):
    over = _of(14, 1, "update_agent", 2.6, 0.5, lk__previous_agent_label="triage", lk__agent_label="billing")
    takes = [_turn(15, 5.2, None, "billing"), _asked(16, 15, 5.3, (None, "billing here"))] if goes_on else []
    found = runs(
        *_session(*_one_tool(10, 1, "a", tool, "", last=None), over, *takes, *_one_tool(20, 20, "b", agent="billing"))
    )
    told = [(d["from"], d["to"], d["form"], d["tool"], d["status"]) for d in found[0]["delegations"]]
    assert told == [("triage", "billing", "handoff", tool, "ok")]
    assert (found[0]["tool_calls"], found[0]["output"]) == ([], "billing here" if goes_on else None)
    assert [(r["input"], r["status"]) for r in found] == [("a", "ok"), ("b", "ok")]


@pytest.mark.parametrize("by", ["transfer_to_billing", "ask_billing"])
def test_of_the_tools_of_a_turn_that_which_transfers_or_bears_the_other_agents_name_handed_over(by):
    asked = _asked(11, 10, 1.1, ("c1", "look"), ("c2", by), why="tool_call")
    tools = [_ran(12, 10, 2, "look", "c1", "seen"), _ran(13, 10, 2, by, "c2", "Transferring")]
    over = _of(14, 1, "update_agent", 2.6, 0.5, lk__previous_agent_label="triage", lk__agent_label="billing")
    (run,) = runs(*_session(_turn(10, 1, "a"), asked, *tools, over, _asked(15, 10, 3, (None, "done"))))
    assert [c["name"] for c in run["tool_calls"]] == ["look"]
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("triage", "billing", by)]


def test_a_tool_of_an_earlier_turn_whose_next_model_is_lost_handed_nothing_over():
    over = _of(16, 1, "update_agent", 4.6, 0.2, lk__previous_agent_label="triage", lk__agent_label="billing")
    asked = _asked(11, 10, 1.1, ("c1", "look"), why="tool_call")
    tools = [_ran(12, 10, 1.8, "look", "c1", "seen"), _ran(15, 10, 4, "to_billing", "c2", "billing takes over")]
    (run,) = runs(
        *_session(_turn(10, 1, "a", took=5), asked, tools[0], _of(13, 10, "llm_node", 3, 0.8), tools[1], over)
    )
    assert {c["name"] for c in run["tool_calls"]} >= {"look"}
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("triage", "billing")]
    assert "missing step" in run["incomplete"]


def test_what_a_tool_threw_ended_no_run_in_which_a_model_was_asked_since_whose_span_is_lost():
    failed = _ran(12, 10, 1.8, "look", "c1", "An internal error occurred")
    failed["attributes"] |= {"lk.function_tool.is_error": "true", "error.type": "tool_error"}
    asked = _asked(11, 10, 1.1, ("c1", "look"), why="tool_call", took=0.6)
    (run,) = runs(*_session(_turn(10, 1, "a", took=1.8), asked, failed, _of(13, 10, "llm_node", 2.4, 0.4), took=2.85))
    assert (run["status"], "error" in run["boundaries"]) == ("unknown", False)


def test_another_agent_that_the_program_chose_was_handed_nothing():
    over = _of(14, 1, "update_agent", 7, 0.5, lk__previous_agent_label="triage", lk__agent_label="billing")
    found = runs(*_session(*_one_tool(10, 1, "a"), over, *_one_tool(20, 20, "b", agent="billing")))
    assert [(r["delegations"], [c["name"] for c in r["tool_calls"]]) for r in found] == [([], ["look"])] * 2


def test_what_a_tool_waits_for_is_its_own_agents_work():
    """An `AgentTask`: the session's agent changes, and changes back."""
    asked = _asked(11, 10, 1.1, ("c1", "ask_email"), why="tool_call")
    there = _of(13, 1, "update_agent", 2.1, 0.2, lk__previous_agent_label="triage", lk__agent_label="get_email")
    back = _of(17, 1, "update_agent", 5, 0.2, lk__previous_agent_label="get_email", lk__agent_label="triage")
    (run,) = runs(
        *_session(
            *(_turn(10, 1, "a", took=9), asked, _ran(12, 10, 2, "ask_email", "c1", "it is x@y", took=4), there),
            _of(14, 13, "pause_agent_activity", 2.1, 0.1),
            *(_turn(15, 2.5, None, "get_email", took=1), _asked(16, 15, 2.6, (None, "your email?")), back),
            *(_of(18, 17, "resume_agent_activity", 5, 0.1), _asked(19, 10, 7, (None, "thanks"))),
        )
    )
    told = [(d["from"], d["to"], d["form"], d["tool"]) for d in run["delegations"]]
    assert (told, run["tool_calls"]) == ([("triage", "get_email", "tool", "ask_email")], [])


def test_an_answer_that_was_broken_off_did_not_fail():
    broken = _asked(11, 10, 1.1, (None, "a b"), why="error")
    (run,) = runs(*_session(_turn(10, 1, "a", lk__interrupted="true"), broken))
    assert (run["status"], [c["status"] for c in run["llm_calls"]]) == ("unknown", ["unknown"])
    assert run["boundaries"] == [] and "error" in run["boundaries_unknown"]


@pytest.mark.parametrize(("brought", "status"), [("seen", "unknown"), ("", "ok")])
def test_a_model_is_asked_again_after_a_tool_that_brought_something(brought, status):
    """Else the turn was called off."""
    (run,) = runs(*_session(*_one_tool(10, 1, "a", "look", brought, last=None)))
    assert (run["status"], [c["status"] for c in run["tool_calls"]]) == (status, ["ok"])


def test_tools_that_are_asked_for_at_a_limit_do_not_run():
    left = _asked(14, 10, 3, ("c2", "look"), why="tool_call")
    (run,) = runs(*_session(*_one_tool(10, 1, "a", last=None), left))
    assert (run["status"], [c["status"] for c in run["tool_calls"]]) == ("unknown", ["ok", "requested"])


def test_whether_a_model_is_there_again_is_no_call_of_the_run():
    adapter = _of(12, 10, "llm_fallback_adapter", 1.1, 2)
    probe = _asked(14, 12, 1.6, took=1, lk__fallback__recovery="true") | {"error": "500"}
    answer = _asked(13, 12, 1.2, (None, "done"))
    (run,) = runs(*_session(_turn(10, 1, "a"), adapter, answer, probe))
    assert (run["status"], run["output"], len(run["llm_calls"]), run["boundaries"]) == ("ok", "done", 1, [])
