"""Calls of which each attempt has a span, and the last attempt alone says that it failed."""

from tests.runs.requests import agent, runs, span


def test_a_call_without_an_answer_failed_as_its_last_attempt_did():
    """LiveKit's agents 1.9 for JavaScript name the model that was asked as who answered, and say `stop`."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.model": "m"}
    told |= {"gen_ai.response.finish_reasons": '["stop"]', "gen_ai.usage.output_tokens": 0}
    failed = {"error": "400 no", "events": [("exception", {"exception.type": "APIStatusError"})]}
    (run,) = runs(
        agent(1, "planner", took=10, scope="livekit-agents"),
        span(2, 1, "llm_request", at=1, took=8, scope="livekit-agents", attributes=told),
        *(span(3 + n, 2, "llm_request_run", at=1 + n, took=0.5, scope="livekit-agents", **failed) for n in range(2)),
    )
    (call,) = run["llm_calls"]
    assert (call["status"], call["response_model"], call["finish_reason"]) == ("error", None, None)
