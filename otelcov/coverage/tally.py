"""Steps of runs added up: sums per key, dimension, agent and item.

Runs that are alike - that took the same steps, whenever and for whomever - are counted from one of them: most traffic
goes few ways, and text is what costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from otelcov.coverage.facts import SUMS, Facts

_WIDE = 2**32
_NOBODY = 2**32 - 1
_NUMBERS = ("executed", "errors", "requested")
_DEFAULTS = {"executed": pl.lit(1), "errors": pl.lit(0), "requested": pl.lit(0), "at": pl.lit(None)}


ASKED = "_asked"  # after a dimension's name: what was only asked for


@dataclass(frozen=True)
class Steps:
    """What runs did in one dimension.

    The frame has rid, agent (the scope), item, and optionally executed, errors, requested (numbers, by default 1, 0, 0)
    and at. A run counts for an item that it executed; with `any_evidence`, one that only asked for it counts for the
    same item of the dimension `…_asked`.
    `once` promises that no run has the same item of the same agent twice.
    """

    dimension: str
    frame: pl.DataFrame
    any_evidence: bool = False
    once: bool = False


@dataclass(frozen=True)
class Counted:
    """Steps summed by run: `sums` has rid, what, executed, errors, requested, counted (0 or 1), first and last;
    `names` what the numbers of `what` mean: dimension, agent, item."""

    sums: pl.DataFrame
    names: pl.DataFrame

    def timeless(self) -> Counted:
        nowhen = pl.lit(None, pl.Int64)
        return Counted(self.sums.with_columns(first=nowhen, last=nowhen), self.names)

    def hashed(self, items: pl.DataFrame) -> Counted:
        """With the hash of each item (item, text) in the place of its text."""
        names = self.names.rename({"item": "text"}).join(items, on="text", how="left", maintain_order="left")
        return Counted(self.sums, names)


def tally(facts: Facts, steps: list[Steps]) -> pl.DataFrame:
    """Observations: key, agent, dimension, item and SUMS."""
    return total(count(facts, steps), each(facts), facts.traces)


def count(facts: Facts, steps: list[Steps]) -> Counted:
    frames = [_plain(facts, s.frame, kind) for kind, s in enumerate(steps)]
    coded, names = _coded(pl.concat(frames))
    again = pl.Series([not s.once or facts.units is not None for s in steps], dtype=pl.Boolean)
    several = again.gather(coded["kind"])
    alone = coded.filter(~several).select("rid", "what", *_NUMBERS, first="at", last="at")
    summed = (
        coded.filter(several)
        .group_by(both=pl.col("rid").cast(pl.UInt64) * _WIDE + pl.col("what"))
        .agg(pl.col(_NUMBERS).sum(), first=pl.col("at").min(), last=pl.col("at").max())
        .select(
            (pl.col("both") // _WIDE).cast(pl.UInt32).alias("rid"),
            (pl.col("both") % _WIDE).cast(pl.UInt32).alias("what"),
            pl.exclude("both"),
        )
    )
    sums = pl.concat([alone, summed])
    evidence = pl.Series([s.any_evidence for s in steps], dtype=pl.Boolean).gather(names["kind"])
    done = sums["executed"] > 0
    only_asked = ~done & evidence.gather(sums["what"])
    dimensions = pl.Series("dimension", [s.dimension for s in steps], dtype=pl.String).gather(names["kind"])
    names = names.with_columns(dimensions)
    if only_asked.any():
        names = pl.concat([names, names.with_columns(pl.col("dimension") + ASKED)])
    what = (sums["what"] + only_asked.cast(pl.UInt32) * dimensions.len()).alias("what")
    return Counted(sums.with_columns(what, (done | only_asked).cast(pl.Int64).alias("counted")), names)


def each(facts: Facts) -> pl.DataFrame:
    """Every run for itself, as `total` asks for it: rid, key, n (runs), mass, start, end (its start again), trace."""
    return facts.runs.select(
        "rid", "key", pl.lit(1, pl.Int64).alias("n"), "mass", "start", pl.col("start").alias("end"), trace="trace_rank"
    )


def total(counted: Counted, runs: pl.DataFrame, traces: pl.Series) -> pl.DataFrame:
    """Sums per key; `runs` are n runs each that did what `rid` did: their key, mass, first and last start, trace."""
    n, hit = pl.col("n"), pl.col("counted")
    rows = (
        counted.sums.join(runs, on="rid")
        .select(
            (pl.col("key").cast(pl.UInt64) * _WIDE + pl.col("what")).alias("both"),
            (hit * n).alias("runs"),
            (hit * pl.col("mass")).alias("mass"),
            *(pl.col(name) * n for name in _NUMBERS),
            pl.coalesce("first", "start").alias("first_seen"),
            pl.coalesce("last", "end").alias("last_seen"),
            "trace",
        )
        .group_by("both")
        .agg(
            pl.col("runs", "mass", *_NUMBERS).sum(),
            pl.col("first_seen").min(),
            pl.col("last_seen").max(),
            pl.col("trace").min(),
        )
    )
    what, names = rows["both"] % _WIDE, counted.names
    return rows.select(
        (pl.col("both") // _WIDE).cast(pl.UInt32).alias("key"),
        *(names[name].gather(what) for name in ("agent", "dimension", "item")),
        "runs",
        "mass",
        pl.col("executed").alias("calls"),
        *_NUMBERS[1:],
        "first_seen",
        "last_seen",
        traces.gather(rows["trace"]).alias("example_trace"),
    ).select("key", "agent", "dimension", "item", *SUMS)


def apart(steps: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The steps of items that their run did, and of those it only asked for."""
    asked = steps.filter(pl.col("executed") == 0)
    if asked.is_empty():
        return steps, asked
    item = ["rid", "agent", "item"]
    only = asked.join(steps.filter(pl.col("executed") > 0), on=item, how="anti", nulls_equal=True)
    return steps.join(only, on=item, how="anti", nulls_equal=True), only


def times(facts: Facts, steps: pl.DataFrame) -> pl.DataFrame:
    """key, agent, item, first, last: when these steps were taken."""
    return (
        steps.select("agent", "item", "at", facts.runs["key"].gather(steps["rid"]))
        .group_by("key", "agent", "item")
        .agg(first=pl.col("at").min(), last=pl.col("at").max())
    )


def _plain(facts: Facts, frame: pl.DataFrame, kind: int) -> pl.DataFrame:
    """Steps of this number in the same columns; a cluster's are those of the run that stands for it."""
    given = {c: pl.col(c) if c in frame.columns else e for c, e in _DEFAULTS.items()}
    if facts.units is not None:
        frame = frame.join(facts.units, on="rid").drop("rid").rename({"unit": "rid"})
    return frame.select(
        pl.col("rid").cast(pl.UInt32),
        pl.col("agent", "item").cast(pl.String),
        **{c: e.cast(pl.Int64) for c, e in given.items()},
        kind=pl.lit(kind, pl.UInt32),
    )


def _coded(steps: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Steps with `what`, a number for each (kind, agent, item), and the table of what the numbers mean."""
    # One whole number to group by is several times faster than three columns, two of them text.
    marked = steps.with_columns(
        _agent=pl.col("agent").cast(pl.Categorical).to_physical().fill_null(_NOBODY),
        _item=pl.col("item").cast(pl.Categorical).to_physical(),
    ).with_columns(_who=pl.col("kind").cast(pl.UInt64) * _WIDE + pl.col("_agent"))
    who = marked.select(pl.col("_who").unique()).with_row_index("_scope")
    marked = marked.join(who, on="_who", how="left", maintain_order="left")
    marked = marked.with_columns(_both=pl.col("_scope").cast(pl.UInt64) * _WIDE + pl.col("_item"))
    names = marked.group_by("_both").agg(pl.col("kind", "agent", "item").first()).with_row_index("what")
    coded = marked.select("rid", "kind", *_NUMBERS, "at", "_both")
    coded = coded.join(names.select("_both", "what"), on="_both", how="left", maintain_order="left")
    return coded.drop("_both"), names
