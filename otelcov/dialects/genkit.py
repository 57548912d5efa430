"""Genkit (JavaScript, Go, Python): `genkit:*` keys. A flow holds steps and is no agent; `generate` only wraps."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, LLM, OTHER, TOOL, Dialect, answered_by, first, json_number, json_text

_SUB = pl.col("genkit:metadata:subtype")
_MODEL, _TOOL = _SUB == "model", _SUB.is_in(["tool", "tool.v2"])
_AGENT = _SUB == "agent"

# An agent that failed, or waits, ends well, and puts out that.
_CAME = pl.when(_AGENT).then(pl.col("genkit:output"))
_FAILED = r'"finishReason": ?"failed", ?"error": ?\{'
_ENDED = pl.coalesce(
    [
        _CAME.str.extract(r'"finishReason": ?"(interrupted|aborted|failed)"'),
        pl.when((pl.col("genkit:state") == "error") & (_SUB == "flow")).then(pl.lit("failed")),
    ]
)

GENKIT = Dialect(
    name="genkit",
    kind=pl.coalesce(
        [
            _SUB.replace_strict(
                {
                    "model": LLM,
                    "tool": TOOL,
                    "tool.v2": TOOL,
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
    agent=pl.when(_AGENT).then(first("genkit:name")),
    tool=pl.when(_TOOL).then(first("genkit:name")),
    arguments=pl.when(_TOOL).then(first("genkit:input")),
    result=pl.when(_SUB == "tool").then(first("genkit:output")),  # of the others the model is told a part
    request_model=pl.when(_MODEL).then(first("genkit:name").str.extract(r"([^/]+)$")),
    response_model=pl.when(_MODEL).then(
        pl.coalesce(
            [answered_by("genkit:output"), pl.col("genkit:output").str.extract(r'"raw":\{[^{}]*"model":"([^"\\]+)"')]
        )
    ),
    input_tokens=pl.when(_MODEL).then(json_number("genkit:output", "inputTokens")),
    output_tokens=pl.when(_MODEL).then(json_number("genkit:output", "outputTokens")),
    finish=pl.coalesce([pl.when(_MODEL).then(json_text("genkit:output", "finishReason")), _ENDED]),
    error_type=_CAME.str.extract(_FAILED + r'"status": ?"(\w+)"'),
    error_text=_CAME.str.extract(_FAILED + r'"status": ?"\w+", ?"message": ?"((?:[^"\\]|\\.)*)"'),
    conversation=pl.when(_AGENT).then(pl.col("genkit:metadata:agent:sessionId")),
    input_messages=pl.when(_MODEL).then(first("genkit:input")),
    output_messages=pl.when(_MODEL).then(first("genkit:output")),
    input=first("genkit:input"),
    output=first("genkit:output"),
    definitions=pl.when(_MODEL).then(first("genkit:input")),
)
