"""OpenClaw, and what others make of it under names of their own: beside the spans of its model calls it opens one that
tells what a whole turn used, in the same keys. A turn that it leaves to another agent's program is one span."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, OTHER, Dialect

OPENCLAW = Dialect(
    name="openclaw",
    kind=pl.when(pl.col("span.name").str.contains(r"^\w+\.model\.usage$"))
    .then(pl.lit(OTHER))
    .when((pl.col("span.name") == "openclaw.run") & pl.col("openclaw.agent").is_not_null())
    .then(pl.lit(AGENT))
    .when(pl.col("openclaw.model_call.observation_unit") == "turn")
    .then(pl.lit(CHAIN)),
    agent=pl.col("openclaw.agent"),
)
