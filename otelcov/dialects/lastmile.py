"""mcp-agent and fast-agent: spans of functions, named after the function and the agent that it is of.

What an agent is asked is one of its `generate` functions, which call each other; a tool is told by each layer that it
goes through, last by the protocol's client, which knows it without the name of its server. fast-agent numbers the
copies that it makes of an agent for each task."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, SETUP, TOOL, Dialect, first, scope, span_name

_NAME, _OF = pl.col("span.name"), pl.col("gen_ai.agent.name")
_UNTOLD = first("gen_ai.operation.name", "gen_ai.tool.name").is_null()
_LLM = r"^\w*AugmentedLLM\.(.+)\.generate(?:_str|_structured)?$"  # says whose it is though its attributes are lost
_ASKED = (
    (_NAME.str.contains(r"^\w+\..+\.generate(?:_str|_structured)?$") & _OF.is_not_null()) | _NAME.str.contains(_LLM)
) & _UNTOLD
_NUMBERED = r"\.\w+-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\."  # nobody named this one
_CALLED = _NAME.str.contains(r"\.(?:execute_tool_call|call_tool)$") & pl.col("gen_ai.operation.name").is_null()
_ENDED = r'"(\w+)"\]$'  # why the last of its answers ended
_TOOL = first("gen_ai.tool.name", "request.params.name")

MCP_AGENT = Dialect(
    name="mcp-agent",
    kind=pl.when(_CALLED & _TOOL.is_not_null())
    .then(pl.lit(TOOL))
    .when(_ASKED & _NAME.str.contains(_NUMBERED))
    .then(pl.lit(CHAIN))
    .when(_ASKED)
    .then(pl.lit(AGENT))
    .when(_UNTOLD & _OF.is_not_null() & _NAME.str.contains(r"^Agent\..+\.(?:initialize|shutdown|list_tools)$"))
    .then(pl.lit(SETUP)),
    agent=pl.when(_ASKED & _NAME.str.contains(_NUMBERED))
    .then(pl.lit("unknown"))
    .when(_ASKED & _OF.is_null())
    .then(span_name(_LLM)),
    tool=pl.when(_CALLED).then(_TOOL),
    arguments=pl.when(_CALLED).then(pl.col("tool_args")),
    result=pl.when(_CALLED).then(pl.col("result.content.0.text")),
    finish=pl.when(_ASKED).then(pl.col("gen_ai.response.finish_reasons").str.extract(_ENDED)),
    input=pl.when(_ASKED).then(pl.col("message.content")),
    output=pl.when(_ASKED).then(pl.col("response")),
)

_FAST = scope(r"^fast_agent\.")

FAST_AGENT = Dialect(
    name="fast-agent",
    kind=pl.when(_FAST & _NAME.str.contains(r"^Agent: '.+' \w+$"))
    .then(pl.lit(AGENT))
    .when(_FAST & _NAME.str.contains(r"^\w+: '.+' \w+$"))
    .then(pl.lit(CHAIN))
    .when(_FAST & pl.col("namespaced_tool_name").is_not_null())
    .then(pl.lit(TOOL)),
    agent=pl.when(_FAST).then(span_name(r"^Agent: '(.+?)(?:\[\d+\])?' \w+$")),
    tool=pl.when(_FAST).then(pl.col("namespaced_tool_name")),
)
