"""Vercel AI SDK (`experimental_telemetry`): https://ai-sdk.dev/docs/ai-sdk-core/telemetry

`ai.generateText` wraps one `doGenerate` per model call; the wrapper is a run of the loop, not a call.
"""

import polars as pl

from otelcov.dialects.base import CHAIN, LLM, NOTHING, OTHER, TOOL, Dialect, as_message, first, scope

_OPERATION = pl.col("ai.operationId")
_TOOL = _OPERATION == "ai.toolCall"  # of which Traceloop for JavaScript moves content to its own keys


# Laminar keeps the place of a prompt that it tells by a key of its own.
_PROMPT = pl.when(pl.col("ai.prompt") != "_").then(pl.col("ai.prompt"))

_OBJECT = as_message(first("ai.response.object"))
_TEXT = first("ai.response.text", "ai.result.text")
_OBJECT_TEXT = as_message(pl.when(_TEXT.str.contains(r"^\s*[\[{]")).then(_TEXT))

# Other layers call every loop an agent (OpenInference; the SDK's own exporter of GenAI keys). Who has no name is none.
# OpenInference takes each of a loop's steps for a call, too.
# What a durable run does again from its journal, the SDK for Python tells once more.
_AGAIN = (pl.col("ai.replay").str.to_lowercase() == "true") & (pl.col("gen_ai.operation.name") != "invoke_agent")

# Where a provider names neither its answer nor the model that gave it, both are made up: the latter is the one asked.
_MADE_UP = first("ai.response.id", "gen_ai.response.id").str.starts_with("aitxt-") & (
    first("ai.response.model", "gen_ai.response.model") == first("ai.model.id", "gen_ai.request.model")
)

# How long a tool took is told once it is done; of one that the provider ran, what came back, if anything did.
_NOT_DONE = (
    scope("^gen_ai$")
    & (pl.col("gen_ai.operation.name") == "execute_tool")
    & pl.col("gen_ai.tool.type").is_not_null()
    & pl.col("gen_ai.execute_tool.duration").is_null()
    & pl.col("gen_ai.tool.call.result").is_null()
)

_ANSWERED_OBJECT = pl.when(
    _OPERATION.is_not_null()
    & pl.col("openinference.span.kind").is_not_null()
    & pl.col("ai.response.toolCalls").is_null()
).then(pl.coalesce([_OBJECT_TEXT, _OBJECT]))

VERCEL_LOOPS = Dialect(
    name="vercel-ai-loops",
    tool_error=pl.when(_NOT_DONE).then(pl.lit("unknown")),
    response_model=pl.when(_MADE_UP).then(pl.lit(NOTHING)),
    # To OpenInference the object is all that is put out, and not known from a state that has an answer in it.
    output_messages=_ANSWERED_OBJECT,
    output=_ANSWERED_OBJECT,
    kind=pl.when(_AGAIN)
    .then(pl.lit(OTHER))
    .when(
        scope("^gen_ai$")
        & (pl.col("gen_ai.operation.name") == "agent_step")
        & pl.col("openinference.span.kind").is_not_null()
    )
    .then(pl.lit(CHAIN))
    .when(
        (
            (_OPERATION.is_not_null() & (pl.col("openinference.span.kind").str.to_uppercase() == "AGENT"))
            | (scope("^gen_ai$") & (pl.col("gen_ai.operation.name") == "invoke_agent"))
        )
        & first("agent.name", "gen_ai.agent.name").is_null()
    )
    .then(pl.lit(CHAIN)),
)

VERCEL = Dialect(
    name="vercel-ai",
    kind=pl.when(_OPERATION.str.contains(r"\.(doGenerate|doStream)$"))
    .then(pl.lit(LLM))
    .when(_TOOL)
    .then(pl.lit(TOOL))
    .when(first("ai.operationId", "ai.operation").str.contains(r"^ai\.(embed|rerank)"))
    .then(pl.lit(OTHER))
    .when(_OPERATION.is_not_null())
    .then(pl.lit(CHAIN)),
    agent=first(
        "ai.telemetry.metadata.agentName",
        "ai.telemetry.metadata.agent_name",
        "ai.agent.name",
        "ai.telemetry.functionId",  # of which the SDK's own exporter of GenAI keys makes the agent's name
        "ai.functionId",  # as Laminar calls it
    ),
    tool=first("ai.toolCall.name"),
    call_id=first("ai.toolCall.id"),
    arguments=pl.coalesce(
        [first("ai.toolCall.args", "ai.toolCall.input"), pl.when(_TOOL).then(pl.col("traceloop.entity.input"))]
    ),
    result=pl.coalesce(
        [first("ai.toolCall.result", "ai.toolCall.output"), pl.when(_TOOL).then(pl.col("traceloop.entity.output"))]
    ),
    request_model=first("ai.model.id"),
    response_model=first("ai.response.model"),
    input_tokens=first("ai.usage.inputTokens", "ai.usage.promptTokens"),
    output_tokens=first("ai.usage.outputTokens", "ai.usage.completionTokens"),
    response_id=first("ai.response.id"),
    finish=first("ai.response.finishReason", "ai.finishReason"),
    input_messages=pl.coalesce([pl.col("ai.prompt.messages"), _PROMPT]),
    output_messages=pl.coalesce([pl.col("ai.response.toolCalls"), _OBJECT_TEXT, pl.col("ai.response.text"), _OBJECT]),
    input=_PROMPT,
    output=pl.coalesce([_OBJECT_TEXT, _TEXT, _OBJECT]),
    definitions=first("ai.prompt.tools"),
    # Where answers stream, versions before 4.3 give what a tool threw to the reader alone; 5 renamed the tokens.
    tool_error=pl.when((_OPERATION == "ai.streamText") & pl.col("ai.usage.promptTokens").is_not_null()).then(
        pl.lit("unknown")
    ),
    conversation=first(
        "ai.telemetry.metadata.sessionId",
        "ai.telemetry.metadata.session_id",
        "ai.telemetry.metadata.conversationId",
        "ai.telemetry.metadata.threadId",
        "ai.telemetry.metadata.chatId",
    ),
)
