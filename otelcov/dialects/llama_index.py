"""LlamaIndex under OpenInference, OpenLLMetry and MLflow: preparation like a model call, tools like tasks."""

import polars as pl

from otelcov.dialects.base import AGENT, NOTHING, OTHER, TOOL, Dialect, first, json_text, of_event, scope

_TASK = pl.col("traceloop.span.kind").str.to_lowercase() == "task"
# What a step put out is JSON, told as a text in JSON: its quotes are escaped.
_PUT_OUT = pl.col("traceloop.entity.output")
_CALLED = _PUT_OUT.str.extract(r'^"\{\\"tool_name\\":\\"([^"\\]+)\\",\\"tool_kwargs\\":')  # before 0.50 of Traceloop's
_NAMED = _PUT_OUT.str.extract(r'\\"current_agent_name\\":\\"([^"\\]+)\\"\}"$')
_TOOL = _TASK & (pl.col("tool.name").is_not_null() | _CALLED.is_not_null())
# Before 0.50 Traceloop's tells of no model, so that nothing else says that an agent was asked.
_EARLY = scope(r"^opentelemetry\.instrumentation\.llamaindex$") & pl.col("scope.version").str.contains(
    r"^0\.[0-4]?\d\."
)
_AGENT = _EARLY & pl.col("span.name").str.contains(r"Agent(?:Workflow)?\.workflow$|^run\.(?:task|workflow)$")
_GIVEN = pl.col("traceloop.entity.input").str.json_path_match("$.kwargs")
_FUNCTION = _EARLY & (pl.col("span.name") == "FunctionTool.task") & _GIVEN.is_not_null()
_STEP = _TASK & pl.col("span.name").str.contains(r"Agent(?:Workflow)?\.task$")  # it puts out who works next
_KIND = pl.col("openinference.span.kind").str.to_uppercase()
_KEEPING = r"\.(?:create_task|get_task|initialize_step|finalize_task|a?write_response_to_history)$"
_CHOOSING = pl.col("span.name").str.contains(r"\.(?:init_run|setup_agent|aggregate_tool_results)$")
_CHOOSES = _TASK & pl.col("span.name").str.contains(r"^(?:init_run|setup_agent|aggregate_tool_results)\.task$")
_PRINTED = scope(r"^openinference\.instrumentation\.llama_index$") & _CHOOSING
_WITHOUT_WORDS = (_KIND == "LLM") & (pl.col("output.value") == "assistant: None")  # as Python prints a message
_NEXT = r"(?s)\bAgent(?:Input|Setup)\(.*\bcurrent_agent_name='([^'\\]+)'\)(?:\"\})?$"  # an event, as Python prints it

LLAMA_INDEX = Dialect(
    name="llama-index",
    kind=pl.when(
        ((_KIND == "LLM") & pl.col("span.name").str.contains(r"\._prepare_"))
        | (_KIND.is_in(["LLM", "AGENT"]) & pl.col("span.name").str.contains(_KEEPING))
    )
    .then(pl.lit(OTHER))
    .when(_TOOL | _FUNCTION)
    .then(pl.lit(TOOL))
    .when(_AGENT)
    .then(pl.lit(AGENT)),
    agent=pl.when(_STEP)
    .then(pl.coalesce([json_text("traceloop.entity.output", "current_agent_name"), _NAMED]))
    .when(_CHOOSES)
    .then(_NAMED)
    .when(_PRINTED)
    .then(pl.coalesce([pl.col(f"{way}.value").str.extract(_NEXT) for way in ("output", "input")]))
    .when(_CHOOSING & pl.col("mlflow.spanType").is_not_null())
    .then(json_text("mlflow.spanOutputs", "current_agent_name")),
    tool=pl.when(_TOOL).then(_CALLED),
    arguments=pl.when(_TOOL).then(first("tool.arguments")).when(_FUNCTION).then(_GIVEN),
    result=pl.when(_TOOL).then(first("traceloop.entity.output")),
    call_id=pl.when(_TOOL).then(_PUT_OUT.str.extract(r'\\?"tool_id\\?":\s*\\?"([^"\\]+)')),
    # Whether it failed stands at the end of what it put out.
    tool_error=pl.when(_CALLED.is_not_null() & ~_PUT_OUT.str.contains("is_error", literal=True)).then(
        pl.lit("unknown")
    ),
    output_messages=pl.when(_WITHOUT_WORDS).then(pl.lit(NOTHING)),
    output=pl.when(_WITHOUT_WORDS).then(pl.lit(NOTHING)),
    finish=pl.when(pl.col(of_event("span.cancelled", "reason")).is_not_null()).then(pl.lit("canceled")),
)
