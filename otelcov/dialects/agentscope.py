"""AgentScope: the conventions, with what is said of a call in the frame of its result."""

import polars as pl

from otelcov.dialects.base import Dialect, scope

_STATE = pl.col("gen_ai.tool.call.result").str.json_path_match("$.state")

AGENTSCOPE = Dialect(
    name="agentscope",
    tool_error=pl.when(scope(r"^agentscope$") & (_STATE == "interrupted")).then(pl.lit("unknown")),
)
