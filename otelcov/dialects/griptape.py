"""Griptape tells of the methods that it watches by their names, and by a tag which of them ask a model or run a tool.

Nothing is told of what was asked and answered. A tool's span bears the name of its class, where models know it by the
name that a program gave it and that of the activity.
"""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL, Dialect

_TAG = pl.col("tags")

GRIPTAPE = Dialect(
    name="griptape",
    kind=pl.when(_TAG == '["PromptDriver.run()"]')
    .then(pl.lit(LLM))
    .when(_TAG == '["Tool.run()"]')
    .then(pl.lit(TOOL))
    .when(pl.col("span.name") == "Agent.run()")
    .then(pl.lit(AGENT))
    .when(pl.col("span.name").is_in(["Pipeline.run()", "Workflow.run()"]))
    .then(pl.lit(CHAIN)),
)
