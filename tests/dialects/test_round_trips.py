"""Spans that were kept in another format than OTLP before they came."""

import hashlib
import json
from typing import Any

import pytest

from tests.runs.requests import agent, chat, runs, span, tool


def as_jaeger(one: dict[str, Any], name: str = "otel.scope") -> dict[str, Any]:
    """As OpenTelemetry writes a span for Jaeger: tags for the scope and the status, and events named by one."""
    told = one["attributes"] | {
        f"{name}.name": one["scope"],
        f"{name}.version": "1.0",
        "span.kind": _KINDS[one.get("kind", 1)],
    }
    if one.get("error") is not None:
        told |= {"otel.status_code": "ERROR", "error": True, "otel.status_description": one["error"]}
    events = [("", attributes | {"event": event}) for event, attributes in one.get("events", ())]
    return one | {"attributes": told, "scope": "", "error": None, "kind": 0, "events": events}


def as_zipkin(one: dict[str, Any]) -> dict[str, Any]:
    """As OpenTelemetry writes a span for Zipkin: every tag a text, and of an event a line."""
    told = {key: _text(value) for key, value in one["attributes"].items()} | {"otel.scope.name": one["scope"]}
    if one.get("error") is not None:
        told |= {"otel.status_code": "ERROR", "error": one["error"]}
    events = [(f"{event}|{json.dumps(attributes)}|0", {}) for event, attributes in one.get("events", ())]
    return one | {"attributes": told, "scope": "", "error": None, "kind": 0, "events": events}


def as_library(one: dict[str, Any]) -> dict[str, Any]:
    """With the names that the scope's attributes had before."""
    return as_jaeger(one, "otel.library")


_KINDS = {1: "internal", 3: "client"}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@pytest.mark.parametrize("kept", [as_jaeger, as_zipkin, as_library])
def test_who_told_of_a_step_and_how_it_ended_is_known_where_attributes_say_so(kept):
    """LangChain under OpenInference, and OpenAI's client in it under OpenLLMetry: one call, told twice."""
    oi, traceloop = "openinference.instrumentation.langchain", "opentelemetry.instrumentation.openai.v1"
    counted = {"llm.token_count.prompt": 20, "llm.token_count.completion": 3, "llm.model_name": "model-a"}
    twice = {"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 3, "gen_ai.request.model": "model-a"}

    def step(id, parent, kind, name, at, took, **more):
        told = {"openinference.span.kind": kind} | more.pop("told", {})
        return span(id, parent, name, at=at, took=took, attributes=told, scope=oi, **more)

    def asked(id, at):
        within = {"gen_ai.operation.name": "chat"} | twice
        return (
            step(id, 1, "LLM", "ChatOpenAI", at, 2, told=counted),
            span(id + 1, id, "openai.chat", at=at + 0.1, took=1.8, attributes=within, scope=traceloop),
        )

    raised = [("exception", {"exception.type": "ValueError", "exception.message": "no such city"})]
    (run,) = runs(
        *map(
            kept,
            (
                step(1, None, "AGENT", "planner", 0, 9, told={"input.value": "go", "output.value": "fine"}),
                *asked(2, 0.5),
                step(4, 1, "TOOL", "look", 3, 1, told={"tool.name": "look"}, error="no such city", events=raised),
                *asked(5, 5),
            ),
        )
    )
    assert [c["input_tokens"] for c in run["llm_calls"]] == [20, 20]
    assert [(c["name"], c["status"], c["error_type"]) for c in run["tool_calls"]] == [("look", "error", "ValueError")]
    assert (run["status"], run["input"], run["output"]) == ("ok", "go", "fine")


def test_a_scope_that_came_counts_for_more_than_an_attribute():
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "otel.scope.name": "x", "error": "no"}
    told |= {"otel.status_code": "ERROR", "llm.output_messages.0.message.content": "fine"}
    (run,) = runs(span(1, None, "llm", attributes=told, scope="openinference.x"))
    assert [c["status"] for c in run["llm_calls"]] == ["ok"]


def test_a_call_that_failed_is_one_by_its_kind():
    """OpenLIT writes what a call is with its answer, which then never came."""
    (run,) = runs(as_jaeger(span(1, None, "chat m", kind=3, scope="openlit.otel.tracing", error="no")))
    assert [c["status"] for c in run["llm_calls"]] == ["error"]


@pytest.mark.parametrize("digest", [hashlib.sha1, hashlib.sha256, hashlib.sha512])
def test_a_digest_in_place_of_words_is_none(digest):
    """The Collector's processors hash an attribute; ids and names that look so are left."""

    def hashed(text):
        return digest(text.encode()).hexdigest()

    session = hashed("session")
    said = [{"role": "user", "parts": [{"type": "text", "content": hashed("words")}]}]
    asked = {"gen_ai.input.messages": hashed("in"), "gen_ai.output.messages": hashed("out")}
    told = {"input.value": hashed("go"), "output.value": hashed("fine"), "gen_ai.conversation.id": session}
    given = {"gen_ai.tool.call.arguments": hashed("given")}
    (run,) = runs(
        agent(1, "planner", took=9, attributes=told),
        chat(2, 1, at=1, attributes=asked),
        tool(3, 1, "look", hashed("id"), hashed("seen"), at=3, attributes=given),
        chat(4, 1, None, said, at=5),
    )
    assert (run["input"], run["output"], run["conversation_id"]) == (None, None, session)
    (call,) = run["tool_calls"]
    assert (call["arguments"], call["result"], call["call_id"]) == (None, None, hashed("id"))
    assert {"input not reported", "output not reported", "arguments not reported"} <= {*run["incomplete"]}


@pytest.mark.parametrize("words", ["", "Which city?"])
def test_an_input_is_empty_only_where_something_is_told(words):
    """A collector may set all content to nothing; a user who says nothing is answered all the same."""
    empty = {"gen_ai.input.messages": "", "gen_ai.output.messages": ""}
    nothing = json.dumps([{"role": "user", "parts": [{"type": "text", "content": ""}]}]) if words else ""
    (run,) = runs(
        agent(1, "planner", took=9, attributes={"gen_ai.input.messages": nothing}),
        chat(2, 1, at=1, attributes={} if words else empty),
        tool(3, 1, "look", "c1", "", at=3, attributes={"gen_ai.tool.call.arguments": "{}" if words else ""}),
        chat(4, 1, words or None, at=5, attributes={} if words else empty),
    )
    told = {"": (None, None, False), "Which city?": ("", {}, True)}[words]
    assert (run["input"], run["tool_calls"][0]["arguments"], "empty_input" in run["boundaries"]) == told
