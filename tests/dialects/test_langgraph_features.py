"""LangGraph 1.2's functions and graphs that are stopped on their way."""

import pytest

from tests.runs.requests import chat, runs, span, tool

_SCOPE = "openinference.instrumentation.langchain"


def _chain(id, parent, name, at=0.0, took=1.0, put_out=None, error=None):
    told = {"openinference.span.kind": "CHAIN"} | ({"output.value": put_out} if put_out else {})
    more = {"error": error} if error else {"status": 1}
    return span(id, parent, name, at=at, took=took, attributes=told, scope=_SCOPE, **more)


def _ran(id, parent, at, known, result=None, error=None):
    given = {"gen_ai.tool.call.arguments": {"x": 1}}
    more = {"error": error} if error else {"status": 1}
    return tool(id, parent, "look", "c1" if known else None, result, at=at, took=0.5, attributes=given, **more)


@pytest.mark.parametrize("known", [True, False])
def test_a_task_that_is_made_again_runs_its_tool_as_often_and_asks_for_it_once(known):
    """Each attempt is a step of its own; under LangSmith and Traceloop each tells whose call it is."""
    history = [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"x": 1}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "seen"}]},
    ]
    (run,) = runs(
        _chain(1, None, "planner", took=9, put_out="Done."),
        _chain(2, 1, "call_model", 0),
        chat(3, 2, [("c1", "look", {"x": 1})], "go"),
        _chain(4, 1, "call_tool", 2, error="try again"),
        _ran(5, 4, 2, known, error="try again"),
        _chain(6, 1, "call_tool", 4),
        _ran(7, 6, 4, True, "seen"),
        _chain(8, 1, "call_model", 6),
        chat(9, 8, "Done.", history, at=6),
    )
    assert [(c["status"], c["result"], c["turn"]) for c in run["tool_calls"]] == [("ok", "seen", 0)]
    assert "tool_failure" not in run["boundaries"]


def test_the_name_of_a_step_that_has_not_come_is_no_answer():
    """`interrupt_before`: the edge within the step that asked its model says which one is next."""
    (run,) = runs(
        _chain(1, None, "planner", took=3),
        _chain(2, 1, "agent", 0, 3),
        chat(3, 2, [("c1", "look", {"x": 1})], "go"),
        _chain(4, 2, "tools_condition", 2, 0.1, "tools"),
    )
    assert run["output"] is None
    assert [c["name"] for c in run["tool_calls"]] == ["look"]
