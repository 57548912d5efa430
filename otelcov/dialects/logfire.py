"""Logfire's own instrumentations: span names are templates, facts stand in plain attributes."""

import polars as pl

from otelcov.dialects.base import (
    AGENT,
    AS_ASKED,
    CHAIN,
    HANDOFF,
    LLM,
    NOTHING,
    OTHER,
    TOOL,
    Dialect,
    answered_by,
    first,
    json_number,
    scope,
)

_AGENTS = scope(r"^logfire\.openai_agents$")
_TEMPLATE = pl.col("logfire.msg_template")
_TOOL = _AGENTS & _TEMPLATE.str.starts_with("Function: ")
_AGENT = _AGENTS & _TEMPLATE.str.starts_with("Agent run: ")
_CHAT = _AGENTS & _TEMPLATE.str.starts_with("Chat completion")

# What it exports of any scope is given the model that was asked for as the one that answered, if none is told (a
# stream, an error); a kit that tells the answer's id or, as pydantic-ai does, its tokens has told the model, too.
_TOLD = pl.when(scope("^pydantic-ai$")).then(pl.col("gen_ai.usage.output_tokens"))
_FILLED_IN = (
    pl.col("logfire.span_type").is_not_null()
    & AS_ASKED
    & pl.coalesce([first("gen_ai.response.id", "response_id"), _TOLD]).is_null()
)
# Over the model that LangSmith's export tells as the one that was asked for it writes the one that answered.
_LANGSMITH = pl.col("logfire.span_type").is_not_null() & scope("^langsmith$")
_LANGSMITH_LLM = _LANGSMITH & (pl.col("langsmith.span.kind").str.to_lowercase() == "llm")

# Before it wrote the conventions' messages (5.0), it told what a client was asked and what that answered as they were;
# of Anthropic's, the block that asks for a tool stands for its arguments, and no id.
_ASKED = (
    scope(r"^logfire\.(?:openai|anthropic)$")
    & pl.col("logfire.span_type").is_in(["span", "log"])
    & pl.col("gen_ai.input.messages").is_null()
    & pl.col("request_data").str.contains('"messages":', literal=True)
)
_ANTHROPIC = _ASKED & scope(r"^logfire\.anthropic$")
_BLOCK = r'"arguments":"\{\\"input\\":((?:[^"\\]|\\.)*)\}","name"'
_WHOLE = _ASKED & pl.col("response_data").str.starts_with('{"message":')  # a stream's text, without calls, is not
_CACHED = pl.col("response_data").str.contains(r'"cache_\w+_input_tokens": ?[1-9]')

# Of Claude's kit it begins a call's span at each result of a tool, though others may be on their way.
_WAITS = (
    scope(r"^logfire\.claude_agent_sdk$")
    & (pl.col("gen_ai.operation.name") == "chat")
    & first("gen_ai.request.model", "gen_ai.output.messages", "error.type").is_null()
)

LOGFIRE = Dialect(
    name="logfire",
    # A pending span is an early copy of one that is still open; the finished one follows under another id.
    kind=pl.when(
        (pl.col("logfire.span_type") == "pending_span") | (pl.col("logfire.span_type") == "log") & _ASKED & ~_WHOLE
    )
    .then(pl.lit(OTHER))
    .when(_WAITS)
    .then(pl.lit(OTHER))
    # What came of a stream, told when it was read: the span of the call had ended before (`models.echo`).
    .when((pl.col("logfire.span_type") == "log") & pl.col("logfire.msg").str.contains("^streaming response from"))
    .then(pl.lit(LLM))
    .when(_AGENT)
    .then(pl.lit(AGENT))
    .when(_TOOL)
    .then(pl.lit(TOOL))
    .when(_AGENTS & _TEMPLATE.str.contains("^(Responses API|Chat completion)"))
    .then(pl.lit(LLM))
    .when(_AGENTS & _TEMPLATE.str.starts_with("Handoff: "))
    .then(pl.lit(HANDOFF))
    .when(_AGENTS & _TEMPLATE.str.contains("^(OpenAI Agents trace|Task|Turn)"))
    .then(pl.lit(CHAIN))
    .when(_ASKED)
    .then(pl.lit(LLM)),
    agent=pl.when(_AGENT).then(first("name")),
    tool=pl.when(_TOOL).then(first("name")),
    arguments=pl.when(_TOOL).then(first("input")),
    result=pl.when(_TOOL & (pl.col("output") != "null")).then(first("output")),
    request_model=pl.when(_LANGSMITH_LLM)
    .then(first("langsmith.metadata.ls_model_name").fill_null(NOTHING))
    .when(_ANTHROPIC)
    .then(pl.col("request_data").str.json_path_match("$.model")),
    input_tokens=pl.when(_ANTHROPIC & ~_CACHED).then(json_number("response_data", "input_tokens")),
    output_tokens=pl.when(_ANTHROPIC).then(json_number("response_data", "output_tokens")),
    response_model=pl.when(_LANGSMITH_LLM)
    .then(answered_by("gen_ai.completion").fill_null(NOTHING))
    .when(_FILLED_IN)
    .then(pl.lit(NOTHING)),
    input_messages=pl.coalesce(
        [
            pl.when(_AGENTS).then(first("raw_input", "events")),
            pl.when(_CHAT).then(first("input")),
            pl.when(_ASKED).then(pl.col("request_data")),
        ]
    ),
    output_messages=pl.coalesce(
        [
            pl.when(_AGENTS).then(first("response")),
            pl.when(_CHAT).then(first("output")),
            pl.when(_WHOLE & _ANTHROPIC).then(
                pl.col("response_data").str.replace_all(_BLOCK, r'"arguments":"$1","name"')
            ),
            pl.when(_WHOLE).then(pl.col("response_data")),
        ]
    ),
    definitions=pl.when(_AGENT).then(first("tools")).when(_ASKED).then(pl.col("request_data")),
    conversation=pl.when(_AGENTS & (first("group_id") != "null")).then(first("group_id")),
    error_text=pl.when(_AGENTS).then(first("error")),
    from_agent=pl.when(_AGENTS).then(first("from_agent")),
    to_agent=pl.when(_AGENTS).then(first("to_agent")),
)
