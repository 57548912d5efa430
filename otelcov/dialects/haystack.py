"""Haystack's own tracing: components by type. Since 3.0 an agent tells its steps by spans; before, its tools show in
its messages alone."""

from collections.abc import Callable

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, LLM, OTHER, TOOL, Dialect, first, json_number, json_text, scope

_TYPE = pl.col("haystack.component.type")
_STEP = pl.col("span.name") == "haystack.agent.step.llm"
_MODEL = _TYPE.str.contains("Generator$") | _STEP
_ANSWERS = ("haystack.component.output", "haystack.agent.step.llm.output")

# Somebody was asked whether a tool may run.
_REJECTED = pl.col("haystack.agent.hook.human_in_the_loop.strategy.decision") == "reject"


def _told(read: Callable[..., pl.Expr], *names: str) -> pl.Expr:
    """What a model's answer tells of itself, whichever span holds it."""
    return pl.when(_MODEL).then(pl.coalesce([read(key, *names) for key in _ANSWERS]))


HAYSTACK = Dialect(
    name="haystack",
    kind=pl.when(pl.col("haystack.agent.max_steps").is_not_null() | (pl.col("span.name") == "haystack.agent.run"))
    .then(pl.lit(AGENT))
    .when(_MODEL)
    .then(pl.lit(LLM))
    .when((pl.col("span.name") == "haystack.agent.step.tool") | _REJECTED)
    .then(pl.lit(TOOL))
    .when(_TYPE.str.contains("Retriever|Embedder|Ranker"))
    .then(pl.lit(OTHER))
    .when(_TYPE.is_not_null() | pl.col("span.name").is_in(["haystack.pipeline.run", "haystack.agent.step"]))
    .then(pl.lit(CHAIN))
    .when(pl.col("span.name") == "haystack.tracing.auto_enable")
    .then(pl.lit(OTHER)),
    tool=first("haystack.tool.name"),
    call_id=first("haystack.tool.call.id"),
    arguments=first("haystack.agent.step.tool.input"),
    result=first("haystack.agent.step.tool.output"),
    response_model=_told(json_text, "model"),
    input_tokens=_told(json_number, "prompt_tokens", "input_tokens"),
    output_tokens=_told(json_number, "completion_tokens", "output_tokens"),
    finish=_told(json_text, "finish_reason"),
    input_messages=pl.when(_MODEL).then(first("haystack.component.input", "haystack.agent.step.llm.input")),
    output_messages=pl.when(_MODEL).then(first(*_ANSWERS)),
    input=first("haystack.agent.input"),
    output=first("haystack.agent.output"),
    definitions=first("haystack.agent.tools"),
    tool_error=pl.when(_REJECTED)
    .then(pl.lit("denied"))
    .when(pl.col("haystack.tool.error").str.to_lowercase() == "true")
    .then(pl.lit("true")),
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
