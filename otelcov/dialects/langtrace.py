"""Langtrace of LangChain: a span for each method through which a chat model is asked, of which the outermost tells what
was asked and answered; the client's span inside tells less."""

import polars as pl

from otelcov.dialects.base import AS_ASKED, LLM, NOTHING, OTHER, UNTOLD, Dialect, json_text, scope

_OURS = scope("langtrace_python_sdk") & (pl.col("langchain.task.name") == "chatmodel")
_ASKED = _OURS & pl.col("span.name").str.contains(r"^\w+\.a?(?:invoke|stream)$")
_MODEL = pl.when(_ASKED)

LANGTRACE = Dialect(
    name="langtrace",
    kind=_MODEL.then(pl.lit(LLM)).when(_OURS).then(pl.lit(OTHER)),
    response_model=_MODEL.then(json_text("langchain.outputs", "model_name")),
    response_id=_MODEL.then(pl.col("langchain.outputs").str.extract(r'"id":\s*"((?:chatcmpl|msg|resp)[-_][^"\\]+)"')),
    finish=_MODEL.then(json_text("langchain.outputs", "finish_reason", "stop_reason")),
    input_messages=_MODEL.then(pl.col("langchain.inputs")),
    output_messages=_MODEL.then(pl.col("langchain.outputs")),
    definitions=pl.when(_OURS & pl.col("langchain.metadata").str.contains('"tools"', literal=True)).then(
        pl.col("langchain.metadata")
    ),
)

# For JavaScript it guesses what a stream used, takes what Anthropic's client counts for something else (what was put
# out, and both together), and tells of it the model that was asked for.
_JS = scope(r"^@langtrase/typescript-sdk$")
_ANTHROPICS = _JS & (pl.col("langtrace.service.name").str.to_lowercase() == "anthropic")
_MISCOUNTED = pl.when(_ANTHROPICS | _JS & (pl.col("gen_ai.request.stream").str.to_lowercase() == "true")).then(
    pl.lit(UNTOLD)
)

LANGTRACE_JS = Dialect(
    name="langtrace-js",
    input_tokens=_MISCOUNTED,
    output_tokens=_MISCOUNTED,
    response_model=pl.when(_ANTHROPICS & AS_ASKED).then(pl.lit(NOTHING)),
)
