"""Strands before its spans bore the conventions' operations (0.1): a system's name, and names and keys of its own."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL, Dialect, first

_OURS = (pl.col("gen_ai.system") == "strands-agents") & pl.col("gen_ai.operation.name").is_null()
_IN_CYCLE = pl.col("event_loop.cycle_id").is_not_null()
_MODEL = (pl.col("span.name") == "Model invoke") & (_OURS | pl.col("gen_ai.operation.name").is_null() & _IN_CYCLE)
_TOOL = pl.col("tool.id").is_not_null() & (pl.col("span.name") == pl.concat_str(pl.lit("Tool: "), pl.col("tool.name")))
_CYCLE = _IN_CYCLE & pl.col("gen_ai.operation.name").is_null()
_CALL = pl.when(_TOOL)

STRANDS = Dialect(
    name="strands",
    kind=pl.when(_TOOL)
    .then(pl.lit(TOOL))
    .when(_MODEL)
    .then(pl.lit(LLM))
    .when(_CYCLE)
    .then(pl.lit(CHAIN))
    .when(_OURS & pl.col("agent.name").is_not_null())
    .then(pl.lit(AGENT)),
    tool=_CALL.then(pl.col("tool.name")),
    call_id=_CALL.then(pl.col("tool.id")),
    arguments=_CALL.then(pl.col("tool.parameters")),
    result=_CALL.then(first("tool.result", "gen_ai.completion")),
    definitions=pl.when(_OURS).then(pl.col("gen_ai.agent.tools")),
)
