"""One dimension's result, and the view of observations that it is measured on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import polars as pl

from otelcov.coverage import brief, estimators, statistics
from otelcov.coverage.brief import Brief
from otelcov.coverage.facts import MASS, SUMS, digest
from otelcov.ground.config import Config

LISTED = 1000  # at most so many paths or states are named; the counts beside them are always exact

_LARGE = (*brief.WIDE, brief.SETS)
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
    sides: tuple[str, ...] = ()  # of `rows`; none: all
    wide: Brief | None = None  # where the kinds of dimensions that `rows` lacks are; with `side`

    def of(self, *dimensions: str) -> pl.DataFrame:
        """The rows of these dimensions, every agent's among them."""
        found = [self._parts[d] for d in dimensions if d in self._parts]
        if self.wide is not None and brief.SETS in dimensions:
            found.append(self._sets)
        return pl.concat(found) if found else self.rows.clear()

    def items(self, dimension: str, by_item: bool = False) -> pl.DataFrame:
        """Sums per item over the selection, sorted by item. `by_item` adds up every agent's rows."""
        if not by_item and dimension in self._summed:
            return self._summed[dimension]
        rows = self.of(dimension)
        return self.sum([rows if by_item else rows.filter(pl.col("agent").is_null())])

    def sum(self, frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
        rows = pl.concat([f.lazy().select("item", *SUMS) for f in frames])
        return rows.group_by("item").agg(_SUMMED).sort("item").collect()

    def kinds(self, dimension: str, sides: Iterable[str] | None = None) -> pl.DataFrame:
        """item, runs, mass of what some run did, in any order; `item` is text, or a number that stands for it."""
        chosen = self.sides if sides is None else tuple(sides)
        if (dimension, chosen) not in self._added:
            rows = self._kinds(dimension)
            rows = rows.filter(pl.col("side").is_in(chosen)) if chosen else rows
            if rows.schema["item"] != pl.String:
                found = brief.kinds_of(rows)
            else:
                found = rows.filter(pl.col("runs") > 0).group_by("item").agg(pl.col("runs", "mass").sum())
            self._added[dimension, chosen] = found
        return self._added[dimension, chosen]

    def units(self, dimension: str) -> tuple[int, int]:
        """f1 and f2: kinds of one and of two runs; the runs of one test case count once."""
        rows = self._kinds(dimension)
        rows = rows.filter(pl.col("side").is_in(self.sides)) if self.sides else rows
        rows = rows.filter(pl.col("runs") > 0)
        of_cases = rows.filter(pl.col("case").is_not_null()).group_by("item").agg(runs=pl.col("case").n_unique())
        others = rows.filter(pl.col("case").is_null())
        if rows.schema["item"] != pl.String:
            alone = brief.kinds_of(others)
        else:
            alone = others.group_by("item").agg(pl.col("runs", "mass").sum())
        if of_cases.height:
            both = pl.concat([alone.select("item", "runs"), of_cases.select("item", pl.col("runs").cast(pl.Int64))])
            alone = both.group_by("item").agg(pl.col("runs").sum())
        return int((alone["runs"] == 1).sum()), int((alone["runs"] == 2).sum())

    def names(self, kinds: pl.DataFrame) -> list[str]:
        """The texts of kinds, sorted; of very many, those with the greatest mass."""
        if self.wide is None or kinds.schema["item"] == pl.String:
            return frequent(kinds)
        return sorted(self.wide.named(most(kinds))["item"])

    @cached_property
    def shown(self) -> dict[str, int]:
        """How many runs could show what, from the rows `run`."""
        return dict(self.items("run").select("item", "runs").iter_rows())

    def relative(self, dimension: str) -> Relative | None:
        """What the tests exercised of what the other sides did; None without runs on both."""
        if "test" not in self._present or not self._present - {"test"}:
            return None
        others = self._present - {"test"}
        tests, theirs = self.kinds(dimension, ["test"]), self.kinds(dimension, sorted(others))
        settled = self._tests.get("settled", 0)
        if dimension != "boundary":
            return Relative(self, tests, theirs, self._tests.get(dimension, 0), settled)
        unknown = self.kinds("boundary_unknown", ["test"]).filter(pl.col("runs") >= settled)
        hidden = sorted(set(unknown["item"]) - set(tests["item"]))
        return Relative(self, tests, theirs.filter(~pl.col("item").is_in(hidden)), settled, settled)

    @cached_property
    def _added(self) -> dict[tuple[str, tuple[str, ...]], pl.DataFrame]:
        """Kinds that were asked for: paths can be as many as runs, and several parts of a report ask."""
        return {}

    @cached_property
    def _summed(self) -> dict[str, pl.DataFrame]:
        """The items of every dimension that has not very many, added up at once: each asked for by itself costs as much
        as all of them."""
        few = pl.col("agent").is_null() & ~pl.col("dimension").is_in(_LARGE)
        found = self.rows.lazy().filter(few).group_by("dimension", "item").agg(_SUMMED).sort("item").collect()
        parts = found.partition_by("dimension", as_dict=True, include_key=False)
        return {str(key[0]): items for key, items in parts.items()}

    @cached_property
    def _wide(self) -> dict[str, pl.DataFrame]:
        """The kinds of each wide dimension."""
        assert self.wide is not None
        return {name: self.wide.kinds.filter(pl.col("dimension") == name) for name in brief.WIDE}

    @cached_property
    def _tests(self) -> dict[str, int]:
        """How many runs of tests could show what."""
        rows = self._of_all("run").filter(pl.col("side") == "test")
        return dict(rows.group_by("item").agg(pl.col("runs").sum()).iter_rows())

    @cached_property
    def _present(self) -> set[str]:
        """The sides that have runs, of all."""
        return set(self._of_all("run").filter(pl.col("item") == "all")["side"])

    @cached_property
    def _parts(self) -> dict[str, pl.DataFrame]:
        return self._base if self.rows is self.base else _by_dimension(self.rows)

    @cached_property
    def _base(self) -> dict[str, pl.DataFrame]:
        return _by_dimension(self.base)

    @cached_property
    def _sets(self) -> pl.DataFrame:
        assert self.wide is not None
        environments = self.base.select("environment", "side").unique()
        rows = pl.concat([brief.ROWS.to_frame(), *(read() for read in self.wide.sets)])
        rows = rows.join(environments, on="environment", how="left", nulls_equal=True)
        rows = rows.filter(pl.col("side").is_in(self.sides)) if self.sides else rows
        return rows.select(self.rows.columns)

    def _kinds(self, dimension: str) -> pl.DataFrame:
        """item, case, side, runs, mass: several rows may be of one item."""
        columns = ("item", "case", "side", "runs", "mass")
        if self.wide is not None and dimension in brief.WIDE:
            return self._wide[dimension].select(columns)
        return self._of_all(dimension).select(columns)

    def _of_all(self, dimension: str) -> pl.DataFrame:
        """The rows of a dimension, of all sides, that are of whole runs."""
        rows = self._base.get(dimension)
        return self.base.clear() if rows is None else rows.filter(pl.col("agent").is_null())


def _by_dimension(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {str(key[0]): some for key, some in rows.partition_by("dimension", as_dict=True).items()}


@dataclass(frozen=True)
class Relative:
    """|items of the other sides that tests exercised| over all items of the other sides, by count and by mass.

    Null where no test could have shown an item: what cannot be seen was not missed.
    """

    view: View
    tests: pl.DataFrame  # item, runs, mass
    others: pl.DataFrame
    shown: int  # settled runs of tests that could have shown an item
    settled: int  # all settled runs of tests

    @cached_property
    def exercised(self) -> pl.DataFrame:
        return self.others.filter(self._tested)

    @cached_property
    def missing(self) -> pl.DataFrame:
        return self.others.filter(~self._tested)

    @property
    def _tested(self) -> pl.Expr:
        return pl.col("item").is_in(self.tests["item"].implode())

    @property
    def by_count(self) -> float | None:
        return self.exercised.height / self.others.height if self.others.height and not self.blind else None

    @property
    def by_mass(self) -> float | None:
        total = int(self.others["mass"].sum())
        return int(self.exercised["mass"].sum()) / total if total and not self.blind else None

    @property
    def blind(self) -> bool:
        return not self.shown

    @property
    def adjusted_runs(self) -> float:
        return int(self.others["mass"].sum()) / MASS

    @property
    def masses(self) -> dict[str, float] | None:
        """What the share by mass is made of: runs or visits, as many as the sampled ones stand for."""
        if self.blind:
            return None
        found = {
            name: int(kinds["mass"].sum()) for name, kinds in (("exercised", self.exercised), ("known", self.others))
        }
        return {name: mass / MASS if mass % MASS else mass // MASS for name, mass in found.items()}

    def result(self, what: str) -> dict[str, Any]:
        """The fields of a Dimension whose score is the share by mass, with its Wilson interval at the runs' number."""
        if self.blind:
            return {"reason": f"no test run can show its {what}" if self.settled else "no test run has settled"}
        share, runs = self.by_mass, round(self.adjusted_runs)
        return {
            "score": share,
            "method": "relative_mass" if share is not None else "none",
            "covered": self.exercised.height,
            "known": self.others.height or None,
            "covered_items": self.view.names(self.exercised),
            "missing": self.view.names(self.missing),
            "universe": "baseline",
            "reason": self._reason(what),
            "interval": None if share is None else statistics.wilson(round(share * runs), runs),
        }

    def _reason(self, what: str) -> str | None:
        if self.by_mass is None:
            return f"no run of another side can show its {what}"
        if self.shown < self.settled:
            return (
                f"{self.settled - self.shown} of {self.settled} test runs cannot show their {what}: at least this much"
            )
        return None


def no_views() -> dict[str, float | None]:
    return dict.fromkeys(("relative_count", "relative_mass", "good_turing", "chao_jost", "chao1", "declared"))


def frequent(items: pl.DataFrame) -> list[str]:
    """The names of the items, sorted; of very many, those with the greatest mass."""
    return sorted(most(items)["item"])


def most(items: pl.DataFrame, listed: int = LISTED) -> pl.DataFrame:
    """At most so many items, those of the greatest mass; of equal ones those of the least hash."""
    if items.height <= listed:
        return items
    if items.schema["item"] != pl.String:
        return items.sort(["mass", "item"], descending=[True, False]).head(listed)
    least = items["mass"].top_k(listed).min()
    more, equals = items.filter(pl.col("mass") > least), items.filter(pl.col("mass") == least)
    by_hash = sorted(equals["item"].to_list(), key=digest)[: listed - more.height]
    return pl.concat([more, equals.filter(pl.col("item").is_in(by_hash))])


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
