"""Clients of MCP for JavaScript under Traceloop (0.27), which lays all that a client calls under its session."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import agent, chat, span

_SCOPE = "@traceloop/instrumentation-mcp"


def _mcp(id, parent, name, at, took, trace, error=None, **told):
    told = {key: json.dumps(value) if isinstance(value, dict) else value for key, value in told.items()}
    told = {f"traceloop.{key.replace('_', '.')}": value for key, value in told.items()}
    status = {"status": 1} if error is None else {"error": error}
    return span(id, parent, name, trace=trace, at=at, took=took, scope=_SCOPE, attributes=told) | status


def _session(trace, at, took, parent=None):
    told = {"span_kind": "session", "entity_name": "mcp.client.session"}
    return _mcp(90, parent, "mcp.client.session", at, took, trace, **told)


def _tool(id, at, trace, given, brought, error=None):
    told = {"span_kind": "tool", "entity_name": "look", "entity_output": {"result": brought}}
    told |= {"entity_input": {"tool_name": "look", "arguments": given}}
    return _mcp(id, 90, "look.tool", at, 1, trace, error, **told)


def _run(trace, at, given, brought):
    """An agent that asks for a tool, and is answered."""
    user = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": given}]}
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": brought}]}
    yield agent(10 * trace, f"a{trace}", trace=trace, at=at, took=9)
    yield chat(10 * trace + 1, 10 * trace, [("c1", "look", given)], [user], trace=trace, at=at + 1)
    yield chat(10 * trace + 2, 10 * trace, "done", [user, asked, back], trace=trace, at=at + 6)


def test_what_a_session_of_nobody_holds_was_called_by_whose_model_asked_for_it():
    found = agreed(
        _session(9, 0, 50),
        _tool(91, 4, 9, {"at": "x"}, "cold"),
        _tool(92, 24, 9, {"at": "y"}, "warm", "too warm"),
        *_run(1, 1, {"at": "x"}, "cold"),
        *_run(2, 21, {"at": "y"}, "warm"),
    )
    assert [[(c["agent"], c["status"], c["evidence"]) for c in r["tool_calls"]] for r in found] == [
        [("a1", "ok", ["span", "message"])],
        [("a2", "error", ["span", "message"])],
    ]


@pytest.mark.parametrize(("asks", "agents"), [({"at": "y"}, [["a1"], ["a2"]]), ({"at": "z"}, [["a1"], ["a2"], [None]])])
def test_a_session_that_outlasts_who_opened_it_serves_others(asks, agents):
    found = agreed(
        *_run(1, 1, {"at": "x"}, "cold"),
        _session(1, 1.5, 50, 10),
        _tool(91, 4, 1, {"at": "x"}, "cold"),
        _tool(92, 24, 1, {"at": "y"}, "warm"),
        *_run(2, 21, asks, "warm"),
    )
    assert [[c["agent"] for c in r["tool_calls"]] for r in found] == agents
