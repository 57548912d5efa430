"""More instrumentations that no capture holds yet: agent kits, editors and platforms."""

import json

from tests.runs.requests import agent, chat, runs, span, tool


def _json(value):
    return json.dumps(value)


def _text(role, text):
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _called(run):
    return [(c["name"], c["agent"], c["status"], c["call_id"]) for c in run["tool_calls"]]


def _kind(kind, **more):
    return {"openinference.span.kind": kind} | more


def test_a_call_that_the_ai_sdk_was_denied_did_not_run():
    denied = {"type": "tool_call_response", "id": "c2", "response": {"denied": True, "reason": "not today"}}
    asked = {"type": "tool_call", "id": "c2", "name": "remove", "arguments": {"path": "x"}}
    history = [_text("user", "clean up"), {"role": "assistant", "parts": [asked]}, {"role": "tool", "parts": [denied]}]
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {}), ("c2", "remove", {"path": "x"})], "clean up", at=1),
        tool(3, 1, "look", "c1", "y", at=3),
        chat(4, 1, "not done", history, at=5),
    )
    assert _called(run) == [("look", "a", "ok", "c1"), ("remove", "a", "requested", "c2")]


def test_an_agents_span_that_bears_the_name_of_its_tool_is_the_agent_the_arguments_name():
    given = _json({"subagent_type": "Explore", "prompt": "look"})
    (run,) = runs(
        span(1, None, "ClaudeAgentSDK.query", took=20, attributes=_kind("AGENT", **{"input.value": "fix it"})),
        span(2, 1, "Task", at=1, took=9, attributes=_kind("TOOL", **{"tool.name": "Task", "input.value": given})),
        span(3, 2, "ClaudeAgentSDK.Task", at=2, took=7, attributes=_kind("AGENT", **{"agent.name": "Task"})),
        span(4, 3, "Grep", at=3, attributes=_kind("TOOL", **{"tool.name": "Grep", "tool.id": "t3"})),
    )
    assert run["agents"] == ["Explore"]
    assert [(d["to"], d["tool"], d["status"]) for d in run["delegations"]] == [("Explore", "Task", "ok")]
    assert _called(run) == [("Grep", "Explore", "ok", "t3")]
