"""NeuroLink: a span of a whole loop, with the sum of what it used, and spans of the layers a tool's call goes through.
The calls of the loop are told by the AI SDK's own spans, if at all."""

import polars as pl

from otelcov.dialects.base import CHAIN, TOOL, Dialect, first

_TOOL = pl.col("span.name").str.contains(
    r"^neurolink\.(?:tool\.execute|tool\.registry\.execute|tools\.execute_custom)$"
)

NEUROLINK = Dialect(
    name="neurolink",
    kind=pl.when((pl.col("span.name") == "neurolink.executeGeneration") & (pl.col("neurolink.tool_count") != "0"))
    .then(pl.lit(CHAIN))
    .when(_TOOL)
    .then(pl.lit(TOOL)),
    tool=pl.when(_TOOL).then(first("gen_ai.tool.name", "tool.name", "mcp.tool_name")),
)
