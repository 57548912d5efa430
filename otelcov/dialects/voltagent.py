"""VoltAgent: `span.type` under what `entity.type` stamps on every span. A span of a model holds the whole loop.

https://voltagent.dev/observability-docs/
"""

import polars as pl

from otelcov.dialects.base import (
    AGENT,
    CHAIN,
    EVALUATION,
    LLM,
    OTHER,
    TOOL,
    Dialect,
    as_message,
    first,
    span_name,
)

_ENTITY = pl.col("entity.type")
# At a limit of attributes the type is lost of what tells much of who called it; the name says the same.
_TYPE = pl.coalesce(
    [pl.col("span.type"), span_name(r"^(tool)\.execution:"), span_name(r"^(llm):"), span_name(r"^(memory)\.")]
)
_KINDS = {
    "tool": TOOL,
    "llm": CHAIN,
    "agent": CHAIN,
    "scorer": EVALUATION,
    **dict.fromkeys(
        ("memory", "retriever", "embedding", "vector", "guardrail", "middleware", "summary"),
        OTHER,
    ),
}
_AGENTS = _ENTITY == "agent"
_TOOL = _AGENTS & (_TYPE == "tool")
_ROOT = _AGENTS & _TYPE.is_null()
_OFFERED = pl.col("llm.tools").str.replace(r"\bdelegate_task\b", "")  # its way to other agents

# A loop without tools is one call of a model, and each attempt has a span; one with tools tells the last of several.
_LOOP = _AGENTS & (_TYPE == "llm") & pl.col("llm.tools.count").is_not_null()
_ALONE = _LOOP & (pl.col("llm.tools.count") == "0")
_CALL = pl.when(_ALONE)

_GUARD = _AGENTS & (_TYPE == "guardrail")
_FLOW = (_ENTITY == "workflow") & _TYPE.is_null()

# Why an agent ended is why its last model did, unless a limit, or who called it off, came first.
_SAID = pl.col("ai.response.finish_reason")
_LIMITED = (pl.col("voltagent.stopped_by_max_steps").str.to_lowercase() == "true") & (_SAID == "tool-calls")
_WHY = (
    pl.when(pl.col("agent.state") == "cancelled")
    .then(pl.lit("aborted"))
    .when(_LIMITED)
    .then(pl.lit("max_steps"))
    .otherwise(_SAID)
)
_STATE = pl.col("workflow.state").replace_strict(
    {"suspended": "suspended", "cancelled": "canceled", "error": "failed"}, default=None, return_dtype=pl.String
)

# What an agent is asked, and answers, is a text or a list of messages.
_OBJECT = as_message(pl.when(pl.col("output").str.contains(r"^\s*\{")).then(pl.col("output")))
_ASKED = as_message(pl.when(pl.col("input").str.contains(r"^\s*\{")).then(pl.col("input")), "user")

VOLTAGENT = Dialect(
    name="voltagent",
    kind=pl.when(_ROOT)
    .then(pl.lit(AGENT))
    .when(_AGENTS & (_TYPE == "llm") & span_name(r"^llm:(.+)$").is_in(["generateObject", "streamObject"]))
    .then(pl.lit(LLM))
    .when(_LOOP)
    .then(pl.lit(LLM))
    .when(_ENTITY.is_in(["agent", "workflow"]))
    .then(
        pl.coalesce(
            [
                _TYPE.replace_strict(_KINDS, default=None, return_dtype=pl.String),
                pl.lit(CHAIN),
            ]
        )
    ),
    agent=pl.when(_AGENTS).then(first("subagent.name", "entity.name")),
    tool=pl.when(_TOOL).then(pl.coalesce([first("tool.name"), span_name(r"^tool\.execution:(.+)$")])),
    call_id=pl.when(_TOOL).then(first("tool.call.id")),
    arguments=pl.when(_TOOL).then(first("input")),
    result=pl.when(_TOOL).then(first("output")),
    request_model=pl.when(_AGENTS).then(first("llm.model")),
    definitions=pl.when(_AGENTS & (_TYPE == "llm")).then('["' + _OFFERED.str.replace_all(",", '","') + '"]'),
    input_messages=_CALL.then(pl.col("llm.messages")),
    input_tokens=_CALL.then(pl.col("llm.usage.prompt_tokens")),
    output_tokens=_CALL.then(pl.col("llm.usage.completion_tokens")),
    finish=pl.when(_ROOT).then(_WHY).when(_FLOW).then(_STATE).when(_ALONE).then(pl.col("llm.finish_reason")),
    tool_error=pl.when(_LOOP & ~_ALONE).then(pl.lit("shared")),
    input=pl.when(_ROOT)
    .then(pl.coalesce([_ASKED, first("input")]))
    .when(_FLOW)
    .then(first("input"))
    .when(_GUARD)
    .then(first("guardrail.input.original")),
    output=pl.when(_ROOT | _FLOW).then(pl.coalesce([_OBJECT, first("output")])),
)
