"""Grafana's agento11y (formerly Sigil): the conventions, but that each step of a kit that knows no conversation is
given one of its own; of OpenAI's agents the step bears the agent's name."""

import polars as pl

from otelcov.dialects.base import Dialect, first

_OF_OPENAIS = pl.col("gen_ai.conversation.id").str.contains(r"^(?:agento11y|sigil):framework:openai-agents:")
_ASKS = first("agento11y.framework.run_type", "sigil.framework.run_type") == "llm"

GRAFANA = Dialect(
    name="grafana",
    agent=pl.when(_OF_OPENAIS & _ASKS).then(
        first("agento11y.framework.component_name", "sigil.framework.component_name")
    ),
)
