"""Open Agent Spec: what was raised is an event of its own, and what a tool gave stands under the names of its outputs.

A tool that raised has nothing under any of them, and so has one that gave nothing.
"""

import polars as pl

from otelcov.dialects.base import NOTHING, Dialect, of_event

_BACK = pl.when(pl.col(of_event("ToolExecutionResponse", "type")).is_not_null()).then(pl.col("output.value"))
_EMPTY = _BACK.str.contains(r'^\{(?:"[^"]+": ?null(?:, ?)?)*\}$')

AGENTSPEC = Dialect(
    name="agentspec",
    result=pl.when(_EMPTY)
    .then(pl.lit(NOTHING))
    .otherwise(_BACK.str.extract(r'^\{"[^"]+": ?("(?:[^"\\]|\\.)*"|-?[\d.]+|true|false)\}$')),
    tool_error=pl.when(_EMPTY).then(pl.lit("unknown")),
    error_type=pl.col(of_event("ExceptionRaised", "exception_type")),
    error_text=pl.col(of_event("ExceptionRaised", "exception_message")),
)
