"""Neatlogs for JavaScript: `neatlogs.*`. Its handler for LangChain tells the model that was asked; its clients write
the one that answered over it, once there is an answer."""

import polars as pl

from otelcov.dialects.base import (
    AGENT,
    CHAIN,
    HANDOFF,
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

_KIND = pl.col("neatlogs.span.kind").str.to_lowercase()
_MODEL, _TOOL = _KIND == "llm", _KIND.is_in(["tool", "mcp_tool"])
_BY_HAND = scope("^neatlogs$")  # a function that a program wraps is what its span is called
_MODEL_NAME = pl.when(_MODEL).then(first("neatlogs.llm.model_name"))
_ANSWERED = pl.col("neatlogs.llm.token_count.completion").is_not_null() & ~scope(r"^neatlogs\.langchain$")
_GAVE = first("neatlogs.tool.output", "output.value")

NEATLOGS = Dialect(
    name="neatlogs",
    kind=pl.when(pl.col("neatlogs.agent.handoff_from").is_not_null())
    .then(pl.lit(HANDOFF))
    .otherwise(
        value(
            "neatlogs.span.kind",
            llm=LLM,
            agent=AGENT,
            tool=TOOL,
            mcp_tool=TOOL,
            **dict.fromkeys(("workflow", "chain"), CHAIN),
            **dict.fromkeys(("retriever", "embedding", "reranker", "guardrail", "neatlogs.internal"), OTHER),
        )
    ),
    agent=pl.when(_KIND == "agent").then(
        pl.coalesce([pl.col("neatlogs.agent.name"), pl.when(_BY_HAND).then(pl.col("span.name"))])
    ),
    tool=pl.when(_TOOL).then(
        pl.coalesce(
            [pl.col("neatlogs.tool.name"), pl.when(_BY_HAND).then(pl.col("span.name")), span_name(r"^\w+\.tool\.(.+)$")]
        )
    ),
    call_id=pl.col("neatlogs.tool_call.id"),
    arguments=pl.when(_TOOL).then(first("neatlogs.tool.input", "input.value")),
    result=pl.when(_TOOL).then(pl.when(_GAVE.str.contains(r"^\[object \w+\]$")).then(pl.lit(NOTHING)).otherwise(_GAVE)),
    from_agent=pl.col("neatlogs.agent.handoff_from"),
    to_agent=pl.col("neatlogs.agent.handoff_to"),
    request_model=pl.when(~_ANSWERED).then(_MODEL_NAME),
    response_model=pl.when(_ANSWERED).then(_MODEL_NAME),
    input_tokens=first("neatlogs.llm.token_count.prompt"),
    output_tokens=first("neatlogs.llm.token_count.completion"),
    finish=first("neatlogs.llm.finish_reason"),
    input=first("neatlogs.agent.input", "neatlogs.workflow.input", "neatlogs.chain.input"),
    output=first("neatlogs.agent.output", "neatlogs.workflow.output", "neatlogs.chain.output"),
    conversation=first("neatlogs.conversation.id", "neatlogs.session.id"),
)
