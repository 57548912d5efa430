"""GoAI, for Go: the conventions, with a tool that a hook skipped in a key of its own."""

import polars as pl

from otelcov.dialects.base import Dialect

GOAI = Dialect(
    name="goai",
    tool_error=pl.when(pl.col("goai.tool.skipped").str.to_lowercase() == "true").then(pl.lit("denied")),
)
