"""Gateways and servers of models that tell of each request by a span of their own; litellm.py has LiteLLM's."""

import polars as pl

from otelcov.dialects.base import NOTHING, OTHER, Dialect, first, scope

# Its answers leave out what was asked for, so they are not read (1.3).
BIFROST = Dialect(
    name="bifrost",
    response_model=first("gen_ai.chat.model", "gen_ai.text.model"),
    response_id=first("gen_ai.chat.id", "gen_ai.text.id"),
)

VLLM = Dialect(
    name="vllm",
    response_id=pl.when(scope(r"^vllm\b")).then(pl.col("gen_ai.request.id")),  # that it answers with
)

CLOUDFLARE_GATEWAY = Dialect(
    name="cloudflare-gateway",
    # It says `chat` of every request; an embedding gives numbers.
    kind=pl.when(
        (pl.col("span.name") == "cf.aig.request")
        & pl.col("gen_ai.output.messages").str.contains(r'"(?:data|embedding)": ?\[\[? ?-?\d')
    ).then(pl.lit(OTHER)),
)

# Above the request stands one that names the tool; this one's name ends with the server's, and its session is MCP's.
_AGENTGATEWAY = pl.col("gateway.span_schema_version").is_not_null() & (pl.col("protocol") == "mcp")

AGENTGATEWAY = Dialect(
    name="agentgateway",
    kind=pl.when(_AGENTGATEWAY & pl.col("gen_ai.tool.name").is_null()).then(pl.lit(OTHER)),
    conversation=pl.when(_AGENTGATEWAY).then(pl.lit(NOTHING)),
)
