"""What kits for JavaScript told wrong in runs of theirs against a model of ours, in small."""

from tests.runs.requests import runs, span


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
