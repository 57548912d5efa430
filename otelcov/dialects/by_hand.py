"""What programs that trace by hand call a tool, or a model, in no convention's words. What kind of a span it is, none
of them says. Of tools `runs.tools.by_name` asks the span's name for that, and what else the trace tells; of models that
call is one whose name says so, where it names the model and counts tokens, or failed."""

import polars as pl

from otelcov.dialects.base import AGENT, DATED, LLM, NOTHING, Dialect, first, span_name
from otelcov.dialects.genai import ASIDE

_KINDS = ("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "gen_ai.request.model")
_HAND = first(*_KINDS).is_null()
_GIVEN = first(
    "tool.args", "tool.params", "tool.arguments", "tool.input", "agent.tool.arguments", "agent.tool.input", "tool_args"
)
_OK = first("tool.success", "agent.tool.success", "tool.ok", "agent.tool.ok", "mcp.tool.success")
_NAME = pl.coalesce(
    [
        first("tool.name", "agent.tool.name", "mcp.tool.name", "tool_name", "agent.tool"),
        pl.when(pl.coalesce([_GIVEN, _OK]).is_not_null()).then(span_name(r"^tool[.:/ ]{1,2}(\w+)$")),
        pl.when(pl.col("gen_ai.tool.call.id").is_not_null()).then(span_name(r"^tool\.(?:execute|call|run)[.: ](\w+)$")),
    ]
)
_ENDED = first(
    *("tool.status", "tool.outcome", "agent.tool.status", "agent.tool.outcome", "mcp.tool.status")
).str.to_lowercase()

_MODEL = pl.col("llm.model")
_INPUT = first(
    *("llm.input_tokens", "llm.prompt_tokens", "llm.tokens.input", "llm.tokens.prompt"),
    *("llm.usage.input_tokens", "llm.usage.prompt_tokens"),
)
_OUTPUT = first(
    *("llm.output_tokens", "llm.completion_tokens", "llm.tokens.output", "llm.tokens.completion"),
    *("llm.usage.output_tokens", "llm.usage.completion_tokens"),
)
_TOLD = pl.coalesce([_INPUT, _OUTPUT, first("llm.provider", "gen_ai.system", "gen_ai.provider.name", "error.type")])
_DONE = "call|chat|complete|completion|generate|generation|request|invoke|inference|query"
_SAYS_MODEL = pl.col("span.name").str.contains(
    rf"(?i)^(?:[a-z]+[._ :/-]){{0,2}}(?:llm|model)[._ :/-]?(?:[a-z]+[._ :/-]){{0,3}}(?:{_DONE})s?$"
)
_SAYS_CHAT = pl.col("span.name").str.contains(
    r"(?i)^(?:[a-z]+[._ :/-])?(?:chat|generate|completion)[._ :/-]?(?:completions?)?$"
) & ~pl.col("span.name").str.contains(
    r"(?i)^(?:agent|assistant|bot|workflow|flow|chain|graph|session|conversation|turn|user|team|crew|api|http|post|rag)\W"
)
_CALLS_MODEL = (_SAYS_MODEL & first("llm.model", "llm.request.model").is_not_null()) | (
    (_SAYS_MODEL | _SAYS_CHAT) & _TOLD.is_not_null()
)
_NAMED = first("llm.model", "llm.request.model", "gen_ai.request.model")
_OF_TOOL = first("tool.name", "tool_name", "gen_ai.tool.name").is_not_null()
_ELSE = pl.col("span.name").str.contains(f"{ASIDE}|tool") | _NAMED.str.contains(ASIDE) | _OF_TOOL
_IS_MODEL = first(*_KINDS[:3]).is_null() & _NAMED.is_not_null() & _CALLS_MODEL & ~_ELSE
_BY_MODEL = pl.when(_IS_MODEL)

BY_HAND = Dialect(
    name="by hand",
    kind=_BY_MODEL.then(pl.lit(LLM)),
    request_model=_BY_MODEL.then(pl.when(_MODEL.str.contains(DATED)).then(pl.lit(NOTHING)).otherwise(_MODEL)),
    input_tokens=_BY_MODEL.then(_INPUT),
    output_tokens=_BY_MODEL.then(_OUTPUT),
    finish=_BY_MODEL.then(first("llm.finish_reason", "llm.stop_reason")),
    tool=pl.when(_HAND).then(_NAME),
    call_id=pl.when(_HAND & _NAME.is_not_null()).then(
        first("tool.call_id", "tool.call.id", "agent.tool.call_id", "agent.tool.call.id", "tool_call_id", "tool.id")
    ),
    # Many keep the first hundreds of its characters.
    arguments=pl.when(_HAND & _NAME.is_not_null() & _GIVEN.str.contains(r"(?s)^\{.*\}$")).then(_GIVEN),
    tool_error=pl.when(
        _HAND
        & _NAME.is_not_null()
        & ((_OK.str.to_lowercase() == "true") | _ENDED.is_in(["ok", "success", "succeeded"]))
    ).then(pl.lit("false")),
)

# What Lemma's kits put around an agent, whatever tells what that does.
_LEMMA = pl.when((pl.col("span.name") == "ai.agent.run") & pl.col("lemma.run_id").is_not_null())

LEMMA = Dialect(
    name="lemma",
    kind=_LEMMA.then(pl.lit(AGENT)),
    agent=_LEMMA.then(pl.col("ai.agent.name")),
    input=_LEMMA.then(pl.col("ai.agent.input")),
    output=_LEMMA.then(pl.col("ai.agent.output")),
    conversation=_LEMMA.then(pl.col("lemma.thread_id")),
)
