"""A span counts once however often it is sent, and which of its copies counts does not depend on their order.

Of the copies of one (trace_id, span_id) the ended one wins over the one that has not ended, then the later end, then
more attributes, then the greater bytes. A log record has no id: records are copies when they are equal.

Two columns keep count, so that it is the same before and after upkeep has dropped copies: `copies`, the further copies
that a row stands for, and `differed`, whether any of them was another.

Most rows have no copies, so a cheap hash tells them apart first. Of the others only what decides is held in memory,
not the rows: a resent day is as large as the day.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from otelcov.ground.schemas import LOGS, SPANS
from otelcov.store.otlp import span_bytes

COPIES = pl.Schema({"copies": pl.UInt32, "differed": pl.Boolean})

_SPAN = ["trace_id", "span_id"]
# When a row came and what was masked in its request say nothing about the span itself.
_ARRIVAL = ["received_unix_nano", "masked"]
_ORIGIN = ["resource", "scope", "resource_schema_url", "scope_schema_url"]
_HASHED = {"spans": _SPAN, "logs": [*_SPAN, "time_unix_nano", "observed_time_unix_nano", "event_name"]}


_DECIDING = [
    *(pl.col(name) for name in _SPAN),
    pl.col("end_time_unix_nano").alias("_end"),
    (pl.col("attributes").list.len() + pl.col("content").list.len()).alias("_attributes"),
]
_ROW = "_row"


@dataclass(frozen=True)
class Verdict:
    """Which rows of a frame are copies of another, by their number, and what the others of these stand for."""

    dropped: pl.Series
    kept: pl.DataFrame  # row, copies, differed

    def of(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Each row once."""
        left = rows.with_row_index(_ROW).filter(~pl.col(_ROW).is_in(self.dropped.implode()))
        # Not by a join: that would move all the columns of all the rows.
        return left.with_columns(
            pl.col(_ROW)
            .replace_strict(self.kept[_ROW], self.kept[name], default=pl.col(name), return_dtype=kind)
            .alias(name)
            for name, kind in COPIES.items()
        )


def new(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows that stand for themselves alone."""
    return frame.with_columns(pl.lit(0, pl.UInt32).alias("copies"), pl.lit(False).alias("differed"))


def unique(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Each row once; the frame has COPIES."""
    verdict = judge(table, frame.lazy())
    return frame if verdict is None else verdict.of(frame.lazy()).select(frame.columns).collect()


def judge(table: str, rows: pl.LazyFrame) -> Verdict | None:
    """None if no row has a copy. The rows must come in the same order whenever they are collected."""
    schema, deciding = (SPANS, _DECIDING) if table == "spans" else (LOGS, [])
    rough = pl.struct(_HASHED[table]).hash()
    hashes = rows.select(rough.alias("hash")).collect()["hash"]
    copied = hashes.filter(hashes.is_duplicated()).unique()
    if copied.is_empty():
        return None
    digest = pl.struct(name for name in schema if name not in _ARRIVAL).hash().alias("_digest")
    numbered = rows.with_row_index(_ROW)
    suspects = numbered.filter(rough.is_in(copied.implode())).select(_ROW, *deciding, digest, *_ARRIVAL, *COPIES)
    told = suspects.collect().sort(*_ARRIVAL)
    kept = _best(told, numbered) if table == "spans" else told.unique("_digest", keep="first", maintain_order=True)
    by = _SPAN if table == "spans" else ["_digest"]
    sums = told.group_by(by).agg(
        (pl.col("copies").sum() + pl.len() - 1).cast(pl.UInt32),
        pl.col("differed").any() | (pl.col("_digest").n_unique() > 1),
    )
    kept = kept.select(_ROW, *by).join(sums, on=by, nulls_equal=True).select(_ROW, *COPIES)
    return Verdict(told[_ROW].filter(~told[_ROW].is_in(kept[_ROW].implode())), kept)


def _best(told: pl.DataFrame, numbered: pl.LazyFrame) -> pl.DataFrame:
    """The copy that counts of each span; those of equal bytes are told apart by when they came."""
    best = (
        told.filter(pl.col("_end") == pl.col("_end").max().over(_SPAN))  # 0: not ended
        .filter(pl.col("_attributes") == pl.col("_attributes").max().over(_SPAN))
        .unique([*_SPAN, "_digest"], keep="first", maintain_order=True)
    )
    tied = best.select(pl.struct(_SPAN).is_duplicated()).to_series()
    if not tied.any():
        return best
    rows = best.filter(tied)
    whole = numbered.filter(pl.col(_ROW).is_in(rows[_ROW].implode())).collect()
    greatest = (
        whole.with_columns(span_bytes(whole).alias("_bytes"))
        .sort(*_SPAN, "_bytes", *_ORIGIN, descending=[False] * 2 + [True] * 5)  # equal bytes: of two origins
        .unique(_SPAN, keep="first", maintain_order=True)
    )
    return pl.concat([best.filter(~tied), rows.filter(pl.col(_ROW).is_in(greatest[_ROW].implode()))])
