"""Model Context Protocol: the client's and the server's span of one call.

https://github.com/open-telemetry/semantic-conventions-genai (docs/gen-ai/mcp.md)
"""

import polars as pl

from otelcov.dialects.base import OTHER, SETUP, TOOL, Dialect, first, span_name

_METHOD = pl.col("mcp.method.name")

MCP = Dialect(
    name="mcp",
    kind=pl.when(_METHOD == "tools/call")
    .then(pl.lit(TOOL))
    .when(
        _METHOD.is_in(
            [
                "tools/list",
                "initialize",
                "server/discover",
                "prompts/list",
                "resources/list",
                "notifications/initialized",
                "ping",
            ]
        )
    )
    .then(pl.lit(SETUP))
    .when(_METHOD.is_not_null())
    .then(pl.lit(OTHER)),
    tool=pl.coalesce([pl.col("mcp.tool.name"), pl.when(_METHOD == "tools/call").then(span_name(r"tools/call (\S+)$"))]),
    arguments=first("mcp.request.argument", "mcp.tool.arguments"),
    result=first("mcp.tool.result", "mcp.response.value"),
)

# A tool of mcp-use's gives LangChain the whole result of a server, which says whether it failed: without it, and as
# nothing is ever raised, nobody knows.
_OF_MCP_USE = pl.col("metadata").str.contains('"mcp_server_names":', literal=True)
_UNTOLD = pl.col("output.value").is_null() | (pl.col("output.value") == "__REDACTED__")

MCP_USE = Dialect(
    name="mcp-use",
    tool_error=pl.when((pl.col("openinference.span.kind") == "TOOL") & _OF_MCP_USE & _UNTOLD).then(pl.lit("unknown")),
)
