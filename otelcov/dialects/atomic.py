"""Atomic Agents: the conventions, with what came and went in keys of its own, and a mark on what was called off, which
is no error."""

import polars as pl

from otelcov.dialects.base import Dialect, first

_CALLED_OFF = pl.col("atomic_agents.cancelled").str.to_lowercase() == "true"
_TOOL = pl.col("gen_ai.operation.name") == "execute_tool"

ATOMIC_AGENTS = Dialect(
    name="atomic_agents",
    input=first("atomic_agents.input"),
    output=first("atomic_agents.output"),
    finish=pl.when(_CALLED_OFF & ~_TOOL).then(pl.lit("canceled")),
    tool_error=pl.when(_CALLED_OFF & _TOOL).then(pl.lit("unknown")),
)
