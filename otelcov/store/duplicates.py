"""A span counts once however often it is sent, and which of its copies counts does not depend on their order.

Of the copies of one (trace_id, span_id) the ended one wins over the one that has not ended, then the later end, then
more attributes, then the greater bytes. A log record has no id: records are copies when they are equal.

Two columns keep count, so that it is the same before and after upkeep has dropped copies: `copies`, the further copies
that a row stands for, and `differed`, whether any of them was another.

Most rows have no copies. They are told apart by a cheap hash first, and only the rest is compared.
"""

from __future__ import annotations

import polars as pl

from otelcov.ground.schemas import LOGS, SPANS
from otelcov.store.otlp import span_bytes

COPIES = pl.Schema({"copies": pl.UInt32, "differed": pl.Boolean})

_SPAN = ["trace_id", "span_id"]
# When a row came and what was masked in its request say nothing about the span itself.
_ARRIVAL = ["received_unix_nano", "masked"]
_ORIGIN = ["resource", "scope", "resource_schema_url", "scope_schema_url"]
_HASHED = {"spans": _SPAN, "logs": [*_SPAN, "time_unix_nano", "observed_time_unix_nano", "event_name"]}


def new(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows that stand for themselves alone."""
    return frame.with_columns(pl.lit(0, pl.UInt32).alias("copies"), pl.lit(False).alias("differed"))


def unique(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Each row once; the frame has COPIES."""
    copied = frame.select(rough(table).is_duplicated()).to_series()
    if not copied.any():
        return frame
    return pl.concat([frame.filter(~copied), merge(table, frame.filter(copied))])


def rough(table: str) -> pl.Expr:
    """64 bits: rows of different hash are no copies of each other."""
    return pl.struct(_HASHED[table]).hash()


def merge(table: str, suspects: pl.DataFrame) -> pl.DataFrame:
    """Each row once, of rows whose rough hashes meet."""
    schema = SPANS if table == "spans" else LOGS
    digest = pl.struct(name for name in schema if name not in _ARRIVAL).hash()
    told = suspects.with_columns(digest.alias("_digest"))
    return (_best_spans(told) if table == "spans" else _equal_logs(told)).select(suspects.columns)


def _equal_logs(told: pl.DataFrame) -> pl.DataFrame:
    sums = told.group_by("_digest").agg((pl.col("copies").sum() + pl.len() - 1).cast(pl.UInt32))
    kept = told.sort("_digest", *_ARRIVAL).unique("_digest", keep="first", maintain_order=True)
    return kept.drop("copies").join(sums, on="_digest")


def _best_spans(told: pl.DataFrame) -> pl.DataFrame:
    sums = told.group_by(_SPAN).agg(
        (pl.col("copies").sum() + pl.len() - 1).cast(pl.UInt32),
        pl.col("differed").any() | (pl.col("_digest").n_unique() > 1),
    )
    attributes = pl.col("attributes").list.len() + pl.col("content").list.len()
    best = (
        told.sort(*_ARRIVAL)
        .unique([*_SPAN, "_digest"], keep="first", maintain_order=True)
        .with_columns(attributes.alias("_attributes"))
        .filter(pl.col("end_time_unix_nano") == pl.col("end_time_unix_nano").max().over(_SPAN))  # 0: not ended
        .filter(pl.col("_attributes") == pl.col("_attributes").max().over(_SPAN))
    )
    tied = best.select(pl.struct(_SPAN).is_duplicated()).to_series()
    if tied.any():
        best = pl.concat([best.filter(~tied), _greater_bytes(best.filter(tied))])
    return best.drop(COPIES.names()).join(sums, on=_SPAN, nulls_equal=True)


def _greater_bytes(tied: pl.DataFrame) -> pl.DataFrame:
    return (
        tied.with_columns(span_bytes(tied).alias("_bytes"))
        .sort(*_SPAN, "_bytes", *_ORIGIN, descending=[False] * 2 + [True] * 5)  # equal bytes: of two origins
        .unique(_SPAN, keep="first", maintain_order=True)
        .drop("_bytes")
    )
