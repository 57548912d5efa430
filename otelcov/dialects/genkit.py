"""Genkit (JavaScript, Go, Python): `genkit:*` keys. A flow holds steps and is no agent; `generate` only wraps."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, LLM, OTHER, TOOL, Dialect, answered_by, first, json_number, json_text

_SUB = pl.col("genkit:metadata:subtype")
_MODEL, _TOOL = _SUB == "model", _SUB == "tool"

GENKIT = Dialect(
    name="genkit",
    kind=pl.coalesce(
        [
            _SUB.replace_strict(
                {
                    "model": LLM,
                    "tool": TOOL,
                    "agent": AGENT,
                    "flow": CHAIN,
                    "prompt": CHAIN,
                    "util": CHAIN,
                    "retriever": OTHER,
                    "embedder": OTHER,
                    "reranker": OTHER,
                    "evaluator": OTHER,
                },
                default=None,
                return_dtype=pl.String,
            ),
            pl.when(pl.col("genkit:type").is_not_null()).then(pl.lit(CHAIN)),
        ]
    ),
    agent=pl.when(_SUB == "agent").then(first("genkit:name")),
    tool=pl.when(_TOOL).then(first("genkit:name")),
    arguments=pl.when(_TOOL).then(first("genkit:input")),
    result=pl.when(_TOOL).then(first("genkit:output")),
    request_model=pl.when(_MODEL).then(first("genkit:name").str.extract(r"([^/]+)$")),
    response_model=pl.when(_MODEL).then(
        pl.coalesce(
            [answered_by("genkit:output"), pl.col("genkit:output").str.extract(r'"raw":\{[^{}]*"model":"([^"\\]+)"')]
        )
    ),
    input_tokens=pl.when(_MODEL).then(json_number("genkit:output", "inputTokens")),
    output_tokens=pl.when(_MODEL).then(json_number("genkit:output", "outputTokens")),
    finish=pl.when(_MODEL).then(json_text("genkit:output", "finishReason")),
    input_messages=pl.when(_MODEL).then(first("genkit:input")),
    output_messages=pl.when(_MODEL).then(first("genkit:output")),
    input=first("genkit:input"),
    output=first("genkit:output"),
    definitions=pl.when(_MODEL).then(first("genkit:input")),
)
