"""Observations: sums of what runs did.

One row per (bucket, service, environment, release, model, case, dimension, agent, item).

`partial` counts runs into rows; `merge` adds rows. They form a commutative monoid with `EMPTY` as its identity, so
windows, regions, shards and machines add up exactly, in any order. All sums are whole numbers; ratios, means,
intervals and verdicts are functions of the sum (snapshot.py) and are never stored in it. Side is not in a key: it is
derived from the environment when it is read. The parts of the config that `partial` reads are the names of models.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from otelcov.coverage import boundaries, brief, edges, metrics, models, paths, states, tools
from otelcov.coverage.brief import Brief
from otelcov.coverage.facts import KEY, SUMS, digest, flatten
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

# One observer per dimension: flat facts -> rows.
OBSERVERS = (
    tools.observe,
    paths.observe,
    states.observe,
    boundaries.observe,
    models.observe,
    edges.observe,
    metrics.observe,
)


@dataclass(frozen=True)
class Observations:
    """Rows beside the text of their items."""

    rows: pl.DataFrame
    items: pl.DataFrame

    def sorted(self) -> Observations:
        """The same in one order, for files; measuring asks for none."""
        return Observations(self.rows.sort(_ID), self.items.sort("item"))

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
    facts = flatten(runs, config, agents, cluster=cluster)
    rows = pl.concat([observe(facts) for observe in OBSERVERS])
    items = _hashed(rows["item"].unique())
    rows = rows.join(facts.keys, on="key", how="left").join(items, left_on="item", right_on="text", how="left")
    rows = rows.drop("item", "key").rename({"item_right": "item"})
    return Observations(_typed(rows), items)


def per_run(runs: pl.DataFrame, config: Config, agents: Collection[str] = ()) -> pl.DataFrame:
    """The same rows for each run alone, with the text of its items: run_id, dimension, agent, item and sums."""
    facts = flatten(runs, config, agents, key=("run_id",))
    rows = pl.concat([observe(facts) for observe in OBSERVERS])
    return rows.join(facts.keys, on="key", how="left").drop("key")


def merge(*parts: Observations) -> Observations:
    """The sum of observations of disjoint sets of whole runs."""
    if not parts:
        return EMPTY
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
