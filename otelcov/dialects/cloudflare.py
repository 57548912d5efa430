"""Cloudflare's Agents SDK around the AI SDK: the conventions, but that asking for leave looks like a tool that runs,
that what was called off or outlived its request is no error, and that why an answer ended has a key of its own."""

import polars as pl

from otelcov.dialects.base import OTHER, Dialect, first

_LEAVE = pl.col("cloudflare.agents.operation.name") == "tool.approval"
_STATE = _LEAVE & pl.col("span.name").str.starts_with("tool_approval")
_UNDONE = first("cloudflare.agents.canceled", "cloudflare.agents.span.truncated").is_not_null()

CLOUDFLARE = Dialect(
    name="cloudflare-agents",
    # A mark in the span of a tool that ran; of one that waits, or was given no leave, the span is made for the mark.
    kind=pl.when(_STATE).then(pl.lit(OTHER)),
    tool_error=pl.when(_LEAVE & ~_STATE)
    .then(pl.lit("denied"))
    .when(_UNDONE & pl.col("gen_ai.tool.name").is_not_null())
    .then(pl.lit("unknown")),
    finish=pl.when(_UNDONE).then(pl.lit("canceled")).otherwise(pl.col("cloudflare.agents.response.finish_reason")),
)
