"""Haystack's own tracing: components by type; an agent's tools show in its messages, not as spans."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, LLM, OTHER, Dialect, first, json_number, json_text, scope

_TYPE = pl.col("haystack.component.type")
_MODEL = _TYPE.str.contains("Generator$")

HAYSTACK = Dialect(
    name="haystack",
    kind=pl.when(pl.col("haystack.agent.max_steps").is_not_null() | (pl.col("span.name") == "haystack.agent.run"))
    .then(pl.lit(AGENT))
    .when(_MODEL)
    .then(pl.lit(LLM))
    .when(_TYPE.str.contains("Retriever|Embedder|Ranker"))
    .then(pl.lit(OTHER))
    .when(_TYPE.is_not_null() | (pl.col("span.name") == "haystack.pipeline.run"))
    .then(pl.lit(CHAIN))
    .when(pl.col("span.name") == "haystack.tracing.auto_enable")
    .then(pl.lit(OTHER)),
    response_model=pl.when(_MODEL).then(json_text("haystack.component.output", "model")),
    input_tokens=pl.when(_MODEL).then(json_number("haystack.component.output", "prompt_tokens", "input_tokens")),
    output_tokens=pl.when(_MODEL).then(json_number("haystack.component.output", "completion_tokens", "output_tokens")),
    finish=pl.when(_MODEL).then(json_text("haystack.component.output", "finish_reason")),
    input_messages=pl.when(_MODEL).then(first("haystack.component.input")),
    output_messages=pl.when(_MODEL).then(first("haystack.component.output")),
    input=first("haystack.agent.input"),
    output=first("haystack.agent.output"),
    definitions=first("haystack.agent.tools"),
)

# OpenInference writes what fills in a prompt like a model call, and an agent like any other component.
_THEIRS = scope(r"openinference.*haystack")

HAYSTACK_PROMPTS = Dialect(
    name="haystack-prompts",
    kind=pl.when(_THEIRS & pl.col("span.name").str.contains(r"PromptBuilder\.run$"))
    .then(pl.lit(CHAIN))
    .when(_THEIRS & (pl.col("span.name") == "Agent.run"))
    .then(pl.lit(AGENT)),
)
