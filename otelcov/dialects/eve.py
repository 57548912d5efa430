"""eve and the tracing that Vercel makes of it: what an agent does is a span from the model's request to the result that
was accepted, with the tool's own span or the wait for leave in it."""

import polars as pl

from otelcov.dialects.base import TOOL, Dialect

_ACTION = pl.when((pl.col("span.name") == "agent.action") & pl.col("agent.action.call_id").is_not_null())

EVE = Dialect(
    name="eve",
    kind=_ACTION.then(pl.lit(TOOL)),
    tool=_ACTION.then(pl.col("agent.action.name")),
    call_id=_ACTION.then(pl.col("agent.action.call_id")),
    agent=pl.when(pl.col("agent.invocation.role") == "caller").then(pl.lit("unknown")),  # it names who is called
)
