"""llm.rb: the conventions, and the model that was asked as the one that answered, too."""

import polars as pl

from otelcov.dialects.base import NOTHING, Dialect, scope

LLM_RB = Dialect(
    name="llm-rb",
    response_model=pl.when(
        scope(r"^llm\.rb$") & (pl.col("gen_ai.response.model") == pl.col("gen_ai.request.model"))
    ).then(pl.lit(NOTHING)),
)
