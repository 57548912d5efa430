"""Google's Agent Development Kit, its own spans (scope gcp.vertex.agent)."""

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
    span_name,
)

# Where content is not to be captured, both are empty objects; a response that was captured never is.
_RESULT = pl.col("gcp.vertex.agent.tool_response")
_CAPTURED = _RESULT != "{}"
_ARGUMENTS = first("gcp.vertex.agent.tool_call_args", "adk.tool_call_args")
_REQUEST = pl.coalesce(  # for TypeScript it puts a word in place of what is no text
    [
        pl.col("gcp.vertex.agent.llm_request"),
        pl.col("adk.llm_request").str.replace_all('{"text":"[non_text_content]"}', "{}", literal=True),
    ]
)
_RESPONSES = ("gcp.vertex.agent.llm_response", "adk.llm_response")

# Early ones for Java tell a call and its result by two spans, one after the other.
_CALL = span_name(r"^tool_call \[(.+)\]$")
_ADK = pl.col("scope.name").str.contains("adk|vertex")


# The kit for Rust, whose spans have the scope of the exporter, but say where they were made.
_RUST = first("target", "code.module.name", "code.namespace").str.contains(r"^adk_\w+::")
_EXECUTES = pl.col("span.name") == "agent.execute"


# For JavaScript a tool's span has nothing but its name until the tool gives something.
_THREW = (
    (pl.col("scope.name") == "gcp.vertex.agent")
    & pl.col("span.name").str.contains(r"^execute_tool [\w.-]+$")
    & first(
        *(f"gen_ai.{key}" for key in ("operation.name", "tool.name", "tool.type", "tool.description", "tool.call.id")),
        *(f"gcp.vertex.agent.{key}" for key in ("tool_call_args", "tool_response", "event_id")),
    ).is_null()
)


# Before 1.27 nothing but what came back tells that a tool raised, where a plugin made a result of that.
_MUTE = (
    (pl.col("scope.name") == "gcp.vertex.agent")
    & pl.col("scope.version").str.contains(r"^(?:0|1\.(?:1?\d|2[0-6]))\.")
    & pl.when(pl.col("gen_ai.tool.type").is_null())
    .then(_RESULT.is_null() & (pl.col("gen_ai.operation.name") == "execute_tool"))
    .otherwise((pl.col("gen_ai.tool.type") == "FunctionTool") & (_RESULT.is_null() | ~_CAPTURED))
)


# What stands for a tool that nobody has.
_NONE_SUCH = (pl.col("gen_ai.tool.description") == "Tool not found") & (pl.col("gen_ai.tool.type") == "BaseTool")


# A tool that is an agent bears its name, but for the one that hands over to any.
_AN_AGENT = pl.col("gen_ai.tool.type").str.contains(r"(?:^|[^o])AgentTool$")


# OpenLIT tells of a runner as of an agent, by the name of its app. How it runs is told of runners alone; of one that
# failed nothing is, nor of an agent that did, of which a span of ADK's own tells.
_RUNNER = (pl.col("scope.name") == "openlit.instrumentation.google_adk") & (
    pl.col("gen_ai.execution.mode").is_not_null()
    | (pl.col("span.name").str.starts_with("invoke_agent ") & pl.col("gen_ai.operation.name").is_null())
)


# Under OpenInference and `otel-instrumentation-google-adk`, what tells of a model's call is written over the span
# of the agent that asks; of a call that failed it is no more than which model was asked. Under the second what tells of
# a tool is written there, too, before that or after.
_OVERWRITTEN = (
    (pl.col("scope.name") == "gcp.vertex.agent")
    & pl.col("span.name").str.starts_with("invoke_agent ")
    & (
        (pl.col("gen_ai.operation.name") == "generate_content")
        | ((pl.col("gen_ai.operation.name") == "execute_tool") & pl.col("gen_ai.request.model").is_not_null())
    )
    & pl.col("openinference.span.kind").is_null()
)


# The kit for TypeScript (iqai-adk) writes what a tool gave as JSON, and that as JSON once more, and what its model said
# over the span of the agent that asked.
_GAVE = pl.col("adk.tool_response").str.replace(r'^"', "").str.replace(r'"$', "").str.replace_all(r'\\(["\\])', "$1")
_TYPESCRIPT = pl.col("scope.name") == "iqai-adk"
_FAILED = _TYPESCRIPT & _GAVE.str.contains(r'^\{"error":"(?:Error executing|Invalid arguments for) ')


def _number(*names: str) -> pl.Expr:
    return pl.coalesce([json_number(response, *names) for response in _RESPONSES])


GOOGLE_ADK = Dialect(
    name="google-adk",
    kind=pl.when(_RUNNER)
    .then(pl.lit(CHAIN))
    .when((pl.col("span.name") == "call_llm") & (_ADK | _RUST) & pl.col("openinference.span.kind").is_null())
    .then(pl.lit(LLM))
    .when(_OVERWRITTEN)
    .then(pl.lit(LLM))
    .when((pl.col("span.name").str.contains(r"^(agent_run|invoke_agent) ") & _ADK) | (_RUST & _EXECUTES))
    .then(pl.lit(AGENT))
    .when(pl.col("span.name").str.contains(r"^invocation( \[|$)") & _ADK)
    .then(pl.lit(CHAIN))
    .when(_ADK & _CALL.is_not_null())
    .then(pl.lit(TOOL))
    .when(_ADK & pl.col("span.name").str.contains(r"^(tool_response \[|send_data$)"))
    .then(pl.lit(OTHER))
    .when(
        pl.col("gen_ai.tool.name").is_in(["(merged tools)"])
        | pl.col("span.name").is_in(["execute_tool (merged tools)", "execute_tool (merged)"])
    )
    .then(pl.lit(OTHER))
    .when(pl.col("gcp.vertex.agent.tool_call_args").is_not_null() & pl.col("gen_ai.tool.name").is_not_null())
    .then(pl.lit(TOOL)),
    agent=pl.coalesce([pl.when(_RUNNER).then(pl.lit(NOTHING)), span_name(r"^agent_run \[(.+)\]$")]),
    tool=pl.when(_ADK).then(_CALL),
    arguments=pl.when(_CAPTURED | (_ARGUMENTS != "{}")).then(_ARGUMENTS),
    result=pl.when(_CAPTURED & (_RESULT != '{"result": "<not specified>"}'))
    .then(_RESULT)
    .when(_TYPESCRIPT & _GAVE.str.starts_with("{"))
    .then(_GAVE),
    output=pl.when(_TYPESCRIPT & pl.col("span.name").str.starts_with("agent_run ")).then(pl.col("adk.llm_response")),
    request_model=pl.when(_RUST).then(json_text("gcp.vertex.agent.llm_request", "model")),
    input_tokens=_number("prompt_token_count", "promptTokenCount"),
    output_tokens=_number("candidates_token_count", "candidatesTokenCount"),
    response_model=answered_by(*_RESPONSES),
    input_messages=_REQUEST,
    output_messages=first(*_RESPONSES),
    definitions=_REQUEST,
    conversation=first("gcp.vertex.agent.session_id", "adk.session_id"),
    to_agent=pl.when(_AN_AGENT).then(pl.col("gen_ai.tool.name")),
    tool_error=pl.when(_THREW | _FAILED)
    .then(pl.lit("true"))
    .when(_NONE_SUCH)
    .then(pl.lit("denied"))
    .when(_MUTE | (_TYPESCRIPT & pl.col("span.name").str.starts_with("execute_tool ") & _GAVE.is_null()))
    .then(pl.lit("unknown")),
)

# By the conventions its later versions write thoughts as they do the answer: of several texts in a row, where a model
# thought, nobody knows which are which.
_TEXT = r'\{"content": ?"(?:[^"\\]|\\.)*", ?"type": ?"text"\}'
_TEXTS = rf'{_TEXT}(?:, ?(?:{_TEXT}|\{{"content".*$))+'  # the last may be cut
_SAID = pl.col("gen_ai.output.messages")
_MIXED = pl.when(
    (pl.col("scope.name") == "gcp.vertex.agent")
    & pl.col("gen_ai.usage.reasoning.output_tokens").str.contains("[1-9]")
    & _SAID.str.contains(_TEXTS)
).then(_SAID.str.replace_all(_TEXTS, '{"content":"[REDACTED]","type":"text"}'))

GOOGLE_ADK_THOUGHTS = Dialect(name="google-adk-thoughts", output_messages=_MIXED, output=_MIXED)
