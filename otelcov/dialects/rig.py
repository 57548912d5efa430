"""Rig, for Rust: the conventions, where spans have no status and a tool that failed tells so in what came back alone.

What comes back is noted for each tool that ran; a hook that kept one from running, or ended all, leaves none, and one
whose arguments were no object has no name either. Since tools have an outcome, that tells how they went.
"""

import polars as pl

from otelcov.dialects.base import Dialect, first

_OWN = first("target", "code.module.name", "code.namespace").str.contains(r"^rig(?:_\w+)?::")
_TOOL = _OWN & (pl.col("gen_ai.operation.name") == "execute_tool") & pl.col("gen_ai.tool.call.outcome").is_null()
_BACK = pl.col("gen_ai.tool.call.result")

RIG = Dialect(
    name="rig",
    tool_error=pl.when(
        _TOOL & (pl.col("gen_ai.tool.name").is_null() | _BACK.str.contains(r"^(?:Toolset error: )?ToolNotFoundError: "))
    )
    .then(pl.lit("denied"))
    .when(_TOOL & _BACK.str.contains(r"^(?:Toolset error: )?(?:ToolCallError|JsonError): "))
    .then(pl.lit("true"))
    .when(_TOOL & _BACK.is_null())
    .then(pl.lit("unknown")),
)
