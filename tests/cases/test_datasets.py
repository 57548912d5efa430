"""Reference actions of real agent runs: the six verdicts of every run are those of independent code."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from otelcov.cases import judge, parse
from otelcov.cases.summary import confusion
from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.store.layout import from_requests
from tests.coverage.shared import shared

ROOT = shared("datasets")
VERDICTS = {
    "calls_exact": ("exact", "exact"),
    "calls_in_order": ("contains_in_order", "exact"),
    "calls_any_order": ("contains", "exact"),
    "names_exact": ("exact", "ignore"),
    "names_in_order": ("contains_in_order", "ignore"),
    "names_any_order": ("contains", "ignore"),
}
_SETS = {
    "tau2-airline": ("semconv", "openinference", "openllmetry", "semconv-json", "llm_only"),
    "tau2-orchestra": ("openllmetry",),
    "tau2-telecom": ("semconv",),
    "tau2-telecom-solo": ("openinference",),
    "agentrx-retail": ("openllmetry",),
}
SETS = [
    pytest.param(name, dialect, marks=() if number == 0 else pytest.mark.full)
    for name, dialects in _SETS.items()
    for number, dialect in enumerate(dialects)
]
# In tau2-telecom the user calls tools too; the reference actions are the assistant's.
AGENTS = {"tau2-telecom": ["telecom_agent"]}


@cache
def truth(name: str) -> dict[str, Any]:
    if not ROOT.is_dir():
        pytest.skip("../shared/datasets is absent: nothing was compared with real agent runs")
    found: dict[str, Any] = json.loads((ROOT / name / "truth.json").read_text())
    return found


@cache
def runs(name: str, dialect: str) -> pl.DataFrame:
    truth(name)
    folder: Path = ROOT / name / dialect
    requests = [path.read_bytes() for path in sorted(folder.glob("req-*.binpb"))]
    if not requests:
        from otelcov.store import files

        found = [r for path in files.find([folder]) for r in files.requests(path)]
        requests = [r.body for r in found if isinstance(r, files.Request) and r.signal == "traces"]
    spans, logs = from_requests(requests, [], 0)
    return reconstruct(spans.lazy(), logs.lazy(), Config(), 2**62)


@cache
def judged(name: str, dialect: str) -> dict[str, Any]:
    cases = []
    for run in truth(name)["runs"]:
        calls = [
            {"tool_name": e["name"], "tool_parameters": e["args"]} for e in run["expected"] if e["by"] == "assistant"
        ]
        for verdict, (mode, arguments) in VERDICTS.items():
            cases.append(
                {
                    "name": f"{run['run']} {verdict}",
                    "select": {"trace": run["trace_id"]},
                    "expected_tool_calls": calls,
                    "trajectory": mode,
                    "arguments": arguments,
                    "outcome": "any",
                    "recorded": run["reward"],
                }
            )
    return {
        verdict: judge(
            parse([c for c in cases if c["name"].endswith(f" {verdict}")]),
            runs(name, dialect),
            agents=AGENTS.get(name, []),
        )
        for verdict in VERDICTS
    }


@pytest.mark.parametrize(("name", "dialect"), SETS)
def test_the_six_verdicts_of_every_run_are_those_of_the_original_files(name: str, dialect: str) -> None:
    found = judged(name, dialect)
    wrong = {}
    for run in truth(name)["runs"]:
        for verdict in VERDICTS:
            result = next(c.result for c in found[verdict].cases if c.case.name == f"{run['run']} {verdict}")
            if result != ("pass" if run["match"][verdict] else "fail"):
                wrong[run["run"], verdict] = result
    assert wrong == {}


@pytest.mark.parametrize(("name", "dialect"), SETS)
def test_the_confusion_of_verdict_against_reward_is_that_of_the_original_files(name: str, dialect: str) -> None:
    expected = truth(name)["overall"]["match_against_reward"]
    for verdict, judgement in judged(name, dialect).items():
        got = confusion(judgement)
        assert got is not None
        assert {k: got[k] for k in expected[verdict]} == expected[verdict], verdict
        assert got["no_data"] == 0
