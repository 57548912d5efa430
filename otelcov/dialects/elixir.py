"""LangChain for Elixir: the conventions. A tool that failed, and a model that did, give an error back, which ends their
spans well; a chain has no name but its kind's, and the model that was asked is told as the one that answered, too."""

import polars as pl

from otelcov.dialects.base import AS_ASKED, NOTHING, Dialect, scope

_OURS = scope(r"^langchain$") & pl.col("gen_ai.operation.name").is_not_null()
_OPERATION = pl.col("gen_ai.operation.name")

LANGCHAIN_EX = Dialect(
    name="langchain-ex",
    agent=pl.when(_OURS & (pl.col("gen_ai.agent.name") == "llm_chain")).then(pl.lit(NOTHING)),
    response_model=pl.when(_OURS & AS_ASKED).then(pl.lit(NOTHING)),
    tool_error=pl.when(_OURS & (_OPERATION == "execute_tool")).then(pl.lit("unknown")),
)
