"""Forms that gateways, kits and programs in public repositories write, and no recording has."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

ENVOY, AGENTGATEWAY = "envoyproxy/ai-gateway", "agentgateway"


def _told(run, *facts):
    return [tuple(call[fact] for fact in facts) for call in run["tool_calls"]]


def _said(role, *parts):
    return {"role": role, "parts": list(parts)}


def test_what_a_tool_gave_may_stand_where_the_words_of_others_do():
    asked = _said("user", {"type": "text", "content": "warm?"})
    call = _said("assistant", {"type": "tool_call", "id": "c1", "name": "look", "arguments": '{"city": "Oslo"}'})
    gave = _said("tool", {"type": "tool_call_response", "id": "c1", "content": "22"})
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, at=1, gen_ai__input__messages=[asked], gen_ai__output__messages=[call]),
        chat(3, 1, at=4, gen_ai__input__messages=[asked, call, gave], gen_ai__output__messages=[_said("assistant")]),
    )
    assert _told(run, "name", "status", "result") == [("look", "ok", "22")]


def _through_envoy(**told):
    told = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"} | told
    return span(3, 1, "tools/call look", at=3, scope=ENVOY, kind=3, status=1, attributes=told)


@pytest.mark.parametrize(
    ("gave", "status"),
    [
        (None, "unknown"),
        ({"content": [{"type": "text", "text": "fine"}]}, "ok"),
        ({"content": [{"type": "text", "text": "no"}], "isError": True}, "error"),
    ],
)
def test_a_gateway_to_servers_of_tools_ends_well_whatever_a_tool_came_to(gave, status):
    told = {} if gave is None else {"gen_ai.tool.call.result": json.dumps(gave)}
    (run,) = runs(
        agent(1, "a", took=9), chat(2, 1, [("c1", "look", {})], at=1), _through_envoy(**told), chat(4, 1, at=6)
    )
    assert _told(run, "name", "status") == [("look", status)]


def _through_agentgateway(parent):
    """The request, which names the tool, and the operation, which names the server that has it."""
    told = {"mcp.method.name": "tools/call", "protocol": "mcp", "mcp.session.id": "s1"}
    request = told | {"mcp.target": "docs", "gen_ai.tool.name": "look"}
    operation = told | {
        "gateway.span_schema_version": 2,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": "s1",
    }
    return [
        span(7, parent, "http.request /mcp", at=3, took=2, kind=2, scope=AGENTGATEWAY, attributes=request),
        span(8, 7, "tools/call docs", at=3.1, took=1.8, scope=AGENTGATEWAY, attributes=operation),
    ]


@pytest.mark.parametrize("by", ["the model", "the agent's tool"])
def test_a_server_of_tools_that_a_gateway_names_is_no_tool_and_its_session_no_conversation(by):
    own = [tool(3, 1, "docs_look", "c1", "fine", at=2.9, took=2.5)] if by == "the agent's tool" else []
    name, status = ("docs_look", "ok") if own else ("look", "unknown")
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", name, {})], at=1),
        *own,
        *_through_agentgateway(3 if own else 1),
        chat(4, 1, at=6),
    )
    assert _told(run, "name", "status") == [(name, status)]
    assert run["conversation_id"] is None
