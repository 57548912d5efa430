"""CozeLoop's spans: of its SDK for Java, and of OpenClaw's runs as its plugin writes them after their sessions."""

import polars as pl

from otelcov.dialects.base import (
    AGENT,
    CHAIN,
    LLM,
    OTHER,
    TOOL,
    UNTOLD,
    Dialect,
    first,
    json_text,
    scope,
    value,
)

_TYPE = pl.col("cozeloop.span_type").str.to_lowercase()
_TOLD = pl.when(_TYPE.is_not_null())
_TOOL = pl.when(_TYPE == "tool")
_MODEL = pl.when(_TYPE.is_in(["model", "llm"]))
_PLUGIN = scope(r"^openclaw-(?:cozeloop|fornax)-trace$")
# The plugin tells the call that the model asked for; of an agent, what it used.
_CALL = pl.when(_PLUGIN & (_TYPE == "tool") & pl.col("cozeloop.input").str.starts_with('{"name":'))
_USED = (_PLUGIN & (_TYPE == "agent")).fill_null(value=False)
# It says 0 of what was not counted.
_COUNTED = pl.when(_PLUGIN & (pl.col("gen_ai.usage.input_tokens") == "0")).then(pl.lit(UNTOLD))

COZELOOP = Dialect(
    name="cozeloop",
    kind=value(
        "cozeloop.span_type",
        model=LLM,
        llm=LLM,
        tool=TOOL,
        agent=AGENT,
        entry=CHAIN,
        chain=CHAIN,
        graph=CHAIN,
        workflow=CHAIN,
        custom=CHAIN,
        gateway=OTHER,
        prompt=OTHER,
        prompt_hub=OTHER,
        retriever=OTHER,
        embedding=OTHER,
    ),
    agent=pl.when(_TYPE == "agent").then(pl.coalesce([first("agent.id"), pl.col("span.name")])),
    tool=_TOOL.then(pl.col("span.name")),
    arguments=_CALL.then(pl.col("cozeloop.input").str.json_path_match("$.arguments")).otherwise(
        _TOOL.then(pl.col("cozeloop.input"))
    ),
    result=_TOOL.then(pl.col("cozeloop.output")),
    tool_error=pl.when(_PLUGIN & (_TYPE == "tool") & pl.col("error.msg").is_not_null()).then(pl.lit("true")),
    input_tokens=_COUNTED,
    output_tokens=_COUNTED,
    finish=_MODEL.then(json_text("cozeloop.output", "finish_reason")),
    input_messages=_MODEL.then(pl.col("cozeloop.input")),
    output_messages=_MODEL.then(pl.col("cozeloop.output")),
    input=_TOLD.then(pl.col("cozeloop.input")),
    output=pl.when(_TYPE.is_not_null() & ~_USED).then(pl.col("cozeloop.output")),
)
