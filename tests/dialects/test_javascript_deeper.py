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
