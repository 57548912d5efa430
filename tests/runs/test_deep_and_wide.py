"""Deep nests and wide fans of whatever went well or failed: a span costs no more for what is above or beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.runs.growth import growth
from tests.runs.requests import agent, chat, span, tool

Spans = list[dict[str, Any]]
LINEAR = 5  # times the work for four times the spans
STEP, LONG = 0.001, 100


def _of(kind: str, id: int, parent: int, at: float, took: float, error: str | None) -> dict[str, Any]:
    more = {"at": at, "took": took, "error": error}
    if kind == "agent":
        return agent(id, f"a{id % 3}", parent, **more)
    if kind == "tool":
        return tool(id, parent, f"t{id % 3}", f"c{id}", None if error else "3", **more)
    if kind == "llm":
        return chat(id, parent, None if error else "x", "go", **more)
    return span(id, parent, "step", openinference__span__kind="CHAIN", **more)


def _nest(kinds: Sequence[str], count: int, failed: str) -> Spans:
    """These kinds in turn, in each other, and a model's call in the innermost; before, the outermost agent asks."""
    spans = [agent(1, "a", took=LONG), chat(2, 1, [("c3", "t0", {})], "go", at=STEP, took=STEP)]
    parent = 1
    for i in range(count):
        id, at = i + 3, (2 * i + 4) * STEP
        fails = failed == "all" or (failed == "below" and 2 * i > count)
        spans.append(_of(kinds[i % len(kinds)], id, parent, at, LONG - 2 * at, "boom" if fails else None))
        parent = id
    return [*spans, chat(count + 3, parent, None, "go", at=(2 * count + 4) * STEP, took=STEP, error="boom")]


def _fan(kind: str, count: int, failed: str) -> Spans:
    """An agent that holds so many of a kind, one after another."""
    spans = [agent(1, "a", took=LONG)]
    for i in range(count):
        fails = failed == "all" or (failed == "below" and i % 2 > 0)
        at, error = (4 * i + 1) * STEP, "boom" if fails else None
        spans.append(_of(kind, 2 * i + 2, 1, at, 3 * STEP, error))
        if kind in ("agent", "chain"):
            answer = None if fails else "x"
            spans.append(chat(2 * i + 3, 2 * i + 2, answer, "go", at=at + STEP, took=STEP, error=error))
    return spans


NESTS = [
    (["agent"], "all"),
    (["agent"], "below"),
    (["tool"], "below"),
    *(
        pytest.param(*one, marks=pytest.mark.full)
        for one in [(["tool"], "none"), (["tool"], "all"), (["llm"], "below")]
    ),
    *(
        pytest.param([*some, "tool"], "below", marks=pytest.mark.full)
        for some in (["agent"], ["llm"], ["agent", "chain"])
    ),
    (["chain", "agent"], "below"),
]


@pytest.mark.parametrize(("kinds", "failed"), NESTS)
def test_what_lies_in_a_deep_nest_costs_no_more_each(kinds: Sequence[str], failed: str) -> None:
    assert growth(lambda n: _nest(kinds, n, failed)) < LINEAR


@pytest.mark.parametrize("failed", ["all", "below"])
@pytest.mark.parametrize(
    "kind", ["agent", *(pytest.param(k, marks=pytest.mark.full) for k in ("tool", "llm", "chain"))]
)
def test_what_lies_beside_many_costs_no_more_each(kind: str, failed: str) -> None:
    assert growth(lambda n: _fan(kind, n, failed)) < LINEAR
