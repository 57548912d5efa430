"""Platforms and their kits for JavaScript, run against a model of ours: what they make of programs traced by hand."""

import pytest

from tests.runs.requests import chat, runs, tool

_GIVEN = {"task": "weather sub task"}


def _said(text, *more):
    return [{"role": "user", "parts": [{"type": "text", "content": text}]}, *more]


def _asks(call):
    asked = {"type": "tool_call", "id": call, "name": "ask_worker", "arguments": _GIVEN}
    return {"role": "assistant", "parts": [asked]}


def _brings(call, result):
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": result}]}


def _of_boss(trace, call, at=0.0, text="sub please"):
    """An agent that nothing is around: each call of its model is a trace."""
    first = chat(1, None, [(call, "ask_worker", _GIVEN)], _said(text), trace=trace, at=at)
    history = _said(text, _asks(call), _brings(call, "It is 21."))
    return [first, chat(1, None, "Boss done.", history, trace=trace + 1, at=at + 8)]


def _of_tool(trace, at):
    """The tool alone is observed (Langfuse 4.6 and 5.11), and holds what it asked a model."""
    given = {"gen_ai.tool.call.arguments": _GIVEN}
    held = tool(1, None, "ask_worker", result="It is 21.", trace=trace, at=at, took=4, attributes=given)
    return [held, chat(2, 1, "It is 21.", _said("weather sub task"), trace=trace, at=at + 1)]


def test_a_tool_that_holds_an_agents_work_in_a_trace_of_its_own_is_of_the_run_that_asked_for_it():
    (run,) = runs(*_of_boss(1, "call_a7Tz9q"), *_of_tool(3, 2))
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("sub please", "Boss done.", 3)
    assert [(d["from"], d["to"], d["status"]) for d in run["delegations"]] == [(None, "worker", "ok")]


@pytest.mark.parametrize(
    "others", [_of_boss(5, "call_b8Uz1k", text="another"), _of_boss(5, "call_b8Uz1k", at=2.5, text="later")]
)
def test_whoever_of_two_asked_for_such_a_tool_is_told_where_time_tells_it(others):
    found = runs(*_of_boss(1, "call_a7Tz9q"), *_of_tool(3, 2), *others)
    counts = sorted(len(r["llm_calls"]) for r in found)
    assert counts == ([1, 2, 2] if others[0]["at"] == 0 else [2, 3])
