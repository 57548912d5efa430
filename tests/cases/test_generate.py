"""From traces to tests: written cases can be read, pass on the runs they came from, and beat random runs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml

from otelcov.cases import generate, judge, parse, read
from otelcov.cases.redact import Redactor
from otelcov.ground import settings
from otelcov.ground.config import Config
from tests.cases.test_datasets import runs as dataset
from tests.coverage.build import frame, run

SETS = [
    ("tau2-airline", "semconv"),
    ("agentrx-retail", "openllmetry"),
    pytest.param("tau2-orchestra", "openllmetry", marks=pytest.mark.full),
    pytest.param("tau2-telecom-solo", "openinference", marks=pytest.mark.full),
    pytest.param("tau2-airline", "semconv-turns", marks=pytest.mark.full),
]


@pytest.mark.parametrize(("name", "dialect"), SETS)
@pytest.mark.parametrize("most", [1, 5, 20])
def test_written_cases_pass_on_their_sources_and_cover_more_than_random_runs(
    name: str, dialect: str, most: int
) -> None:
    """A tenth of the runs are the tests; what production alone did is to be covered."""
    runs = dataset(name, dialect)
    environment = pl.when(pl.int_range(pl.len()) % 10 == 0).then(pl.lit("test")).otherwise(pl.lit("production"))
    runs = runs.with_columns(environment=environment)
    by_run, masses = generate.obligations(runs, Config())
    chosen = generate.choose(by_run, masses, most, generate.usable(runs))
    written = generate.dump(generate.cases(runs, chosen, Config()), chosen)
    cases = parse(yaml.safe_load(written))
    assert len(cases) == len(chosen.run_ids) <= most
    found = judge(cases, runs)
    assert {c.case.name: c.reason for c in found.cases if c.result != "pass"} == {}
    for case in found.cases:
        assert case.case.source is not None
        source = case.case.source["run"]
        passed = {found.runs["run_id"][j.row] for turn in case.turns[-1:] for j in turn.judged if j.result == "pass"}
        assert source in passed
    covered, drawn = chosen.covered / chosen.total, chosen.random / chosen.total
    print(f"{name} {dialect}: {len(cases)} cases cover {covered:.3f}, random runs {drawn:.3f}")
    assert chosen.covered >= chosen.random


def test_the_fewest_runs_are_taken() -> None:
    runs = frame(
        run("a", environment="production", number=1),
        run("b", environment="production", number=2),
        run("a", "b", environment="production", number=3),
    )
    by_run, masses = generate.obligations(runs, Config())
    tools_alone = {r: [i for i in items if masses[i] > 1] for r, items in by_run.items()}
    assert len(generate.choose(tools_alone, masses, 10).run_ids) == 1


def test_what_tests_exercised_is_no_gap() -> None:
    runs = frame(
        run("a", environment="test", agents=["x"], number=1),
        run("a", environment="production", agents=["x"], number=2),
    )
    assert generate.obligations(runs, Config()) == ({}, [])


def test_private_data_becomes_a_wildcard_that_still_finds_its_run() -> None:
    told = "Mail ada.lovelace@example.org or call +44 20 7946 0958, card 4111 1111 1111 1111,"
    told += " key sk-abcdef1234567890ABCDEF12"
    one = run("send", environment="production", input=told, number=1)
    one["tool_calls"][0]["arguments"] = '{"to": "ada.lovelace@example.org", "n": 2.0, "copy": ["ada@example.org"]}'
    runs = frame(one)
    by_run, masses = generate.obligations(runs, Config())
    chosen = generate.choose(by_run, masses, 5)
    text = generate.dump(generate.cases(runs, chosen, Config()), chosen)
    for private in ("ada", "lovelace", "7946", "4111", "sk-abc"):
        assert private not in text.replace("data", "")
    assert judge(parse(yaml.safe_load(text)), runs).result == "pass"


@pytest.mark.parametrize("text", ["a\x85b", "a\u2028b", "\ufeffa", "2025-09-05", "12:30", "no", "🙂", "a\tb: #c"])
def test_every_letter_of_an_input_is_read_as_it_was_written(text: str, tmp_path: Path) -> None:
    runs = frame(run("send", environment="production", input=text, number=1))
    chosen = generate.choose(*generate.obligations(runs, Config()), 5)
    file = tmp_path / "cases.yaml"
    file.write_text(generate.dump(generate.cases(runs, chosen, Config()), chosen), encoding="utf-8")
    assert judge(read(file), runs).result == "pass"


def test_patterns_of_the_config_are_redacted_too() -> None:
    assert Redactor().pattern("order W2378156 please") is None
    pattern = Redactor([r"W\d{7}"]).pattern("order W2378156 please")
    assert pattern is not None
    assert "W23" not in pattern


def test_a_run_in_a_conversation_brings_the_turns_before_it() -> None:
    talk = [
        run("a", environment="production", input=text, conversation_id="c", at=at, number=at)
        for at, text in enumerate(("hello", "go on", "go on"))
    ]
    talk[2] = run("b", environment="production", input="go on", conversation_id="c", at=2, number=2)
    runs = frame(run("a", environment="test", number=9), *talk)
    by_run, masses = generate.obligations(runs, Config())
    chosen = generate.choose(by_run, masses, 1)
    (case,) = generate.cases(runs, chosen, Config())
    assert [turn.get("input") for turn in case["turns"]] == ["hello", "go on", "go on"]
    assert judge(parse([case]), runs).result == "pass"


def test_a_case_of_a_run_that_did_what_is_restricted_says_so() -> None:
    runs = frame(
        run("a/search", environment="test", number=1),
        run("a/search", "a/delete", environment="production", number=2),
        run("a/search", "b/delete", environment="production", number=3),
    )
    config = settings.of({"agents": {"a": {"restricted": ["delete"]}}})
    chosen = generate.choose(*generate.obligations(runs, config), 5)
    told = {case["source"]["run"]: case.get("description") for case in generate.cases(runs, chosen, config)}
    said = "Calls what is restricted (delete): what happened, not what should."
    assert [told[run_id] for run_id in runs["run_id"][1:]] == [said, None]
