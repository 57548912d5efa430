"""genai-otel-instrument: a run of OpenAI's agents is told by who begins it, a graph of LangGraph by no name."""

import polars as pl

from otelcov.dialects.base import CHAIN, NOTHING, Dialect, scope

_OURS = scope(r"^genai_otel\.").fill_null(value=False)
_OPERATION = pl.col("gen_ai.operation.name")
_RUN = _OURS & (_OPERATION == "agent.run")
# Who works after work was handed over is not told, nor who does where a tool runs an agent.
_ANYONE = _RUN & (
    (pl.col("openai.agent.handoff_count").cast(pl.Int64, strict=False) > 0) | pl.col("gen_ai.agent.name").is_null()
)

GENAI_OTEL = Dialect(
    name="genai-otel",
    kind=pl.when(_OURS & (_OPERATION == "graph.execution")).then(pl.lit(CHAIN)),
    agent=pl.when(_ANYONE).then(pl.lit("unknown")),
    request_model=pl.when(_RUN).then(pl.lit(NOTHING)),  # the agent's name
    input=pl.when(_RUN).then(pl.col("openai.agent.input")),
    output=pl.when(_RUN).then(pl.col("openai.agent.output")),
)
