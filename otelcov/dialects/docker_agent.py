"""Docker's Agent (cagent): the conventions, with the agent's name and whether a tool got leave in keys of its own.

A session holds turns and tools; each tool has a span from before leave is given, and one in it if it runs.
"""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, Dialect

_OWN = pl.col("cagent.agent.name")
_STEP = pl.when(_OWN.is_not_null() & pl.col("gen_ai.operation.name").is_null())

DOCKER_AGENT = Dialect(
    name="docker-agent",
    kind=_STEP.then(pl.when(pl.col("span.name") == "runtime.session").then(pl.lit(AGENT)).otherwise(pl.lit(CHAIN))),
    agent=_OWN,
    # As somebody calls a run off, all that it waited for is canceled.
    tool_error=pl.col("cagent.approval.decision").replace_strict(
        {"deny": "denied", "canceled": "unknown"}, default=None, return_dtype=pl.String
    ),
)
