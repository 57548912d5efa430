"""A span counts once however often it is sent, and which of its copies counts does not depend on their order.

Of the copies of one (trace_id, span_id) the ended one wins over the one that has not ended, then the later end, then
more attributes, then the greater bytes. A log record has no id: records are the same when all their bytes are.

Most ids are unique, so the copies are found first, by a hash of the id alone, and only they are compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from otelcov.ground.schemas import LOGS, SPANS
from otelcov.store.otlp import span_bytes

# When a row came and what was masked in its request say nothing about the span itself.
_ARRIVAL = ("received_unix_nano", "masked")


@dataclass(frozen=True)
class Unique:
    """Rows, each once; how many further copies there were, and how many rows had copies that differed."""

    frame: pl.DataFrame
    duplicates: int
    conflicts: int


def unique_spans(frame: pl.DataFrame) -> Unique:
    """Each span once."""
    copies = frame.select(span_hash().is_duplicated()).to_series()
    if not copies.any():
        return Unique(frame, 0, 0)
    suspects = frame.filter(copies)
    kept, conflicts = _best(suspects)
    return Unique(pl.concat([frame.filter(~copies), kept]), suspects.height - kept.height, conflicts)


def unique_logs(frame: pl.DataFrame) -> Unique:
    """Each log record once."""
    same = frame.select(_digest(LOGS)).to_series()
    if not same.is_duplicated().any():
        return Unique(frame, 0, 0)
    kept = frame.with_columns(same.alias("_digest")).sort("_digest", *_ARRIVAL, maintain_order=True)
    kept = kept.unique("_digest", keep="first", maintain_order=True).select(frame.columns)
    return Unique(kept, frame.height - kept.height, 0)


def span_hash() -> pl.Expr:
    """64 bits of a span's id: spans of different hash are different spans."""
    return pl.struct("trace_id", "span_id").hash()


def _digest(schema: pl.Schema) -> pl.Expr:
    return pl.struct(name for name in schema if name not in _ARRIVAL).hash().alias("_digest")


def _best(suspects: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The copy that counts of every span, and how many spans had copies that differed."""
    span = ["trace_id", "span_id"]
    rank = [
        pl.col("end_time_unix_nano"),  # 0 while not ended
        pl.col("attributes").list.len() + pl.col("content").list.len(),
    ]
    ranked = (
        suspects.with_columns(_digest(SPANS), *(r.alias(f"_rank{i}") for i, r in enumerate(rank)))
        .sort(*span, "_rank0", "_rank1", "_digest", *_ARRIVAL, descending=[False] * 2 + [True] * 2 + [False] * 3)
        .unique([*span, "_digest"], keep="first", maintain_order=True)
    )
    conflicts = ranked.select(pl.struct(span).unique_counts().gt(1).sum()).item()
    best = ranked.filter(pl.struct("_rank0", "_rank1") == pl.struct("_rank0", "_rank1").first().over(span))
    tied = best.select(pl.struct(span).is_duplicated()).to_series()
    if tied.any():
        best = pl.concat([best.filter(~tied), _greater_bytes(best.filter(tied))])
    return best.select(suspects.columns), int(conflicts)


def _greater_bytes(tied: pl.DataFrame) -> pl.DataFrame:
    """The copy with the greater bytes. Few copies tie this far, so only these are serialized."""
    around = ["resource", "scope", "resource_schema_url", "scope_schema_url"]  # of equal spans from two origins
    return (
        tied.with_columns(span_bytes(tied).alias("_bytes"))
        .sort("trace_id", "span_id", "_bytes", *around, descending=[False] * 2 + [True] * 5)
        .unique(["trace_id", "span_id"], keep="first", maintain_order=True)
        .drop("_bytes")
    )
