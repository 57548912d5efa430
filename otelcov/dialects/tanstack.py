"""TanStack AI: a span of a whole loop named like a model call, one of each call, and in it those of the tools that were
asked for, which tell what was given and what came back as messages."""

import polars as pl

from otelcov.dialects.base import CHAIN, Dialect, first

_TOOL = pl.when(pl.col("tanstack.ai.tool.outcome").is_not_null())
_SAID = "$[0].content"
_GIVEN, _GAVE = (_TOOL.then(pl.col(f"gen_ai.{way}.messages")).str.json_path_match(_SAID) for way in ("input", "output"))

# A loop that failed does not say how often it asked.
_LOOP = (
    first("langfuse.trace.input", "langfuse.trace.output").is_not_null()
    & pl.col("gen_ai.request.model").is_not_null()
    & first("gen_ai.operation.name", "langfuse.observation.type", "gen_ai.input.messages").is_null()
)

TANSTACK = Dialect(
    name="tanstack-ai",
    finish=pl.col("tanstack.ai.finish_reason"),  # OpenInference's words have none
    kind=pl.when(pl.col("tanstack.ai.iterations").is_not_null() | _LOOP).then(pl.lit(CHAIN)),
    arguments=_TOOL.then(_GIVEN),
    result=pl.when(_GAVE != "null").then(_GAVE),  # what a tool gave that threw
)
