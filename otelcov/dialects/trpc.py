"""tRPC-Agent-Go: the conventions, with what the model hears as a tool's result.

Of one of several tools that run at once the span is told nothing but its name where the tool failed, or did not run;
and leave that is not given is told as what came of it.
"""

import polars as pl

from otelcov.dialects.base import Dialect, scope

_TOOL = scope(r"^trpc\.agent\.go$") & pl.col("span.name").str.starts_with("execute_tool ")
_REFUSED = r'"content": ?"\{\\"status\\":\\"(?:denied|approval_required|approval_denied)\\",\\"tool\\":'

TRPC = Dialect(
    name="trpc-agent-go",
    tool_error=pl.when(_TOOL & pl.col("gen_ai.operation.name").is_null())
    .then(pl.lit("unknown"))
    .when(_TOOL & pl.col("gen_ai.tool.call.result").str.contains(_REFUSED))
    .then(pl.lit("denied")),
)
