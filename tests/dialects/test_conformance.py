"""Every packed capture against its truth. The golden tables are what the README sums up.

`OTELCOV_GOLDEN=1 pytest tests/dialects` writes them anew.
"""

import os
from functools import cache
from pathlib import Path

import pytest

from tests import captures
from tests.captures.scoring import MISSED, WRONG, Table, markdown, score

GOLDEN = Path(__file__).parent / "golden"
SETS = ("corpus", "more")


@cache
def measured(name: str) -> Table:
    table = Table()
    for dialect in captures.dialects(name):
        scenarios = captures.packed(name, dialect)
        score(table, scenarios, captures.as_json(captures.runs_of(scenarios)))
    return table


@pytest.mark.parametrize("name", SETS)
def test_nothing_is_wrong_and_nothing_is_silently_missing(name):
    table = measured(name)
    assert table.cells
    assert table.bad == []
    assert sum(cell[WRONG] + cell[MISSED] for cell in table.cells.values()) == 0


@pytest.mark.parametrize("name", SETS)
def test_the_table_of_what_is_known_is_the_golden_one(name):
    text = markdown(measured(name))
    golden = GOLDEN / f"{name}.md"
    if os.environ.get("OTELCOV_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()
