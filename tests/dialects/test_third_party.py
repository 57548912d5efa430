"""A new instrumentation is one file: here a stranger's package brings one, by an entry point."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from otelcov.dialects.asked import keys
from otelcov.dialects.base import Dialect
from otelcov.ground.errors import OtelcovError

DIALECT = """
from otelcov.dialects.base import AGENT, LLM, TOOL, Dialect, first, value

ACME = Dialect(
    name="acme",
    kind=value("acme.what", boss=AGENT, brain=LLM, hand=TOOL),
    agent=first("acme.who"),
    tool=first("acme.hand"),
    arguments=first("acme.given"),
    result=first("acme.got"),
    request_model=first("acme.brain"),
    input_tokens=first("acme.read"),
    output_tokens=first("acme.wrote"),
)
"""
TRACE = """
import json
from tests.runs import requests as r
found = r.runs(
    r.span(1, None, "work", acme__what="boss", acme__who="ann", took=9),
    r.span(2, 1, "think", acme__what="brain", acme__brain="m-1", acme__read=7, acme__wrote=3),
    r.span(3, 1, "lift", acme__what="hand", acme__hand="lift", acme__given='{"kg": 5}', acme__got="up", at=2),
)
print(json.dumps(found))
"""


def told(path):
    done = subprocess.run(
        [sys.executable, "-c", TRACE],
        cwd=Path(__file__).parents[2],
        env={"PYTHONPATH": str(path), "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_a_strangers_dialect_is_one_file_and_an_entry_point(tmp_path):
    assert [run for run in told(tmp_path) if run["tool_calls"]] == []  # nobody knows these spans yet
    (tmp_path / "acme_otelcov.py").write_text(DIALECT)
    info = tmp_path / "acme_otelcov-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-otelcov\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[otelcov.dialects]\nacme = acme_otelcov:ACME\n")
    (run,) = told(tmp_path)
    assert run["agents"] == ["ann"]
    assert [(c["request_model"], c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [("m-1", 7, 3)]
    assert [(c["name"], c["agent"], c["status"], c["arguments"], c["result"]) for c in run["tool_calls"]] == [
        ("lift", "ann", "ok", {"kg": 5}, "up")
    ]


def test_an_answer_of_several_columns_is_refused():
    with pytest.raises(OtelcovError, match=r"Dialect 'acme', tool: .* first\(\.\.\.\)"):
        keys((Dialect(name="acme", tool=pl.coalesce(pl.col("acme.hand", "acme.foot"))),))
