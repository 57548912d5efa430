"""Kits of other languages, by spans written as their published sources write them."""

import json

import pytest

from otelcov.runs.content.reprs import flat_hash
from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import agent, chat, span, tool

pytestmark = pytest.mark.full


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('{:error=>"no rooms"}', "error"),  # Ruby before 3.4
        ('{error: "no rooms", code: 4}', "error"),
        ('{"error" => "no rooms"}', "error"),
        ('%{error: "no rooms", status: :failed}', "error"),  # Elixir
        ('{:error, "no rooms"}', "error"),
        ('{:ok, "an error: none"}', "ok"),
        ("{:rooms=>3, :error=>nil}", "ok"),
        ('{:note=>"error"}', "ok"),
    ],
)
def test_an_error_is_one_in_the_words_of_ruby_and_elixir(text, status):
    """RubyLLM's tools give an error as a hash, which it, and thoughtbot's instrumentation of it, tell as a text."""
    back = [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": text}]}]
    (run,) = agreed(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "book", {})], "go", at=1),
        tool(3, 1, "book", "c1", text, at=3),
        chat(4, 1, "done", [{"role": "user", "parts": [{"type": "text", "content": "go"}]}, *back], at=5),
    )
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [(status, text)]


def test_a_hash_is_read_whole_or_not_at_all():
    assert flat_hash('{error: "a, b: c", at: 4, in: nil}') == {"error": "a, b: c", "at": "4", "in": None}
    assert flat_hash("{ error here }") is flat_hash('{error: "a"} and more') is flat_hash("{error: {in: 1}}") is None


_RUBY = "OpenTelemetry::Instrumentation::RubyLLM"


def test_rubyllms_call_is_told_once_its_last_answer_came():
    """opentelemetry-instrumentation-ruby_llm (patches/chat.rb): `complete` calls itself, and each span reads the list
    of messages when it ends, so that all of them tell the last answer and its tokens."""
    user = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    call = {"type": "tool_call", "id": "c1", "name": "book", "arguments": {"h": "x"}}
    history = [user, {"role": "assistant", "parts": [{"type": "text", "content": ""}, call]}]
    history.append({"role": "tool", "parts": [{"type": "text", "content": '{error: "no"}'}], "tool_call_id": "c1"})
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "no room"}]}]
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.model": "m-1"}
    told |= {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}
    told |= {"gen_ai.input.messages": json.dumps(history), "gen_ai.output.messages": json.dumps(said)}
    ran = {"gen_ai.tool.name": "book", "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": '{"h":"x"}'}
    ran |= {"gen_ai.tool.type": "function", "gen_ai.tool.call.result": '{error: "no"}'}
    (run,) = agreed(
        span(1, None, "chat m", took=9, kind=3, scope=_RUBY, attributes=told),
        span(2, 1, "execute_tool book", at=3, scope=_RUBY, attributes=ran),
        span(3, 1, "chat m", at=5, took=3, kind=3, scope=_RUBY, attributes=told),
    )
    assert [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [(None, None), (9, 2)]
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("book", "error")]
    assert (run["input"], run["output"], run["status"]) == ("go", "no room", "ok")


_GRAFANA = "github.com/grafana/sigil/sdks/js"


def test_a_stream_that_failed_is_a_models_call_by_the_word_for_it():
    """Grafana's agento11y, for JavaScript, Python, Go, .NET and Java (js/src/client.ts)."""
    told = {"gen_ai.conversation.id": "s", "gen_ai.agent.name": "planner", "gen_ai.request.model": "m"}
    used = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2, "gen_ai.response.id": "chatcmpl-1"}
    asked = told | used | {"gen_ai.operation.name": "generateText", "gen_ai.response.finish_reasons": '["tool_calls"]'}
    failed = told | {"gen_ai.operation.name": "streamText", "error.type": "provider_call_error"}
    ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"} | told
    spans = [
        span(1, None, "generateText m", trace=1, kind=3, scope=_GRAFANA, attributes=asked, status=1),
        span(2, None, "execute_tool look", trace=2, at=2, scope=_GRAFANA, attributes=ran, status=1),
        span(3, None, "streamText m", trace=3, at=4, kind=3, scope=_GRAFANA, attributes=failed, error="500"),
    ]
    (run,) = agreed(*spans)
    assert ([c["status"] for c in run["llm_calls"]], run["status"]) == (["ok", "error"], "error")
    assert [(c["name"], c["agent"], c["status"], c["turn"]) for c in run["tool_calls"]] == [
        ("look", "planner", "ok", 0)
    ]


def test_langchain4j_counts_tokens_by_keys_of_its_own_and_knows_no_model_by_a_word():
    """langchain4j-observation (DefaultChatModelConvention.java), through Micrometer's bridge."""

    def call(id, at, answered, went, **more):
        told = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "OPEN_AI", "gen_ai.request.model": "m"}
        told |= {"gen_ai.response.model": answered, "outcome": went} | more.pop("told", {})
        return span(id, 1, "GenAI request duration", at=at, scope="org.springframework.boot", attributes=told, **more)

    used = {"input_tokens": "20", "output_tokens": "5"}
    (run,) = agreed(
        span(1, None, "http post /chat", took=9, kind=2, scope="org.springframework.boot"),
        call(2, 1, "m-2024-08-06", "SUCCESS", told=used),
        call(3, 4, "unknown", "ERROR", error="boom"),
    )
    calls = [(c["response_model"], c["input_tokens"], c["output_tokens"], c["status"]) for c in run["llm_calls"]]
    assert calls == [("m-2024-08-06", 20, 5, "ok"), (None, None, None, "error")]


@pytest.mark.parametrize("prefix", ["agento11y", "sigil"])
def test_a_conversation_that_each_step_was_given_is_none(prefix):
    """agento11y (framework_handler.py; js/src/frameworks/shared.ts): `…:framework:openai-agents:<the step's id>`."""

    def step(id, at, name, **told):
        told |= {"gen_ai.conversation.id": f"{prefix}:framework:openai-agents:{id}", "gen_ai.request.model": "m"}
        told |= {"gen_ai.operation.name": "generateText", "gen_ai.response.model": "m", "gen_ai.usage.input_tokens": 9}
        told |= {f"{prefix}.framework.run_type": "llm", f"{prefix}.framework.component_name": name}
        return span(id, 1, "generateText m", at=at, kind=3, scope=_GRAFANA, attributes=told, status=1)

    (run,) = agreed(span(1, None, "POST /chat", took=9), step(2, 1, "planner"), step(3, 4, "worker"))
    assert run["conversation_id"] is None
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "worker"]
    assert {(c["request_model"], c["response_model"]) for c in run["llm_calls"]} == {("m", None)}


def test_prism_for_php_has_its_own_keys_for_a_calls_id_and_the_model_that_answered():
    """prism-php (src/Telemetry/Semantics/OpenInferenceMapper.php): one span holds the loop."""

    def asked(id, took, **told):
        told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.response.model": "m-2026-01-01"} | told
        told |= {"llm.token_count.prompt": 9, "llm.token_count.completion": 2, "input.value": "go"}
        told |= {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "done"}
        return span(id, None, "text_generation", took=took, scope="prism", attributes=told)

    ran = {"openinference.span.kind": "TOOL", "tool.name": "look", "tool.call.id": "c1", "tool.parameters": "{}"}
    ran |= {"input.value": '{"a":1}', "output.value": "cold"}
    http = {"openinference.span.kind": "CHAIN", "http.method": "POST"}
    (run,) = agreed(
        asked(1, 9),
        span(2, 1, "http_call", at=1, scope="prism", attributes=http),
        span(3, 1, "tool_call", at=3, scope="prism", attributes=ran),
        span(4, 1, "http_call", at=5, scope="prism", attributes=http),
    )
    calls = [(c["name"], c["call_id"], c["arguments"], c["result"]) for c in run["tool_calls"]]
    assert calls == [("look", "c1", {"a": 1}, "cold")]
    assert (run["output"], run["llm_calls"]) == ("done", None)  # several, of which one span tells
    (plain,) = agreed(asked(1, 2))
    assert [(c["request_model"], c["response_model"]) for c in plain["llm_calls"]] == [("m", "m-2026-01-01")]
