"""Agent2Agent: the client's and the server's span of one message to an agent.

https://github.com/open-telemetry/semantic-conventions-genai (docs/gen-ai/a2a.md)
"""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, Dialect

_METHOD = pl.col("a2a.method.name")
_SENT = _METHOD.is_in(["SendMessage", "SendStreamingMessage"])
# What came of the task, of which the span that ended well tells no more than that the request did.
_STATE = pl.when(_SENT).then(pl.col("a2a.task.state").str.to_uppercase().str.strip_prefix("TASK_STATE_"))
_BADLY = ("FAILED", "REJECTED")
_FAILED = pl.when(_STATE.is_in(_BADLY))

A2A = Dialect(
    name="a2a",
    kind=pl.when(_SENT & pl.col("gen_ai.agent.name").is_not_null())
    .then(pl.lit(AGENT))
    .when(_METHOD.is_not_null())
    .then(pl.lit(CHAIN)),
    error_type=_FAILED.then(pl.lit("_OTHER")),
    error_text=_FAILED.then(pl.lit("the task failed")),
    finish=pl.when(~_STATE.is_in(["COMPLETED", *_BADLY])).then(pl.lit("interrupted")),
)
