"""Axiom's kit for the AI SDK. `withSpan` opens one span, on which all calls of a model in it are told: the last of them
with what all used, and what an attempt failed with that was made again."""

import polars as pl

from otelcov.dialects.base import NOTHING, Dialect, scope

_CALL = scope("^axiom$") & (pl.col("gen_ai.operation.name") == "chat")
_SHARED = _CALL & pl.col("gen_ai.capability.name").is_not_null()
_ASKED = pl.col("gen_ai.input.messages")
# What was asked for since the user spoke; that an answer asks for tools stands there, too.
_BEFORE = _ASKED.str.split('"role":"user"').list.last().str.contains('"tool_calls":[', literal=True)
_ANSWERED = _CALL & pl.col("gen_ai.response.id").is_not_null()

AXIOM = Dialect(
    name="axiom",
    tool_error=pl.when(_SHARED & _BEFORE.fill_null(value=True)).then(pl.lit("shared")),
    error_type=pl.when(_ANSWERED).then(pl.lit(NOTHING)),
)
