"""Gaps and differences: what one side does that another never exercised, and what changed between two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import polars as pl

from otelcov.coverage import metrics, statistics
from otelcov.coverage.brief import Brief, kinds_of
from otelcov.coverage.dimension import LISTED, most
from otelcov.coverage.facts import MASS
from otelcov.coverage.observations import Observations
from otelcov.coverage.selection import side_of
from otelcov.ground.config import Config
from otelcov.ground.windows import Window, iso

FORMAT = 1
FALSE_DISCOVERIES = 0.05

# Dimension -> the item of the rows `run` that counts the runs which could show it.
_COMPARED = {
    "tool": "tool",
    "path": "path",
    "state": "state",
    "boundary": "settled",
    "model": "model",
    "edge": "tool",
    "delegation": "delegation",
}
_SHOWN = {
    "tool": "tool calls",
    "path": "path",
    "state": "states",
    "model": "model calls",
    "delegation": "delegations",
}
_OF_TOOLS = ("tool_failure", "tool_recovery", "repeated_call")
_BY_AGENT = ("edge", "delegation")  # their agent is a part of the item
_EXAMPLES = 3


def gaps(
    observations: Observations | Brief,
    config: Config,
    side: Iterable[str] = ("test",),
    against: Iterable[str] = ("production",),
    window: Window | None = None,
    selection: dict[str, list[str]] | None = None,
    listed: int | None = None,
) -> dict[str, Any]:
    """The share of what `against` does that `side` exercised, and the rest by its mass, with example traces (of paths
    only where they are told in full). `listed`: at most so many of each dimension are named."""
    sides, others = sorted(side), sorted(against)
    short = observations if isinstance(observations, Brief) else None
    rows = observations.rows if isinstance(observations, Brief) else observations.texts()
    rows = rows.with_columns(side_of(rows, config))
    mine, theirs = rows.filter(pl.col("side").is_in(sides)), rows.filter(pl.col("side").is_in(others))
    found = []
    for dimension, able in _COMPARED.items():
        if short is not None and dimension == "path":
            tested, seen = (_paths(short, config, which) for which in (sides, others))
        else:
            tested, seen = _items(mine, dimension), _items(theirs, dimension)
        shown = _shown(theirs, able)
        seen, reason = _comparable(dimension, able, tested, seen, mine)
        total = int(seen["mass"].sum())
        covered = seen.join(tested.select("item"), on="item", how="semi")
        missing = seen.join(tested.select("item"), on="item", how="anti")
        missing = missing if listed is None else most(missing, listed)
        missing = missing if short is None or dimension != "path" else short.named(missing)
        missing = missing.sort(["mass", "item"], descending=[True, False])
        found.append(
            {
                "dimension": dimension,
                "share": int(covered["mass"].sum()) / total if total else None,
                "share_by_count": covered.height / seen.height if seen.height else None,
                "exercised": covered.height,
                "known": seen.height,
                "runs": _count(theirs, able),
                "reason": reason,
                "uncovered": [
                    {
                        "item": row["item"],
                        "runs": row["runs"],
                        "calls": row["calls"],
                        "share": row["mass"] / shown if shown else None,
                        "example_traces": sorted(row["traces"])[:_EXAMPLES],
                    }
                    for row in missing.to_dicts()
                ],
            }
        )
    return {
        "format": FORMAT,
        "window": _window(window),
        "selection": selection or {},
        "side": sides,
        "against": others,
        "runs": {"side": _count(mine, "all"), "against": _count(theirs, "all")},
        "dimensions": found,
    }


def _comparable(
    dimension: str, able: str, tested: pl.DataFrame, seen: pl.DataFrame, mine: pl.DataFrame
) -> tuple[pl.DataFrame, str | None]:
    """What was seen without that which no run of ours could have shown, and why that is left out."""
    settled = _count(mine, "settled")
    if _count(mine, "all") and not _count(mine, able):
        return seen.clear(), f"no run that is held against it can show its {_SHOWN[able]}"
    if dimension != "boundary":
        return seen, None
    hidden = [name for name, runs in _blind(mine).items() if runs >= settled]
    hidden = sorted(set(hidden) & (set(seen["item"]) - set(tested["item"])))
    reason = f"left out, because no run that is held against it could show it: {', '.join(hidden)}" if hidden else None
    return seen.filter(~pl.col("item").is_in(hidden)), reason


def diff(a: Observations, b: Observations) -> dict[str, Any]:
    """New, lost and shifted behaviour from A to B, under a false discovery rate of 5 %.

    Items are tested on runs with and without them (Fisher's exact test), latency and tokens by Mann-Whitney; all
    p-values of the call are adjusted together (Benjamini-Hochberg). Items so rare that no split of their runs could
    be significant are no tests (Gilbert 2005). Each dimension has an equal say (weights as in Genovese, Roeder &
    Wasserman 2006): hundreds of rare paths would else hide what happened to ten tools.
    """
    left, right = a.texts(), b.texts()
    tests: list[dict[str, Any]] = []
    for dimension, able in _COMPARED.items():
        shown = _count(left, able), _count(right, able)
        if not all(shown):
            continue
        both = _items(left, dimension).join(_items(right, dimension), on="item", how="full", coalesce=True, suffix="_b")
        blind = [_unseeing(side) if dimension == "boundary" else {} for side in (left, right)]
        for row in both.sort("item").to_dicts():
            n, m = (runs - less.get(row["item"], 0) for runs, less in zip(shown, blind, strict=True))
            if not n or not m:
                continue  # on one side no run could have shown it
            with_a, with_b = min(row["runs"] or 0, n), min(row["runs_b"] or 0, m)
            traces = (row["traces_b"] or row["traces"]) if with_b else row["traces"]
            tests.append(
                {
                    "kind": "new" if not with_a else "lost" if not with_b else "shifted",
                    "dimension": dimension,
                    "item": row["item"],
                    "a": {"with": with_a, "runs": n, "share": with_a / n},
                    "b": {"with": with_b, "runs": m, "share": with_b / m},
                    "p": statistics.fisher(with_a, n - with_a, with_b, m - with_b),
                    "example_traces": sorted(traces or [])[:_EXAMPLES],
                }
            )
    figures = []
    for name in ("latency", "input_tokens", "output_tokens"):
        values = [metrics.histogram(_plain(side, name)) for side in (left, right)]
        p = statistics.mann_whitney(*values)
        if p is not None:
            figures.append({"metric": name, "a": _median(values[0]), "b": _median(values[1]), "p": p})
    tried = _adjust([*tests, *figures])
    order = sorted(tests, key=lambda t: (t["p"], t["dimension"], t["item"]))
    return {
        "format": FORMAT,
        "runs": {"a": _count(left, "all"), "b": _count(right, "all")},
        "tested": tried,
        "false_discovery_rate": FALSE_DISCOVERIES,
        "findings": [t for t in order if t["significant"]],
        "metrics": figures,
        "unproven": {kind: sum(t["kind"] == kind and not t["significant"] for t in tests) for kind in ("new", "lost")},
    }


def _adjust(tests: list[dict[str, Any]]) -> int:
    """Sets `q` and `significant` of each test; the number of those that could be significant at all."""
    able = [t for t in tests if "metric" in t or _possible(t)]
    sizes = Counter(t.get("dimension", "metrics") for t in able)
    weights = [len(able) / (len(sizes) * sizes[t.get("dimension", "metrics")]) for t in able]
    weighted = [min(1.0, t["p"] / w) for t, w in zip(able, weights, strict=True)]
    for test in tests:
        test |= {"q": 1.0, "significant": False}
    for test, q in zip(able, statistics.benjamini_hochberg(weighted), strict=True):
        test |= {"q": q, "significant": q <= FALSE_DISCOVERIES}
    return len(able)


def _possible(test: dict[str, Any]) -> bool:
    a, b = test["a"], test["b"]
    return statistics.least_fisher(a["runs"], b["runs"], a["with"] + b["with"]) <= FALSE_DISCOVERIES


def _items(rows: pl.DataFrame, dimension: str) -> pl.DataFrame:
    """item, runs, mass, calls, traces of what was done (not only asked for)."""
    rows = rows.filter((pl.col("dimension") == dimension) & (pl.col("calls") > 0))
    if dimension in _BY_AGENT:
        joint = " -> " if dimension == "delegation" else "/"
        rows = rows.with_columns(item=pl.col("agent").fill_null("(unknown)") + joint + pl.col("item"))
    else:
        rows = rows.filter(pl.col("agent").is_null())
    return (
        rows.group_by("item")
        .agg(
            pl.col("runs", "mass", "calls").sum(),
            traces=pl.col("example_trace").drop_nulls().unique().sort().head(_EXAMPLES),
        )
        .sort("item")
    )


def _paths(short: Brief, config: Config, sides: list[str]) -> pl.DataFrame:
    """item (a number), runs, mass, calls, traces (none)."""
    kinds = short.kinds.filter(pl.col("dimension") == "path")
    kinds = kinds_of(kinds.filter(side_of(kinds, config).is_in(sides)))
    return kinds.with_columns(calls="runs", traces=pl.lit([], pl.List(pl.String)))


def _plain(rows: pl.DataFrame, dimension: str) -> pl.DataFrame:
    rows = rows.filter((pl.col("dimension") == dimension) & pl.col("agent").is_null())
    return rows.group_by("item").agg(pl.col("runs").sum())


def _blind(rows: pl.DataFrame) -> dict[str, int]:
    """How many runs could not have shown each boundary."""
    unknown = rows.filter((pl.col("dimension") == "boundary_unknown") & pl.col("agent").is_null())
    return dict(unknown.group_by("item").agg(pl.col("runs").sum()).iter_rows())


def _unseeing(rows: pl.DataFrame) -> dict[str, int]:
    """How many runs had no evidence of each boundary: where calls are seen, so are those that failed outright."""
    settled = _count(rows, "settled")
    nothing = {name: runs for name, runs in _blind(rows).items() if runs >= settled}
    return nothing | dict.fromkeys(_OF_TOOLS, settled - _count(rows, "tool"))


def _count(rows: pl.DataFrame, item: str) -> int:
    return int(_run_rows(rows, item)["runs"].sum())


def _shown(rows: pl.DataFrame, item: str) -> int:
    """Adjusted runs, in millionths as the masses are."""
    return int(_run_rows(rows, item)["mass"].sum())


def _run_rows(rows: pl.DataFrame, item: str) -> pl.DataFrame:
    return rows.filter((pl.col("dimension") == "run") & (pl.col("item") == item))


def _median(values: list[tuple[float, int]]) -> float | None:
    half = sum(c for _, c in values) / 2
    for value, count in values:
        half -= count
        if half <= 0:
            return value
    return None


def _window(window: Window | None) -> dict[str, str | None]:
    since, until = (window.since_ns, window.until_ns) if window else (None, None)
    return {"since": None if since is None else iso(since), "until": None if until is None else iso(until)}


__all__ = ["LISTED", "MASS", "diff", "gaps"]
