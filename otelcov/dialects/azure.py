"""Azure's SDK for Foundry projects: an agent that the service runs is asked like a model, answer by answer, and what it
asks for is done by the caller. An agent that is a workflow may hold any number of them.

https://learn.microsoft.com/azure/ai-foundry/how-to/develop/trace-agents-sdk
"""

import polars as pl

from otelcov.dialects.base import LLM, Dialect

_ASKED = (
    pl.col("az.namespace").is_not_null()
    & (pl.col("gen_ai.operation.name") == "invoke_agent")
    & (pl.col("span.kind") == 3)
    & ~pl.col("gen_ai.output.messages").str.contains('"workflow_action"', literal=True).fill_null(value=False)
)

AZURE = Dialect(name="azure", kind=pl.when(_ASKED).then(pl.lit(LLM)))
