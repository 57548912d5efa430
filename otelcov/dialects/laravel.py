"""What tells of the Laravel AI SDK, for PHP: the conventions. What is still open as all is told, as of a stream that
nobody read to its end, ends with a key that says so."""

import polars as pl

from otelcov.dialects.base import Dialect

_LEFT = pl.col("laravel.ai.abandoned").str.to_lowercase() == "true"
_TOOL = pl.col("gen_ai.operation.name") == "execute_tool"

LARAVEL = Dialect(
    name="laravel",
    finish=pl.when(_LEFT & ~_TOOL).then(pl.lit("canceled")),
    tool_error=pl.when(_LEFT & _TOOL).then(pl.lit("unknown")),
)
