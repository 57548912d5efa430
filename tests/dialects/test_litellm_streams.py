"""LiteLLM's callback and router: what they tell of streams, and of models that failed. By hand, as 1.110 tells it."""

from tests.runs.requests import chat, runs


def test_another_model_that_is_asked_the_same_at_once_after_one_failed_goes_on_with_its_request():
    """The router's fallbacks, each in a trace of its own."""
    spare = {"gen_ai.request.model": "model-b"}
    for took, model, expected in ((0.02, spare, ["ok"]), (0.02, {}, ["error", "ok"]), (5, spare, ["error", "ok"])):
        told = runs(
            chat(1, None, None, "go", trace=1, at=0, took=0.01, error="500", scope="litellm"),
            chat(2, None, "done", "go", trace=2, at=took, scope="litellm", attributes=model),
        )
        assert [run["status"] for run in told] == expected
    assert [c["status"] for c in told[0]["llm_calls"]] == ["error"]


def test_the_model_that_a_stream_names_is_the_one_that_was_asked():
    """`LITELLM_OTEL_V2`: a span named as the conventions say, and `chat.completion.chunk`s put together."""
    for streams, answered in ((True, None), (False, "model-a")):
        told = {"gen_ai.response.model": "model-a"} | ({"litellm.request.streaming": True} if streams else {})
        (run,) = runs(chat(1, None, "done", "go", scope="litellm", version="1.110.2", attributes=told))
        assert run["llm_calls"][0]["response_model"] == answered
