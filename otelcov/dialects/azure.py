"""Azure's SDK for Foundry projects: an agent that the service runs is asked like a model, answer by answer, and what it
asks for is done by the caller. An agent that is a workflow may hold any number of them.

https://learn.microsoft.com/azure/ai-foundry/how-to/develop/trace-agents-sdk

Microsoft's distribution of OpenTelemetry tells of OpenAI's agents with the model that answered in place of the one that
was asked for, once there is a response; in chats it knows no other than the latter.
"""

import polars as pl

from otelcov.dialects.base import CHAIN, DATED, LLM, NOTHING, SETUP, Dialect, scope

_ASKED = (
    pl.col("az.namespace").is_not_null()
    & ~scope(r"^Agent365Sdk$").fill_null(value=False)  # which says so of every span
    & (pl.col("gen_ai.operation.name") == "invoke_agent")
    & (pl.col("span.kind") == 3)
    & ~pl.col("gen_ai.output.messages").str.contains('"workflow_action"', literal=True).fill_null(value=False)
)

AZURE = Dialect(name="azure", kind=pl.when(_ASKED).then(pl.lit(LLM)))

_JAVASCRIPT = scope("^microsoft-otel-openai-agents$")
_MICROSOFT = scope(r"^microsoft(?:-otel-openai-agents$|\.opentelemetry\..*openai_agents)")
_ANSWERED = (_MICROSOFT & pl.col("gen_ai.request.model").str.contains(DATED)).fill_null(value=False)

# For JavaScript (1.4) it lists the tools of a server as a tool that ran, lays what is no object into one, and writes
# all that a chat was given, and its whole answer, as the text of one message.
_LISTS = _JAVASCRIPT & (pl.col("gen_ai.tool.type") == "extension")
_WRAPS = _JAVASCRIPT & pl.col("gen_ai.tool.call.result").str.starts_with('{"result":"')
_CHAT = pl.when(_JAVASCRIPT & pl.col("custom.parent.span.id").is_not_null())
_GIVEN, _GAVE = (
    pl.col(f"gen_ai.{way}.messages").str.json_path_match("$[0].parts[0].content") for way in ("input", "output")
)
_BY = _GAVE.str.json_path_match("$[0].model")

MICROSOFT_JS = Dialect(
    name="microsoft-js",
    kind=pl.when(_LISTS).then(pl.lit(SETUP)),
    result=pl.when(_WRAPS).then(pl.col("gen_ai.tool.call.result").str.json_path_match("$.result")),
    input_messages=_CHAT.then(_GIVEN),
    output_messages=_CHAT.then(_GAVE),
    finish=_CHAT.then(_GAVE.str.json_path_match("$[0].choices[0].finish_reason")),
    response_id=_CHAT.then(_GAVE.str.json_path_match("$[0].id")),
    response_model=_CHAT.then(pl.when(pl.col("gen_ai.request.model") != _BY).then(_BY)),
)

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
