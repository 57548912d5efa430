"""Guardrails AI: what a span is stands in a key of its own, beside OpenInference's of messages and tokens."""

import polars as pl

from otelcov.dialects.base import CHAIN, LLM, NOTHING, OTHER, Dialect, scope, value

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
