"""Runs at one moment, as of a service that many use: they are told apart as those one after another are."""

import random

import polars as pl
import pytest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.store.layout import from_requests
from tests import captures
from tests.captures import LATER, as_json
from tests.runs.requests import SECOND, T0

# Those that open traces of their own for each model call or tool.
LOOSE = (
    *("langgraph--openllmetry", "mcp-loop--mcp-sdk-native", "mcp-loop--openllmetry-mcp"),
    *("openai-loop--otel-openai-v2", "openai-loop--otel-openai-v2-latest-events"),
)
ALONE = {  # beside others of their set nothing tells who called whom: no words, or the same ones
    *(("openai-loop--otel-openai-v2--nocontent", "S5"), ("elastic--loop", "S18"), ("agents--langsmith", "S18")),
}


def _begun_at(frame, columns, by):
    """The same rows, so many nanoseconds later."""
    moved = (pl.when(pl.col(c) > 0).then(pl.col(c).cast(pl.Int64) + by).otherwise(0) for c in columns)
    frame = frame.with_columns(column.cast(pl.UInt64).alias(name) for name, column in zip(columns, moved, strict=True))
    if "events" not in frame.columns:
        return frame
    at = pl.field("time_unix_nano")
    later = pl.when(at > 0).then(at.cast(pl.Int64) + by).otherwise(0).cast(pl.UInt64)
    return frame.with_columns(
        events=pl.col("events").list.eval(pl.element().struct.with_fields(later.alias("time_unix_nano")))
    )


def _moved(scenario, at):
    spans, logs = from_requests(scenario.bodies("traces"), scenario.bodies("logs"), 1)
    by = at - int(spans["start_time_unix_nano"].min())
    return (
        _begun_at(spans, ("start_time_unix_nano", "end_time_unix_nano"), by),
        _begun_at(logs, ("time_unix_nano", "observed_time_unix_nano"), by),
    )


def _same_at_once(scenarios, seed):
    rng = random.Random(seed)
    moved = [_moved(s, T0 + int(rng.random() * 0.3 * SECOND)) for s in scenarios]
    apart = [run for spans, logs in moved for run in as_json(reconstruct(spans, logs, Config(), LATER))]
    together = reconstruct(*(pl.concat(frames) for frames in zip(*moved, strict=True)), Config(), LATER)
    assert len(apart) >= 4
    assert as_json(together) == sorted(apart, key=lambda run: (run["start_unix_nano"], run["run_id"]))


@pytest.mark.parametrize("name", LOOSE)
@pytest.mark.parametrize("seed", range(2))
def test_runs_at_one_moment_are_told_apart(name, seed):
    _same_at_once(captures.packed("corpus", name), seed)


@pytest.mark.full
@pytest.mark.parametrize("set_name, name", [(s, name) for s in ("corpus", "more") for name in captures.dialects(s)])
def test_runs_of_every_dialect_at_one_moment_are_told_apart(set_name, name):
    some = [s for s in captures.packed(set_name, name) if s.requests and (name, s.name) not in ALONE]
    _same_at_once(some, len(name))
