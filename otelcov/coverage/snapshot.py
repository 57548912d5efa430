"""A snapshot: one measurement of a window, a function of merged observations and the config alone.

FORMAT history:
1  the shape of CONTRACTS.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from otelcov.coverage import boundaries, edges, metrics, models, paths, states, tools
from otelcov.coverage.agents import of_agent
from otelcov.coverage.brief import Brief
from otelcov.coverage.dimension import Dimension, View
from otelcov.coverage.facts import BUCKET_NS, MODELS_APART, SUMS
from otelcov.coverage.observations import Observations
from otelcov.coverage.selection import side_of
from otelcov.coverage.tally import ASKED
from otelcov.ground.config import Config
from otelcov.ground.selection import Selection
from otelcov.ground.windows import ALL, Window, iso

FORMAT = 1

# In the order of the coverage tuple.
MEASURES = (tools.measure, paths.measure, states.measure, boundaries.measure, models.measure)

GROUPS = ("agent", "service", "release", "model", "day")


def snapshot(
    observations: Observations | Brief,
    config: Config,
    window: Window = ALL,
    selection: Selection | None = None,
    quality: Mapping[str, int | None] | None = None,
    baseline: Mapping[str, frozenset[str]] | None = None,
) -> dict[str, Any]:
    """The snapshot of observations to which the selection, but for its sides, has been applied."""
    selection = selection or Selection()
    wide = None
    if isinstance(observations, Brief):
        wide = replace(observations, kinds=_with_side(observations.kinds, config))
        base = _with_side(observations.rows, config)
    else:
        base = _with_side(observations.texts(), config)
    view = _view(base, config, selection, baseline or {}, wide=wide)
    return _measured(view, window, selection, dict(quality or {}))


def grouped(
    observations: Observations,
    config: Config,
    by: str,
    window: Window = ALL,
    selection: Selection | None = None,
    baseline: Mapping[str, frozenset[str]] | None = None,
) -> list[dict[str, Any]]:
    """A snapshot of each agent, service, release, model or day, with the group's name under `group`."""
    selection = selection or Selection()
    base = _with_side(observations.texts(), config)
    found = []
    for name, rows, agents in _groups(base, by, selection):
        view = _view(rows, config, selection, baseline or {}, agents)
        found.append({"group": name} | _measured(view, window, selection, {}))
    return found


def overall(dimensions: list[Dimension]) -> tuple[float | None, str | None]:
    """The geometric mean of the scores that are known, and the name of the least (the first of equals)."""
    scores = [(d.score, d.dimension) for d in dimensions if d.score is not None]
    if not scores:
        return None, None
    product = 1.0
    for score, _ in scores:
        product *= score
    return product ** (1 / len(scores)), min(scores, key=lambda s: s[0])[1]


def band(score: float | None) -> str | None:
    """The seed's reading of a score."""
    if score is None:
        return None
    return "strong" if score >= 0.80 else "moderate" if score >= 0.50 else "weak"


def _measured(view: View, window: Window, selection: Selection, counters: dict[str, int | None]) -> dict[str, Any]:
    dimensions = [measure(view) for measure in MEASURES]
    total, weakest = overall(dimensions)
    sides = dict(view.of("run").filter(pl.col("item") == "all").group_by("side").agg(pl.col("runs").sum()).iter_rows())
    shown = view.shown
    return {
        "format": FORMAT,
        "window": {"since": _time(window.since_ns), "until": _time(window.until_ns)},
        "selection": selection.as_json(),
        "runs": {"total": shown.get("all", 0)}
        | {side: sides.get(side, 0) for side in ("test", "staging", "production", "unspecified")}
        | {"unsettled": shown.get("unsettled", 0)},
        "coverage": {
            "dimensions": [d.as_json() | {"band": band(d.score)} for d in dimensions],
            "overall": total,
            "band": band(total),
            "weakest": weakest,
            "sequences": paths.summary(view, "sequence"),
            "bigrams": paths.summary(view, "bigram"),
            "follows": _follows(view),
        },
        "edges": edges.measure(view),
        "quality": metrics.quality(view, counters),
        "metrics": metrics.measure(view),
        "buckets": _buckets(view),
    }


def _view(
    base: pl.DataFrame,
    config: Config,
    selection: Selection,
    baseline: Mapping[str, frozenset[str]],
    agents: tuple[str, ...] | None = None,
    wide: Brief | None = None,
) -> View:
    rows = base.filter(pl.col("side").is_in(sorted(selection.side))) if selection.side else base
    sides = tuple(sorted(selection.side))
    return View(rows, base, config, selection.agent if agents is None else agents, baseline, sides, wide)


def _with_side(rows: pl.DataFrame, config: Config) -> pl.DataFrame:
    return rows.with_columns(side_of(rows, config))


def _groups(base: pl.DataFrame, by: str, selection: Selection) -> list[tuple[str, pl.DataFrame, tuple[str, ...]]]:
    if by == "agent":
        names = base.filter(pl.col("dimension").is_in(["agent", "edge", f"edge{ASKED}", "tool"]))
        listed = set(names.filter(pl.col("dimension") == "agent")["item"]) | set(
            names.filter(pl.col("agent").is_not_null())["agent"]
        )
        return [(name, of_agent(base, name), (name,)) for name in sorted(listed)]
    if by == "day":
        day = pl.from_epoch(pl.col("bucket") // 1_000_000_000, time_unit="s").dt.strftime("%Y-%m-%d")
        base = base.with_columns(group=day)
    elif by == "model":
        base = base.with_columns(group=pl.col("model").str.split(MODELS_APART)).explode("group")
    else:
        base = base.with_columns(group=pl.col(by))
    base = base.with_columns(pl.col("group").fill_null("(none)"))
    chosen = set(selection.model) if by == "model" else set()
    names_ = [n for n in sorted(base["group"].unique()) if not chosen or n in chosen]
    return [(name, base.filter(pl.col("group") == name).drop("group"), selection.agent) for name in names_]


def _follows(view: View) -> list[dict[str, Any]]:
    """Directly-follows: how often one tool came right after another."""
    rows = view.items("bigram").sort(["calls", "item"], descending=[True, False]).head(200)
    return [
        {"from": item.partition(paths.THEN)[0], "to": item.partition(paths.THEN)[2], "count": calls, "runs": runs}
        for item, calls, runs in rows.select("item", "calls", "runs").iter_rows()
    ]


def _buckets(view: View) -> list[dict[str, Any]]:
    """Runs per hour, or per day where the hours are many; buckets without a run between them are there too."""
    rows = view.of("run").filter((pl.col("item") == "all") & pl.col("bucket").is_not_null())
    if rows.is_empty():
        return []
    first, last = int(rows["bucket"].min()), int(rows["bucket"].max())  # type: ignore[arg-type]
    width = BUCKET_NS
    while (last - first) // width >= 60:
        width *= 24 if width == BUCKET_NS else 7
    counts = dict(rows.group_by(pl.col("bucket") // width).agg(pl.col("runs").sum()).iter_rows())
    return [{"start": iso(i * width), "runs": counts.get(i, 0)} for i in range(first // width, last // width + 1)]


def _time(ns: int | None) -> str | None:
    return None if ns is None else iso(ns)


__all__ = ["FORMAT", "SUMS", "band", "grouped", "overall", "snapshot"]
