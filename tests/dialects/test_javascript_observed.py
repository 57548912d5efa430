"""What kits for JavaScript told wrong in runs of theirs against a model of ours, in small."""

import json

import pytest

from tests.runs.requests import chat, runs, span

pytestmark = pytest.mark.full


def test_a_call_that_failed_after_the_model_had_answered_may_have_asked_for_tools():
    """As Effect 4.1 tells of a tool that nobody has: its kit cannot read the answer."""
    said = "LanguageModel.generateText: Invalid output"
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.id": "resp_w82x"}
    used = {"gen_ai.usage.input_tokens": 105, "gen_ai.usage.output_tokens": 15}
    (run,) = runs(
        span(1, None, "answer", took=9, error=said),
        span(2, 1, "LanguageModel.generateText", at=1, error=said, attributes=told | used),
    )
    assert run["tool_calls"] is None
    (run,) = runs(
        span(1, None, "answer", took=9, error=said),
        span(2, 1, "LanguageModel.generateText", at=1, error=said, attributes=told),
    )
    assert run["tool_calls"] == []


def _words(role, text, **more):
    return {"role": role, "parts": [{"type": "text", "content": text}]} | more


_USER, _MUTE = _words("user", "look"), _words("assistant", "")


def _apart(trace, at, name, attributes, **more):
    """Traceloop 0.27 of LangChain for JavaScript: each step has a trace of its own, and no answer says what it asks
    for, nor a tool's span its name."""
    return span(
        trace, None, name, trace, at, scope="@traceloop/instrumentation-langchain", attributes=attributes, **more
    )


def _asks(trace, at, said, text="", why="tool_call"):
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": said}
    told |= {"gen_ai.output.messages": [_words("assistant", text, finish_reason=why)]}
    return _apart(trace, at, "chat m", told | {"gen_ai.response.finish_reasons": [why]})


def _tool(trace, at, given, brought=None, took=0.5, **more):
    told = {"gen_ai.operation.name": "execute_tool", "traceloop.span.kind": "task"}
    told |= {"traceloop.entity.name": "DynamicStructuredTool", "traceloop.entity.input": {"args": [json.dumps(given)]}}
    if brought is not None:
        name, result, id = brought
        kwargs = {"status": "success", "content": result, "tool_call_id": id, "name": name, "type": "tool"}
        put = {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "ToolMessage"], "kwargs": kwargs}
        told |= {"traceloop.entity.output": json.dumps(put, separators=(",", ":"))}
    return _apart(trace, at, "execute_tool DynamicStructuredTool", told, took=took, **more)


def _threw(trace, at, given, type, said):
    thrown = [
        ("exception", {"exception.type": type, "exception.message": said, "exception.stacktrace": f"{type}: {said}"})
    ]
    return _tool(trace, at, given, error=said, events=thrown)


def test_words_beside_what_a_call_asked_for_are_no_answer_of_a_run_that_a_tool_ended():
    (run,) = runs(
        _asks(1, 1, [_USER], "Let me look."),
        _tool(2, 3, {"city": "Oslo"}, ("look", "21 in Oslo", "call_cDtoS0")),
        _threw(3, 3.5005, {"x": 1}, "Error", "kaput"),
    )
    assert (run["status"], run["output"]) == ("unknown", None)
    assert sorted((c["name"] or "", c["status"]) for c in run["tool_calls"]) == [("", "error"), ("look", "ok")]


def test_a_tool_that_waited_and_was_run_again_is_one_call_of_who_asked_for_it():
    left, on = _words("user", "something else"), _words("tool", "human said yes")
    waits = '[{"id": "ab", "value": {"question": "ok?"}}]'
    found = runs(
        _asks(9, 0, [left], "Let me see."),
        _asks(1, 2, [_USER]),
        _threw(2, 3.2, {"q": "ok?"}, "GraphInterrupt", waits),
        _tool(3, 4, {"q": "ok?"}, ("ask_human", "human said yes", "call_vzk9xQ")),
        _asks(4, 5, [_USER, _MUTE, on], "Done.", "stop"),
    )
    told = {r["input"]: [(c["name"], c["status"], c["result"]) for c in r["tool_calls"] or []] for r in found}
    assert told == {"something else": [], "look": [("ask_human", "ok", "human said yes")]}


def test_what_a_loop_of_the_ai_sdk_asks_leave_for_did_not_run():
    """As LangSmith's wrapper tells of its version 7, where a tool that was put off has no span."""
    call = {"type": "tool-call", "toolCallId": "call_IHD0n9", "toolName": "pay", "input": {}}
    wait = {"type": "tool-approval-request", "approvalId": "aitxt-kyUF", "toolCall": call}
    put_out = {"langsmith.span.kind": "chain", "gen_ai.completion": {"content": [call, wait], "role": "assistant"}}
    (run,) = runs(
        span(1, None, "openai.chat", took=9, status=1, scope="langsmith", attributes=put_out),
        chat(2, 1, [("call_IHD0n9", "pay", {})], "go", at=1),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("pay", "requested")]
