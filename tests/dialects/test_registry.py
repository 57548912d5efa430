"""How facts are found fast, and that this changes none of them."""

from __future__ import annotations

import polars as pl
import pytest

from otelcov.dialects import asked, facts
from otelcov.dialects.answers import Answer
from otelcov.dialects.base import matches
from otelcov.runs.trace.spans import table
from otelcov.store.layout import from_requests
from tests.captures import LATER, Scenario, dialects, packed

NAMES = ["", "mcp", "mcps", "a.mcp", "mlflow.x", "mlflowx", "xmlflow.", "@mastra/core", "A-b", "mastra", "a\nmcp", None]
PATTERNS = [
    *("mcp$", "^mcp", "^mcp$", "mcp", r"^mlflow\.", r"\.mcp$", "^@mastra/", "^A-b$"),
    *("^mlflow.", "mcp|mastra", r"^mcp\b", "(?i)^a-B$", "^$", "", r"mc[p]", r"\w"),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_word_is_found_where_its_pattern_is(pattern: str) -> None:
    names = pl.DataFrame({"name": pl.Series(NAMES, dtype=pl.String)})
    found = names.select(fast=matches("name", pattern), slow=pl.col("name").str.contains(pattern))
    assert found["fast"].equals(found["slow"])


def _facts(scenario: Scenario) -> pl.DataFrame:
    return table(*from_requests(scenario.bodies("traces"), scenario.bodies("logs"), LATER))[0]


@pytest.mark.full
def test_what_was_told_of_other_batches_changes_no_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    some = [scenario for dialect in dialects("corpus")[::9] for scenario in packed("corpus", dialect)[:1]]
    alone = []
    for scenario in some:
        facts._TOLD.clear()
        asked._ASKED.clear()
        alone.append(_facts(scenario))
    facts._TOLD.clear()
    monkeypatch.setattr(asked, "_MOST_KNOWN", 3)
    for rows, size in ((2_000, 8 << 20), (2_000, 60_000), (20, 8 << 20)):
        monkeypatch.setattr(facts, "_MOST_ROWS", rows)
        monkeypatch.setattr(facts, "_MOST_BYTES", size)
        for _ in range(2):
            for scenario, told in zip(some, alone, strict=True):
                assert _facts(scenario).equals(told), scenario.name
                assert sum(frame.estimated_size() for frame in facts._TOLD.values()) <= size
        assert facts._TOLD and 0 < len(asked._ASKED) <= 3
        facts._TOLD.clear()


def test_a_column_of_several_values_on_which_nothing_depends_is_none_of_few() -> None:
    frame = pl.DataFrame(
        {"span.name": ["x", "y"] * 100, "count": [str(n) for n in range(100)] * 2, "word": ["w"] * 200}
    )
    told = [Answer.of(pl.when(pl.col("span.name") == "x").then(pl.col(name)).otherwise(None)) for name in frame.columns]
    assert facts._few(frame, told) == ["span.name", "word"]
    more = Answer.of(pl.when(pl.col("count") == "7").then(pl.col("word")).otherwise(None))
    assert facts._few(frame, [*told, more]) == ["count", "span.name", "word"]
