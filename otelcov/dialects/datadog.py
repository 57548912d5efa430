"""Datadog's tracer for JavaScript, where it exports OTLP: steps of what it observes of models say their kind by an
operation of its own; a tool or an agent that a program declares has no name but its span's, and the model that answered
stands where the one that was asked for does."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, LLM, NOTHING, OTHER, TOOL, Dialect, first, value

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
_DECLARED = pl.when(_TOLD & (pl.col("_dd.integration") == "opentracing"))
_CLIENTS = ("ai", "openai", "anthropic", "google_genai", "vertexai", "langchain")
_NONE_TOLD = pl.when(pl.col("gen_ai.request.model") == "custom").then(pl.lit(NOTHING))

DATADOG = Dialect(
    name="datadog",
    kind=pl.when(_TOLD).then(_KIND),
    agent=_DECLARED.then(pl.when(_KIND == AGENT).then(pl.col("span.name"))),
    tool=_DECLARED.then(pl.when(_KIND == TOOL).then(pl.col("span.name"))),
    request_model=pl.when(_TOLD).then(pl.coalesce([first(*(f"{c}.request.model" for c in _CLIENTS)), _NONE_TOLD])),
    response_model=pl.when(_TOLD).then(first(*(f"{c}.response.model" for c in _CLIENTS))),
    response_id=pl.when(_TOLD).then(pl.col("openai.response.id")),
    finish=pl.when(_TOLD).then(pl.col("openai.response.status")),
)
