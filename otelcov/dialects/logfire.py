"""Logfire's own instrumentations: span names are templates, facts stand in plain attributes."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, HANDOFF, LLM, NOTHING, OTHER, TOOL, Dialect, answered_by, first, scope

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
    & (pl.col("gen_ai.response.model") == pl.col("gen_ai.request.model"))
    & pl.coalesce([first("gen_ai.response.id", "response_id"), _TOLD]).is_null()
)
# Over the model that LangSmith's export tells as the one that was asked for it writes the one that answered.
_LANGSMITH = pl.col("logfire.span_type").is_not_null() & scope("^langsmith$")
_LANGSMITH_LLM = _LANGSMITH & (pl.col("langsmith.span.kind").str.to_lowercase() == "llm")

LOGFIRE = Dialect(
    name="logfire",
    # A pending span is an early copy of one that is still open; the finished one follows under another id.
    kind=pl.when(pl.col("logfire.span_type") == "pending_span")
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
    .then(pl.lit(CHAIN)),
    agent=pl.when(_AGENT).then(first("name")),
    tool=pl.when(_TOOL).then(first("name")),
    arguments=pl.when(_TOOL).then(first("input")),
    result=pl.when(_TOOL & (pl.col("output") != "null")).then(first("output")),
    request_model=pl.when(_LANGSMITH_LLM).then(first("langsmith.metadata.ls_model_name").fill_null(NOTHING)),
    response_model=pl.when(_LANGSMITH_LLM)
    .then(answered_by("gen_ai.completion").fill_null(NOTHING))
    .when(_FILLED_IN)
    .then(pl.lit(NOTHING)),
    input_messages=pl.coalesce(
        [pl.when(_AGENTS).then(first("raw_input", "events")), pl.when(_CHAT).then(first("input"))]
    ),
    output_messages=pl.coalesce([pl.when(_AGENTS).then(first("response")), pl.when(_CHAT).then(first("output"))]),
    definitions=pl.when(_AGENT).then(first("tools")),
    conversation=pl.when(_AGENTS & (first("group_id") != "null")).then(first("group_id")),
    error_text=pl.when(_AGENTS).then(first("error")),
    from_agent=pl.when(_AGENTS).then(first("from_agent")),
    to_agent=pl.when(_AGENTS).then(first("to_agent")),
)
