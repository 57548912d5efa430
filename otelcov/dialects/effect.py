"""Effect's AI: a tool is run in the span of the model call that asked for it, named like any other. What it gave is not
told, and what it failed with is a result like any other if it was declared so."""

import polars as pl

from otelcov.dialects.base import TOOL, Dialect

_HANDLES = pl.when((pl.col("span.name") == "Toolkit.handle") & pl.col("tool").is_not_null())

EFFECT = Dialect(
    name="effect-ai",
    kind=_HANDLES.then(pl.lit(TOOL)),
    tool=_HANDLES.then(pl.col("tool")),
    arguments=_HANDLES.then(pl.col("parameters")),
    tool_error=_HANDLES.then(pl.lit("unknown")),
)
