"""Anthropic's own client (since 2.x) and its platform: the conventions, with a reason to finish and results by names of
their own.

What exceeds a limit of bytes loses whole parts from its start, and of one the end: no more can be told of it than that.
"""

import polars as pl

from otelcov.dialects.base import CHAIN, NOTHING, OTHER, SETUP, UNTOLD, Dialect, first, scope

_OURS = scope(r"^com\.anthropic\.(?:sdk\b|claude-platform$)") & pl.col("gen_ai.operation.name").is_null()
_CUT = pl.col("anthropic.content.truncated").str.to_lowercase() == "true"
_ASKED = pl.col("gen_ai.input.messages").str.contains('"type"')  # what is cut before the answer is
_UNASKED = pl.when(_CUT).then(pl.lit(NOTHING))
_UNANSWERED = pl.when(_CUT & ~_ASKED.fill_null(value=False)).then(pl.lit(NOTHING))

ANTHROPIC = Dialect(
    name="anthropic",
    kind=pl.when(pl.col("span.name").str.contains(r"\bmessages\.count_tokens$"))
    .then(pl.lit(OTHER))
    .when(_OURS & (pl.col("span.name") == "anthropic.sessions.create"))
    .then(pl.lit(SETUP))
    .when(_OURS & pl.col("span.name").str.contains(r"^anthropic\.(?:sessions\.events|environment\.work$)"))
    .then(pl.lit(CHAIN))
    .when(_OURS & pl.col("span.name").str.starts_with("anthropic."))
    .then(pl.lit(OTHER)),
    finish=pl.col("anthropic.message.stop_reason"),
    result=pl.when(_CUT).then(pl.lit(NOTHING)).otherwise(pl.col("anthropic.tool_result.content")),
    input_messages=_UNASKED,
    input=_UNASKED,
    system=_UNASKED,
    output_messages=_UNANSWERED,
    output=_UNANSWERED,
)

# Around the client, OpenLLMetry adds up what the beginning of a stream and its end say was used, each of all.
ANTHROPIC_STREAMS = Dialect(
    name="anthropic-streams",
    output_tokens=pl.when(
        scope(r"^opentelemetry\.instrumentation\.anthropic$")
        & (first("gen_ai.is_streaming", "llm.is_streaming").str.to_lowercase() == "true")
    ).then(pl.lit(UNTOLD)),
)
