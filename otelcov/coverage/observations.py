"""Observations: sums of what runs did.

One row per (bucket, service, environment, release, model, case, dimension, agent, item).

`partial` counts runs into rows; `merge` adds rows. They form a commutative monoid with `EMPTY` as its identity, so
windows, regions, shards and machines add up exactly, in any order. All sums are whole numbers; ratios, means,
intervals and verdicts are functions of the sum (snapshot.py) and are never stored in it. Side is not in a key: it is
derived from the environment when it is read. The parts of the config that `partial` reads are the names of models.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import polars as pl

from otelcov.coverage import boundaries, brief, edges, metrics, models, paths, states, tools
from otelcov.coverage.brief import Brief
from otelcov.coverage.facts import KEY, SUMS, Facts, digest, flatten, scoped
from otelcov.coverage.tally import ASKED, Counted, Steps, apart, count, each, tally, times, total
from otelcov.ground.config import Config

ROWS = pl.Schema(
    {
        "bucket": pl.Int64,
        "service": pl.String,
        "environment": pl.String,
        "release": pl.String,
        "model": pl.String,
        "case": pl.String,
        "dimension": pl.String,
        "agent": pl.String,
        "item": pl.Binary,  # 16 bytes of BLAKE2b over the UTF-8 text
        **SUMS,
    }
)
ITEMS = pl.Schema({"item": pl.Binary, "text": pl.String})
_ID = [*KEY, "dimension", "agent", "item"]
_HOW = {"first_seen": pl.Expr.min, "last_seen": pl.Expr.max, "example_trace": pl.Expr.min}

_AT_ONCE = 32_768  # runs: to add up some takes several times the memory that they do
_AT_A_TIME = 8_192  # … that are told one by one
FEW = 1_000  # runs; of fewer, seeking those that are alike costs more than counting each

# One observer per dimension: flat facts -> steps. Runs that are alike share these; those of _EACH are a run's own.
OBSERVERS = (
    tools.observe,
    paths.observe,
    states.observe,
    boundaries.observe,
    models.observe,
    edges.observe,
    metrics.observe,
)
_EACH = metrics.observe_each
# What runs are alike in, beside whom they served and when.
_ALIKE = (
    *("settled", "status", "sampled", "agents", "known_tools", "known_tools_source", "path", "states"),
    *("boundaries", "boundaries_unknown", "incomplete"),
)
_LISTS = {
    "tool_calls": ("name", "agent", "status"),
    "llm_calls": ("agent", "request_model", "response_model", "status"),
    "delegations": ("from", "to", "tool", "status"),
}


@dataclass(frozen=True)
class Observations:
    """Rows beside the text of their items."""

    rows: pl.DataFrame
    items: pl.DataFrame

    def sorted(self) -> Observations:
        """The same in one order, for files; measuring asks for none."""
        return Observations(self.rows.sort(_ID), self.items.sort("item"))

    @property
    def runs(self) -> int:
        """How many runs are added up."""
        return self.shown("all")

    def shown(self, what: str) -> int:
        """How many of them are of one kind, an item of `run` of metrics.observe: settled, able to show tools, …"""
        those = (pl.col("dimension") == "run") & (pl.col("item") == digest(what))
        return int(self.rows.filter(those)["runs"].sum())

    def texts(self) -> pl.DataFrame:
        """The rows with the text of each item in the place of its hash."""
        return self.rows.join(self.items, on="item", how="left").drop("item").rename({"text": "item"})

    def brief(self) -> Brief:
        """The same with less."""
        rows, items = self.rows, self.items
        whole = rows.filter(pl.col("agent").is_null() | pl.col("dimension").is_in(brief.EDGES))
        wide = whole.filter(pl.col("dimension").is_in(brief.WIDE))
        kinds = wide.group_by("dimension", "environment", "case", "item").agg(pl.col("runs", "mass").sum())
        paths = wide.filter(pl.col("dimension") == "path")["item"]

        def texts(wanted: pl.Series) -> dict[int, str]:
            known = items.filter(pl.col("item").is_in(paths.implode())).with_columns(_number(pl.col("item")))
            return dict(known.filter(pl.col("item").is_in(wanted.implode())).iter_rows())

        def sets() -> pl.DataFrame:
            return _summed(whole.filter(pl.col("dimension") == brief.SETS), items)

        return Brief(
            _summed(whole.filter(~pl.col("dimension").is_in([*brief.WIDE, brief.SETS])), items),
            kinds.with_columns(_number(pl.col("item"))).select(brief.KINDS.names()),
            (texts,),
            (sets,),
        )


EMPTY = Observations(pl.DataFrame(schema=ROWS), pl.DataFrame(schema=ITEMS))


def partial(
    runs: pl.DataFrame, config: Config, agents: Collection[str] = (), cluster: str | None = None
) -> Observations:
    """What these runs add. With `agents`, only the steps of those agents count, in every run."""
    if runs.is_empty():
        return EMPTY
    if runs.height > _AT_ONCE and not cluster:
        return merge(*(partial(some, config, agents) for some in runs.iter_slices(_AT_ONCE)))
    if cluster or runs.height < FEW:
        facts = flatten(runs, config, agents, cluster=cluster)
        return _observed(facts, [(count(facts, _every(facts)), each(facts))])
    shape, few = _alike(runs)
    few_facts = flatten(few, config, agents)
    facts = flatten(runs, config, agents, models=few_facts.runs["model"].gather(shape))
    if _timeless(facts):
        return _observed(facts, [(count(facts, _every(facts)), each(facts))])
    counted = count(few_facts, [steps for observe in OBSERVERS for steps in observe(few_facts)])
    alike = counted.timeless(), _weights(facts, shape)
    return _observed(facts, [alike, (count(facts, _EACH(facts)), each(facts))], timed=True)


def _observed(facts: Facts, parts: list[tuple[Counted, pl.DataFrame]], timed: bool = False) -> Observations:
    items = _hashed(pl.concat([counted.names["item"] for counted, _ in parts]).unique())
    rows = pl.concat([total(counted.hashed(items), weights, facts.traces) for counted, weights in parts])
    if timed:
        rows = _timed(rows, facts, items)
    return Observations(_typed(pl.concat([rows, facts.keys[rows["key"]].drop("key")], how="horizontal")), items)


class Adding:
    """Runs that come some at a time are added up as they come: sums of many are small, the runs are not."""

    def __init__(self, config: Config, agents: Collection[str] = ()) -> None:
        self.config, self._agents = config, agents
        self._waiting, self._sums = list[pl.DataFrame](), list[Observations]()

    def add(self, runs: pl.DataFrame) -> None:
        self._waiting.append(runs)
        if sum(some.height for some in self._waiting) >= _AT_ONCE:
            *whole, rest = pl.concat(self._waiting).iter_slices(_AT_ONCE)
            self._sums += [partial(some, self.config, self._agents) for some in whole]
            self._waiting = [rest]

    def sum(self) -> Observations:
        """`partial` of all that have come."""
        rest = [partial(pl.concat(self._waiting), self.config, self._agents)] if self._waiting else []
        return merge(*self._sums, *rest)


def each_run(runs: pl.DataFrame, config: Config, agents: Collection[str] = ()) -> Iterator[pl.DataFrame]:
    """`per_run` of some runs at a time: of many runs these rows are many times as large as the runs are."""
    for some in runs.iter_slices(_AT_A_TIME):
        yield per_run(some, config, agents)


def per_run(runs: pl.DataFrame, config: Config, agents: Collection[str] = ()) -> pl.DataFrame:
    """The same rows for each run alone, with the text of its items: run_id, dimension, agent, item and sums."""
    facts = flatten(runs, config, agents, key=("run_id",))
    rows = tally(facts, _every(facts))
    return rows.join(facts.keys, on="key", how="left").drop("key")


def _every(facts: Facts) -> list[Steps]:
    return [steps for observe in (*OBSERVERS, _EACH) for steps in observe(facts)]


def _timeless(facts: Facts) -> bool:
    """Whether a call has no time of its own; then its run's counts, and that is told for each run alone."""
    return any(calls["at"].has_nulls() for calls in (facts.calls, facts.open_calls, facts.llm))


def _alike(runs: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
    """One run of all that are alike, and by which of these each run is told."""
    calls = [
        pl.col(name).list.eval(pl.struct(pl.element().struct.field(field) for field in fields)).alias(name)
        for name, fields in _LISTS.items()
    ]
    shapes = runs.with_row_index("run").select("run", *_ALIKE, *calls)
    groups = shapes.group_by(*_ALIKE, *_LISTS, maintain_order=True).agg("run").select("run").with_row_index("shape")
    return groups.explode("run").sort("run")["shape"], runs[groups["run"].list.first()]


def _weights(facts: Facts, shape: pl.Series) -> pl.DataFrame:
    """How many runs of a key are alike, as `total` asks for it."""
    runs = facts.runs.select("key", "mass", "start", "trace_rank", rid=shape)
    return runs.group_by("rid", "key").agg(
        pl.len().cast(pl.Int64).alias("n"),
        pl.col("mass").sum(),
        pl.col("start").min(),
        pl.col("start").max().alias("end"),
        pl.col("trace_rank").min().alias("trace"),
    )


def _timed(rows: pl.DataFrame, facts: Facts, items: pl.DataFrame) -> pl.DataFrame:
    """The rows with the times of those steps that have their own."""
    calls, asked = times(facts, facts.calls), times(facts, facts.llm)
    done, only_asked = apart(facts.calls)
    done_open, only_asked_open = apart(facts.open_calls)
    named = asked.filter(pl.col("item").is_not_null())
    steps = {
        "tool": scoped(calls),
        "edge": times(facts, done),
        f"edge{ASKED}": times(facts, only_asked),
        "edge_open": times(facts, done_open),
        f"edge_open{ASKED}": times(facts, only_asked_open),
        "model": scoped(named),
        "llm": scoped(asked).with_columns(item=pl.lit("calls")),
    }
    told = ["key", "dimension", "agent", "item"]
    frame = pl.concat([some.with_columns(dimension=pl.lit(name)) for name, some in steps.items()])
    frame = frame.group_by(told).agg(pl.col("first").min(), pl.col("last").max())
    frame = frame.join(items, left_on="item", right_on="text").drop("item").rename({"item_right": "item"})
    own = pl.col("dimension").is_in(list(steps))
    timed = rows.filter(own).join(frame, on=told, how="left", nulls_equal=True)
    timed = timed.with_columns(first_seen="first", last_seen="last").select(rows.columns)
    return pl.concat([rows.filter(~own), timed])


def merge(*parts: Observations) -> Observations:
    """The sum of observations of disjoint sets of whole runs."""
    if len(parts) < 2:
        return parts[0] if parts else EMPTY
    rows = pl.concat([p.rows for p in parts])
    summed = rows.group_by(_ID).agg(_HOW.get(c, pl.Expr.sum)(pl.col(c)) for c in SUMS)
    items = pl.concat([p.items for p in parts]).unique("item")
    return Observations(_typed(summed), items)


def _typed(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(ROWS.names()).cast(ROWS)


def _hashed(texts: pl.Series) -> pl.DataFrame:
    known = [t for t in texts.to_list() if t is not None]
    return pl.DataFrame({"item": [digest(t) for t in known], "text": known}, schema=ITEMS)


def _summed(rows: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """brief.ROWS"""
    sums = rows.group_by(brief.KEY).agg(_HOW.get(c, pl.Expr.sum)(pl.col(c)) for c in SUMS)
    return sums.join(items, on="item", how="left").drop("item").rename({"text": "item"}).select(brief.ROWS.names())


def _number(item: pl.Expr) -> pl.Expr:
    """The first 8 bytes of an item's hash."""
    return item.bin.slice(0, 8).bin.reinterpret(dtype=pl.UInt64, endianness="big")
