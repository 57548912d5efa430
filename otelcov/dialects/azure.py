"""Azure's SDK for Foundry projects: an agent that the service runs is asked like a model, answer by answer, and what it
asks for is done by the caller. An agent that is a workflow may hold any number of them.

https://learn.microsoft.com/azure/ai-foundry/how-to/develop/trace-agents-sdk

Microsoft's distribution of OpenTelemetry tells of OpenAI's agents with the model that answered in place of the one that
was asked for, once there is a response; in chats it knows no other than the latter.
"""

import polars as pl

from otelcov.dialects.base import CHAIN, DATED, LLM, NOTHING, Dialect, scope

_ASKED = (
    pl.col("az.namespace").is_not_null()
    & ~scope(r"^Agent365Sdk$").fill_null(value=False)  # which says so of every span
    & (pl.col("gen_ai.operation.name") == "invoke_agent")
    & (pl.col("span.kind") == 3)
    & ~pl.col("gen_ai.output.messages").str.contains('"workflow_action"', literal=True).fill_null(value=False)
)

AZURE = Dialect(name="azure", kind=pl.when(_ASKED).then(pl.lit(LLM)))

_MICROSOFT = scope(r"^microsoft\.opentelemetry\..*openai_agents")
_ANSWERED = (_MICROSOFT & pl.col("gen_ai.request.model").str.contains(DATED)).fill_null(value=False)

MICROSOFT = Dialect(
    name="microsoft",
    request_model=pl.when(_ANSWERED).then(pl.lit(NOTHING)),
    response_model=pl.when(_ANSWERED).then(pl.col("gen_ai.request.model")),
    definitions=pl.when(_MICROSOFT).then(pl.col("gen_ai.execution.payload")),
)

# A workflow's span is around all that its executors do; that of its building, around nothing. Some executors hand what
# they get to an agent.
_WORKFLOW = scope("^agent_framework$") & pl.col("workflow.id").is_not_null()
_AGENTS = scope("^agent_framework$") & pl.col("executor.type").str.ends_with("AgentExecutor")

# OpenInference's processor gives every step the id of a node.
_NODE = scope("^agent_framework$") & pl.col("graph.node.id").is_not_null() & pl.col("gen_ai.agent.name").is_null()

AGENT_FRAMEWORK = Dialect(
    name="agent-framework",
    agent=pl.when(_NODE & pl.col("agent.name").is_null()).then(pl.lit(NOTHING)),
    kind=pl.when(_WORKFLOW & pl.col("span.name").str.starts_with("workflow.run")).then(pl.lit(CHAIN)),
    to_agent=pl.when(_AGENTS).then(pl.col("executor.id")),
)
