"""What runs are told apart by beyond their own columns: an attribute of any span, such as a prompt's version."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

# Under which names the version of a prompt travels; the first that a run has counts.
PROMPT = (
    "gen_ai.prompt.version",
    "langfuse.observation.prompt.version",
    "langfuse.prompt.version",
    "llm.prompt_template.version",
    "traceloop.prompt.version",
    "prompt.version",
    "prompt_version",
)


def attribute(spans: pl.LazyFrame, keys: Sequence[str]) -> dict[str, str]:
    """trace id -> the value of the first of these keys that one of its spans has; several values are joined."""
    rank = {key: number for number, key in enumerate(keys)}
    pairs = (
        spans.select(
            "trace_id", pair=pl.col("attributes").list.filter(pl.element().struct.field("key").is_in(list(keys)))
        )
        .filter(pl.col("pair").list.len() > 0)
        .explode("pair")
        .collect()
        .unnest("pair")
    )
    text = pl.coalesce(
        "string_value", *(pl.col(c).cast(pl.String) for c in ("int_value", "double_value", "bool_value"))
    )
    found = (
        pairs.select(
            pl.col("trace_id").bin.encode("hex"),
            value=text,
            rank=pl.col("key").replace_strict(rank, default=None, return_dtype=pl.Int64),
        )
        .drop_nulls()
        .filter(pl.col("rank") == pl.col("rank").min().over("trace_id"))
        .group_by("trace_id")
        .agg(pl.col("value").unique().sort().str.join(" + "))
    )
    return dict(found.iter_rows())
