"""Agents of Vercel's Workflow Development Kit (`@workflow/ai` 5.0), in the words of the AI SDK."""

import pytest

from tests.runs.requests import runs, span


def _step(id, parent, name, **told):
    """`told`: attributes by their names with `__` for dots, times beside them."""
    times = {key: told.pop(key) for key in ("at", "took") if key in told}
    attributes = {"ai.operationId": name, "ai.telemetry.functionId": "planner"}
    attributes |= {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, name, scope="ai", attributes=attributes, **times)


@pytest.mark.parametrize(("loop", "status"), [({}, "unknown"), ({"ai__model__id": "m"}, "ok")])
def test_a_tool_of_which_nothing_is_told_may_have_failed_where_no_span_says_that_one_did(loop, status):
    """Without content; a loop of the AI SDK names its model, and its tools' spans say what they threw."""
    asked = {"ai__model__id": "m", "gen_ai__request__model": "m"}
    (run,) = runs(
        _step(1, None, "ai.streamText", took=9, ai__response__finishReason="stop", **loop),
        _step(2, 1, "ai.streamText.doStream", at=1, ai__response__finishReason="tool-calls", **asked),
        _step(3, 1, "ai.toolCall", at=3, ai__toolCall__name="look", ai__toolCall__id="c1"),
        _step(4, 1, "ai.streamText.doStream", at=5, ai__response__finishReason="stop", **asked),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", status)]
