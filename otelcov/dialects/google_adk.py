"""Google's Agent Development Kit, its own spans (scope gcp.vertex.agent)."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL, Dialect, first, json_number, span_name

# Where content is not to be captured, both are empty objects; a response that was captured never is.
_RESULT = pl.col("gcp.vertex.agent.tool_response")
_CAPTURED = _RESULT != "{}"
_ARGUMENTS = pl.col("gcp.vertex.agent.tool_call_args")

GOOGLE_ADK = Dialect(
    name="google-adk",
    kind=pl.when(
        (pl.col("span.name") == "call_llm")
        & pl.col("scope.name").str.contains("adk|vertex")
        & pl.col("openinference.span.kind").is_null()
    )
    .then(pl.lit(LLM))
    .when(
        pl.col("span.name").str.contains(r"^(agent_run|invoke_agent) ")
        & (pl.col("scope.name").str.contains("adk|vertex"))
    )
    .then(pl.lit(AGENT))
    .when(pl.col("span.name").str.contains(r"^invocation( \[|$)") & (pl.col("scope.name").str.contains("adk|vertex")))
    .then(pl.lit(CHAIN))
    .when(
        pl.col("gen_ai.tool.name").is_in(["(merged tools)"])
        | pl.col("span.name").is_in(["execute_tool (merged tools)", "execute_tool (merged)"])
    )
    .then(pl.lit("other"))
    .when(pl.col("gcp.vertex.agent.tool_call_args").is_not_null() & pl.col("gen_ai.tool.name").is_not_null())
    .then(pl.lit(TOOL)),
    agent=pl.coalesce([span_name(r"^agent_run \[(.+)\]$")]),
    arguments=pl.when(_CAPTURED | (_ARGUMENTS != "{}")).then(_ARGUMENTS),
    result=pl.when(_CAPTURED & (_RESULT != '{"result": "<not specified>"}')).then(_RESULT),
    input_tokens=json_number("gcp.vertex.agent.llm_response", "prompt_token_count"),
    output_tokens=json_number("gcp.vertex.agent.llm_response", "candidates_token_count"),
    input_messages=first("gcp.vertex.agent.llm_request"),
    output_messages=first("gcp.vertex.agent.llm_response"),
    definitions=first("gcp.vertex.agent.llm_request"),
    conversation=first("gcp.vertex.agent.session_id"),
)
