"""Pipecat 1.14 by its own tracing: tools that fail, that nobody has or that somebody broke in on, and cut answers."""

import json

import pytest

from tests.runs.requests import runs, span

_ASKED = [{"role": "user", "content": "go"}]


def _model(id, at, given, said=None, counted=True):
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "input": json.dumps(given)}
    told |= {} if said is None else {"output": said}
    told |= {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2} if counted else {}
    return span(id, 2, "llm", at=at, scope="pipecat", attributes=told)


def _run(*models):
    (run,) = runs(
        span(1, None, "conversation", took=20, scope="pipecat.turn", attributes={"conversation.id": "k"}),
        span(2, 1, "turn", took=19, scope="pipecat.turn", attributes={"turn.number": 1, "conversation.id": "k"}),
        *models,
    )
    return run


@pytest.mark.parametrize(
    ("brought", "status"),
    [
        ('{"saw": "a"}', "ok"),
        ("The function `look` failed and returned no result.", "error"),
        ("The function `look` is not currently available.", "requested"),
        ("CANCELLED", "unknown"),
        ("CANCELLED: this tool call was cancelled before it returned a result", "unknown"),
    ],
)
def test_words_in_place_of_a_result_tell_how_a_tool_went(brought, status):
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    back = {"role": "tool", "tool_call_id": "c1", "content": brought}
    later = [*_ASKED, {"role": "assistant", "tool_calls": [call]}, back]
    run = _run(_model(3, 1, _ASKED), _model(4, 4, later, "done"))
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", status)]


@pytest.mark.parametrize(("whole", "status"), [(True, "ok"), (False, "unknown")])
def test_an_answer_that_was_broken_off_used_nothing_that_is_told(whole, status):
    run = _run(_model(3, 1, _ASKED, "a b", counted=whole))
    assert (run["status"], [c["status"] for c in run["llm_calls"]]) == (status, [status])
