"""How things went: pass rate, latency, tokens, errors and coverage, by day, release or model.

Pass rates come from the kept results, everything else from the runs themselves.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import polars as pl

from otelcov.cases.summary import rate
from otelcov.coverage.observations import Observations
from otelcov.coverage.snapshot import grouped
from otelcov.ground.config import DIMENSIONS, Config
from otelcov.ground.selection import Selection
from otelcov.ground.windows import ALL, Window, iso

# 1: the first.
FORMAT = 1

NONE = "(none)"
_MOST_DAYS = 3660  # beyond which days without a run are left out
# What a group tells: name -> where it is in a group of `trend`.
FIGURES = {
    "pass rate": ("pass_rate",),
    "latency p50": ("latency_ms", "p50"),
    "latency p95": ("latency_ms", "p95"),
    "tokens in": ("input_tokens", "mean"),
    "tokens out": ("output_tokens", "mean"),
    "errors": ("errors",),
    "coverage": ("coverage", "overall"),
}


def trend(
    observations: Observations,
    results: pl.DataFrame,
    config: Config,
    by: str = "day",
    window: Window = ALL,
    selection: Selection | None = None,
) -> dict[str, Any]:
    """Groups in order of their names, days without a gap, unless they span more than ten years."""
    selection = selection or Selection()
    measured = {shot["group"]: shot for shot in grouped(observations, config, by, window, selection)}
    passed = _passed(results, by)
    names = sorted(measured.keys() | passed.keys())
    if by == "day":
        names = _days([n for n in names if n != NONE])
    return {
        "format": FORMAT,
        "window": {
            "since": None if window.since_ns is None else iso(window.since_ns),
            "until": None if window.until_ns is None else iso(window.until_ns),
        },
        "selection": selection.as_json(),
        "by": by,
        "groups": [_group(name, measured.get(name), passed.get(name)) for name in names],
    }


def value(group: dict[str, Any], figure: str) -> float | None:
    """One of FIGURES of a group."""
    found: Any = group
    for key in FIGURES[figure]:
        found = found[key]
    return None if found is None else float(found)


def keyed(results: pl.DataFrame, by: str) -> pl.DataFrame:
    """RESULTS with the group of each row; a run of several models belongs to each."""
    if by == "day":
        day = pl.from_epoch(pl.col("start_unix_nano") // 1_000_000_000, time_unit="s").dt.strftime("%Y-%m-%d")
        found = results.with_columns(group=day)
    elif by == "model":
        found = results.with_columns(group=pl.col("models")).explode("group")
    else:
        found = results.with_columns(group=pl.col(by))
    return found.with_columns(pl.col("group").fill_null(NONE))


def _passed(results: pl.DataFrame, by: str) -> dict[str, tuple[int, int]]:
    known = keyed(results.filter(pl.col("result").is_in(["pass", "fail"])), by)
    counted = known.group_by("group").agg(passed=(pl.col("result") == "pass").sum(), total=pl.len())
    return {name: (passed, total) for name, passed, total in counted.iter_rows()}


def _group(name: str, shot: dict[str, Any] | None, passed: tuple[int, int] | None) -> dict[str, Any]:
    metrics = None if shot is None else shot["metrics"]
    runs = 0 if shot is None else shot["runs"]["total"]
    scores = {} if shot is None else {d["dimension"]: d["score"] for d in shot["coverage"]["dimensions"]}
    errors = [n for n in (metrics["tool_errors"], metrics["llm_errors"]) if n is not None] if metrics else []
    return {
        "group": name,
        "runs": runs,
        **rate(*(passed or (0, 0))),
        "latency_ms": metrics["latency_ms"] if metrics else {"p50": None, "p95": None, "p99": None},
        **{side: _tokens(metrics[side] if metrics else None) for side in ("input_tokens", "output_tokens")},
        "errors": sum(errors) if errors else None,
        "coverage": {"overall": shot["coverage"]["overall"] if shot else None} | {d: scores.get(d) for d in DIMENSIONS},
    }


def _tokens(spent: dict[str, Any] | None) -> dict[str, Any]:
    """The mean is over the runs that told: what is unknown is no zero."""
    total = spent["sum"] if spent else None
    return {"sum": total, "mean": None if not spent or total is None else round(total / spent["runs"], 2)}


def _days(names: list[str]) -> list[str]:
    if not names:
        return []
    first, last = date.fromisoformat(names[0]), date.fromisoformat(names[-1])
    if (last - first).days > _MOST_DAYS:  # a clock stood at its beginning
        return names
    return [(first + timedelta(days=n)).isoformat() for n in range((last - first).days + 1)]
