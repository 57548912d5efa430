"""Tools of one answer of which some were lost, where the run failed with one of them."""

import pytest

from tests.runs.requests import chat, runs, span, tool

OFFERED = {"gen_ai.tool.definitions": [{"type": "function", "name": n} for n in ("look", "find", "save")]}


def _answer(*names):
    calls = [(f"c{n}", name, {"n": n}) for n, name in enumerate(names)]
    return chat(2, 1, calls, "go", at=1, attributes=OFFERED)


def _frame(why="no such place"):
    return span(1, None, "generate", took=9, error=why, scope="kit")


def _told(run):
    return {c["name"]: c["status"] for c in run["tool_calls"]}


@pytest.mark.parametrize(
    ("beside", "status"), [(tool(4, 1, "save", call="c2", at=3.1, took=2), "unknown"), (None, "requested")]
)
def test_what_was_asked_for_after_one_that_took_the_run_along_may_have_run_where_tools_run_at_once(beside, status):
    (run,) = runs(
        _frame(),
        _answer("find", "look", *(["save"] if beside else [])),
        tool(3, 1, "find", call="c0", at=3, took=1, error="no such place"),
        *([beside] if beside else []),
    )
    assert _told(run)["look"] == status


@pytest.mark.parametrize(
    ("why", "name", "status"),
    [
        ("no such place", "look", "unknown"),
        ("no such place", "nobodys", "requested"),  # which the run does not have
        ("it is full", "look", "requested"),  # the other says so
    ],
)
def test_where_a_run_failed_by_nothing_that_is_told_a_tool_without_a_span_may_have_failed(why, name, status):
    (run,) = runs(
        _frame(why),
        _answer("find", name),
        tool(3, 1, "find", call="c0", at=3, took=1, error="it is full"),
    )
    assert _told(run)[name] == status
