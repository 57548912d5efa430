"""Langfuse SDK v3 and later: `langfuse.observation.*`."""

import polars as pl

from otelcov.dialects.base import (
    AGENT,
    CHAIN,
    EVALUATION,
    LLM,
    NOTHING,
    OTHER,
    TOOL,
    Dialect,
    first,
    json_number,
    value,
)

# The handler for LangChain of 3.2 calls a tool any span; a tool's alone brings a color.
_TOOL_OF_LANGCHAINS = (pl.col("langfuse.observation.type") == "span") & pl.col(
    "langfuse.observation.metadata.color"
).is_not_null()
_IS_TOOL = (pl.col("langfuse.observation.type").str.to_lowercase() == "tool") | _TOOL_OF_LANGCHAINS
_FAILED = pl.col("langfuse.observation.level") == "ERROR"  # not every SDK sets the span's status, too
_WAITS = pl.col("langfuse.observation.status_message").str.starts_with("(Interrupt(")  # LangGraph's, told as no error
# Nor are these Eino's, in whose output stands what became of it.
_EINO_WAITS = pl.col("langfuse.observation.metadata.eino_callback_interrupted").is_not_null()
_EINO_STOPPED = pl.col("langfuse.observation.metadata.eino_callback_cancelled").is_not_null()
_CAME_BACK = pl.when(_EINO_WAITS | _EINO_STOPPED).then(pl.lit(NOTHING)).otherwise(first("langfuse.observation.output"))

_USAGE = pl.col("langfuse.observation.usage_details")


def _tokens(side: str, *names: str) -> pl.Expr:
    """A side's tokens. Where only the parts beside it (read from a cache, reasoning) make up the total, they are not in
    the number that the side has by itself; nor is it known whether they are where they were cut off."""
    alone = {name: _number(rf'"{name}":\s*(\d+)') for name in ("input", "output", "total")}
    parts = {name: _parts(name) for name in ("input", "output")}
    apart = (parts["input"] + parts["output"] > 0) & (
        alone["input"] + alone["output"] + parts["input"] + parts["output"] == alone["total"]
    )
    whole = pl.when(apart).then((alone[side] + parts[side]).cast(pl.String))
    told = _USAGE.str.ends_with("}") | (alone["input"] + alone["output"] == alone["total"])
    return pl.coalesce([whole, pl.when(told).then(json_number("langfuse.observation.usage_details", side, *names))])


def _number(pattern: str) -> pl.Expr:
    return _USAGE.str.extract(pattern).cast(pl.Int64, strict=False)


def _parts(side: str) -> pl.Expr:
    told = _USAGE.str.extract_all(rf'"{side}_\w+":\s*\d+')
    return told.list.eval(pl.element().str.extract(r"(\d+)$").cast(pl.Int64, strict=False)).list.sum()


# The handler for LangChain calls whatever has "agent" in its name one: nodes of a graph, their middleware.
_IS_AGENT = pl.col("langfuse.observation.type").str.to_lowercase() == "agent"
_IN_GRAPH = pl.col("langfuse.observation.metadata.langgraph_node").is_not_null()
# It tells the tools that a model was offered as messages after the others.
_OFFERED = (
    pl.col("langfuse.observation.input")
    .str.extract_all(r'"role": "tool", "content": \{(?:"type": "function", "function": \{)?"name": "[^"]+"')
    .list.eval(pl.element().str.extract(r'"([^"]+)"$'))
)

# Its clients for OpenAI and LangChain write the model that answered over the one that was asked for, once there is an
# answer; LangChain tells that one of itself, too.
_ASKED = pl.col("langfuse.observation.metadata.ls_model_name").str.strip_chars('"')
_CLIENT = pl.col("span.name").str.contains(r"^OpenAI-generation$|^(?:OpenAI|Completions|Responses)\.\w+$")
# Not of a chat that its client for JavaScript streams; a Response brings parameters of its own.
_STREAMED = pl.col("span.name").str.contains(r"^(?:OpenAI|Completions)\.\w+$") & pl.col(
    "langfuse.observation.model.parameters"
).str.contains('"stream":true', literal=True)
# A stream of LangChain's for JavaScript ends without the name of a model: what was asked for stays.
_NOT_OVERWRITTEN = (
    pl.col("langfuse.observation.completion_start_time").is_not_null()
    & (pl.col("langfuse.observation.model.name").str.strip_chars('"') == _ASKED)
).fill_null(value=False)
_BY_THE_ANSWER = (
    (_CLIENT & ~_STREAMED.fill_null(value=False) | _ASKED.is_not_null() & ~_NOT_OVERWRITTEN)
    & pl.col("langfuse.observation.output").is_not_null()
    & ~_FAILED.fill_null(False)
)

LANGFUSE = Dialect(
    name="langfuse",
    kind=pl.when(_IS_AGENT & _IN_GRAPH)
    .then(pl.lit(CHAIN))
    .when(_TOOL_OF_LANGCHAINS)
    .then(pl.lit(TOOL))
    .otherwise(
        value(
            "langfuse.observation.type",
            generation=LLM,
            agent=AGENT,
            tool=TOOL,
            chain=CHAIN,
            span=CHAIN,
            retriever=OTHER,
            embedding=OTHER,
            evaluator=EVALUATION,
            guardrail=OTHER,
            event=OTHER,
        )
    ),
    agent=pl.coalesce(
        [
            pl.col("langfuse.observation.metadata.lc_agent_name").str.strip_chars('"'),
            pl.when(_IS_AGENT & ~_IN_GRAPH).then(pl.col("span.name")),
        ]
    ),
    tool=pl.when(_IS_TOOL).then(pl.col("span.name").str.strip_prefix("agents.tool.")),  # of a kit for Ruby
    arguments=pl.when(_IS_TOOL).then(
        pl.coalesce(
            [
                pl.when(_TOOL_OF_LANGCHAINS).then(pl.col("langfuse.observation.metadata.inputs")),
                first("langfuse.observation.input"),
            ]
        )
    ),
    result=pl.when(_IS_TOOL).then(_CAME_BACK),
    request_model=pl.coalesce([_ASKED, pl.when(~_BY_THE_ANSWER).then(pl.col("langfuse.observation.model.name"))]),
    response_model=pl.when(_BY_THE_ANSWER).then(first("langfuse.observation.model.name")),
    input_tokens=_tokens("input", "prompt_tokens", "input_tokens", "promptTokens"),
    output_tokens=_tokens("output", "completion_tokens", "output_tokens", "completionTokens"),
    input_messages=first("langfuse.observation.input"),
    output_messages=first("langfuse.observation.output"),
    input=first("langfuse.observation.input", "langfuse.trace.input"),
    output=first("langfuse.observation.output", "langfuse.trace.output"),
    tool_error=pl.when(_IS_TOOL & _EINO_STOPPED).then(pl.lit("unknown")),
    error_type=pl.when(_FAILED).then(pl.lit("_OTHER")).when(_EINO_WAITS).then(pl.lit("GraphInterrupt")),
    error_text=pl.when(_FAILED | _WAITS).then(first("langfuse.observation.status_message")),
    definitions=pl.when(pl.col("langfuse.observation.type").str.to_lowercase() == "generation").then(
        pl.when(pl.col("langfuse.observation.input").str.contains(r'[{,]\s*"tools":\s*\[\{"(?:type|name)":\s*"'))
        .then(pl.col("langfuse.observation.input"))
        .when(_OFFERED.list.len() > 0)
        .then(pl.lit('["') + _OFFERED.list.join('", "') + pl.lit('"]'))
    ),
    conversation=pl.coalesce(
        [
            first("langfuse.session.id", "langfuse.trace.session_id"),
            pl.col("langfuse.observation.metadata.thread_id").str.strip_chars('"'),
        ]
    ),
)
