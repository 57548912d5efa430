"""Tracers told by decorators what a function is (Netra, Judgeval, HoneyHive, Confident AI), by one kind key each;
Upsonic; Galileo; DataRobot; and Weave, which tells of OpenAI's agents in the conventions' keys, but for who was handed
over to and what was offered."""

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
    json_number,
    json_text,
    scope,
    value,
)

_NETRA = pl.col("netra.span.type").str.to_lowercase()
_NETRA_TOOL = pl.when(_NETRA == "tool")

NETRA = Dialect(
    name="netra",
    kind=value("netra.span.type", agent=AGENT, tool=TOOL, generation=LLM, span=CHAIN, embedding=OTHER, usage=OTHER),
    agent=first("netra.agent.name"),
    tool=_NETRA_TOOL.then(pl.col("span.name")),
    arguments=_NETRA_TOOL.then(pl.col("input")),
    result=_NETRA_TOOL.then(pl.col("output")),
    output=pl.when(_NETRA.is_in(["agent", "span"])).then(pl.col("output")),
    conversation=first("netra.session_id"),
    error_text=first("netra.entity.error"),
    tool_error=_NETRA_TOOL.then(pl.when(pl.col("netra.entity.error").is_not_null()).then(pl.lit("true"))),
)

_JUDGMENT = pl.col("judgment.span_kind").str.to_lowercase()
_JUDGMENT_LLM = pl.when(_JUDGMENT == "llm")
_JUDGMENT_TOOL = pl.when(_JUDGMENT == "tool")

# What a model was asked and answered: in Python, and in JavaScript.
_JUDGMENT_ASKED, _JUDGMENT_ANSWER = (
    first("gen_ai.prompt", "judgment.input"),
    first("gen_ai.completion", "judgment.output"),
)

JUDGEVAL = Dialect(
    name="judgeval",
    kind=value("judgment.span_kind", agent=AGENT, tool=TOOL, llm=LLM, function=CHAIN, span=CHAIN, generator=CHAIN),
    agent=pl.when(_JUDGMENT == "agent").then(pl.col("span.name")),
    tool=_JUDGMENT_TOOL.then(pl.col("span.name")),
    arguments=_JUDGMENT_TOOL.then(pl.col("judgment.input")),
    result=_JUDGMENT_TOOL.then(pl.col("judgment.output")),
    request_model=_JUDGMENT_LLM.then(
        pl.coalesce([json_text(key, "model") for key in ("gen_ai.prompt", "judgment.input")])
    ),
    # Of an answer that streamed, and of none, it is the one that was asked for.
    response_model=pl.when((_JUDGMENT != "llm") | _JUDGMENT_ANSWER.str.starts_with("{")).then(
        pl.col("judgment.llm.model")
    ),
    input_messages=_JUDGMENT_LLM.then(pl.col("judgment.input")),
    output_messages=_JUDGMENT_LLM.then(pl.col("judgment.output")),
    input_tokens=json_number("judgment.usage.metadata", "prompt_tokens"),  # its own keys leave out what was cached
    output_tokens=first("judgment.usage.output_tokens"),
    output=pl.when(_JUDGMENT.is_in(["agent", "function"])).then(pl.col("judgment.output")),
    definitions=_JUDGMENT_LLM.then(_JUDGMENT_ASKED.str.json_path_match("$.tools")),
    conversation=first("judgment.session_id"),
)

# A failed function has a second span, which tells the error alone.
_HONEYHIVE_ERROR = pl.col("honeyhive_error").is_not_null() & pl.col("honeyhive_event_name").is_null()
_HONEYHIVE_TOOL = pl.when(~_HONEYHIVE_ERROR & (pl.col("honeyhive_event_type") == "tool"))

# Since 1.0 a function without a name of its own is called after its module, too.
_HONEYHIVE_NAME = pl.coalesce([pl.col("span.name").str.extract(r"^(?:[A-Za-z_]\w*\.)+([A-Za-z_]\w*)$"), "span.name"])

HONEYHIVE = Dialect(
    name="honeyhive",
    kind=pl.when(_HONEYHIVE_ERROR)
    .then(pl.lit(OTHER))
    .otherwise(value("honeyhive_event_type", tool=TOOL, model=LLM, chain=CHAIN, session=CHAIN)),
    tool=_HONEYHIVE_TOOL.then(pl.coalesce([pl.col("honeyhive_event_name"), _HONEYHIVE_NAME])),
    result=_HONEYHIVE_TOOL.then(pl.col("honeyhive_outputs.result")),
    output=pl.when(pl.col("honeyhive_event_type") == "chain").then(pl.col("honeyhive_outputs.result")),
)

_CONFIDENT = pl.col("confident.span.type").str.to_lowercase()
_CONFIDENT_TOOL = pl.when((_CONFIDENT == "tool") | (pl.col("gen_ai.operation.name") == "execute_tool"))

# What holds LlamaIndex's agents, and has no name of its own.
_CONFIDENT_TEAM = pl.when(
    (pl.col("confident.span.integration") == "LlamaIndex") & (pl.col("gen_ai.agent.name") == "AgentWorkflow")
)

# Other kinds are among those of `GENAI_KINDS`. What it tells in the conventions' words, those tell.
CONFIDENT = Dialect(
    name="confident",
    kind=_CONFIDENT_TEAM.then(pl.lit(CHAIN)),
    agent=_CONFIDENT_TEAM.then(pl.lit("unknown"))
    .when(
        (_CONFIDENT == "agent") & first("confident.agent.name", "gen_ai.agent.name", "gen_ai.operation.name").is_null()
    )
    .then(pl.col("span.name")),
    tool=pl.when((_CONFIDENT == "tool") & first("confident.tool.name", "gen_ai.tool.name").is_null()).then(
        pl.col("span.name")
    ),
    arguments=_CONFIDENT_TOOL.then(pl.col("confident.span.input")),
    result=_CONFIDENT_TOOL.then(pl.col("confident.span.output")),
    output=pl.when(
        _CONFIDENT.is_in(["agent", "custom"])
        | (pl.col("gen_ai.operation.name") == "invoke_agent")
        & pl.col("confident.span.output").str.starts_with('"')  # else a kit's own frame, with what it holds left out
        & (pl.col("confident.span.output") != '""')  # of a stream
    ).then(pl.col("confident.span.output")),
    conversation=first("confident.trace.thread_id", "confident.trace.thread.id"),
)

# What a function gave is in a frame of Upsonic's own; what it raised comes back as bare words, and the span says that
# it went well, as it does of a tool of a server's, which has no frame.
_UPSONIC_TOOL = pl.col("upsonic.tool.name").is_not_null() & (pl.col("span.name") == "tool.execute")
_UPSONIC_WELL = _UPSONIC_TOOL & (pl.col("upsonic.tool.success").str.to_lowercase() == "true")
_UPSONIC_FRAMED = pl.col("langfuse.observation.output").str.contains(r"""^"?\{\\?['"]func""").fill_null(value=False)

UPSONIC = Dialect(
    name="upsonic",
    kind=pl.when(_UPSONIC_TOOL)
    .then(pl.lit(TOOL))
    .when(pl.col("upsonic.agent.name").is_not_null() & (pl.col("span.name") == "agent.run"))
    .then(pl.lit(AGENT)),
    agent=first("upsonic.agent.name"),
    tool=first("upsonic.tool.name"),
    call_id=first("upsonic.tool.call_id"),
    tool_error=pl.when(_UPSONIC_WELL & ~_UPSONIC_FRAMED).then(pl.lit("unknown")),
    input=first("upsonic.input"),
    output=first("upsonic.output"),
)

_WEAVE = "weave.openai_agents."
_WEAVE_SIDE = ("guardrail.name", "transcription.model", "speech.model", "speech_group.input")

WEAVE = Dialect(
    name="weave",
    kind=pl.when(first(f"{_WEAVE}handoff.to_agent", f"{_WEAVE}handoff.from_agent").is_not_null())
    .then(pl.lit(HANDOFF))
    .when(first(f"{_WEAVE}task.workflow_name", f"{_WEAVE}turn.agent_name").is_not_null())
    .then(pl.lit(CHAIN))
    .when(first(f"{_WEAVE}mcp.server").is_not_null())
    .then(pl.lit(SETUP))
    .when(first(*(f"{_WEAVE}{key}" for key in _WEAVE_SIDE)).is_not_null())
    .then(pl.lit(OTHER)),
    from_agent=first(f"{_WEAVE}handoff.from_agent"),
    to_agent=first(f"{_WEAVE}handoff.to_agent"),
    definitions=first(f"{_WEAVE}agent.tools", f"{_WEAVE}mcp.result"),
)

_GALILEO = scope(r"^galileo-tracer$") & pl.col("gen_ai.operation.name").is_null()

GALILEO = Dialect(
    name="galileo",
    kind=pl.when(_GALILEO & (pl.col("db.operation") == "search"))
    .then(pl.lit(OTHER))
    .when(_GALILEO & pl.col("gen_ai.input.messages").is_not_null())
    .then(pl.lit(CHAIN)),
    conversation=first("galileo.session.id"),  # stamped on whatever is sent there
)

_DATAROBOT = scope(r"datarobot_otel_conventions_middleware$")

# Around what the kits' own instrumentations tell; of each tool that a model asked for, a mark with its name.
DATAROBOT = Dialect(
    name="datarobot",
    kind=pl.when(_DATAROBOT).then(
        pl.when(pl.col("gen_ai.tool.name").is_not_null()).then(pl.lit(OTHER)).otherwise(pl.lit(CHAIN))
    ),
    conversation=first("datarobot.session_id"),
)

# Kibana's agents; what it first called the model that answered is but the family of it.
KIBANA = Dialect(
    name="kibana",
    kind=pl.when(pl.col("gen_ai.operation.name").is_null()).then(
        value("elastic.inference.span.kind", llm=LLM, tool=TOOL, agent=AGENT, chain=CHAIN)
    ),
    arguments=first("elastic.tool.parameters"),
    result=pl.when(pl.col("elastic.inference.span.kind") == "TOOL").then(pl.col("output.value")),
    response_model=pl.when(
        pl.col("elastic.inference.span.kind").is_not_null() & (pl.col("span.name") == "chatComplete")
    ).then(pl.lit(NOTHING)),
)
