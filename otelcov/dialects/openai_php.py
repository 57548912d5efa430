"""OpenTelemetry's instrumentation of openai-php: `openai.*` keys, no content."""

import polars as pl

from otelcov.dialects.base import LLM, OTHER, Dialect, first

_RESOURCE = pl.col("openai.resource")

OPENAI_PHP = Dialect(
    name="openai-php",
    kind=pl.when(_RESOURCE.str.contains(r"^(?:chat|completions|responses)/create"))
    .then(pl.lit(LLM))
    .when(_RESOURCE.is_not_null())
    .then(pl.lit(OTHER)),
    request_model=first("openai.model"),
    input_tokens=first("openai.usage.prompt_tokens"),
    output_tokens=first("openai.usage.completion_tokens"),
)
