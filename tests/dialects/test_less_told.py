"""All captures as instrumentations would have told them that leave something out: ids, roles, sessions, agents' names,
what tools were given, the spans of tools or agents.

What is left out may be missing, and what it alone told may be misread; how often is listed, and may only shrink.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.store.layout import from_requests
from tests import captures
from tests.captures.leaving_out import LEFT_OUT, without
from tests.captures.scoring import WRONG, Table, score

GOLDEN = Path(__file__).parent / "golden" / "less_told.md"


def _wrong(scenarios, bodies):
    """The facts that are told wrong, and calls that are said to have been refused and ran, each with its run."""
    table = Table()
    runs = captures.as_json(reconstruct(*from_requests(*bodies, 1), Config(), captures.LATER))
    score(table, scenarios, runs)
    found = {tuple(line.split(": ")[:2]) for line in table.bad if f" {WRONG}:" in line}
    for scenario in scenarios:
        for truth, ids in zip(scenario.runs, scenario.traces, strict=True):
            refused = Counter(c["name"] for c in truth["tool_calls"] if c["status"] == "requested_not_executed")
            told = [c for r in runs if ids & set(r["trace_ids"]) for c in r["tool_calls"] or []]
            if Counter(c["name"] for c in told if c["status"] == "requested") - refused:
                found.add((f"{scenario.dialect}/{scenario.name}#{truth['run']}", f"refused {WRONG}"))
    return found


def _less_told(name, dialect, what):
    """How many facts are wrong that were not, by fact."""
    scenarios = captures.packed(name, dialect)
    bodies = tuple([body for s in scenarios for body in s.bodies(signal)] for signal in ("traces", "logs"))
    known = _wrong(scenarios, bodies)
    for left_out in what:
        new = _wrong(scenarios, without(bodies, left_out)) - known
        yield left_out, Counter(fact.removesuffix(f" {WRONG}") for _, fact in new)


def _rows(some, what=LEFT_OUT):
    for name, dialect in some:
        for left_out, facts in _less_told(name, dialect, what):
            if facts:
                told = ", ".join(f"{fact} {count}" for fact, count in sorted(facts.items()))
                yield f"| {dialect} | {left_out} | {told} |"


EVERY = [(name, dialect) for name in ("corpus", "more") for dialect in captures.dialects(name)]


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_what_is_told_wrong_where_something_is_left_out():
    text = "\n".join(["| capture | left out | wrong |", "| --- | --- | --- |", *_rows(EVERY), ""])
    if os.environ.get("OTELCOV_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


@pytest.mark.full
def test_the_same_of_some():
    known = set(GOLDEN.read_text().splitlines())
    assert [row for row in _rows(EVERY[::16], LEFT_OUT[::5]) if row not in known] == []
