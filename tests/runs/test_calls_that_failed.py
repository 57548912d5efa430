"""Model calls that failed, and what is told of a run that went on after them."""

import pytest

from tests.runs.requests import agent, chat, runs, span, tool


def _failed(id, parent, at):
    told = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "m", "error__type": "RateLimitError"}
    return span(id, parent, name="chat m", at=at, error="Too many requests.", **told)


@pytest.mark.parametrize(("output", "status"), [("Rome has 21 degrees.", "unknown"), (None, "error")])
def test_a_loop_that_put_out_words_may_have_asked_again_after_the_call_that_failed(output, status):
    told = {"openinference__span__kind": "AGENT", "input__value": "Rome?"}
    told |= {"output__value": output, "status": 1} if output else {}
    (run,) = runs(span(1, name="planner", took=20, **told), chat(2, 1, [("c1", "look", {})], at=1), _failed(3, 1, 5))
    assert (run["status"], run["output"]) == (status, None)
    assert "error" in run["boundaries"]


def test_a_model_call_that_failed_asked_for_no_tool():
    (run,) = runs(
        agent(1, "planner", took=20),
        _failed(2, 1, 1),
        tool(3, 1, "look", "c1", "21", at=5),
        chat(4, 1, "Rome has 21.", at=7),
    )
    assert [c["turn"] for c in run["tool_calls"]] == [None]


@pytest.mark.parametrize(("message", "status"), [(None, "unknown"), ("Boom: it broke", "error")])
def test_what_a_gateway_wrote_on_a_span_of_the_programs_tells_of_one_call(message, status):
    """LiteLLM sets the status of the span that is current where a model's call failed, without a word."""
    told = {"litellm__call_id": "x", "error__type": "RateLimitError"}
    told |= {"error": message} if message else {"status": 2}
    (run,) = runs(agent(1, "planner", took=20, **told), tool(2, 1, "look", "c1", "21", at=5))
    assert run["status"] == status


@pytest.mark.parametrize(
    ("kind", "words", "seen"),
    [
        ("TypeError", "create() got an unexpected keyword argument 'timeout'", []),
        ("ImportError", "cannot import name 'RateLimitError' from 'openai'", []),
        ("KeyError", "'max_iterations'", []),
        ("ReadError", "'timeout'", ["timeout"]),
        ("TypeError", "Request timed out", ["timeout"]),
    ],
)
def test_what_a_program_gets_wrong_about_a_name_is_no_limit_that_bears_it(kind, words, seen):
    event = ("exception", {"exception.type": kind, "exception.message": words})
    failed = {"error": words, "events": [event]}
    (run,) = runs(agent(1, "a", took=9, **failed), chat(2, 1, asked="go", at=1, **failed))
    assert [b for b in run["boundaries"] if b != "error"] == seen
