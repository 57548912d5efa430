"""Mastra (`@mastra/otel-exporter`): `mastra.span.type`. A `model_generation` sums `model_step`s: the calls."""

import polars as pl

from otelcov.dialects.base import (
    AGENT,
    CHAIN,
    EVALUATION,
    LLM,
    NOTHING,
    OTHER,
    TOOL,
    UNTOLD,
    Dialect,
    first,
    json_number,
    json_text,
    scope,
    span_name,
    value,
)

_TYPE = pl.col("mastra.span.type")
_STEP = _TYPE == "model_step"
_TOOL = _TYPE.is_in(["tool_call", "mcp_tool_call"])
# For Arize: no types; each piece of a stream, and at first a workflow, is called a model's.
_EXPORTED = scope(r"^@mastra/")
_BY_KEYS = pl.coalesce(
    [json_text(k, "modelId") for k in ("modelMetadata", "mastra.metadata.modelMetadata")]
)  # what a step is called by itself is the model that answered, if any


def _in_metadata(pattern: str) -> pl.Expr:
    """What JSON within the JSON of `metadata` holds, where an exporter for Arize keeps all that has no key there."""
    return pl.when(_STEP).then(pl.col("metadata").str.extract(rf'[^\\]\\"{pattern}'))


# The whole of what a provider answered, where it did not stream: all that tells of one step's use under its bridge.
_BODY = ("body", "mastra.metadata.body")
_BRIDGED = _STEP & pl.col("mastra.metadata.body").is_not_null()
_TEXT = r'\\":\\"([^"\\]+)\\"'
_COUNT = r'\\":(\d+)'
_ASKED = pl.coalesce([_BY_KEYS, _in_metadata("modelId" + _TEXT)])
_RUN = _TYPE.is_in(["agent_run", "workflow_run"])
_FRAMES = (
    *("workflow_run", "workflow_step", "workflow_conditional", "workflow_conditional_eval", "workflow_parallel"),
    *("workflow_loop", "workflow_sleep", "workflow_wait_event", "mapping", "generic"),
)
_WAYS = (
    "workflow_conditional",
    "workflow_conditional_eval",
    "workflow_parallel",
    "workflow_loop",
)  # not what came of it
_ASIDE = (
    *("processor_run", "memory_operation", "workspace_action", "skill_action", "skill_resolution", "agent_signal"),
    *("rag_action", "rag_embedding", "rag_ingestion", "rag_vector_operation", "graph_action"),
)

# What sums up the steps of a run that goes on counts that answer, too: nobody said anything in it.
_GENERATION = _TYPE == "model_generation"
_SUMS = _GENERATION & (
    (pl.col("mastra.metadata.resumed").str.to_lowercase() == "true")
    | ~pl.when(_GENERATION).then(first("gen_ai.input.messages", "input.value")).str.contains('"role": ?"user"')
)
# Nor is what it had said when it stopped, was called off or failed the answer: where it came to an end the agent tells
# it.
_REASON = pl.when(_GENERATION).then(pl.col("gen_ai.response.finish_reasons"))
_UNANSWERED = _GENERATION & (_REASON.is_null() | _REASON.str.contains("suspended|aborted|error"))
_CAME = ("mastra.workflow_run.output", "langfuse.observation.output", "output.value", "output")
_WENT_IN = ("mastra.workflow_run.input", "langfuse.observation.input", "input.value", "input")

# An agent that waits for somebody, or was called off, puts out that; a workflow has a status.
_ENDED = pl.coalesce(
    [
        pl.when(_TYPE == "agent_run").then(
            first("mastra.agent_run.output", "langfuse.observation.output", "output.value", "output").str.extract(
                r'^\{"status": ?"(suspended|aborted)"'
            )
        ),
        pl.when((_TYPE == "workflow_run") & (pl.col("mastra.workflow_run.status") != "success")).then(
            pl.col("mastra.workflow_run.status")
        ),
        pl.when((_TYPE == "workflow_run") & first(*_CAME).is_null() & first(*_WENT_IN).is_not_null()).then(
            pl.lit("suspended")  # or failed
        ),
    ]
)
# What goes on after that tells the answer once more at which it stopped: without what was asked, or when it began.
_RETOLD = (pl.col("mastra.metadata.resumed").str.to_lowercase() == "true") & (
    (
        _STEP
        & first("mastra.model_step.output", "langfuse.observation.output").is_not_null()
        & first("mastra.model_step.input", "langfuse.observation.input").is_null()
    )
    | (
        (_TYPE == "model_inference")
        & pl.col("gen_ai.usage.output_tokens").is_not_null()
        & first("mastra.completion_start_time", "langfuse.observation.completion_start_time").is_null()
    )
)

# An agent that another has is a tool of it, by the name under which it was given.
_TO_AGENT = pl.when(_TOOL).then(pl.col("gen_ai.tool.name").str.extract(r"^agent-(.+)$"))

# Before it traced agents, its telemetry wrapped their methods; the AI SDK tells the rest.
_WRAPPED = pl.col("componentName").is_not_null() & pl.col("span.name").str.contains(
    r"^agent\.(?:generate|stream)(?:VNext|Legacy)?$"
)

MASTRA = Dialect(
    name="mastra",
    kind=pl.when(_RETOLD | (_EXPORTED & pl.col("span.name").str.starts_with("chunk: ")))
    .then(pl.lit(OTHER))
    .when(_EXPORTED & _TYPE.is_null() & pl.col("span.name").str.contains(r"^workflow[. ]"))
    .then(pl.lit(CHAIN))
    .when(_WRAPPED)
    .then(pl.lit(AGENT))
    .otherwise(
        value(
            "mastra.span.type",
            agent_run=AGENT,
            model_generation=CHAIN,
            model_step=LLM,
            model_chunk=OTHER,
            tool_call=TOOL,
            mcp_tool_call=TOOL,
            provider_tool_call=TOOL,
            **dict.fromkeys(_FRAMES, CHAIN),
            **dict.fromkeys(_ASIDE, OTHER),
            scorer_run=EVALUATION,
            scorer_step=EVALUATION,
            classifier_evaluation=EVALUATION,
        )
    ),
    agent=pl.coalesce(
        [
            pl.when(_TYPE == "agent_run").then(first("agent.id", "gen_ai.agent.id")),
            pl.when(_EXPORTED & (pl.col("openinference.span.kind") == "AGENT")).then(span_name(r"^agent\.(.+)$")),
            pl.when(_WRAPPED).then(pl.col("componentName")),
        ]
    ),
    to_agent=_TO_AGENT,
    arguments=pl.when(_TOOL).then(first("gen_ai.tool.input", "input")),
    result=pl.when(_TOOL).then(first("gen_ai.tool.output", "output")),
    request_model=pl.when(_STEP).then(_ASKED),
    response_model=pl.coalesce(
        [
            pl.when(_STEP & ((pl.col("modelId") != _BY_KEYS) | pl.col("body").is_not_null())).then(pl.col("modelId")),
            pl.when(_BRIDGED).then(json_text("mastra.metadata.body", "model", "modelVersion")),
            _in_metadata("model" + _TEXT),
        ]
    ),
    input_tokens=pl.coalesce(
        [
            pl.when(_SUMS).then(pl.lit(UNTOLD)),
            *(pl.when(_STEP).then(json_number(k, "prompt_tokens", "input_tokens", "promptTokenCount")) for k in _BODY),
            _in_metadata("(?:prompt|input)_tokens" + _COUNT),
        ]
    ),
    output_tokens=pl.coalesce(
        [
            pl.when(_SUMS).then(pl.lit(UNTOLD)),
            *(
                pl.when(_STEP).then(json_number(k, "completion_tokens", "output_tokens", "candidatesTokenCount"))
                for k in _BODY
            ),
            _in_metadata("(?:completion|output)_tokens" + _COUNT),
        ]
    ),
    finish=pl.coalesce(
        [
            pl.when(_STEP).then(first("finishReason")),
            pl.when(_BRIDGED).then(json_text("mastra.metadata.body", "finish_reason", "stop_reason", "finishReason")),
            _ENDED,
        ]
    ),
    input_messages=pl.when(_STEP).then(first("input", "mastra.model_step.input")),
    output_messages=pl.when(_STEP).then(first("output", "mastra.model_step.output")),
    input=pl.when(_RUN).then(first("input", "mastra.agent_run.input", "mastra.workflow_run.input")),
    output=pl.when(_RUN)
    .then(first("output", "mastra.agent_run.output", "mastra.workflow_run.output"))
    .when(_TYPE == "model_chunk")
    .then(first("mastra.model_chunk.output"))
    .when(_TYPE.is_in(_WAYS) | _UNANSWERED)
    .then(pl.lit(NOTHING)),
    conversation=pl.when(_TYPE.is_not_null()).then(first("threadId", "sessionId")),
)

# Its exporter for Laminar keeps no type of its own: what a span is, its name tells. Of what a step used only the body
# of an answer tells, if that is kept. A client's tool has a span before anyone runs it.
_FOR_LAMINAR = scope(r"^@mastra/laminar$")
_LMNR_META = "lmnr.association.properties.metadata"
_LMNR_STEP = _FOR_LAMINAR & pl.col("span.name").str.contains(r"^step: \d+$")
_LMNR_AGENT = pl.when(_FOR_LAMINAR).then(span_name(r"^agent run: '(.+?)'(?: \(\w+\))?$"))
_LMNR_TOOL = pl.when(_FOR_LAMINAR).then(span_name(r"^(?:mcp_|provider_)?tool: '(.+?)'(?: on '.*')?$"))
_LMNR_BODY = f"{_LMNR_META}.body"
_LMNR_GOES_ON = pl.col(f"{_LMNR_META}.resumed").str.to_lowercase() == "true"
_LMNR_SUMS = _FOR_LAMINAR & _LMNR_GOES_ON & ~_LMNR_STEP
_LMNR_RETOLD = (
    _LMNR_STEP & _LMNR_GOES_ON & pl.col("lmnr.span.input").is_null() & pl.col("lmnr.span.output").is_not_null()
)
_LMNR_ASIDE = "^(?:chunk|inference|client_tool|tool output mapping): "
_OF_STEP = pl.when(_LMNR_STEP)
# What steps came to in which a model failed, or was called off.
_LMNR_MUTE = (
    _FOR_LAMINAR
    & pl.col("span.name").str.starts_with("llm: ")
    & pl.col("lmnr.span.output").str.contains(r'^\{.*"text": ?""')
)

MASTRA_LAMINAR = Dialect(
    name="mastra-laminar",
    kind=pl.when(_FOR_LAMINAR).then(
        pl.when(_LMNR_RETOLD | pl.col("span.name").str.contains(_LMNR_ASIDE))
        .then(pl.lit(OTHER))
        .when(pl.col("span.name").str.contains("^scorer (?:run|step): "))
        .then(pl.lit(EVALUATION))
        .when(_LMNR_STEP)
        .then(pl.lit(LLM))
        .when(_LMNR_AGENT.is_not_null())
        .then(pl.lit(AGENT))
        .when(_LMNR_TOOL.is_not_null())
        .then(pl.lit(TOOL))
        .otherwise(pl.lit(CHAIN))
    ),
    agent=_LMNR_AGENT,
    tool=_LMNR_TOOL,
    to_agent=_LMNR_TOOL.str.extract(r"^agent-(.+)$"),
    request_model=_OF_STEP.then(json_text(f"{_LMNR_META}.modelMetadata", "modelId")),
    response_model=_OF_STEP.then(json_text(_LMNR_BODY, "model")),
    input_tokens=pl.when(_LMNR_SUMS)
    .then(pl.lit(UNTOLD))
    .otherwise(_OF_STEP.then(json_number(_LMNR_BODY, "prompt_tokens", "input_tokens"))),
    output_tokens=pl.when(_LMNR_SUMS)
    .then(pl.lit(UNTOLD))
    .otherwise(_OF_STEP.then(json_number(_LMNR_BODY, "completion_tokens", "output_tokens"))),
    finish=_OF_STEP.then(json_text(_LMNR_BODY, "finish_reason", "stop_reason")),
    input_messages=_OF_STEP.then(pl.col("lmnr.span.input")),
    output_messages=_OF_STEP.then(pl.col("lmnr.span.output")),
    output=pl.when(_LMNR_MUTE).then(pl.lit(NOTHING)),
)
