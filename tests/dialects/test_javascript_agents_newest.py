"""The newest tracers for JavaScript that tell of agents by words of their own: Datadog's, where it exports OTLP."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import span

pytestmark = pytest.mark.full


def _datadog(id, parent, kind, name, at, took=1.0, by="opentracing", **told):
    """A span of dd-trace 5.132."""
    told = {"_dd.llmobs.artificial_gen_ai_tags": "true", "gen_ai.operation.name": kind, "_dd.integration": by} | told
    more = {"error": told.pop("error")} if "error" in told else {}
    return span(id, parent, name, at=at, took=took, scope="dd-trace-js", attributes=told, **more)


def _asked(id, parent, at, client="openai", **told):
    told |= {f"{client}.request.model": "m", f"{client}.response.model": "m-2026-03-01"}
    told |= {"gen_ai.request.model": "m-2026-03-01", "gen_ai.provider.name": "unknown"}
    told |= {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}
    return _datadog(id, parent, "llm", "chat.completions.create", at, by=client, **told)


@pytest.mark.parametrize("client", ["openai", "google_genai"])
def test_datadog_names_a_tool_and_an_agent_by_their_spans_and_the_model_that_answered(client):
    (run,) = agreed(
        _datadog(1, None, "agent", "planner", 0, 9),
        _asked(2, 1, 1, client),
        _datadog(3, 1, "tool", "book", 3, error="no rooms"),
        _datadog(4, 1, "tool", "ask_worker", 4, 2),
        _datadog(5, 4, "agent", "worker", 4.1, 1.8),
        _asked(6, 5, 4.2, client),
        _asked(7, 1, 7, client),
    )
    assert [(c["agent"], c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [
        (name, "m", "m-2026-03-01") for name in ("planner", "worker", "planner")
    ]
    assert [(c["name"], c["agent"], c["status"]) for c in run["tool_calls"]] == [("book", "planner", "error")]
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("planner", "worker", "ask_worker")]


def test_a_tool_that_datadog_names_by_who_asked_for_it_has_no_name():
    """Its spans of the AI SDK bear the function's id, whatever they are; of two without a name, none is the other."""
    by = "ai_tracing_dd_telemetry"
    (run,) = agreed(
        _datadog(1, None, "workflow", "planner", 0, 9, by),
        _datadog(2, 1, "llm", "planner", 1, 1, by, **{"ai.request.model": "m", "gen_ai.request.model": "m"}),
        _datadog(3, 1, "tool", "planner", 3, 1, by, error="no rooms"),
        _datadog(4, 1, "tool", "planner", 4, 1, by),
        _datadog(5, 1, "llm", "planner", 6, 1, by, **{"ai.request.model": "m", "gen_ai.request.model": "custom"}),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [(None, "error"), (None, "ok")]
    assert "tool_recovery" in run["boundaries_unknown"] and run["boundaries"] == ["tool_failure"]
    assert {c["request_model"] for c in run["llm_calls"]} == {"m"}


def test_three_calls_of_tools_without_names_are_no_call_repeated():
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": json.dumps({"at": "x"})}
    (run,) = agreed(
        span(1, None, "invoke_agent a", took=9, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="a"),
        *(span(id, 1, "execute_tool", at=id, took=0.5, attributes=told, status=1) for id in (2, 3, 4)),
    )
    assert [c["name"] for c in run["tool_calls"]] == [None] * 3
    assert (run["boundaries"], "repeated_call" in run["boundaries_unknown"]) == ([], True)


def _langtrace(number, asked, answer, service="openai", **told):
    """A call that Langtrace (6.3) tells in a trace of its own, by events."""
    told |= {"langtrace.service.name": service, "gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    said = [("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps(asked)})]
    said += [("gen_ai.content.completion", {"gen_ai.completion": json.dumps([{"role": "assistant"} | answer])})]
    scope = "@langtrase/typescript-sdk"
    return span(
        number, None, "call", trace=number, at=number * 3, kind=3, scope=scope, attributes=told, events=said, status=1
    )


_GO = {"role": "user", "content": "go"}
_LOOK = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
_BACK = {"role": "tool", "tool_call_id": "c1", "content": "cold"}


@pytest.mark.parametrize(
    "first",
    [
        {"content": json.dumps([_LOOK], separators=(",", ":"))},  # in place of a text
        {"content": "Let me look."},  # instead of them
        {"content": ""},  # of a stream
    ],
)
def test_langtrace_tells_calls_as_the_text_of_an_answer_or_not_at_all(first):
    text = first["content"] if first["content"][:1] == "L" else None
    history = [_GO, {"role": "assistant", "content": text, "tool_calls": [_LOOK]}, _BACK]
    (run,) = agreed(_langtrace(1, [_GO], first), _langtrace(2, history, {"content": "done"}))
    assert [(c["name"], c["status"], c["result"], c["turn"]) for c in run["tool_calls"]] == [("look", "ok", "cold", 0)]
    assert (run["output"], run["status"]) == ("done", "ok")
    (alone,) = agreed(_langtrace(1, [_GO], first))
    assert alone["output"] == text and (text or alone["status"] == "unknown")


def test_langtrace_counts_what_it_guesses_and_what_anthropic_calls_otherwise():
    used = {"gen_ai.usage.input_tokens": 13, "gen_ai.usage.output_tokens": 48, "gen_ai.response.model": "m"}
    (one,) = agreed(_langtrace(1, [_GO], {"content": "hi"}, "anthropic", **used))
    (two,) = agreed(_langtrace(1, [_GO], {"content": "hi"}, **used, **{"gen_ai.request.stream": True}))
    (three,) = agreed(_langtrace(1, [_GO], {"content": "hi"}, **used))
    told = [(c["input_tokens"], c["response_model"]) for run in (one, two, three) for c in run["llm_calls"]]
    assert told == [(None, None), (None, "m"), (13, "m")]


def test_an_answer_without_a_word_or_a_reason_to_end_ends_nothing():
    (run,) = agreed(_langtrace(1, [_GO], {}, "anthropic"))  # it asked for a tool, which is left out
    assert (run["status"], run["output"]) == ("unknown", None)
