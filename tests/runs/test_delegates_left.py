"""What nobody can say of a run in which an agent that a tool called, or the last answer, was seen in part."""

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

_AGAIN = {"attributes": {"gen_ai.response.finish_reasons": ["tool_calls"]}}
_ENDED = {"attributes": {"gen_ai.response.finish_reasons": ["stop"]}}


def _said(text):
    return {"attributes": {"gen_ai.output.messages": [{"role": "assistant", "parts": text}]}}


def _team(writer, *steps, wrote=None, **more):
    return runs(
        agent(1, "planner", took=20),
        chat(2, 1, [("c1", "ask_writer", {})], "go", at=1, **_AGAIN),
        tool(3, 1, "ask_writer", "c1", wrote, at=3, took=8, **more),
        *([] if writer is None else [agent(4, "writer", 3, at=4, took=6, **writer)]),
        chat(5, 4, [("c2", "look", {})], "write", at=5, **_AGAIN),
        tool(6, 4, "look", "c2", "seen", at=7),
        *steps,
        chat(9, 1, "Done.", "go", at=14, **_ENDED),
    )


def _unknown(run):
    return set(run["boundaries_unknown"])


def test_an_agent_that_was_called_and_says_nothing_after_its_tools_may_have_met_a_limit():
    (run,) = _team(_said([]))
    assert {"max_steps", "cost_limit"} <= _unknown(run)
    assert "error" not in _unknown(run)


@pytest.mark.parametrize("told", [_said([{"type": "text", "content": "Wrote it."}]), {}])
def test_one_that_put_out_words_or_whose_tool_did_has_met_none(told):
    (run,) = _team(told, wrote=None if told else "Wrote it.")
    assert "max_steps" not in _unknown(run)


def test_one_that_puts_nothing_out_may_have_failed_in_what_it_asked_then():
    (run,) = _team({})
    assert {"max_steps", "error", "rate_limit", "length"} <= _unknown(run)


def test_one_whose_tool_gave_null_says_nothing():
    """As JSON, which tools of JavaScript give so that return nothing."""
    (run,) = _team({}, wrote="null")
    assert "max_steps" in _unknown(run)


def test_a_limit_in_the_words_of_a_tool_may_be_an_agents_below_it():
    (run,) = _team(None, error="Recursion limit of 9 reached without hitting a stop condition.")
    assert "max_steps" in _unknown(run)


def _step(id, parent, name, at, took=2, **more):
    told = {"openinference.span.kind": "CHAIN"}
    return span(id, parent, name, at=at, took=took, scope="openinference.x", attributes=told, **more)


def test_a_step_that_failed_with_nothing_in_it_may_have_asked_a_model_in_vain_as_others_of_its_name_asked_one():
    (run,) = runs(
        agent(1, "planner", took=20),
        _step(2, 1, "model_request", 1),
        chat(3, 2, [("c1", "look", {})], "go", at=1, **_AGAIN),
        tool(4, 1, "look", "c1", "seen", at=4),
        _step(5, 1, "model_request", 6, error="server failed"),
        _step(6, 1, "model_request", 9),
        chat(7, 6, "Done.", "go", at=9, **_ENDED),
    )
    assert {"error", "timeout", "rate_limit"} <= _unknown(run) | set(run["boundaries"])
    assert "missing step" in run["incomplete"]


def test_why_an_answer_that_has_not_come_ended_is_unknown():
    (run,) = runs(
        agent(1, "planner", took=20, **_said([{"type": "text", "content": "Cut sh"}])),
        chat(2, 1, [("c1", "look", {})], "go", at=1, **_AGAIN),
        tool(3, 1, "look", "c1", "seen", at=4),
    )
    assert "what came last is not visible" in run["incomplete"]
    assert {"length", "content_filter"} <= _unknown(run)


def test_an_agent_answered_unasked_though_its_caller_asked_a_model_as_it_ended():
    """Clocks that tell whole milliseconds let a call begin before what came before it has ended."""
    (run,) = runs(
        agent(1, "planner", took=20),
        chat(2, 1, [("c1", "ask_writer", {})], "go", at=1, **_AGAIN),
        tool(3, 1, "ask_writer", "c1", "Wrote it.", at=3, took=4),
        agent(4, "writer", 3, at=3, took=3),
        chat(5, 1, "Done.", "go", at=5.9, **_ENDED),
    )
    assert "missing step" in run["incomplete"]


def test_what_a_called_agent_asked_for_before_it_met_its_limit_of_turns_may_have_run():
    (run,) = _team(
        {"error": "Max turns (2) exceeded", **_said([])}, chat(7, 4, [("c3", "look", {"x": 1})], "write", at=8)
    )
    assert [c["status"] for c in run["tool_calls"]] == ["ok", "unknown"]


def test_an_agent_of_whose_last_tool_nobody_knows_how_it_went_may_have_met_a_limit():
    (run,) = runs(
        agent(1, "planner", took=20),
        chat(2, 1, [("c1", "ask_writer", {})], "go", at=1, **_AGAIN),
        tool(3, 1, "ask_writer", "c1", at=3, took=8),
        agent(4, "writer", 3, at=4, took=6, **_said([])),
        chat(5, 4, [("c2", "look", {})], "write", at=5, **_AGAIN),
        tool(6, 4, "look", "c2", at=7, error="boom"),
        chat(9, 1, "Done.", "go", at=14, **_ENDED),
    )
    assert {"max_steps", "cost_limit"} <= _unknown(run)


def test_what_a_request_gives_that_nobody_is_seen_to_have_made_is_not_what_the_user_said():
    """A loop of a program's own asks a model for another, whose call is the first that came."""
    asked = {"type": "tool_call", "id": "c1", "name": "ask_writer", "arguments": {"task": "write"}}
    heard = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}, {"role": "assistant", "parts": [asked]}]
    heard += [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "Wrote it."}]}]
    (run,) = runs(
        span(1, name="handle", took=20), chat(3, 1, "Wrote it.", "write", at=4), chat(4, 1, "Done.", heard, at=8)
    )
    assert (run["input"], "input not reported" in run["incomplete"]) == (None, True)


def test_a_step_that_failed_holding_only_what_made_the_prompt_may_have_asked_a_model_too():
    """LangGraph's supervisor for JavaScript, under OpenInference."""
    (run,) = runs(
        agent(1, "planner", took=20, error="server failed"),
        _step(2, 1, "RunnableSequence", 1, 3),
        _step(3, 2, "prompt", 1, 0.1),
        chat(4, 2, [("c1", "look", {})], "go", at=2, **_AGAIN),
        tool(5, 1, "look", "c1", "seen", at=5),
        _step(6, 1, "RunnableSequence", 7, error="server failed"),
        _step(7, 6, "prompt", 7, 0.1),
    )
    assert "missing step" in run["incomplete"]


def test_what_broke_a_run_unseen_may_have_been_the_length_of_an_answer():
    (run,) = runs(
        agent(1, "planner", took=20, error="it broke"),
        chat(2, 1, [("c1", "look", {})], "go", at=1, **_AGAIN),
        tool(3, 1, "look", "c1", "seen", at=4),
    )
    assert {"timeout", "length"} <= _unknown(run)
