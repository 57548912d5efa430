"""Genkit (JavaScript, Go, Python): `genkit:*` keys. A flow holds steps and is no agent; `generate` only wraps."""

import polars as pl

from otelcov.dialects.base import (
    AGENT,
    CHAIN,
    LLM,
    NOTHING,
    OTHER,
    TOOL,
    Dialect,
    answered_by,
    first,
    json_number,
    json_text,
)

_SUB = pl.col("genkit:metadata:subtype")
_MODEL, _TOOL = _SUB == "model", _SUB.is_in(["tool", "tool.v2"])
_AGENT = _SUB == "agent"

_STATE = pl.col("genkit:state")
_FRAME = pl.col("genkit:type").is_not_null() & ~(_MODEL | _TOOL).fill_null(value=False)

# An agent that failed, or waits, ends well, and puts out that; so does all that answers in Python.
_CAME = pl.when(_AGENT | (_FRAME & (_STATE == "error"))).then(pl.col("genkit:output"))
_WORD, _WORDS = r'"status": ?"(\w+)"', r'"status": ?"\w+", ?"message": ?"((?:[^"\\]|\\.)*)'
_FAILED = r'(?:^\{|"finishReason": ?"failed", ?)"error": ?\{'
_IN_VAIN = (_FRAME & (_STATE == "error")) | _CAME.str.contains(_FAILED)
_CUT = _AGENT & pl.col("genkit:output").str.contains(
    r'^\{"sessionId":"[^"]*(?:$|"$|","[^"]*"?:?$|","finishReason":(?:"\w*$|"failed"))'
)  # before it says how it ended, or that it failed
_PROMPT = pl.col("genkit:type") == "promptTemplate"  # puts out what a model is to be asked
_ENDED = pl.coalesce(
    [
        pl.when(_FRAME & (_STATE == "error")).then(pl.lit("failed")),
        _CAME.str.extract(r'"finishReason": ?"(interrupted|aborted|failed)"'),
        pl.when(_FRAME & _STATE.is_null()).then(pl.lit("aborted")),  # Python: cancelled
    ]
)
_ALONE = pl.when((_SUB == "tool.v2") & ~pl.col("genkit:output").str.contains('"(?:content|metadata)":'))

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
    result=pl.when(_SUB == "tool")
    .then(first("genkit:output"))
    .otherwise(_ALONE.then(pl.col("genkit:output").str.extract(r'(?s)^\{"output": ?(.+)\}$'))),
    request_model=pl.when(_MODEL).then(first("genkit:name").str.extract(r"([^/]+)$")),
    response_model=pl.when(_MODEL).then(
        pl.coalesce(
            [answered_by("genkit:output"), pl.col("genkit:output").str.extract(r'"raw":\{[^{}]*"model":"([^"\\]+)"')]
        )
    ),
    input_tokens=pl.when(_MODEL).then(json_number("genkit:output", "inputTokens")),
    output_tokens=pl.when(_MODEL).then(json_number("genkit:output", "outputTokens")),
    finish=pl.coalesce([pl.when(_MODEL).then(json_text("genkit:output", "finishReason")), _ENDED]),
    error_type=pl.coalesce(
        [
            pl.when(_TOOL & pl.col("genkit:metadata:interrupt").is_not_null()).then(pl.lit("ToolInterruptError")),
            _CAME.str.extract(_FAILED + _WORD),
        ]
    ),
    error_text=pl.coalesce([pl.col("genkit:error"), _CAME.str.extract(_FAILED + _WORDS)]),
    tool_error=pl.when(_TOOL & _STATE.is_null()).then(pl.lit("unknown")),  # Python: cancelled
    conversation=pl.when(_AGENT).then(pl.col("genkit:metadata:agent:sessionId")),
    input_messages=pl.when(_MODEL).then(first("genkit:input")),
    output_messages=pl.when(_MODEL).then(first("genkit:output")),
    input=first("genkit:input"),
    output=pl.when(_IN_VAIN | _CUT | _PROMPT).then(pl.lit(NOTHING)).otherwise(pl.col("genkit:output")),
    definitions=pl.when(_MODEL).then(first("genkit:input")),
)
