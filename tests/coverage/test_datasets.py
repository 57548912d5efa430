"""Real public agent runs: what independent code counted in them is reproduced from their spans.

The spans are read through the whole pipeline; the data stays outside the repository.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from otelcov.coverage.observations import partial
from otelcov.coverage.snapshot import snapshot
from otelcov.ground import windows
from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.store.layout import from_requests
from otelcov.verdicts import gates
from tests.coverage.shared import shared

ROOT = shared("datasets")
_SETS = [
    (folder.parent.name, dialect.name)
    for folder in sorted(ROOT.glob("*/truth.json"))
    for dialect in sorted(p for p in folder.parent.iterdir() if p.is_dir())
    if folder.parent.name != "native" and dialect.name != "semconv-turns"
] or [("absent", "absent")]
# By default one dialect of each small set; `-m full` reads all.
_LARGE = ("toolbench", "agentrx-retail", "tau2-orchestra", "tau2-telecom")
_QUICK = {name: dialect for name, dialect in reversed(_SETS) if name not in _LARGE}
SETS = [pytest.param(*pair, marks=() if _QUICK.get(pair[0]) == pair[1] else pytest.mark.full) for pair in _SETS]
NAMES = {"n": "n", "distinct": "distinct", "f1": "f1", "f2": "f2", "good_turing": "good_turing", "chao1": "chao1_bc"}


@cache
def _truth(name: str) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((ROOT / name / "truth.json").read_text())
    return truth


@cache
def _runs(name: str, dialect: str) -> pl.DataFrame:
    if name == "absent":
        pytest.skip("../shared/datasets is absent: nothing was compared with real agent runs")
    folder: Path = ROOT / name / dialect
    requests = [path.read_bytes() for path in sorted(folder.glob("req-*.binpb"))]
    if not requests:
        from otelcov.store import files

        found = [request for path in files.find([folder]) for request in files.requests(path)]
        requests = [r.body for r in found if isinstance(r, files.Request) and r.signal == "traces"]
    spans, logs = from_requests(requests, [], 0)
    return reconstruct(spans.lazy(), logs.lazy(), Config(), 2**62)


@pytest.mark.parametrize(("name", "dialect"), SETS)
def test_sequences_and_bigrams_are_those_of_the_original_files(name: str, dialect: str) -> None:
    runs = _runs(name, dialect)
    agents = ["telecom_agent"] if name == "tau2-telecom" else []
    coverage = snapshot(partial(runs, Config(), agents), Config())["coverage"]
    for part, truth in (("sequences", "paths"), ("bigrams", "bigrams")):
        expected = _truth(name)["overall"][truth]
        assert {k: coverage[part][k] for k in NAMES} == pytest.approx(
            {k: expected[v] for k, v in NAMES.items()}, abs=1e-6
        )


@pytest.mark.parametrize(("name", "dialect"), SETS)
def test_windows_hold_the_runs_tools_and_models_of_the_original_files(name: str, dialect: str) -> None:
    runs = _runs(name, dialect)
    for window in _truth(name)["overall"].get("windows", []):
        asked = windows.parse(window["since"], window["until"], 0)
        start = pl.col("start_unix_nano")
        inside = runs.filter((start >= asked.since_ns) & (start < asked.until_ns))
        shot = snapshot(partial(inside, Config()), Config())
        tool = next(d for d in shot["coverage"]["dimensions"] if d["dimension"] == "tool")
        assert shot["runs"]["total"] == window["runs"]
        assert sorted(tool["covered_items"]) == sorted(window["tools"])
        assert shot["metrics"]["tool_calls"] == window["tool_calls"]
        assert shot["coverage"]["sequences"]["distinct"] == window["paths"]


@pytest.mark.parametrize(("name", "dialect"), SETS)
def test_the_tool_edge_gate_gives_the_numbers_of_the_original_files(name: str, dialect: str) -> None:
    runs = _runs(name, dialect)
    for title, truth in (_truth(name)["overall"].get("gates") or {}).items():
        edges = {k: truth[k] for k in ("allowed", "restricted") if k in truth}
        edges["delegation"] = [{"from": a, "to": b} for a, b in truth.get("delegation") or []]
        file = gates.GateFile.model_validate({"agents": [{"name": title, "tool_edges": edges}]})
        result = gates.judge(file, runs, Config(), per_run=True)["entries"][0]
        targets = {k.removeprefix("edges."): v for k, v in result["targets"].items()}
        assert targets == pytest.approx(truth["overall"], abs=1e-6), title
        per_run = {
            trace: [row[f"edges.{k}"] for k in ("allowed_pct", "restricted_attempts", "delegation_pct")]
            for row in result["per_run"]
            for trace in row["trace_ids"]
        }
        for trace, expected in truth["per_run"].items():
            assert per_run[trace] == pytest.approx(expected, abs=1e-6)
