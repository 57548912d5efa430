"""Agenta's SDK: `ag.type.node` of what its decorators watch, each argument and each field of a result an attribute,
where JSON has a word before it. The outermost span is a workflow, whatever a program calls it."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, LLM, OTHER, TOOL, Dialect, as_message, value

_NODE = pl.col("ag.type.node").str.to_lowercase()
_JSON = r"^@ag\.type=json:"
# By their names, the arguments in which a function of a program's is told what a user said.
_WORDS = ("text", "question", "query", "input", "message", "prompt", "user_input", "request", "task")


def _data(*keys: str) -> pl.Expr:
    return pl.coalesce([pl.col(f"ag.data.{key}").str.replace(_JSON, "") for key in keys])


_LLM = pl.when(_NODE.is_in(["chat", "completion"]))
_TOOL = pl.when(_NODE == "tool")
_CALLS = _data("outputs.tool_calls")

AGENTA = Dialect(
    name="agenta",
    kind=value(
        "ag.type.node",
        agent=AGENT,
        workflow=CHAIN,
        chain=CHAIN,
        task=CHAIN,
        tool=TOOL,
        chat=LLM,
        completion=LLM,
        embedding=OTHER,
        query=OTHER,
        rerank=OTHER,
    ),
    agent=pl.when(_NODE == "agent").then(pl.col("span.name")),
    tool=_TOOL.then(pl.col("span.name")),
    result=_TOOL.then(_data("outputs.__default__")),
    request_model=_LLM.then(pl.col("ag.meta.configuration.model")),
    input_tokens=_LLM.then(pl.col("ag.metrics.unit.tokens.prompt")),
    output_tokens=_LLM.then(pl.col("ag.metrics.unit.tokens.completion")),
    input_messages=_LLM.then(_data("inputs.messages", "inputs.prompt")),
    output_messages=_LLM.then(
        pl.when(_CALLS.is_not_null())
        .then(pl.concat_str(pl.lit('[{"role":"assistant","tool_calls":'), _CALLS, pl.lit("}]")))
        .otherwise(
            pl.coalesce([_data("outputs.completion"), as_message(_data("outputs.content", "outputs.__default__"))])
        )
    ),
    input=pl.when(_NODE.is_in(["agent", "workflow"])).then(_data(*(f"inputs.{name}" for name in _WORDS))),
    output=pl.when(_NODE.is_in(["agent", "workflow"])).then(_data("outputs.__default__")),
    definitions=_LLM.then(pl.col("ag.meta.configuration.tools").str.replace(_JSON, "")),
    conversation=pl.col("ag.session.id"),
)
