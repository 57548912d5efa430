"""Monocle: what a span is in `span.type`, what it is about in numbered entities (the agent, the tool, the model).

What was said stands in events of its own form, which are left alone: arguments, results and tokens are unknown."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, LLM, OTHER, TOOL, Dialect, scope

_MINE = scope(r"^monocle_apptrace")
_TYPE = pl.when(_MINE).then(pl.col("span.type"))
_IS_TOOL = pl.col("span.type").str.contains(r"^agentic\.(?:tool|mcp)\.invocation$")
_OWNER = pl.when(pl.col("entity.2.type").str.starts_with("agent.")).then(pl.col("entity.2.name"))

MONOCLE = Dialect(
    name="monocle",
    kind=_TYPE.replace_strict(
        {
            "workflow": CHAIN,
            "agentic.turn": CHAIN,
            "agentic.invocation": AGENT,
            "agentic.delegation": OTHER,  # that of the tool which bears its agent's name
            "agentic.tool.invocation": TOOL,
            "agentic.mcp.invocation": TOOL,
            "inference": LLM,
            "inference.framework": LLM,
            "inference.modelapi": OTHER,  # the client's part of a framework's call
            "retrieval": OTHER,
            "embedding": OTHER,
        },
        default=None,
        return_dtype=pl.String,
    ),
    agent=pl.when(_TYPE == "agentic.invocation").then(pl.col("entity.1.name")).when(_MINE & _IS_TOOL).then(_OWNER),
    tool=pl.when(_MINE & _IS_TOOL).then(pl.col("entity.1.name")),
    request_model=pl.when(_TYPE.str.starts_with("inference")).then(pl.col("entity.2.name")),
    # That the model asked for a tool, or for one that hands over; why it ended otherwise is not told.
    finish=pl.when(_TYPE.str.starts_with("inference") & pl.col("span.subtype").is_in(["tool_call", "delegation"])).then(
        pl.lit("tool_calls")
    ),
    conversation=pl.when(_MINE).then(pl.col("scope.agentic.session")),
    # Who called an agent of a graph; where a tool did, its span shows it.
    from_agent=pl.when(_TYPE == "agentic.invocation").then(pl.col("entity.1.from_agent")),
)
