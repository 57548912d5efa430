"""LiteLLM's callback and router: what they tell of streams, and of models that failed. By hand, as 1.110 tells it."""

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.store.layout import from_requests
from tests.captures import LATER
from tests.runs.requests import agent, chat, request, runs, span, tool


def test_another_model_that_is_asked_the_same_at_once_after_one_failed_goes_on_with_its_request():
    """The router's fallbacks, each in a trace of its own."""
    spare, apart = {"gen_ai.request.model": "model-b"}, ["error", "ok"]
    cases = ((0.02, "go", spare, ["ok"]), (0.02, "go", {}, apart), (5, "go", spare, apart))
    for at, words, model, expected in (*cases, (0.02, "__REDACTED__", spare, apart)):
        told = runs(
            chat(1, None, None, words, trace=1, took=0.01, error="500", scope="litellm"),
            chat(2, None, "done", words, trace=2, at=at, scope="litellm", attributes=model),
        )
        assert [run["status"] for run in told] == expected


def test_the_model_that_a_stream_names_is_the_one_that_was_asked():
    """`LITELLM_OTEL_V2`: a span named as the conventions say, and `chat.completion.chunk`s put together."""
    for streams, answered in ((True, None), (False, "model-a")):
        told = {"gen_ai.response.model": "model-a"} | ({"litellm.request.streaming": True} if streams else {})
        (run,) = runs(chat(1, None, "done", "go", scope="litellm", version="1.110.2", attributes=told))
        assert run["llm_calls"][0]["response_model"] == answered


def test_the_model_that_a_stream_names_is_the_one_that_was_asked_in_other_callbacks_words():
    """`arize_phoenix` and `langfuse_otel`."""
    told = {"openinference.span.kind": "LLM", "llm.model_name": "model-a", "llm.response.model": "model-a"}
    told |= {"llm.is_streaming": "True", "input.value": "go", "output.value": "done"}
    (run,) = runs(span(1, None, "litellm_request", scope="litellm", attributes=told))
    assert [c["response_model"] for c in run["llm_calls"]] == [None]


def test_streams_that_a_thread_ended_are_the_agents_whose_tools_results_they_bring():
    """The callback `otel` tells of a stream in a thread, in a trace of its own, and of what it asked for without ids;
    the ids of results are in what was asked next."""
    used, id = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "model-a"}, "call_4zMngVRv8MAK3NyfWMob2auZ"
    asked = {"gen_ai.completion.0.function_call.name": "look", "gen_ai.completion.0.function_call.arguments": "{}"}
    begun = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    went_on = {"role": "assistant", "parts": [{"type": "tool_call", "id": id, "name": "look", "arguments": {}}]}
    brought = {"role": "tool", "parts": [{"type": "tool_call_response", "id": id, "response": "seen"}]}
    asked |= {"gen_ai.input.messages": [begun], "gen_ai.response.finish_reasons": '["tool_calls"]'}
    (run,) = runs(
        agent(1, "planner", took=9),
        tool(2, 1, "look", id, "seen", at=4),
        span(3, None, "litellm_request", trace=2, at=1, scope="litellm", attributes=used | asked),
        chat(4, None, "done", [begun, went_on, brought], trace=3, at=6, scope="litellm"),
    )
    assert (run["agents"], run["output"], len(run["llm_calls"])) == (["planner"], "done", 2)
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "ok")]


def test_a_raw_request_for_a_stream_names_the_model_that_was_asked():
    raw = {"llm.openai.model": "model-a", "llm.openai.stream": "True", "llm.openai.messages": "[]"}
    (run,) = runs(agent(1, "planner", took=9), span(2, 1, "raw_gen_ai_request", scope="litellm", attributes=raw))
    (call,) = run["llm_calls"]
    assert (call["request_model"], call["response_model"]) == ("model-a", None)


def test_a_library_that_says_it_is_a_service_tells_of_its_callers_calls():
    """`LITELLM_OTEL_V2` in the program of an agent: its provider is LiteLLM's own, and so is its service."""
    app = [agent(1, "planner", took=9), chat(2, 1, "done", "go", at=1, took=1)]
    for service, expected in (("litellm", 1), ("other", 2)):
        alone = chat(3, None, "done", "go", trace=2, at=1.1, took=0.5)
        bodies = [request(app), request([alone], service=service, scope="litellm")]
        told = reconstruct(*from_requests(bodies, [], 1), Config(), LATER)
        assert (told.height, sum(len(calls) for calls in told["llm_calls"])) == (expected, expected)
