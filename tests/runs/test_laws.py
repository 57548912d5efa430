"""The same spans are the same runs, however they came: byte for byte."""

import random
from functools import cache

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from otelcov.cli.commands import app
from otelcov.store import documents
from tests import captures
from tests.bench.generate import Traffic, requests
from tests.runs.requests import by_json, frames, merged, split, text

# What each tells in its own way: nested agents, handoffs, one trace a model call, logs, several services, sessions.
CAPTURES = (
    ("langgraph--openllmetry", ("S4", "S5", "S10", "S14")),
    ("openai-agents--openinference--mcp-tools", ("S4", "S8", "S10")),
    ("openai-loop--otel-openai-v2", ("S1", "S5", "S10")),
    ("otel-semconv--distributed", ("S5", "S10")),
    ("pydantic-ai--native-v1-logs", ("S3", "S5")),
    ("mcp-loop--mcp-sdk-native", ("S3", "S10")),
)
NAMES = [name for name, _ in CAPTURES] + ["generated"]


@cache
def traffic(name):
    if name == "generated":
        return tuple(("traces", r.body) for r in requests(Traffic(spans=2000, request_spans=64, unique=0.5)))
    wanted = dict(CAPTURES)[name]
    return tuple(r for s in captures.packed("corpus", name) if s.name in wanted for r in s.requests)


@cache
def told(name):
    return text(*frames(traffic(name)))


@pytest.mark.parametrize("name", NAMES)
def test_there_are_runs_to_compare(name):
    assert told(name).count("\n") >= 4


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=3, deadline=None)
@given(order=st.randoms(use_true_random=False))
def test_the_order_of_requests_does_not_matter(name, order):
    mixed = list(traffic(name))
    order.shuffle(mixed)
    assert text(*frames(mixed)) == told(name)


@pytest.mark.parametrize("name", NAMES)
def test_spans_sent_one_by_one_are_the_same_runs(name):
    alone = split(traffic(name))
    random.Random(1).shuffle(alone)
    assert text(*frames(alone)) == told(name)


@pytest.mark.parametrize("name", NAMES)
def test_all_in_one_request_is_the_same(name):
    assert text(*frames(merged(traffic(name)))) == told(name)


@pytest.mark.parametrize("name", NAMES)
def test_everything_sent_twice_counts_once(name):
    assert text(*frames([*traffic(name), *reversed(split(traffic(name)))])) == told(name)


@pytest.mark.parametrize("name", NAMES)
def test_json_says_what_protobuf_says(name):
    assert text(*frames(by_json(traffic(name)))) == told(name)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_rows_in_any_order_are_the_same_runs(name, seed):
    spans, logs = frames(traffic(name))
    assert text(
        spans.sample(fraction=1, shuffle=True, seed=seed), logs.sample(fraction=1, shuffle=True, seed=seed)
    ) == told(name)


@pytest.mark.parametrize("name", NAMES)
def test_other_traces_beside_it_do_not_change_a_run(name):
    """A window that holds more traffic holds the same runs of this one."""
    other = told("generated" if name != "generated" else NAMES[0])
    beside = traffic("generated" if name != "generated" else NAMES[0])
    both = text(*frames([*traffic(name), *beside]))
    assert sorted(both.splitlines()) == sorted([*told(name).splitlines(), *other.splitlines()])


@pytest.mark.parametrize("name", [NAMES[0], pytest.param("openai-loop--otel-openai-v2", marks=pytest.mark.full)])
def test_importing_once_or_often_or_an_export_gives_the_same_lines(name, tmp_path):
    def cli(*args):
        result = CliRunner().invoke(app, [*args])
        assert result.exit_code == 0, result.output
        return result.stdout

    def lines(store):
        return cli("runs", "--store", str(store), "--since", "all", "--format", "jsonl")

    files = tmp_path / "files"
    files.mkdir()
    for number, (signal, body) in enumerate(traffic(name)):
        (files / f"{number:04}.{signal}.pb").write_bytes(body)
    cli("import", str(files), "--store", str(tmp_path / "once"))
    once = lines(tmp_path / "once")
    parts = sorted(files.iterdir(), reverse=True)
    for some in (parts[::2], parts[1::2], parts[:3]):
        cli("import", *map(str, some), "--store", str(tmp_path / "often"))
    assert lines(tmp_path / "often") == once
    (tmp_path / "all.jsonl").write_bytes(b"".join(documents.json_line(*r) for r in traffic(name)))
    cli("import", str(tmp_path / "all.jsonl"), "--store", str(tmp_path / "json"))
    assert lines(tmp_path / "json") == once
    for format, target in (("otlp-json", tmp_path / "out.jsonl"), ("otlp", tmp_path / "out")):
        cli("export", "--store", str(tmp_path / "once"), "--since", "all", "--format", format, "--output", str(target))
        cli("import", str(target), "--store", str(tmp_path / f"again-{format}"))
        assert lines(tmp_path / f"again-{format}") == once


def test_lines_are_what_run_json_says(tmp_path):
    import json

    from otelcov.ground.config import Config
    from otelcov.runs import run_json
    from otelcov.runs.lines import json_lines

    config = Config()
    sides = {name: side for side, names in vars(config.sides).items() for name in names}
    whole = pl.concat([captures.runs_of(captures.packed("corpus", name)) for name, _ in CAPTURES])
    lines = "".join(json_lines(whole, config)).splitlines()
    expected = [run_json(row, sides) for row in whole.iter_rows(named=True)]
    assert [json.loads(line) for line in lines] == expected
    assert [list(json.loads(line)) for line in lines] == [list(run) for run in expected]
