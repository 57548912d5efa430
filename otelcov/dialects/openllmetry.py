"""OpenLLMetry / Traceloop: `traceloop.*` beside GenAI keys (current), flattened prompts (0.40 and older)."""

import polars as pl

from otelcov.dialects.base import (
    AGENT,
    CHAIN,
    LLM,
    NAMED_BY_CLASS,
    NOTHING,
    OTHER,
    TOOL,
    Dialect,
    first,
    scope,
    span_name,
    value,
)

_IS_TOOL = pl.col("traceloop.span.kind").str.to_lowercase() == "tool"
_RUNS_A_TOOL = _IS_TOOL.fill_null(pl.col("gen_ai.operation.name") == "execute_tool")

OPENLLMETRY = Dialect(
    name="openllmetry",
    kind=pl.coalesce(
        [
            value(
                "traceloop.span.kind",
                workflow=CHAIN,
                task=CHAIN,
                agent=AGENT,
                tool=TOOL,
                handoff="handoff",
            ),
            value("llm.request.type", chat=LLM, completion=LLM, rerank=OTHER, embedding=OTHER),
        ]
    ),
    agent=pl.coalesce(
        [
            pl.when(pl.col("traceloop.span.kind").str.to_lowercase() == "agent").then(first("traceloop.entity.name")),
            first("traceloop.association.properties.lc_agent_name"),
        ]
    ),
    tool=pl.when(_IS_TOOL).then(first("traceloop.entity.name")),
    arguments=pl.when(_RUNS_A_TOOL).then(first("traceloop.entity.input")),
    result=pl.when(_RUNS_A_TOOL).then(first("traceloop.entity.output")),
    request_model=first("llm.request.model"),
    response_model=first("llm.response.model"),
    input_tokens=first("llm.usage.prompt_tokens"),
    output_tokens=first("llm.usage.completion_tokens"),
    finish=first("llm.response.finish_reason"),
    input=first("traceloop.entity.input", "gen_ai.task.input"),
    output=first("traceloop.entity.output", "gen_ai.task.output"),
    conversation=first(
        "traceloop.association.properties.session_id",
        "traceloop.association.properties.thread_id",
        "traceloop.association.properties.conversation_id",
        "traceloop.association.properties.chat_id",
        "traceloop.association.properties.convo_id",
    ),
)

# Raindrop: what it was told of a tool's input is the one argument of a function; decorators tell theirs with `kwargs`.
_TOLD_INPUT = pl.when(
    _IS_TOOL
    & pl.col("traceloop.association.properties.event_id").is_not_null()
    & pl.col("traceloop.entity.input").str.starts_with('{"args": [')
    & ~pl.col("traceloop.entity.input").str.contains('], "kwargs": {', literal=True)
)

RAINDROP = Dialect(
    name="raindrop",
    arguments=_TOLD_INPUT.then(pl.col("traceloop.entity.input").str.json_path_match("$.args[0]")),
)

# LangChain.js: a tool is a task under its class's name, its input the one argument of a function; its result is
# LangChain's message, which knows what the tool is called.
_IN_JS = scope(NAMED_BY_CLASS) & (pl.col("gen_ai.operation.name") == "execute_tool")
# A tool that hands over puts out a command: all that was said before, and its own message last.
_CALLED = (
    pl.when(pl.col("traceloop.entity.output").str.contains(r'^\{"lg_name":"Command",.*\}$'))
    .then(
        pl.col("traceloop.entity.output")
        .str.extract_all(r'"name":"(?:[^"\\]|\\.)+","tool_call_id":"[^"]*"')
        .list.last()
    )
    .str.extract(r'^"name":"((?:[^"\\]|\\.)+)"')
)

OPENLLMETRY_LANGCHAIN_JS = Dialect(
    name="openllmetry-langchain-js",
    tool=pl.when(_IN_JS).then(
        pl.coalesce(
            _CALLED,
            pl.col("traceloop.entity.output").str.extract(r'"tool_call_id":"[^"]*","name":"((?:[^"\\]|\\.)+)"'),
        )
    ),
    arguments=pl.when(_IN_JS).then(pl.col("traceloop.entity.input").str.json_path_match("$.args[0]")),
    result=pl.when(_IN_JS).then(first("traceloop.entity.output")),
)

# LangChain, before 0.38.7: an error ends a tool's span like any other, and nothing is put out.
_MUTE = scope(r"^opentelemetry\.instrumentation\.langchain$") & pl.col("scope.version").str.contains(
    r"^0\.(?:[012]?\d|3[0-7])\.|^0\.38\.[0-6]$"
)

OPENLLMETRY_LANGCHAIN_MUTE = Dialect(
    name="openllmetry-langchain-mute",
    tool_error=pl.when(_MUTE & _IS_TOOL & pl.col("traceloop.entity.output").is_null()).then(pl.lit("unknown")),
)

# What a tool of Agno's gives piece by piece is told before anybody reads it.
_UNREAD = scope(r"^opentelemetry\.instrumentation\.agno$") & pl.col("traceloop.entity.output").str.contains(
    r"^status='success' result=<(?:async_)?generator object "
)
# A team of Agno's is a workflow with a name of its own: it asks a model and hands work to its members, as agents do.
_TEAM = (pl.col("traceloop.span.kind").str.to_lowercase() == "workflow") & pl.col("agno.team.name").is_not_null()

OPENLLMETRY_TEAMS = Dialect(
    name="openllmetry-agno-teams",
    kind=pl.when(_TEAM).then(pl.lit(AGENT)),
    agent=pl.when(_TEAM).then(pl.col("agno.team.name")),
    result=pl.when(_UNREAD).then(pl.lit(NOTHING)),
)

# Current versions also stamp `invoke_agent` on the workflows and tasks that merely hold the agents.
OPENLLMETRY_HOLDERS = Dialect(
    name="openllmetry-holders",
    kind=pl.when(
        pl.col("gen_ai.operation.name")
        .fill_null("invoke_agent")
        .is_in(["invoke_agent", "create_agent", "execute_task"])
    ).then(value("traceloop.span.kind", workflow=CHAIN, task=CHAIN)),
)

# For JavaScript it stamps the agent that began last on what ends without one of its own: a workflow around several.
_FLOW = scope(r"^@traceloop/node-server-sdk$") & (pl.col("traceloop.span.kind").str.to_lowercase() == "workflow")

OPENLLMETRY_FLOWS = Dialect(name="openllmetry-flows", agent=pl.when(_FLOW).then(pl.lit(NOTHING)))

# OpenInference's processor takes the kind away that a span has here, and calls a task a tool.
_OF_TASK = pl.col("tool.name") + ".task"
_TASK = pl.col("span.name").str.starts_with("execute_task ") | (pl.col("span.name") == _OF_TASK)

OPENLLMETRY_TASKS = Dialect(
    name="openllmetry-tasks",
    kind=pl.when((pl.col("openinference.span.kind") == "TOOL") & _TASK).then(pl.lit(CHAIN)),
)

# All classifying attributes can be evicted by the SDK's limit of 128; what stays is the span's name and its scope.
OPENLLMETRY_NAMES = Dialect(
    name="openllmetry-names",
    kind=pl.when(
        scope(
            r"^opentelemetry\.instrumentation\.(openai|anthropic|groq|mistralai|cohere|ollama|together|vertexai|google_generativeai|bedrock|replicate|watsonx|alephalpha|sagemaker)"
            r"|^@traceloop/instrumentation-bedrock$"  # tells no operation of what `Converse` is asked
        )
        & pl.col("span.name").str.contains(
            r"\.(chat|completion|completions|response|message|generate_content|messages\.create)$"
        )
    ).then(pl.lit(LLM)),
)

# OpenLLMetry's MCP instrumentation: `<tool>.tool` holds the call, `tools/list.mcp` the definitions.
OPENLLMETRY_MCP = Dialect(
    name="openllmetry-mcp",
    definitions=pl.when(pl.col("span.name") == "tools/list.mcp").then(first("traceloop.entity.output")),
    tool=pl.when(scope("mcp$") & _IS_TOOL).then(span_name(r"^(.+)\.tool$")),
)
