"""What a report over all services, releases, models and agents needs of observations, and no more.

Rows are summed over service, release and model, agents' own shares are left out, and items are text. Paths and tool
sequences can be as many as runs: they are *kinds*, told apart by 8 bytes of their hash (two of a million fall together
with a chance of 3 in 10^8), and the text of one is looked up when it is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import polars as pl

from otelcov.coverage.facts import MASS, SUMS
from otelcov.coverage.tally import ASKED
from otelcov.ground.selection import Selection

WIDE = ("path", "sequence")
SETS = "state_set"
# Their agent is a part of the item. With `_asked`: of runs that asked for it and did not do it.
EDGES = tuple(
    f"{name}{asked}"
    for name in ("edge", "edge_tool", "edge_open", "edge_tool_open", "delegation")
    for asked in ("", ASKED)
)

KEY = ["bucket", "environment", "case", "dimension", "agent", "item"]
ROWS = pl.Schema({"bucket": pl.Int64, **dict.fromkeys(KEY[1:], pl.String), **SUMS})
KINDS = pl.Schema(
    {
        "dimension": pl.String,
        "environment": pl.String,
        "case": pl.String,
        "item": pl.UInt64,
        "runs": pl.Int64,
        "mass": pl.Int64,
    }
)
Texts = Callable[[pl.Series], dict[int, str]]


@dataclass(frozen=True)
class Brief:
    rows: pl.DataFrame  # ROWS, without WIDE and SETS; several may have one key
    kinds: pl.DataFrame  # KINDS, of WIDE
    texts: tuple[Texts, ...]  # of paths; each knows some
    sets: tuple[Callable[[], pl.DataFrame], ...]  # ROWS of SETS, read where asked for

    def named(self, paths: pl.DataFrame) -> pl.DataFrame:
        """Rows of paths with the text in the place of the number."""
        items, known = paths["item"], dict[int, str]()
        for texts in self.texts:
            if len(known) < len(items):
                known |= texts(items)
        return paths.with_columns(item=pl.Series([known[item] for item in items], dtype=pl.String))

    def chosen(self, selection: Selection) -> Brief:
        """The part of the environments and test cases that a selection names."""
        told = self
        for name in ("environment", "case"):
            if wanted := getattr(selection, name):
                told = told._only(name, wanted)
        return told

    def _only(self, column: str, values: Iterable[str]) -> Brief:
        """The part of some environments or test cases."""
        kept = pl.col(column).is_in(sorted(values))

        def chosen(read: Callable[[], pl.DataFrame]) -> Callable[[], pl.DataFrame]:
            return lambda: read().filter(kept)

        sets = tuple(chosen(read) for read in self.sets)
        return replace(self, rows=self.rows.filter(kept), kinds=self.kinds.filter(kept), sets=sets)


def add(parts: Iterable[Brief]) -> Brief:
    """The sum; whoever reads it adds up by item anyway."""
    some = list(parts)
    return Brief(
        pl.concat([ROWS.to_frame(), *(p.rows for p in some)]),
        pl.concat([KINDS.to_frame(), *(p.kinds for p in some)]),
        tuple(texts for p in some for texts in p.texts),
        tuple(sets for p in some for sets in p.sets),
    )


def summed(kinds: pl.DataFrame) -> pl.DataFrame:
    """KINDS rows, each kind once."""
    return kinds.group_by(KINDS.names()[:-2]).agg(pl.col("runs", "mass").sum())


def kinds_of(rows: pl.DataFrame) -> pl.DataFrame:
    """item, runs, mass of KINDS rows, summed by item.

    Most kinds of much traffic were seen once, by one run: to sort their numbers is several times faster than to group.
    """
    once = (pl.col("runs") == 1) & (pl.col("mass") == MASS)
    more = rows.filter(~once).select("item", "runs", "mass")
    seen = rows.filter(once)["item"].sort().rle().struct.unnest()
    single = seen.select(item="value", runs=pl.col("len").cast(pl.Int64), mass=pl.col("len").cast(pl.Int64) * MASS)
    if not more.height:
        return single
    both = pl.col("item").is_in(more["item"].unique().implode())
    summed = pl.concat([more, single.filter(both)]).group_by("item").agg(pl.col("runs", "mass").sum())
    return pl.concat([single.filter(~both), summed])
