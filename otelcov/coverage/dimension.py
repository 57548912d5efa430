"""One dimension's result, and the view of observations that it is measured on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import polars as pl

from otelcov.coverage import estimators, statistics
from otelcov.coverage.facts import MASS, SUMS
from otelcov.ground.config import Config

LISTED = 1000  # at most so many paths or states are named; the counts beside them are always exact

_SUMMED = [
    *(pl.col(c).sum() for c in ("runs", "mass", "calls", "errors", "requested")),
    pl.col("first_seen").min(),
    pl.col("last_seen").max(),
    pl.col("example_trace").min(),
]


@dataclass(frozen=True)
class Dimension:
    """How much of a universe was seen, by name. Null means "not known", never zero or one."""

    dimension: str
    score: float | None
    method: str
    covered: int
    known: int | None
    covered_items: list[str]
    missing: list[str]
    undeclared: list[str]
    runs: int
    singletons: int
    doubletons: int
    interval: estimators.Interval | None
    universe: str
    reason: str | None
    views: dict[str, float | None]
    more: dict[str, Any] = field(default_factory=dict)

    def with_items(self, items: list[dict[str, object]]) -> Dimension:
        return replace(self, more=self.more | {"items": items})

    def as_json(self) -> dict[str, Any]:
        names = [n for n in self.__dataclass_fields__ if n not in ("more", "interval")]
        body = {n: getattr(self, n) for n in names}
        interval = self.interval and {"low": self.interval.low, "high": self.interval.high, "level": 0.95}
        return body | {"interval": interval} | self.more


@dataclass(frozen=True)
class View:
    """What a measurement looks at: `rows` of the selection, `base` also of the other sides (all with `side`)."""

    rows: pl.DataFrame
    base: pl.DataFrame
    config: Config
    agents: tuple[str, ...] = ()
    baseline: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def items(self, dimension: str, by_item: bool = False) -> pl.DataFrame:
        """Sums per item over the selection, sorted by item. `by_item` adds up every agent's rows."""
        rows = self.rows.filter(pl.col("dimension") == dimension)
        return self.sum([rows if by_item else rows.filter(pl.col("agent").is_null())])

    def sum(self, frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
        rows = pl.concat([f.select("item", *SUMS) for f in frames])
        return rows.group_by("item").agg(_SUMMED).sort("item")

    @cached_property
    def shown(self) -> dict[str, int]:
        """How many runs could show what, from the rows `run`."""
        return dict(self.items("run").select("item", "runs").iter_rows())

    def relative(self, dimension: str) -> Relative | None:
        """What the tests exercised of what the other sides did; None without runs on both."""
        rows = self.base.filter(pl.col("agent").is_null())
        shown = rows.filter((pl.col("dimension") == "run") & (pl.col("item") == "all"))
        if shown.filter(pl.col("side") == "test").is_empty() or shown.filter(pl.col("side") != "test").is_empty():
            return None
        rows = rows.filter(pl.col("dimension") == dimension)
        tests = self.sum([rows.filter((pl.col("side") == "test") & (pl.col("runs") > 0))])
        others = self.sum([rows.filter((pl.col("side") != "test") & (pl.col("runs") > 0))])
        return Relative(tests, others)


@dataclass(frozen=True)
class Relative:
    """|items of the other sides that tests exercised| over all items of the other sides, by count and by mass."""

    tests: pl.DataFrame
    others: pl.DataFrame

    @cached_property
    def exercised(self) -> pl.DataFrame:
        return self.others.join(self.tests.select("item"), on="item", how="semi").sort("item")

    @cached_property
    def missing(self) -> pl.DataFrame:
        return self.others.join(self.tests.select("item"), on="item", how="anti").sort("item")

    @property
    def by_count(self) -> float | None:
        return self.exercised.height / self.others.height if self.others.height else None

    @property
    def by_mass(self) -> float | None:
        total = int(self.others["mass"].sum())
        return int(self.exercised["mass"].sum()) / total if total else None

    @property
    def adjusted_runs(self) -> float:
        return int(self.others["mass"].sum()) / MASS

    def result(self, what: str) -> dict[str, Any]:
        """The fields of a Dimension whose score is the share by mass, with its Wilson interval at the runs' number."""
        share, runs = self.by_mass, round(self.adjusted_runs)
        return {
            "score": share,
            "method": "relative_mass" if share is not None else "none",
            "covered": self.exercised.height,
            "known": self.others.height or None,
            "covered_items": frequent(self.exercised),
            "missing": frequent(self.missing),
            "universe": "baseline",
            "reason": None if share is not None else f"no run of another side can show its {what}",
            "interval": None if share is None else statistics.wilson(round(share * runs), runs),
        }


def no_views() -> dict[str, float | None]:
    return dict.fromkeys(("relative_count", "relative_mass", "good_turing", "chao_jost", "chao1", "declared"))


def frequent(items: pl.DataFrame) -> list[str]:
    """The names of the items, sorted; of very many, those with the greatest mass."""
    if items.height > LISTED:
        items = items.sort(["mass", "item"], descending=[True, False]).head(LISTED)
    return sorted(items["item"])


def ratio(
    view: View, name: str, seen: pl.DataFrame, known: frozenset[str] | None, universe: str, reason: str | None
) -> Dimension:
    """|seen and known| / |known|; null where the universe is unknown or empty, or nothing could be seen."""
    shown = view.shown.get(name, 0)
    settled = view.shown.get("settled", 0)
    names = set(seen["item"])
    score: float | None = None
    if known:
        covered = sorted(names & known)
        if shown:
            score = len(covered) / len(known)
            if shown < settled:
                reason = f"{settled - shown} of {settled} runs cannot show their {name} calls: at least this much"
        else:
            reason = f"no run can show its {name} calls" if settled else "no settled run in the window"
    else:
        covered = sorted(names)
    views = no_views()
    if (relative := view.relative(name)) is not None:
        views |= {"relative_count": relative.by_count, "relative_mass": relative.by_mass}
    if universe == "declared":
        views["declared"] = score
    counts = seen["runs"].to_list()
    return Dimension(
        dimension=name,
        score=score,
        method="ratio" if score is not None else "none",
        covered=len(covered),
        known=len(known) if known else None,
        covered_items=covered,
        missing=sorted((known or frozenset()) - names),
        undeclared=sorted(names - known) if known is not None and universe != "none" else [],
        runs=shown,
        singletons=counts.count(1),
        doubletons=counts.count(2),
        interval=None,
        universe=universe,
        reason=reason,
        views=views,
    )
