"""pydantic-ai's own spans, format versions 1 to 6. Versions 2 and later are mostly GenAI; 1 has keys of its own."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL, Dialect, first, scope

PYDANTIC_AI = Dialect(
    name="pydantic-ai",
    kind=pl.when(scope("^pydantic-ai") & pl.col("agent_name").is_not_null() & pl.col("model_name").is_not_null())
    .then(pl.lit(AGENT))
    .when(scope("^pydantic-ai") & (pl.col("span.name").str.contains("^running \\d+ tools?$|^running tools$")))
    .then(pl.lit(CHAIN))
    .when(scope("^pydantic-ai") & pl.col("tool_arguments").is_not_null())
    .then(pl.lit(TOOL))
    .when(scope("^pydantic-ai") & pl.col("model_request_parameters").is_not_null())
    .then(pl.lit(LLM)),
    agent=pl.when(~pl.col("agent_name").str.starts_with('"')).then(pl.col("agent_name")),  # MLflow's, of a class
    tool=pl.col("logfire.msg").str.extract(r"^running tool: (\S+)$"),  # where what the conventions tell is left out
    arguments=first("tool_arguments"),
    result=first("tool_response"),
    input_messages=first("events"),
    input=first("pydantic_ai.all_messages", "all_messages_events"),
    output=first("final_result"),
    definitions=first("model_request_parameters"),
    error_type=first("pydantic_ai.tool.deferral.name"),  # the call waits: for an approval, or for a client
    # Before 1.0 the span of a tool that raised may end like any other; one that tells what came back tells that, too.
    tool_error=pl.when(
        scope("^pydantic-ai")
        & (pl.col("span.name") == "running tool")
        & pl.col("scope.version").str.starts_with("0.")
        & pl.col("tool_response").is_null()
    ).then(pl.lit("untold")),
)

# What an answer that is text goes through is told like a tool, and nobody called it.
PYDANTIC_AI_OUTPUTS = Dialect(
    name="pydantic-ai-outputs",
    kind=pl.when(
        scope("^pydantic-ai")
        & pl.col("logfire.msg").str.starts_with("running output function")
        & pl.col("gen_ai.tool.call.id").is_null()
    ).then(pl.lit(CHAIN)),
    definitions=first("model_request_parameters"),  # tells the ways to hand in an answer apart from the tools
)
