"""Swarms: keys of its own for what an agent was asked and answered, and for what a model was sent and sent back, whole.
Tools have no spans. A swarm is what holds agents."""

import polars as pl

from otelcov.dialects.base import CHAIN, SETUP, Dialect, first, scope

_OURS = scope("^swarms$")
_SENT = pl.col("swarms.request").str

SWARMS = Dialect(
    name="swarms",
    kind=pl.when(_OURS & pl.col("swarms.config").is_not_null())
    .then(pl.lit(SETUP))
    .when(_OURS & (pl.col("gen_ai.operation.name") == "swarm"))
    .then(pl.lit(CHAIN)),
    agent=pl.when(pl.col("swarms.component") == "Agent").then(pl.col("swarms.name")),
    input_messages=_SENT.json_path_match("$.messages"),
    output_messages=first("swarms.response"),
    definitions=_SENT.json_path_match("$.tools"),
    input_tokens=first("swarms.usage.input_tokens"),
    output_tokens=first("swarms.usage.output_tokens"),
    response_id=pl.col("swarms.response").str.json_path_match("$.id"),
    input=first("swarms.input.task", "swarms.input.tasks"),
    output=first("swarms.output"),
    error_type=first("swarms.error.type"),
    error_text=first("swarms.error.message"),
)
