"""What is left of the kits for JavaScript: what they told wrong in runs of many scripts, in small."""

import json
from functools import partial

import pytest

from tests.runs.requests import runs, span

_jsons = partial(json.dumps, separators=(",", ":"))  # as JavaScript writes it

_TRACELOOP = "@traceloop/instrumentation-langchain"


def _parts(role, *texts):
    return {"role": role, "parts": [{"type": "text", "content": text} for text in texts]}


def _answered(id, at, asked, answer, finish="stop"):
    """Traceloop's for LangChain.js (0.27) opens a trace for each call, and leaves out what an answer asks for."""
    told = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": _jsons(asked),
        "gen_ai.output.messages": _jsons([_parts("assistant", answer) | {"finish_reason": finish}]),
        "gen_ai.usage.input_tokens": 10 + id,
    }
    return span(id, None, "chat m", trace=id, at=at, scope=_TRACELOOP, attributes=told)


def _ran(id, at, given, back=None, **more):
    told = {"traceloop.span.kind": "task", "traceloop.entity.name": "DynamicStructuredTool"}
    told |= {"gen_ai.operation.name": "execute_tool", "traceloop.entity.input": _jsons({"args": [_jsons(given)]})}
    if back is not None:
        name, call, text = back
        message = {"status": "success", "content": text, "tool_call_id": call, "name": name}
        kind = ["langchain_core", "messages", "ToolMessage"]
        told["traceloop.entity.output"] = _jsons({"lc": 1, "type": "constructor", "id": kind, "kwargs": message})
    name = "execute_tool DynamicStructuredTool"
    return span(id, None, name, trace=id, at=at, took=0.001, scope=_TRACELOOP, attributes=told, **more)


@pytest.mark.parametrize("first", [2, 3])
def test_of_results_without_names_and_ids_each_is_of_the_tool_that_gave_or_threw_it(first):
    """Spans of one millisecond are in no order."""
    thrown = [("exception", {"exception.type": "Error", "exception.message": "kaput 1"})]
    asked = [_parts("system", "You plan."), _parts("user", "look")]
    back = [_parts("tool", "21 in Oslo"), _parts("tool", "Error: kaput 1\n Please fix your mistakes.")]
    (run,) = runs(
        _answered(1, 0, asked, "Let me look.", "tool_call"),
        _ran(first, 2, {"city": "Oslo"}, ("get_weather", "call_a1", "21 in Oslo")),
        _ran(5 - first, 2, {"x": 1}, error="kaput 1", events=thrown),
        _answered(4, 3, [*asked, _parts("assistant", "Let me look."), *back], "One worked."),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        (None, "error", "Error: kaput 1\n Please fix your mistakes."),
        ("get_weather", "ok", "21 in Oslo"),
    ]


@pytest.mark.parametrize("ok", [0, 1])
def test_an_ok_that_openinference_says_of_all_spans_of_the_ai_sdk_does_not_say_that_a_stream_was_answered(ok):
    """`LegacyOpenTelemetry` of the AI SDK 7, of a stream that was called off, under OpenInference's processor or not."""
    asked = _jsons([{"role": "user", "content": [{"type": "text", "text": "go"}]}])

    def told(id, parent, name, kind, **more):
        attributes = {"ai.operationId": name, "ai.telemetry.functionId": "planner", "ai.model.id": "m"} | more
        attributes |= {"openinference.span.kind": kind} if ok else {}
        return span(id, parent, f"{name} planner", status=ok, scope="ai", took=4 - id, at=id, attributes=attributes)

    (run,) = runs(
        told(1, None, "ai.streamText", "AGENT", **{"ai.prompt": _jsons({"prompt": "go"})}),
        told(2, 1, "ai.streamText.doStream", "LLM", **{"ai.prompt.messages": asked}),
    )
    assert (run["status"], [c["status"] for c in run["llm_calls"]]) == ("unknown", ["unknown"])
    assert "error" in run["boundaries_unknown"]
