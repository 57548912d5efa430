"""BeeAI under OpenInference: every event of a step is a span of the step's kind in it, without a class of its own."""

import polars as pl

from otelcov.dialects.base import OTHER, Dialect, scope

BEEAI = Dialect(
    name="beeai",
    kind=pl.when(
        scope(r"^openinference\.instrumentation\.beeai$")
        & pl.col("openinference.span.kind").is_not_null()
        & pl.col("metadata.class_name").is_null()
    ).then(pl.lit(OTHER)),
)
