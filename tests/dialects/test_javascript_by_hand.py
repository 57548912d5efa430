"""Loops that a program writes itself around a provider's client for JavaScript, under tracers of that client."""

import json

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import agent, chat, runs, span

pytestmark = pytest.mark.full


def _sentry(number, asked, answer, text=None, why="completed", **more):
    """A call of OpenAI's Responses that streamed, as Sentry (10.78) tells it, in a trace of its own."""
    told = {"sentry.op": "gen_ai.chat", "gen_ai.system": "openai", "gen_ai.operation.name": "chat"}
    told |= {"gen_ai.request.model": "m", "gen_ai.response.model": "m-2026-03-01", "gen_ai.input.messages": asked}
    told |= {"gen_ai.response.finish_reasons": json.dumps(["in_progress", "in_progress", why])}
    told |= {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2, "gen_ai.response.id": f"resp_{number}"}
    told |= {"gen_ai.response.tool_calls": answer} | ({"gen_ai.response.text": text} if text else {})
    return span(number, None, "chat m", trace=number, at=number * 3, scope="@sentry/node", attributes=told, **more)


def _call(id, name):
    return {"id": f"fc_{id}", "type": "function_call", "call_id": id, "name": name, "arguments": '{"at":"x"}'}


def _output(id, text):
    return {"type": "function_call_output", "call_id": id, "output": text}


def _message(text):
    return {"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def test_a_call_that_is_given_results_alone_goes_on_with_the_one_that_asked_for_them():
    """OpenAI's Responses know the rest by `previous_response_id`."""
    (run,) = agreed(
        _sentry(1, [{"role": "user", "content": "go"}], [_call("c1", "look"), _call("c2", "book")]),
        _sentry(2, [_output("c1", "cold"), _output("c2", "Error: no rooms")], [_call("c3", "look")]),
        _sentry(3, [_output("c3", "warm")], [_message("done")], "done"),
    )
    assert (run["status"], run["input"], run["output"], len(run["trace_ids"])) == ("ok", "go", "done", 3)
    calls = [(c["name"], c["turn"], c["status"], c["result"]) for c in run["tool_calls"]]
    assert calls == [("look", 0, "ok", "cold"), ("book", 0, "error", "Error: no rooms"), ("look", 1, "ok", "warm")]


@pytest.mark.parametrize(("why", "met"), [("completed", []), ("incomplete", ["length"])])
def test_an_answer_that_is_under_way_has_not_ended(why, met):
    (run,) = agreed(_sentry(1, [{"role": "user", "content": "go"}], [_message("so far")], "so far", why))
    assert ([c["finish_reason"] for c in run["llm_calls"]], run["boundaries"]) == ([why], met)


def _gemini(number, history, calls=None, text=None):
    """A call of Gemini's that streamed, as Sentry (10.78) tells it, in a trace of its own."""
    told = {"gen_ai.system": "google_genai", "gen_ai.operation.name": "generate_content", "gen_ai.request.model": "m"}
    told |= {"gen_ai.input.messages": history, "gen_ai.response.finish_reasons": '["STOP"]'}
    if calls:
        twice = [x for n, a in calls for x in ({"name": n, "args": a}, {"type": "function", "name": n, "arguments": a})]
        told["gen_ai.response.tool_calls"] = json.dumps(twice, separators=(",", ":"))
    told |= {"gen_ai.response.text": text} if text else {}
    return span(number, None, "m", trace=number, at=number * 3, scope="@sentry/node", attributes=told)


def test_what_gemini_asked_for_in_a_stream_stands_twice_and_says_no_type():
    calls = [("look", {"at": "x"}), ("book", {"hotel": "y"}), ("look", {"at": "x"})]
    go = {"role": "user", "parts": [{"text": "go"}]}
    asked = {"role": "model", "parts": [{"text": "Let "}, {"text": "me."}]}
    asked["parts"] += [{"functionCall": {"name": n, "args": a}} for n, a in calls]
    brought = [{"output": "cold"}, {"error": "Error: no rooms"}, {"output": "cold"}]
    back = [{"functionResponse": {"name": n, "response": r}} for (n, _), r in zip(calls, brought, strict=True)]
    (run,) = agreed(
        _gemini(1, [go], calls, "Let me."), _gemini(2, [go, asked, {"role": "user", "parts": back}], None, "done")
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "ok"), ("book", "error"), ("look", "ok")]
    assert (run["output"], run["boundaries"]) == ("done", ["tool_failure"])
    (waiting,) = agreed(_gemini(1, [go], calls[:1]))
    assert [(c["name"], c["arguments"], c["status"]) for c in waiting["tool_calls"]] == [
        ("look", {"at": "x"}, "unknown")
    ]


_OI = "@arizeai/openinference-instrumentation-openai"


@pytest.mark.parametrize(
    ("name", "words", "status"),
    [("OpenAI Responses", "", "unknown"), ("OpenAI Responses", "500 no", "error"), ("OpenAI Chat", "", "error")],
)
def test_a_stream_that_ended_before_its_answer_was_whole_may_have_met_its_limit(name, words, status):
    """OpenInference 4.2: what is thrown has words, and no answer of a stream by `response.incomplete` is told."""
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.input_messages.0.message.role": "user"}
    told |= {"llm.input_messages.0.message.content": "go", "llm.invocation_parameters": '{"model":"m","stream":true}'}
    (run,) = agreed(span(1, None, name, scope=_OI, attributes=told, error=words))
    (framed,) = agreed(
        span(1, None, "POST /chat", took=3), span(2, 1, name, at=1, scope=_OI, attributes=told, error=words)
    )
    for one in (run, framed):
        assert [c["status"] for c in one["llm_calls"]] == [status]
        assert (one["status"], "error" in one["boundaries"]) == (status, status == "error")
    assert "length" in run["boundaries_unknown"]


def test_a_call_that_failed_is_told_once_by_two_that_began_in_the_same_millisecond():
    """Anthropic's own spans of its client (1.14), and OpenInference's (0.2), which ends a little sooner."""
    own = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "error.type": "server_error"}
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.input_messages.0.message.role": "user"}
    told |= {"llm.input_messages.0.message.content": "go"}
    thrown = [("exception", {"exception.type": "Error", "exception.message": "500 no"})]
    scope, other = "@arizeai/openinference-instrumentation-anthropic", "com.anthropic.sdk.typescript"
    (run,) = agreed(
        span(1, None, "Anthropic Messages", trace=1, scope=scope, attributes=told, events=thrown, error="500 no"),
        span(2, None, "anthropic.messages.create", trace=2, took=1.00001, scope=other, attributes=own, error=""),
    )
    assert ([c["status"] for c in run["llm_calls"]], run["input"]) == (["error"], "go")


def _openlit(number, asked, text=None, id="resp_1", answered="m-2026-03-01"):
    """A call of OpenAI's Responses that offered tools, as OpenLIT (1.15) tells it, in a trace of its own."""
    user = [{"role": "user", "parts": [{"type": "text", "content": asked}]}] if asked else []
    parts = [{"type": "text", "content": text}] if text else []
    told = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "openai.api.type": "responses"}
    told |= {"gen_ai.request.model": "m", "gen_ai.response.model": answered, "gen_ai.response.id": id}
    told |= {"gen_ai.response.finish_reasons": '["completed"]', "gen_ai.input.messages": json.dumps(user)}
    told["gen_ai.output.messages"] = json.dumps(
        [{"role": "assistant", "parts": parts, "finish_reason": "completed"}], separators=(",", ":")
    )
    told["gen_ai.tool.definitions"] = [{"type": "function", "name": "look"}]
    scope = "@openlit/instrumentation-openai"
    return span(number, None, "chat m", trace=number, at=number * 3, scope=scope, attributes=told, status=1)


def test_an_answer_without_a_word_whose_calls_are_left_out_ends_nothing():
    (alone,) = agreed(_openlit(1, "go"))
    assert (alone["status"], alone["output"], alone["tool_calls"]) == ("unknown", None, None)
    (run,) = agreed(_openlit(1, "go"), _openlit(2, "go", "done", "resp_2"))
    assert (run["status"], run["output"], len(run["llm_calls"])) == ("ok", "done", 2)
    one, two = agreed(_openlit(1, "go", "done"), _openlit(2, "go", "done", "resp_2"))
    assert (one["output"], two["output"], one["status"]) == ("done", "done", "ok")


def test_a_stream_whose_end_never_came_is_not_completed_and_names_no_model_that_answered():
    (run,) = agreed(_openlit(1, "go", "so far", "", "m"))
    assert [(c["finish_reason"], c["response_model"]) for c in run["llm_calls"]] == [(None, None)]
    assert {"length", "content_filter"} <= set(run["boundaries_unknown"])


def test_results_that_a_call_was_given_alone_are_no_words_of_the_user():
    """Traceloop for JavaScript (0.27) tells the items that OpenAI's Responses are given as the text of one message."""
    items = json.dumps([_output("c1", "cold")])
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": items}]}])
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": asked}
    (run,) = agreed(span(1, None, "chat m", scope="@traceloop/instrumentation-openai", attributes=told))
    assert run["input"] is None


@pytest.mark.parametrize(
    ("scope", "id", "why", "known"),
    [
        ("@opentelemetry/instrumentation-openai", "resp_1", "stop", None),  # of what met its limit, too
        ("@opentelemetry/instrumentation-openai", "resp_1", "tool_call", "tool_call"),
        ("@opentelemetry/instrumentation-openai", "chatcmpl-1", "stop", "stop"),
    ],
)
def test_why_one_of_openais_responses_ended_is_not_told_by_what_it_holds(scope, id, why, known):
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.id": id}
    told["gen_ai.response.finish_reasons"] = json.dumps([why])
    (run,) = agreed(span(1, None, "chat m", kind=3, scope=scope, attributes=told))
    assert run["llm_calls"][0]["finish_reason"] == known
    assert ("length" in run["boundaries_unknown"]) == (known is None)


def test_what_converse_was_asked_for_and_who_answered():
    """Clients of Bedrock under OpenInference (0.5), OpenLIT (1.15) and Traceloop (0.27) for JavaScript."""
    model = "anthropic.claude-sonnet-5-v1:0"
    inference = {"openinference.span.kind": "LLM", "llm.model_name": "claude-sonnet-5", "llm.token_count.prompt": 9}
    inference["input.value"] = json.dumps({"modelId": model, "messages": []})
    lit = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model, "gen_ai.response.model": model}
    lit |= {"gen_ai.response.id": "b5ca841f-e990-4793-ad62-3979e9ddbe55", "gen_ai.usage.input_tokens": 9}
    loop = {"gen_ai.provider.name": "aws.bedrock", "gen_ai.request.model": model}
    for scope, name, told in [
        ("@arizeai/openinference-instrumentation-bedrock", "bedrock.converse", inference),
        ("@openlit/instrumentation-bedrock", f"chat {model}", lit),
        ("@traceloop/instrumentation-bedrock", "bedrock.completion", loop),
    ]:
        (run,) = agreed(span(1, None, name, kind=3, scope=scope, attributes=told, status=1))
        assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [(model, None)]


def test_what_came_after_a_call_is_no_part_of_what_it_was_asked():
    """LangSmith's wrapper for JavaScript (0.12) reads the program's list of messages when it sends the span."""
    asked = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    call, said = {"role": "assistant", "content": None, "tool_calls": [asked]}, {"role": "assistant", "content": "cold"}
    user, brought = {"role": "user", "content": "go"}, {"role": "tool", "tool_call_id": "c1", "content": "4 C"}
    again, last = {"role": "user", "content": "and there?"}, {"role": "assistant", "content": "warm"}
    history = json.dumps({"model": "m", "messages": [user, call, brought, said, again, last]})

    def llm(number, message, why):
        told = {"langsmith.span.kind": "llm", "gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
        answer = {"choices": [{"index": 0, "message": message, "finish_reason": why}]}
        told |= {"gen_ai.prompt": history, "gen_ai.completion": json.dumps(answer)}
        return span(number, None, "ChatOpenAI", trace=number, at=number * 3, scope="langsmith", attributes=told)

    one, two = agreed(llm(1, call, "tool_calls"), llm(2, said, "stop"), llm(3, last, "stop"))
    assert [(c["name"], c["result"]) for c in one["tool_calls"]] == [("look", "4 C")]
    assert (one["input"], one["output"], len(one["llm_calls"])) == ("go", "cold", 2)
    assert (two["input"], two["output"]) == ("and there?", "warm")


@pytest.mark.parametrize(
    ("name", "said", "known"),
    [
        ("look", "Error: no such city", ("error", "soft", ["tool_failure"])),
        ("ghost", "Error: no tool ghost", ("unknown", None, [])),
        ("ghost", "I cannot do that.", ("unknown", None, [])),
    ],
)
def test_an_error_for_a_tool_that_was_not_offered_may_say_that_nobody_has_it(name, said, known):
    """A loop around OpenAI's client under Traceloop 0.27 for JavaScript, whose messages alone tell of tools."""
    offers = {"gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "look", "description": "Look."}])}
    back = [{"type": "tool_call_response", "id": "c1", "response": said}]
    history = [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": name, "arguments": {"q": "a"}}]},
        {"role": "tool", "parts": back},
    ]
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", name, {"q": "a"})], "go", at=1, attributes=offers),
        chat(3, 1, "Done.", history, at=4, attributes=offers),
    )
    (call,) = run["tool_calls"]
    assert (call["status"], call["error_kind"], run["boundaries"]) == known
    assert call["result"] == said
