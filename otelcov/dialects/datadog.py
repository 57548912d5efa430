"""Datadog's tracer, where it exports OTLP: steps of what it observes of models say their kind by an operation of its
own; the model that answered stands where the one that was asked for does. For JavaScript a tool or an agent that a
program declares has no name but its span's; for Python all else is packed into one attribute (trace/packed.py)."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, HANDOFF, LLM, NOTHING, OTHER, TOOL, Dialect, first, value

_TOLD = pl.col("_dd.llmobs.artificial_gen_ai_tags").is_not_null()
_KIND = value(
    "gen_ai.operation.name",
    llm=LLM,
    agent=AGENT,
    tool=TOOL,
    workflow=CHAIN,
    task=CHAIN,
    embedding=OTHER,
    retrieval=OTHER,
)
_OVER = _TOLD & (pl.col("span.name") == "openai_agents.handoff")
_DECLARED = pl.when(_TOLD & (pl.col("_dd.integration") == "opentracing"))
_BARE = pl.when(_TOLD & (pl.col("span.name") == pl.col("gen_ai.operation.name")))  # what a program declares in Python
_CLIENTS = ("ai", "openai", "anthropic", "google_genai", "vertexai", "langchain")
_NONE_TOLD = pl.when(pl.col("gen_ai.request.model") == "custom").then(pl.lit(NOTHING))

DATADOG = Dialect(
    name="datadog",
    kind=pl.when(_OVER).then(pl.lit(HANDOFF)).when(_TOLD).then(_KIND),
    from_agent=pl.when(_OVER).then(pl.col("input.value")),
    to_agent=pl.when(_OVER).then(pl.col("output.value")),
    agent=pl.coalesce(
        _DECLARED.then(pl.when(_KIND == AGENT).then(pl.col("span.name"))),
        _BARE.then(pl.when(_KIND == AGENT).then(pl.col("operation.name"))),
    ),
    tool=pl.coalesce(
        _DECLARED.then(pl.when(_KIND == TOOL).then(pl.col("span.name"))),
        _BARE.then(pl.when(_KIND == TOOL).then(pl.col("operation.name"))),
    ),
    request_model=pl.when(_TOLD).then(pl.coalesce([first(*(f"{c}.request.model" for c in _CLIENTS)), _NONE_TOLD])),
    response_model=pl.when(_TOLD).then(first(*(f"{c}.response.model" for c in _CLIENTS))),
    response_id=pl.when(_TOLD).then(pl.col("openai.response.id")),
    finish=pl.when(_TOLD).then(pl.col("openai.response.status")),
)
