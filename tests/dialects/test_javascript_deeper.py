"""Runs of JavaScript kits, two agents deep, some of them at once, in which something fails."""

import pytest

from tests.runs.requests import agent, chat, runs, tool

_LOOP = {"scope": "gen_ai"}  # the AI SDK 7
_USED = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2}


def _why(*reasons, **more):
    return {"gen_ai.response.finish_reasons": list(reasons)} | more


def _asks(name, call):
    return [(call, name, {})]


@pytest.mark.parametrize("why", ["tool-calls", None])
def test_a_loop_that_says_why_it_ended_did_not_break_at_a_tool_that_threw(why):
    """It met a limit of steps; the answer that it puts out holds what all of its steps asked for."""
    (run,) = runs(
        agent(1, "planner", took=9, attributes=_why(why, **_USED) if why else {}, **_LOOP),
        chat(2, 1, _asks("look", "c1"), "go", at=1, attributes=_why("tool-calls"), **_LOOP),
        tool(3, 1, "look", "c1", at=3, error="boom", **_LOOP),
    )
    assert (run["status"] == "ok") == (why is not None)
    assert ("error" in run["boundaries"]) == (why is None and run["status"] == "error")


@pytest.mark.parametrize(
    ("ended", "lost"), [(_why("tool-calls"), True), ({}, True), (_why("tool-calls", **_USED), False)]
)
def test_a_loop_below_a_tool_that_counts_nothing_broke_in_a_step_of_which_nobody_tells(ended, lost):
    """Langfuse's integration of the AI SDK 7."""
    (run,) = runs(
        agent(1, "planner", took=20, attributes=_why("stop", **_USED), **_LOOP),
        chat(2, 1, _asks("ask_writer", "c1"), "go", at=1, **_LOOP),
        tool(3, 1, "ask_writer", "c1", at=3, took=9, error="server failed", **_LOOP),
        agent(4, "writer", 3, at=4, took=7, attributes=ended, **_LOOP),
        chat(5, 4, _asks("look", "c2"), "write", at=5, **_LOOP),
        tool(6, 4, "look", "c2", "fine", at=7, **_LOOP),
        chat(7, 1, "Done.", "go", at=14, **_LOOP),
    )
    assert (run["status"], run["output"]) == ("ok", "Done.")
    assert ("missing step" in run["incomplete"]) == lost
    assert ({"error", "rate_limit"} <= set(run["boundaries_unknown"])) == lost
