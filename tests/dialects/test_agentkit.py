"""Inngest's AgentKit for JavaScript (0.13), which has no telemetry: a program decorates each turn of a network, and its
tools, by Traceloop's SDK (0.27), or by spans of its own."""

import json

from tests.runs.requests import agent, chat, runs, span, tool

_SDK = {"scope": "@traceloop/node-server-sdk"}


def _made(id, parent, name, kind, gave=None, **more):
    told = {"traceloop.span.kind": kind, "traceloop.entity.name": name}
    told |= {"traceloop.entity.input": json.dumps({"args": ["go"], "kwargs": {}})}
    told |= {"traceloop.entity.output": json.dumps(gave)} if gave is not None else {}
    return span(id, parent, f"{name}.{kind}", attributes=told, **_SDK, **more)


def _result(*output):
    more = {"toolCalls": [], "createdAt": {}, "prompt": [{"type": "text", "role": "user", "content": "go"}]}
    return {"agentName": "planner", "output": list(output), **more, "history": [], "raw": '{"id":"chatcmpl-1"}'}


_WORDS = {"role": "assistant", "type": "text", "content": "Let me see.", "stop_reason": "stop"}
_ASKS = {"role": "assistant", "type": "tool_call", "stop_reason": "tool", "tools": [{"name": "look", "id": "c1"}]}


def test_what_an_agent_said_is_in_what_its_turn_came_to_and_not_what_its_model_sent():
    (run,) = runs(_made(1, None, "planner", "agent", _result(_WORDS)), _made(2, 1, "look", "tool", "saw"))
    assert run["output"] == "Let me see."


def test_a_turn_that_came_to_a_request_for_tools_is_no_answer():
    (run,) = runs(_made(1, None, "planner", "agent", _result(_WORDS, _ASKS)), _made(2, 1, "look", "tool", "saw"))
    assert run["output"] is None


def _asked(id, heard, why, text="", **more):
    """A call reported by hand, which has no place for what the model asks for."""
    told = {"llm.request.type": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9}
    told |= {f"gen_ai.prompt.{at}.{key}": x for at, said in enumerate(heard) for key, x in said.items()}
    told |= {"gen_ai.usage.output_tokens": 3, "gen_ai.completion.0.finish_reason": why}
    told |= {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": text}
    return span(id, 1, "openai.chat", attributes=told, **_SDK, **more)


def test_a_tool_that_threw_and_whose_span_never_ends_is_missed_by_why_its_model_ended():
    heard = [{"role": "user", "content": "go"}]
    back = [{"role": "assistant", "content": "null"}, {"role": "tool", "content": "no"}]
    (run,) = runs(
        _made(1, None, "planner", "agent", "Done.", took=20),
        _asked(2, heard, "tool_calls", at=1),
        _asked(3, [*heard, *back], "tool_calls", at=4),
        _made(4, 1, "look", "tool", "saw", at=6),
        _asked(5, [*heard, *back, *back], "stop", "Done.", at=8),
    )
    assert [c["finish_reason"] for c in run["llm_calls"]] == ["tool_calls", "tool_calls", "stop"]
    assert "tool calls not visible" in run["incomplete"]
    assert {"tool_failure", "tool_recovery", "repeated_call"} <= set(run["boundaries_unknown"])


def _heard(*ids, words=None):
    """What the user said first, and each call with what came of it."""
    said = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    for id in ids:
        call = {"type": "tool_call", "id": id, "name": "look", "arguments": {}}
        back = {"type": "tool_call_response", "id": id, "response": "saw"}
        said += [{"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [back]}]
    return said + ([{"role": "user", "parts": [{"type": "text", "content": words}]}] if words else [])


def _chat(id, parent, answer, heard, **more):
    return chat(id, parent, answer, attributes={"gen_ai.input.messages": heard}, **more)


def _network(words=None, limit=None):
    """Three turns of one agent below a span of the program's, in which a tool failed."""
    return runs(
        span(1, None, "handle", took=30),
        agent(2, "planner", 1, at=1, took=4.0005),
        _chat(3, 2, [("c1", "look", {})], json.dumps(_heard()), at=1),
        tool(4, 2, "look", error="no such file", at=3),
        agent(5, "planner", 1, at=5, took=4),
        _chat(6, 5, [("c2", "look", {})], json.dumps(_heard("c1", words=words))[:limit], at=5),
        tool(7, 5, "look", result="saw", at=7),
        agent(8, "planner", 1, at=9, took=4),
        _chat(9, 8, "Done.", json.dumps(_heard("c1", "c2"))[:limit], at=9),
    )


def test_an_agent_that_is_asked_with_what_came_of_its_tools_goes_on_with_its_work():
    """By a clock that tells when a span began in whole milliseconds."""
    (run,) = _network()
    assert (run["status"], run["input"], run["output"]) == ("ok", "go", "Done.")
    assert [(c["name"], c["status"], c["turn"]) for c in run["tool_calls"]] == [("look", "error", 0), ("look", "ok", 1)]
    assert (run["boundaries"], run["delegations"]) == (["tool_failure", "tool_recovery"], [])


def test_one_that_is_asked_anew_after_that_does_not():
    first, then = _network(words="and then?")
    assert (first["input"], then["input"], then["output"]) == ("go", "and then?", "Done.")


def test_one_that_is_asked_with_what_is_cut_does_where_that_begins_with_what_it_was_asked_before():
    (run,) = _network(limit=100)
    assert (run["status"], run["output"], len(run["llm_calls"])) == ("ok", "Done.", 3)
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "error"), ("look", "ok")]
