"""Ballerina's AI module: the conventions. What a tool gave back may be an error, which ends its span well and is told
in place of a result."""

import polars as pl

from otelcov.dialects.base import Dialect

_TOOL = (pl.col("span.type") == "ai") & (pl.col("gen_ai.operation.name") == "execute_tool")

BALLERINA = Dialect(
    name="ballerina",
    tool_error=pl.when(_TOOL & pl.col("gen_ai.tool.output").str.contains(r'^error(?: [\w:/.]{1,200})? ?\("')).then(
        pl.lit("true")
    ),
)
