"""LangSmith's OpenTelemetry export: `langsmith.span.kind`, LangChain JSON in `gen_ai.prompt` / `gen_ai.completion`."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, LLM, OTHER, TOOL, Dialect, first, value

_IS_TOOL = pl.col("langsmith.span.kind").str.to_lowercase() == "tool"
# The processor for OpenAI's Agents SDK writes a list of one object as that object: such a result is not what it was.
_AGENTS_SDK = (pl.col("langsmith.metadata.ls_integration") == "openai-agents-sdk").fill_null(False)
_WHOLE = ~_AGENTS_SDK | pl.col("gen_ai.completion").str.starts_with('{"output":')
_NOTHING = pl.col("gen_ai.completion") == "{}"  # a tool that failed: an empty object that one gave has a frame

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
    result=pl.when(_IS_TOOL & _WHOLE & ~_NOTHING).then(first("gen_ai.completion")),
    conversation=first(
        "langsmith.metadata.thread_id", "langsmith.metadata.session_id", "langsmith.metadata.conversation_id"
    ),
    definitions=first("langsmith.metadata.tools"),
)

# It writes agents as chains, too: they alone list the tools they have.
_AGENT = (
    _AGENTS_SDK
    & (pl.col("langsmith.span.kind").str.to_lowercase() == "chain")
    & pl.col("gen_ai.tool.definitions").is_not_null()
)

LANGSMITH_AGENTS = Dialect(
    name="langsmith-openai-agents", kind=pl.when(_AGENT).then(pl.lit(AGENT)), agent=pl.when(_AGENT).then("span.name")
)
