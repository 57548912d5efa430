"""Flue: the conventions, but that what a tool takes or gives has a key of its own where it is no object, and that what
was broken off is no error."""

import polars as pl

from otelcov.dialects.base import Dialect, first

FLUE = Dialect(
    name="flue",
    arguments=first("flue.tool.call.arguments"),
    result=first("flue.tool.call.result"),
    tool_error=pl.when(pl.col("flue.canceled").is_not_null()).then(pl.lit("unknown")),
)
