"""The rules on recorded traffic with independent truth (tests/bench/rules.py prints the whole table)."""

from __future__ import annotations

import json

import pytest

from otelcov.ground.config import Config
from tests.bench import rules
from tests.coverage.shared import shared

CORPUS, DATASETS = shared("corpus"), shared("datasets")


@pytest.mark.full
def test_a_recorded_corpus_shows_no_wrong_finding(tmp_path):
    dialect = CORPUS / "pydantic-ai--native-v5"
    if not dialect.is_dir():
        pytest.skip("../shared/corpus is absent: no rule was held against recorded traffic")
    (tmp_path / dialect.name).symlink_to(dialect)
    scores = dict(rules.corpus(tmp_path))
    assert [line for score in scores.values() for line in score.told] == []
    assert scores["restricted call, corpus S8"].right == 2
    assert scores["repeated call, corpus S12"].right == 2
    assert scores["tool error, corpus S3 and S3b"].right > 0


def test_tool_errors_are_those_of_real_runs():
    if not DATASETS.is_dir():
        pytest.skip("../shared/datasets is absent: no rule was held against real agent runs")
    folder = DATASETS / "tau2-airline"
    truth = json.loads((folder / "truth.json").read_text())
    traces = {r["trace_id"]: r["run"] for r in truth["runs"]}
    found = rules.by_run(rules.read(folder / "semconv", Config()), traces)
    errors = {run: len([f for f in proved if f.rule == "tool_error"]) for run, proved in found.items()}
    assert errors == {r["run"]: len({*r["errors"], *r["soft_errors"]}) for r in truth["runs"]}


# What the README says: (right, wrong, missed).
TABLE = {
    "restricted call, corpus S8": (52, 0, 2),
    "restricted call, corpus without S8": (9, 0, 0),
    "repeated call, corpus S12": (48, 0, 4),
    "repeated call, corpus without S12": (0, 0, 0),
    "tool error, corpus S3 and S3b": (102, 0, 4),
    "tool error, corpus without S3": (9, 0, 0),
    "repeated call, agentrx-retail": (8, 0, 0),
    "repeated call, tau2-orchestra": (17, 0, 1),
    "repeated call, tau2-telecom": (21, 0, 0),
    "repeated call, tau2-telecom-solo": (54, 0, 0),
    "never offered, toolbench": (42, 0, 0),
    "tool error (hard and soft), whowhen-ag2": (90, 0, 0),
    "blame, whowhen-ag2": (39, 28, 87),
}


@pytest.mark.full
@pytest.mark.timeout(900)
def test_the_table_of_the_readme_holds():
    if not CORPUS.is_dir() or not DATASETS.is_dir():
        pytest.skip("../shared is absent: the rules were held against nothing")
    scores = {**dict(rules.corpus(CORPUS)), **dict(rules.datasets(DATASETS))}
    for title, (right, wrong, missed) in TABLE.items():
        score = scores[title]
        assert score.right >= right, title
        assert score.wrong <= wrong, title
        assert score.missed <= missed, title
