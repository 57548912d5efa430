"""GigaFlow's SDK for Python: the conventions, what a user said, and no word of what failed on any span."""

import polars as pl

from otelcov.dialects.base import CHAIN, Dialect, value

_DID = pl.col("gigaflow.primitive.type")

GIGAFLOW = Dialect(
    name="gigaflow",
    kind=value("gigaflow.primitive.type", user_input=CHAIN, transform=CHAIN),
    input=pl.when(_DID == "user_input").then(pl.col("gigaflow.content")),
    tool_error=pl.when(_DID == "tool_invocation").then(pl.lit("unknown")),
)
