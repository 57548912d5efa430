"""LangSmith's OpenTelemetry export: `langsmith.span.kind`, LangChain JSON in `gen_ai.prompt` / `gen_ai.completion`."""

import polars as pl

from otelcov.dialects.base import CHAIN, LLM, OTHER, TOOL, Dialect, first, value

_IS_TOOL = pl.col("langsmith.span.kind").str.to_lowercase() == "tool"

LANGSMITH = Dialect(
    name="langsmith",
    kind=value(
        "langsmith.span.kind",
        chain=CHAIN,
        llm=LLM,
        tool=TOOL,
        retriever=OTHER,
        embedding=OTHER,
        prompt=OTHER,
        parser=OTHER,
    ),
    agent=first("langsmith.metadata.lc_agent_name", "langsmith.metadata.agent_name"),
    arguments=pl.when(_IS_TOOL).then(first("gen_ai.prompt")),
    result=pl.when(_IS_TOOL).then(first("gen_ai.completion")),
    conversation=first(
        "langsmith.metadata.thread_id", "langsmith.metadata.session_id", "langsmith.metadata.conversation_id"
    ),
    definitions=first("langsmith.metadata.tools"),
)
