"""What is left when nobody knows the framework: all captures, read by the public conventions alone.

Taking out every table of a framework, a platform or a coding agent shows what an instrumentation comes to that no table
is for: right, unknown, or not seen at all, and hardly ever wrong. What is wrong is listed, and may only shrink.
"""

import os
from pathlib import Path

import pytest

from otelcov.dialects import asked, genai, kept, mcp, openinference, openllmetry
from otelcov.dialects.common import COMMON
from tests import captures
from tests.captures.scoring import MISSED, RIGHT, UNKNOWN, WRONG, Table, score

GOLDEN = Path(__file__).parent / "golden" / "conventions_alone.md"
CONVENTIONS = (
    openinference.OPENINFERENCE,
    genai.GENAI_ECHOES,
    genai.GENAI,
    openllmetry.OPENLLMETRY,
    mcp.MCP,
    genai.GENAI_KINDS,
    genai.GENAI_NAMES,
    openllmetry.OPENLLMETRY_NAMES,
    genai.GENAI_WORDS,
    COMMON,
)


def measured(name):
    table = Table()
    for dialect in captures.dialects(name):
        scenarios = captures.packed(name, dialect)
        score(table, scenarios, captures.as_json(captures.runs_of(scenarios)))
    return table


def told(tables):
    """A row a capture that is not all right or unknown, and one for all; then each wrong fact."""
    lines = ["| captures | right | unknown | missed | wrong |", "| --- | ---: | ---: | ---: | ---: |"]
    every, bad = dict.fromkeys((RIGHT, UNKNOWN, MISSED, WRONG), 0), []
    for table in tables:
        sums = {}
        for (dialect, _), cell in table.cells.items():
            for verdict, count in cell.items():
                sums.setdefault(dialect, dict.fromkeys(every, 0))[verdict] += count
                every[verdict] += count
        lines += [
            "| " + " | ".join([dialect, *(str(n) for n in row.values())]) + " |"
            for dialect, row in sums.items()
            if row[MISSED] or row[WRONG]
        ]
        bad += [line.split(":")[0] + ":" + line.split(":")[1] for line in table.bad if f" {WRONG}:" in line]
    lines.append("| " + " | ".join(["**all**", *(str(n) for n in every.values())]) + " |")
    return "\n".join([*lines, "", "Wrong:", "", *(f"- {line}" for line in sorted(bad)), ""])


@pytest.mark.full
def test_without_any_table_of_a_framework_what_is_told_is_right_or_unknown(monkeypatch):
    monkeypatch.setattr(asked, "_kept", lambda: None)
    monkeypatch.setattr(asked, "_installed", lambda: CONVENTIONS)
    monkeypatch.setattr(asked, "_ASKED", {})
    monkeypatch.setattr(kept, "keep", lambda *_: None)
    text = told([measured("corpus"), measured("more")])
    if os.environ.get("OTELCOV_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
