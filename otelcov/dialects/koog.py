"""Koog, for Kotlin: the conventions, with a model that answered which is the one that was asked for, again.

What is under way as an agent fails or is closed ends well, without what the end of each step adds. A tool that failed
has an empty object for its result. At first it told what a tool was given and gave under OpenInference's keys.
"""

import polars as pl

from otelcov.dialects.base import NOTHING, Dialect, scope

_OWN = pl.col("koog.event.id").is_not_null()
_CHAT = _OWN & (pl.col("gen_ai.operation.name") == "chat")
_TOOL = _OWN & (pl.col("gen_ai.operation.name") == "execute_tool")
_FAILED = pl.col("error.type").is_not_null()
_FIRST_TOOL = pl.when(scope(r"^ai\.koog$") & pl.col("gen_ai.tool.name").is_not_null())

KOOG = Dialect(
    name="koog",
    response_model=pl.when(_CHAT).then(pl.lit(NOTHING)),
    finish=pl.when(_CHAT & pl.col("gen_ai.response.model").is_null()).then(pl.lit("canceled")),
    arguments=_FIRST_TOOL.then(pl.col("input.value")),
    result=pl.when(_TOOL & _FAILED & (pl.col("gen_ai.tool.call.result") == "{}"))
    .then(pl.lit(NOTHING))
    .otherwise(_FIRST_TOOL.then(pl.col("output.value"))),
    tool_error=pl.when(_TOOL & ~_FAILED & pl.col("gen_ai.tool.call.result").is_null()).then(pl.lit("unknown")),
)
