"""Ax (ax-llm): a program's span holds its model calls, which tell their tokens by an event, and beside them its tools,
of which nothing but the name and the call is told."""

import polars as pl

from otelcov.dialects.base import CHAIN, TOOL, Dialect, first, of_event

_TOOL = pl.when(pl.col("tool.mode").is_not_null() & pl.col("tool.name").is_not_null())
_USAGE = "gen_ai.usage"

AX = Dialect(
    name="ax",
    kind=_TOOL.then(pl.lit(TOOL)).when(pl.col("signature_name").is_not_null()).then(pl.lit(CHAIN)),
    tool=_TOOL.then(pl.col("tool.name")),
    call_id=_TOOL.then(pl.col("function.id")),
    input_tokens=first(of_event(_USAGE, "gen_ai.usage.input_tokens")),
    output_tokens=first(of_event(_USAGE, "gen_ai.usage.output_tokens")),
)
