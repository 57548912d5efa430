"""Fiddler: a kind key of its own beside the conventions' names; what is given and comes back under keys of its own."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, LLM, OTHER, TOOL, Dialect, first, value

_TYPE = pl.col("fiddler.span.type").str.to_lowercase()
_NAME, _NODE = pl.col("span.name"), pl.col("gen_ai.agent.name")
_CHAIN, _TOOL = pl.when(_TYPE == "chain"), pl.when(_TYPE == "tool")
# It names an agent after the node of LangGraph that works for it. Those that all agents of LangChain are made of are
# none: what such a graph is called is the agent's name, where the run begins or where a tool called it.
_PART = r"^(?:agent|model|tools|call_model|.*\.(?:before|after)_\w+)$"
_MADE = _NODE.str.contains(_PART) & _TYPE.is_not_null()
_GRAPH = (
    _MADE
    & (_TYPE == "chain")
    & ~_NAME.str.contains(_PART + r"|^(?:LangGraph|Runnable.*|.*Prompt.*|.*Parser.*|_.*|<.*)$")
    & ((pl.col("span.kind") == 3) | (_NODE == "tools"))
)

FIDDLER = Dialect(
    name="fiddler",
    kind=pl.when(_GRAPH)
    .then(pl.lit(AGENT))
    .otherwise(value("fiddler.span.type", agent=AGENT, chain=CHAIN, llm=LLM, tool=TOOL, other=OTHER)),
    agent=pl.when(_GRAPH)
    .then(_NAME)
    .when(_MADE | (_TYPE.is_not_null() & (_NODE == "unknown")))
    .then(pl.lit("unknown")),
    tool=_TOOL.then(pl.coalesce([pl.col("gen_ai.tool.name"), _NAME])),
    arguments=_TOOL.then(first("gen_ai.tool.input", "gen_ai.llm.input.user")),
    result=_TOOL.then(first("gen_ai.tool.output", "gen_ai.llm.output")),
    input_messages=first("gen_ai.input.messages", "gen_ai.llm.input.user"),
    output_messages=first("gen_ai.output.messages", "gen_ai.llm.output"),
    input=_CHAIN.then(pl.col("gen_ai.llm.input.user")),
    output=_CHAIN.then(pl.col("gen_ai.llm.output")),
)
