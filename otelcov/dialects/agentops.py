"""AgentOps: one kind key, and facts of each kit under keys of their own."""

import polars as pl

from otelcov.dialects.base import (
    AGENT,
    CHAIN,
    LLM,
    NOTHING,
    OTHER,
    TOOL,
    Dialect,
    first,
    scope,
    span_name,
    value,
)

_AGENTOPS = pl.col("agentops.span.kind").str.to_lowercase()
_AGENTOPS_KINDS = ("entity", "session", "agent", "workflow", "operation", "task")
_OF_AGNO = scope(r"^agentops\.instrumentation\.agno$")
_AGENTOPS_NAME = pl.coalesce(
    [
        pl.when(_OF_AGNO).then(  # whose entities bear the name of their kind
            pl.when(_AGENTOPS == "tool").then(pl.col("tool.name")).otherwise(first("agent.name", "team.name"))
        ),
        pl.col("agentops.entity.name"),
        pl.col("operation.name"),
        span_name(r"^(.+)\.(?:agent|tool|operation|task|workflow)$"),
    ]
)
# How a trace ended that raised, whatever its status; `Unknown` is one that was never ended.
_AGENTOPS_RAISED = pl.when(pl.col("agentops.session.end_state").is_in(["Indeterminate", "Error", "Fail"]))

# Of CrewAI it tells an agent's goal as its input, and a class as its name.
_AGENTOPS_CREW = pl.when((pl.col("gen_ai.system") == "crewai") & (_AGENTOPS == "agent"))
_AGENTOPS_USED = pl.when(_AGENTOPS == "tool.usage")
_AGENTOPS_TEAM = (_AGENTOPS == "workflow") & _OF_AGNO & pl.col("team.name").is_not_null()
# Of Agno, that a tool failed is told by a result's state, and in place of the result.
_AGENTOPS_FAILED = (_AGENTOPS == "tool") & (pl.col("tool.execution_result_status") == "failure")

# What a model's answer asked for, each by a mark below the model's span.
_AGENTOPS_ASKED = pl.when(
    scope(r"^agentops\.instrumentation\.providers\.") & pl.col("span.name").str.starts_with("tool_call.")
)

# Of LangGraph, an answer's id is that of LangChain's message, and the model asked is the one that answered.
_AGENTOPS_GRAPH = pl.when(scope(r"^agentops\.instrumentation\.agentic\.langgraph$"))

AGENTOPS = Dialect(
    name="agentops",
    kind=pl.coalesce(
        [
            _AGENTOPS_ASKED.then(pl.lit(OTHER)),
            pl.when(_AGENTOPS_TEAM).then(pl.lit(AGENT)),
            _AGENTOPS.replace_strict(
                {
                    "agent": AGENT,
                    "tool": TOOL,
                    "tool.usage": TOOL,
                    "llm": LLM,
                    "session": CHAIN,
                    "workflow": CHAIN,
                    "workflow.step": CHAIN,
                    "operation": CHAIN,
                    "task": CHAIN,
                    "chain": CHAIN,
                    "guardrail": OTHER,
                },
                default=None,
                return_dtype=pl.String,
            ),
            value("gen_ai.request.type", chat=LLM, completion=LLM),
        ]
    ),
    agent=pl.coalesce(
        [
            _AGENTOPS_CREW.then(pl.col("agent.role")),
            pl.when((_AGENTOPS == "agent") | _AGENTOPS_TEAM).then(_AGENTOPS_NAME),
        ]
    ),
    tool=pl.coalesce([_AGENTOPS_USED.then(pl.col("tool.name")), pl.when(_AGENTOPS == "tool").then(_AGENTOPS_NAME)]),
    call_id=_AGENTOPS_ASKED.then(pl.col("tool.call.id")),
    arguments=pl.coalesce(
        [
            pl.when(_AGENTOPS == "tool").then(first("agentops.entity.input", "agentops.tool.input")),
            _AGENTOPS_ASKED.then(pl.col("tool.parameters")),
            pl.when(_AGENTOPS.is_in(["tool", "tool.usage"])).then(pl.col("tool.parameters")),
        ]
    ),
    result=pl.coalesce(
        [
            pl.when(_AGENTOPS_FAILED & _OF_AGNO).then(pl.col("tool.error")),
            pl.when(_AGENTOPS == "tool").then(first("agentops.entity.output", "agentops.tool.output")),
            pl.when(pl.col("tool.result_is_generator") == "true").then(pl.lit(NOTHING)),
            pl.when(_AGENTOPS_FAILED).then(pl.col("tool.execution_error")),
            pl.when(_AGENTOPS.is_in(["tool", "tool.usage"])).then(pl.col("tool.result")),
        ]
    ),
    tool_error=pl.when(_AGENTOPS_FAILED).then(pl.lit("true")),
    request_model=_AGENTOPS_GRAPH.then(pl.lit(NOTHING)),
    response_id=_AGENTOPS_GRAPH.then(pl.lit(NOTHING)),
    conversation=pl.when(_OF_AGNO).then(first("agent.run_session_id", "agent.session_id")),
    definitions=_AGENTOPS_CREW.then(pl.col("agent.tools")),
    input=pl.coalesce(
        [
            _AGENTOPS_CREW.then(pl.lit("null")),
            first("workflow.input", *(f"agentops.{kind}.input" for kind in _AGENTOPS_KINDS)),
        ]
    ),
    output=first("crewai.crew.result", "agent.output", *(f"agentops.{kind}.output" for kind in _AGENTOPS_KINDS)),
    finish=pl.when(pl.col("agentops.session.end_state") == "Success").then(pl.lit("success")),
    error_type=_AGENTOPS_RAISED.then(pl.lit("error")),
    error_text=_AGENTOPS_RAISED.then(pl.lit("error")),
)
