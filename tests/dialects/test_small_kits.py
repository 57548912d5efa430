"""Small kits for Python around a client of OpenAI's, which an instrumentation of the client alone tells of."""

import pytest

from tests.runs.requests import chat, runs, span

pytestmark = pytest.mark.full


def _said(role, **part):
    return {"role": role, "parts": [part]}


def _asked(id, city):
    return _said("assistant", type="tool_call", id=id, name="look", arguments={"city": city})


def _back(id, text):
    return _said("tool", type="tool_call_response", id=id, response=text)


_GO = _said("user", type="text", content="go")


def test_magentic_calls_by_ids_of_its_own_what_a_model_asked_for():
    """magentic 0.41: the ids in its history are none that an answer told."""
    first, second = [_asked("h1", "Oslo"), _back("h1", "cold")], [_asked("h2", "Oslo"), _back("h2", "colder")]
    (run,) = runs(
        span(1, None, "Calling prompt-chain {func.__name__}", took=20),
        chat(2, 1, [("c1", "look", {"city": "Oslo"})], [_GO], at=1),
        chat(3, 1, [("c2", "look", {"city": "Oslo"})], [_GO, *first], at=3),
        chat(4, 1, [("c3", "look", {"city": "Rome"})], [_GO, *first, *second], at=5),
    )
    told = [(c["call_id"], c["status"], c["result"], c["turn"]) for c in run["tool_calls"]]
    assert told[:2] == [("c1", "ok", "cold", 0), ("c2", "ok", "colder", 1)]
    assert told[2][2] is None


def test_what_another_conversation_shows_is_no_result_of_a_call():
    """A history of before, in which the same was asked for."""
    before = [_GO, _asked("h1", "Oslo"), _back("h1", "cold"), _said("assistant", type="text", content="cold")]
    again = _said("user", type="text", content="again")
    (run,) = runs(
        span(1, None, "handle", took=20),
        chat(2, 1, [("c1", "look", {"city": "Oslo"})], [*before, again], at=1),
        chat(3, 1, "done", [*before, _said("user", type="text", content="never mind")], at=3),
    )
    assert [(c["call_id"], c["result"]) for c in run["tool_calls"]] == [("c1", None)]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ('Error: tool "look" does not exist', "requested"),
        ("Cancelled: not now", "unknown"),
        ("Error: no such city", "error"),
        ("cold", "ok"),
    ],
)
def test_llm_answers_for_tools_that_did_not_run(words, status):
    """llm 0.36: what a hook calls off, by words that a tool may have, too."""
    call = ("c1", "look", {"city": "Oslo"})
    later = [_GO, _asked("c1", "Oslo"), _back("c1", words)]
    (run,) = runs(span(1, None, "handle", took=9), chat(2, 1, [call], [_GO], at=1), chat(3, 1, "done", later, at=3))
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [(status, words)]


def test_what_parlant_asks_models_is_its_own():
    """Parlant 3.3: its steps are spans, its tools events of one, and its prompts and the JSON that it gets no words of
    anybody."""
    its = {"scope": "parlant.adapters.tracing.opentelemetry"}
    called = ("tc", {"tool_id": "local:look", "arguments": "{}", "result": '{"data": "cold"}'})
    (run,) = runs(
        span(1, None, "process", took=20, attributes={"session_id": "s1"}, **its),
        span(2, 1, "tool_caller", at=1, took=5, events=[called], **its),
        chat(3, 2, '{"applies": true}', "GENERAL INSTRUCTIONS: which tools?", at=2),
        span(4, 1, "message_generation", at=7, took=5, **its),
        chat(5, 4, '{"message": "Cold."}', "GENERAL INSTRUCTIONS: what to say?", at=8),
    )
    assert (run["input"], run["output"], run["tool_calls"], len(run["llm_calls"])) == (None, None, None, 2)
    assert {"input not reported", "tool calls not visible"} <= set(run["incomplete"])
