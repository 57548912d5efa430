"""OpenAI's Agents SDK as Orq, PromptLayer, Coralogix, Splunk, Latitude and a processor for OpenTelemetry tell of it: a
response knows no model but the one that answered, and most write that as the one that was asked for."""

import polars as pl

from otelcov.dialects.base import (
    AGENT,
    CHAIN,
    HANDOFF,
    LLM,
    NOTHING,
    OTHER,
    SETUP,
    TOOL,
    Dialect,
    first,
    json_text,
    of_event,
    scope,
    value,
)

_ORQ = scope(r"^orq_ai_sdk\.openai_agents_instrumentation")

ORQ = Dialect(
    name="orq",
    kind=pl.when(_ORQ & (pl.col("span.name") == "turn")).then(pl.lit(CHAIN)),
    request_model=pl.when(_ORQ & (pl.col("openai.api.type") == "responses")).then(pl.lit(NOTHING)),
)

# Splunk's stamps who began last, of all that are at work at once, on models and tools: what is above them tells.
_STAMPED = scope(r"^opentelemetry\.util\.genai\.handler$") & pl.col("gen_ai.agent.id").str.starts_with("span_")

SPLUNK_AGENTS = Dialect(
    name="splunk-agents",
    agent=pl.when(_STAMPED & pl.col("gen_ai.operation.name").is_in(["chat", "execute_tool"])).then(pl.lit(NOTHING)),
)

# Splunk's of LangGraph writes what a graph asks of a person as what it put out, and the answer as what it was asked.
_GRAPH = scope(r"^opentelemetry\.util\.genai\.handler$") & pl.col("gen_ai.operation.name").is_in(
    ["invoke_agent", "invoke_workflow"]
)
_WAITS = _GRAPH & (pl.col("gen_ai.finish_reason") == "interrupted")
_RESUMED = _GRAPH & (pl.col("gen_ai.command") == "resume")

SPLUNK_GRAPHS = Dialect(
    name="splunk-graphs",
    input=pl.when(_RESUMED).then(pl.lit('{"resume": true, "goto": []}')),
    output=pl.when(_WAITS).then(pl.lit(NOTHING)),
)

# What the kit's spans are by the types of their data.
_KINDS = {
    "agent": AGENT,
    "function": TOOL,
    "generation": LLM,
    "response": LLM,
    "handoff": HANDOFF,
    "task": CHAIN,
    "turn": CHAIN,
    "custom": CHAIN,
    "guardrail": OTHER,
    "mcp_tools": SETUP,
    "transcription": OTHER,
    "speech": OTHER,
    "speech_group": OTHER,
}

_TYPE = pl.col("openai_agents.span_type")
_TOOL = pl.when(_TYPE == "function")

PROMPTLAYER = Dialect(
    name="promptlayer",
    kind=value("openai_agents.span_type", **_KINDS),
    agent=first("openai_agents.agent.name"),
    tool=_TOOL.then(first("openai_agents.function.name")),
    arguments=_TOOL.then(first("openai_agents.function.input")),
    result=_TOOL.then(first("openai_agents.function.output")),
    from_agent=first("openai_agents.handoff.from_agent"),
    to_agent=first("openai_agents.handoff.to_agent"),
    request_model=pl.when(_TYPE == "response").then(pl.lit(NOTHING)),
    definitions=first("openai_agents.agent.tools_json"),
)

# `openai-agents-opentelemetry` begins a span before a response has come, and so tells nothing of it.
_PROCESSED = pl.col("agent.trace_id").str.starts_with("trace_")
_PROCESSED_TOOL = pl.when(_PROCESSED & (pl.col("agent.span.type") == "function"))

AGENTS_PROCESSOR = Dialect(
    name="openai-agents-opentelemetry",
    kind=pl.when(_PROCESSED).then(
        pl.coalesce(
            [
                value("agent.span.type", **_KINDS),
                pl.when(pl.col("agent.workflow.name").is_not_null()).then(pl.lit(CHAIN)),
            ]
        )
    ),
    agent=pl.when(_PROCESSED & (pl.col("agent.span.type") == "agent"))
    .then(pl.col("agent.name"))
    .when(_PROCESSED & (pl.col("agent.span.type") == "turn"))
    .then(json_text("span.data", "agent_name")),
    arguments=_PROCESSED_TOOL.then(
        first("gen_ai.tool.call.arguments", of_event("gen_ai.tool.input", "gen_ai.tool.call.arguments"))
    ),
    conversation=pl.when(_PROCESSED).then(pl.col("agent.group_id")),
    from_agent=pl.when(_PROCESSED & (pl.col("agent.handoff.from") != "unknown")).then(pl.col("agent.handoff.from")),
    to_agent=pl.when(_PROCESSED & (pl.col("agent.handoff.to") != "unknown")).then(pl.col("agent.handoff.to")),
)

# What Coralogix's knows no attributes of it names by the class of the kit's data: of a chat it tells nothing else.
_CORALOGIX = scope(r"^llm_tracekit\.openai_agents\.").fill_null(value=False)
_DATA = {
    "TaskSpanData": CHAIN,
    "TurnSpanData": CHAIN,
    "CustomSpanData": CHAIN,
    "GenerationSpanData": LLM,
    "MCPListToolsSpanData": SETUP,
}
_RAN = pl.when(_CORALOGIX & (pl.col("type") == "function"))

CORALOGIX = Dialect(
    name="coralogix",
    kind=pl.when(_CORALOGIX).then(
        pl.coalesce(
            [
                value("type", agent=AGENT, function=TOOL, handoff=HANDOFF, guardrail=OTHER),
                pl.col("span.name").replace_strict(_DATA, default=None, return_dtype=pl.String),
            ]
        )
    ),
    agent=pl.when(_CORALOGIX)
    .then(first("agent_name"))
    .when(_CORALOGIX & (pl.col("gen_ai.agent.name") == "unknown"))
    .then(pl.lit(NOTHING)),
    tool=_RAN.then(pl.col("name")),
    arguments=_RAN.then(pl.col("input")),
    result=_RAN.then(pl.col("output")),
    request_model=pl.when(_CORALOGIX).then(pl.lit(NOTHING)),
    from_agent=pl.when(_CORALOGIX).then(pl.col("from_agent")),
    to_agent=pl.when(_CORALOGIX).then(pl.col("to_agent")),
)

# Latitude's for JavaScript has one model under both names: that of an answer, or the one that was asked for.
_LATITUDE = pl.col("latitude.span.kind").str.strip_prefix("agents.")
_LATITUDE_TOOL = pl.when(pl.col("latitude.span.kind") == "agents.function")

LATITUDE_AGENTS = Dialect(
    name="latitude-openai-agents",
    kind=pl.when(pl.col("latitude.span.kind").str.starts_with("agents.")).then(
        _LATITUDE.replace_strict(
            {"trace": CHAIN, **_KINDS},
            default=None,
            return_dtype=pl.String,
        )
    ),
    agent=pl.when(pl.col("latitude.span.kind") == "agents.agent").then(pl.col("openai.agents.name")),
    tool=_LATITUDE_TOOL.then(pl.col("openai.agents.function.name")),
    arguments=_LATITUDE_TOOL.then(pl.col("openai.agents.function.input")),
    result=_LATITUDE_TOOL.then(pl.col("openai.agents.function.output")),
    request_model=pl.when(pl.col("latitude.span.kind") == "agents.response").then(pl.lit(NOTHING)),
    response_model=pl.when(pl.col("latitude.span.kind") == "agents.generation").then(pl.lit(NOTHING)),
    conversation=pl.when(pl.col("latitude.span.kind") == "agents.trace").then(pl.col("openai.agents.group_id")),
    from_agent=pl.when(pl.col("latitude.span.kind") == "agents.handoff").then(pl.col("openai.agents.handoff.from")),
    to_agent=pl.when(pl.col("latitude.span.kind") == "agents.handoff").then(pl.col("openai.agents.handoff.to")),
)

AGENTS_EXPORTS = (ORQ, SPLUNK_AGENTS, SPLUNK_GRAPHS, PROMPTLAYER, AGENTS_PROCESSOR, CORALOGIX, LATITUDE_AGENTS)
