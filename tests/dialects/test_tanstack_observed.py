"""TanStack AI 0.58 under OpenInference's middleware, by which a loop that was called off or cut short failed."""

from tests.runs.requests import runs, span


def _loop(id, parent, kind, at, took, **more):
    told = {"openinference.span.kind": kind} | more.pop("told", {})
    return span(id, parent, f"ai.{kind.lower()}", at=at, took=took, scope="tanstack", attributes=told, **more)


_GO = {"input.value": {"messages": [{"role": "user", "content": "go"}]}}
_ASKED = {"llm.model_name": "m", "llm.input_messages.0.message.role": "user"} | {
    "llm.input_messages.0.message.content": "go"
}


def test_a_loop_that_was_called_off_did_not_fail():
    (run,) = runs(
        _loop(1, None, "AGENT", 0, 9, told=_GO, error="TanStack AI run aborted"),
        _loop(2, 1, "LLM", 1, 7, told=_ASKED),
    )
    assert (run["status"], "error" in run["boundaries"]) == ("unknown", False)


def test_an_answer_that_failed_at_its_length_met_that():
    thrown = [("exception", {"exception.type": "Error", "exception.message": "max_output_tokens"})]
    (run,) = runs(
        _loop(1, None, "AGENT", 0, 9, told=_GO, error="max_output_tokens", events=thrown),
        _loop(2, 1, "LLM", 1, 7, told=_ASKED, error="max_output_tokens", events=thrown),
    )
    assert "length" in run["boundaries"]
