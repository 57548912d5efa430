"""Mistral's own client (Python 3.7, JavaScript 2.7): the conventions, but that it calls an agent's work what was asked
of an agent. That is one answer of a model: the loop around it is the caller's."""

import polars as pl

from otelcov.dialects.base import LLM, Dialect, scope

MISTRAL = Dialect(
    name="mistral",
    kind=pl.when(scope(r"^mistralai_sdk_tracer$"), pl.col("gen_ai.operation.name") == "invoke_agent").then(pl.lit(LLM)),
)
