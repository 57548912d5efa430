"""llm.rb: the conventions, and the model that was asked as the one that answered, too."""

import polars as pl

from otelcov.dialects.base import AS_ASKED, NOTHING, Dialect, scope

LLM_RB = Dialect(
    name="llm-rb",
    response_model=pl.when(scope(r"^llm\.rb$") & AS_ASKED).then(pl.lit(NOTHING)),
)
