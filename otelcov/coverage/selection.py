"""Which runs a measurement counts. Sides are chosen later: a path is scored against the window before `--side`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.models import ModelNames
from otelcov.ground.selection import Selection
from otelcov.ground.windows import ALL, Window

if TYPE_CHECKING:
    from otelcov.coverage.observations import Observations

_EQUAL = ("service", "environment", "release", "case")


def select(runs: pl.DataFrame, selection: Selection, config: Config, sides: bool = False) -> pl.DataFrame:
    """The runs that a selection keeps. `agent` drops no run; `side` counts only with `sides`."""
    for column in _EQUAL:
        if wanted := getattr(selection, column):
            runs = runs.filter(pl.col(column).is_in(sorted(wanted)))
    if selection.model:
        runs = runs.filter(_used(runs, selection.model, config))
    if sides and selection.side:
        runs = runs.filter(side_of(runs, config).is_in(sorted(selection.side)))
    return runs


def selected(seen: Observations, selection: Selection, config: Config, sides: bool = False) -> Observations:
    """What those runs add up to that a selection keeps, but for `model` and `agent`, which sums do not tell apart."""
    rows = seen.rows
    for column in _EQUAL:
        if wanted := getattr(selection, column):
            rows = rows.filter(pl.col(column).is_in(sorted(wanted)))
    if sides and selection.side:
        rows = rows.filter(side_of(rows, config).is_in(sorted(selection.side)))
    return replace(seen, rows=rows)


def inside(runs: pl.DataFrame, window: Window) -> pl.DataFrame:
    """The runs that begin in a window."""
    return runs if window == ALL else runs.filter(between(pl.col("start_unix_nano"), window))


def between(at: pl.Expr, window: Window) -> pl.Expr:
    """Whether a moment lies in a window."""
    lies = at.is_not_null()
    if window.since_ns is not None:
        lies = lies & (at >= window.since_ns)
    if window.until_ns is not None:
        lies = lies & (at < window.until_ns)
    return lies


def side_of(frame: pl.DataFrame, config: Config) -> pl.Series:
    """The side of each row's environment."""
    names = {name: config.side(name) for name in frame["environment"].unique().to_list()}
    known = {name: side for name, side in names.items() if name is not None}
    return frame["environment"].replace_strict(known, default="unspecified", return_dtype=pl.String).alias("side")


def _used(runs: pl.DataFrame, models: tuple[str, ...], config: Config) -> pl.Series:
    """Runs with a call of one of the models, by any of its names."""
    fields = [
        runs["llm_calls"].list.eval(pl.element().struct.field(name)).alias(name)
        for name in ("request_model", "response_model")
    ]
    names = ModelNames(config)
    wanted = names.wanted(models)
    spelled = {raw for field in fields for raw in field.explode().drop_nulls().unique() if {raw, names(raw)} & wanted}
    hits = [field.list.eval(pl.element().is_in(sorted(spelled))).list.any().fill_null(False) for field in fields]
    return hits[0] | hits[1]
