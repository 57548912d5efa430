"""Kits of guards. Guardrails AI: what a span is stands in a key of its own, beside OpenInference's of messages and
tokens. NeMo Guardrails: rails around a request, most of which judge it, and models that are asked in them, whose
operation is the name of a task."""

import polars as pl

from otelcov.dialects.base import CHAIN, LLM, NOTHING, OTHER, Dialect, first, of_event, scope, value

_OURS = scope(r"^guardrails-ai$")
_CALL = _OURS & (pl.col("type") == "guardrails/guard/step/call")

GUARDRAILS = Dialect(
    name="guardrails",
    kind=pl.when(_OURS).then(
        value(
            "type",
            **{
                "guardrails/guard": CHAIN,
                "guardrails/guard/step": CHAIN,
                "guardrails/guard/step/call": LLM,
                "guardrails/guard/step/validator": OTHER,
            },
        )
    ),
    request_model=pl.when(_CALL).then(pl.col("llm.invocation_parameters").str.extract(r"'model': '([^']+)'")),
    # What functions were given and put out is told beside the messages.
    input_messages=pl.when(_CALL).then(pl.lit(NOTHING)),
    output_messages=pl.when(_CALL).then(pl.lit(NOTHING)),
    input=pl.when(_OURS).then(pl.lit(NOTHING)),
    output=pl.when(_OURS & (pl.col("type") != "guardrails/guard")).then(pl.lit(NOTHING)),
)

_NEMO = scope(r"^nemo[_-]guardrails$")
_NAME = pl.col("span.name")
_REQUEST = _NEMO & (_NAME == "guardrails.request")
_HELD = pl.col("rail.type").str.to_lowercase().is_in(["generation", "dialog"])

NEMO_GUARDRAILS = Dialect(
    name="nemo-guardrails",
    kind=pl.when(_NEMO & (_NAME == "guardrails.rail") & ~_HELD)
    .then(pl.lit(OTHER))
    .when(_NEMO & _NAME.str.starts_with("guardrails."))
    .then(pl.lit(CHAIN))
    .when(_NEMO & (pl.col("llm.cache.hit").str.to_lowercase() == "true"))
    .then(pl.lit(OTHER))
    .when(_NEMO & pl.col("gen_ai.request.model").is_not_null())
    .then(pl.lit(LLM)),
    input=pl.when(_REQUEST).then(
        first(
            "guardrails.request.input",
            of_event("guardrails.user_message", "content"),
            of_event("guardrails.utterance.user.finished", "content"),
        )
    ),
    output=pl.when(_REQUEST).then(
        first(
            "guardrails.request.output",
            of_event("guardrails.utterance.bot.finished", "content"),
            of_event("guardrails.utterance.bot.started", "content"),
        )
    ),
)
