"""Agent2Agent: the client's and the server's span of one message to an agent.

https://github.com/open-telemetry/semantic-conventions-genai (docs/gen-ai/a2a.md)
"""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, Dialect

_METHOD = pl.col("a2a.method.name")

A2A = Dialect(
    name="a2a",
    kind=pl.when(_METHOD.is_in(["SendMessage", "SendStreamingMessage"]) & pl.col("gen_ai.agent.name").is_not_null())
    .then(pl.lit(AGENT))
    .when(_METHOD.is_not_null())
    .then(pl.lit(CHAIN)),
)
