"""Clients of MCP for JavaScript under Traceloop (0.27), which lays all that a client calls under its session; and what
MCP's own kit for Python tells below another's tool."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import agent, chat, runs, span, tool

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


@pytest.mark.parametrize("status", [0, 2])
def test_what_the_protocol_tells_of_a_call_is_no_other_one_where_what_is_between_the_two_is_lost(status):
    """FastMCP's client is between Pydantic AI's tool and MCP's own."""
    method = {"mcp.method.name": "tools/call"}
    served = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", **method}
    sdk = {"scope": "mcp-python-sdk"}
    (run,) = runs(
        agent(1, "planner", took=20),
        chat(2, 1, [("c1", "look", {"at": "x"})], "Look", at=1),
        tool(3, 1, "look", "c1", "cold", at=3, took=5),
        span(4, 99, "MCP send tools/call look", at=3.5, took=4, kind=3, status=0, attributes=method, **sdk),
        span(5, 4, "tools/call look", at=4, took=1, kind=2, status=status, attributes=served, **sdk),
        chat(6, 1, "Cold.", "Look", at=10),
    )
    assert [(c["call_id"], c["result"]) for c in run["tool_calls"]] == [("c1", "cold")]
