"""Claude's Agent SDK: Future AGI's keys of its own, and how a run ended, as Claude Code says it.

Each block of an answer reaches the SDK as a message, and what is counted beside it is the whole run's: these messages
are no model calls. What no model wrote, an error or a notice, has a model of its own name.
"""

import polars as pl

from otelcov.dialects.base import AGENT, NOTHING, OTHER, TOOL, UNTOLD, Dialect, as_message, first, json_text, scope

_KIND = pl.col("claude_agent.span_kind")
_RUN = _KIND == "conversation"
_FAILED = _RUN & (pl.col("claude_agent.is_error").str.to_lowercase() == "true")
_BY_AGENT = pl.col("output").str.starts_with('{"role": "assistant"')  # else it is what a tool gave

CLAUDE_AGENT = Dialect(
    name="claude-agent",
    kind=_KIND.replace_strict(
        {"conversation": AGENT, "assistant_turn": OTHER, "tool_execution": TOOL, "mcp_tool": TOOL, "subagent": TOOL},
        default=None,
        return_dtype=pl.String,
    ),
    agent=first("claude_agent.name"),
    tool=first("claude_agent.tool.name"),
    call_id=first("claude_agent.tool.use_id"),
    arguments=first("claude_agent.tool.input"),
    result=first("claude_agent.tool.output"),
    to_agent=first("claude_agent.subagent.type"),
    input=first("claude_agent.prompt"),
    output=pl.when(_FAILED | (_RUN & ~_BY_AGENT)).then(pl.lit(NOTHING)).when(_RUN).then(pl.col("output")),
    conversation=first("claude_agent.session_id", "claude_agent.session.id"),
    input_tokens=pl.when(_KIND.is_not_null()).then(pl.lit(UNTOLD)),
    output_tokens=pl.when(_KIND.is_not_null()).then(pl.lit(UNTOLD)),
    tool_error=first("claude_agent.tool.is_error"),
    error_type=pl.when(_FAILED).then(pl.lit("_OTHER")),
    error_text=pl.when(_FAILED)
    .then(pl.coalesce([pl.when(_BY_AGENT).then(json_text("output", "content")), pl.lit("_OTHER")]))
    .otherwise(first("claude_agent.tool.error_message")),
)

_AGENT = pl.col("gen_ai.operation.name") == "invoke_agent"
_BY_NONE = _AGENT & (pl.col("gen_ai.response.model") == "<synthetic>")
_REASON = pl.col("gen_ai.response.finish_reasons").str.extract(r"\b(error_\w+)")
_GIVEN_UP = _AGENT & _REASON.is_not_null()
_LAST = pl.col("gen_ai.output.messages").str.extract(r'"content":\s*"((?:[^"\\]|\\.)+)"\}\][^\]]*\]$')

# OpenLIT tells of each answer what had been counted as its stream began, and calls agents by their models, by the kit
# (as Weave does) or, where they work below another, by an id.
_LIT = scope(r"^openlit\.instrumentation\.claude_agent_sdk$")
_WEAVES = scope(r"^weave\.conversation$") & _AGENT
_ASKED = _LIT & (pl.col("gen_ai.operation.name") == "chat")
_UNANSWERED = (pl.col("gen_ai.operation.name") == "chat") & (
    first("gen_ai.response.model", "gen_ai.request.model") == "<synthetic>"
)
_BEGUN = 9  # tokens, and more, are no answer that has only begun
_NAME = pl.col("gen_ai.agent.name")
_NO_NAME = (
    (_NAME == "claude_agent_sdk")
    | (pl.col("gen_ai.response.model") == _NAME)
    | pl.col("gen_ai.request.model").fill_null("").str.starts_with(_NAME)
    | _NAME.str.contains(r"^(?:claude-[\w.-]+|sonnet|opus|haiku|a[0-9a-f]{8,})$")
)

CLAUDE_ENDED = Dialect(
    name="claude-agent-ended",
    agent=pl.when(_LIT & _AGENT & _NO_NAME | _WEAVES & (_NAME == "claude_agent_sdk")).then(pl.lit("unknown")),
    error_type=pl.when(_GIVEN_UP).then(_REASON).when(_BY_NONE | _UNANSWERED).then(pl.lit("_OTHER")),
    error_text=pl.when(_GIVEN_UP)
    .then(_REASON)
    .when(_BY_NONE | _UNANSWERED)
    .then(pl.coalesce([_LAST, pl.lit("_OTHER")])),
    output=pl.when(_BY_NONE).then(pl.lit(NOTHING)),
    output_tokens=pl.when(_ASKED & (pl.col("gen_ai.usage.output_tokens").cast(pl.Int64, strict=False) < _BEGUN)).then(
        pl.lit(UNTOLD)
    ),
)

# What Claude Code says in place of an answer that it got none; that something went wrong is told beside it, and lost.
_OI = pl.col("scope.name").str.contains(r"openinference-instrumentation-claude-agent-sdk$")
_SAID = pl.col("output.value").str.contains(r"^API Error: \d{3}\b")
_NO_ANSWER = _OI & _SAID & (pl.col("llm.finish_reason").fill_null("stop_sequence") == "stop_sequence")

CLAUDE_UNANSWERED = Dialect(
    name="claude-agent-unanswered",
    error_type=pl.when(_NO_ANSWER).then(pl.lit("_OTHER")),
    error_text=pl.when(_NO_ANSWER).then(pl.col("output.value")),
    output=pl.when(_NO_ANSWER).then(pl.lit(NOTHING)),
)

# A prompt, and an answer, that are said to be texts are, though they be objects.
_QUERY = scope(r"\bopeninference[.-]instrumentation[.-]claude[_-]agent[_-]sdk$") & (
    pl.col("openinference.span.kind") == "AGENT"
)


def _text(key: str) -> pl.Expr:
    plain = _QUERY & (pl.col(f"{key}.mime_type") == "text/plain")
    return pl.when(plain & pl.col(f"{key}.value").str.contains(r"^\s*[\[{]")).then(pl.col(f"{key}.value"))


CLAUDE_TEXTS = Dialect(
    name="claude-agent-texts",
    input=as_message(_text("input"), "user"),
    output=as_message(_text("output")),
)
