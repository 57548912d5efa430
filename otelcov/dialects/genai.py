"""OpenTelemetry GenAI semantic conventions, 1.28 to current, and the keys that near relatives add to them.

https://github.com/open-telemetry/semantic-conventions-genai (formerly docs/gen-ai of semantic-conventions).
"""

import polars as pl

from otelcov.dialects.base import (
    AGENT,
    AS_ASKED,
    CHAIN,
    EVALUATION,
    HANDOFF,
    LLM,
    NAMED_BY_CLASS,
    NOTHING,
    OTHER,
    SETUP,
    TOOL,
    Dialect,
    first,
    of_event,
    scope,
    span_name,
    value,
)

_COMPLETIONS = ("chat.completions", "text.completions", "chat.streaming_completions", "text.streaming_completions")
_AGENT_RUNS = ("agent_run", "agent.run", "agent.invoke", "invoke_agent_client", "invoke_agent_internal")
_SEMANTIC_KERNEL = dict.fromkeys(_COMPLETIONS, LLM)
_RECORDS = ("create_memory", "search_memory", "update_memory", "upsert_memory", "delete_memory")
_MEMORY = dict.fromkeys((*_RECORDS, "create_memory_store", "delete_memory_store"), OTHER)

# No tool bears a name in brackets: these stand for several (`(merged tools)`).
_STANDS_FOR_SEVERAL = pl.col("gen_ai.tool.name").str.contains(r"^\(.*\)$")

_KINDS = value(
    "gen_ai.operation.name",
    chat=LLM,
    text_completion=LLM,
    generate_content=LLM,
    completion=LLM,
    responses=LLM,
    response=LLM,
    messages=LLM,
    message=LLM,
    inference=LLM,
    llm_call=LLM,
    call_llm=LLM,
    chat_completion=LLM,
    chat_streaming=LLM,
    interactions=LLM,
    interactions_streaming=LLM,
    execute_tool=TOOL,
    tool_call=TOOL,
    tool_execution=TOOL,
    tool=TOOL,
    invoke_agent=AGENT,
    agent=AGENT,
    agent_call=AGENT,
    **dict.fromkeys(_AGENT_RUNS, AGENT),
    create_agent=SETUP,
    invoke_workflow=CHAIN,
    invoke_node=CHAIN,
    agent_step=CHAIN,
    workflow=CHAIN,
    chain=CHAIN,
    execute_task=CHAIN,
    task=CHAIN,
    unknown=CHAIN,
    user_prompt=CHAIN,
    schedule_tool_calls=CHAIN,
    execute_event_loop_cycle=CHAIN,
    plan=OTHER,
    embeddings=OTHER,
    embedding=OTHER,
    rerank=OTHER,
    moderation=OTHER,
    retrieval=OTHER,
    retrieve=OTHER,
    retriever=OTHER,
    guardrail=OTHER,
    apply_guardrail=OTHER,
    output_messages=OTHER,
    evaluate=OTHER,
    **_MEMORY,
    create_thread=SETUP,
    **dict.fromkeys(("process_thread_run", "start_thread_run"), AGENT),  # Azure's service runs the loop unseen
    **dict.fromkeys(("get_thread_run", "submit_tool_outputs", "create_message"), OTHER),
    **dict.fromkeys(("list_messages", "list_run_steps"), OTHER),
    **dict.fromkeys(("fetch_response", "get_response", "retrieve_response"), OTHER),  # what was answered before
    **dict.fromkeys(("cancel_response", "delete_response", "count_tokens"), OTHER),
    run_step=CHAIN,
    handoff=HANDOFF,
    agent_handoff=HANDOFF,
    **_SEMANTIC_KERNEL,
)

_TOLD_CALLS = pl.col("gen_ai.response.tool_calls")
_NO_CALLS = r'^(?:\d+$|\[\s*(?:"[^{]|\]))'  # their number or names, or none

# Sentry tells calls beside a text that may be empty; Gemini's are objects that say no type.
_BARE = pl.col("gen_ai.response.tool_calls").str.contains(r'^\[\{(?:"id":"[^"]*",)?"name":"[^"]*","args":')
_CALLED_OR_SAID = pl.coalesce(
    [
        pl.when(_BARE).then(
            pl.concat_str(
                pl.lit('[{"role":"assistant","tool_calls":'), pl.col("gen_ai.response.tool_calls"), pl.lit("}]")
            )
        ),
        pl.when(~_TOLD_CALLS.str.contains(_NO_CALLS)).then(_TOLD_CALLS),
        first("gen_ai.response.text"),
    ]
)

# Others tell how many tools an answer asks for, or which, and nothing of what these are given.
_HOW_MANY = first(
    *("gen_ai.tool_calls", "gen_ai.tool_calls.count", "gen_ai.tool_call_count"),
    *("gen_ai.response.tool_calls.count", "gen_ai.response.tool_call_count", "gen_ai.response.tool_calls_count"),
)
_ASKED_UNTOLD = (
    _HOW_MANY.str.contains(r"^[1-9]\d*$").fill_null(value=False)
    | first("gen_ai.tool_calls.names", "gen_ai.response.tool_names").str.contains(r"\w").fill_null(value=False)
    | _TOLD_CALLS.str.contains(r'^(?:[1-9]\d*$|\[\s*"[^{])').fill_null(value=False)
) & pl.col("gen_ai.tool.name").is_null()

# Of a graph that is an agent it tells all messages that came of it, and apart from these what was called: the last is
# what was answered if as many results came as were asked for.
_TOLD_LAST = pl.col("gen_ai.response.text")
_ANSWERED_LAST = _TOLD_LAST.str.contains(
    r'(?s)^\[(?:\{"role":.*)?\{"role": ?"assistant", ?"content": ?"(?:[^"\\]|\\.)+"\}\]$'
)
_CALLED = pl.col("gen_ai.response.tool_calls").str.count_matches(r'"name": ?"[^"]*", ?"args":').fill_null(0)
_ENDED_WITH = pl.when(
    (pl.col("gen_ai.operation.name") == "invoke_agent")
    & _ANSWERED_LAST
    & (_TOLD_LAST.str.count_matches(r'"role": ?"tool"') >= _CALLED)
).then(_TOLD_LAST)

# What a tool was given, unless it is what may be given.
_PARAMETERS = pl.col("gen_ai.tool.parameters")
_GIVEN = pl.when(
    _PARAMETERS.str.contains(r"(?s)^\{.*\}$") & ~_PARAMETERS.str.contains(r'"(?:properties|\$schema)": ?')
).then(_PARAMETERS)

# What a tool that threw gave stands there all the same (Microsoft.Extensions.AI): the model is told other words.
_RAISED = pl.col("error.type").is_not_null()

# The newest conventions name a workflow by the key of an agent's name.
_NAMES_WORKFLOW = (
    (pl.col("gen_ai.operation.name") == "invoke_workflow")
    & pl.col("gen_ai.workflow.name").is_null()
    & (pl.col("span.name") == pl.concat_str(pl.lit("invoke_workflow "), pl.col("gen_ai.agent.name")))
)

GENAI_WORKFLOWS = Dialect(name="genai-workflows", agent=pl.when(_NAMES_WORKFLOW).then(pl.lit(NOTHING)))

# A tool may hand over to a human, too, or to a queue.
_TO_AGENT = pl.when(pl.col("gen_ai.transfer.target.type").ne_missing("human"))

GENAI = Dialect(
    name="genai",
    kind=pl.coalesce([pl.when(_STANDS_FOR_SEVERAL).then(pl.lit(OTHER)), _KINDS]),
    agent=first("gen_ai.agent.name"),
    tool=first("gen_ai.tool.name"),
    call_id=first("gen_ai.tool.call.id", "gen_ai.tool.call_id", "gen_ai.tool_call.id"),
    arguments=pl.coalesce(
        [
            first("gen_ai.tool.call.arguments", "gen_ai.tool.arguments", "gen_ai.tool.input", "gen_ai.tool.args"),
            first("gen_ai.tool.call.input"),
            _GIVEN,
        ]
    ),
    result=pl.when(_RAISED & (pl.col("gen_ai.tool.call.result") == "null"))
    .then(pl.lit(NOTHING))
    .otherwise(
        first(
            "gen_ai.tool.call.result",
            "gen_ai.tool.result",
            "gen_ai.tool.result.value",
            "gen_ai.tool.output",
            "gen_ai.tool.call.output",
            "gen_ai.tool.response",
            "gen_ai.tool.message",
            "gen_ai.output",
            "genai.output",
        )
    ),
    request_model=first("gen_ai.request.model"),
    response_model=first("gen_ai.response.model"),
    input_tokens=first("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "gen_ai.response.prompt_tokens"),
    output_tokens=first(
        "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "gen_ai.response.completion_tokens"
    ),
    response_id=first("gen_ai.response.id"),
    finish=first(
        "gen_ai.response.finish_reasons",
        "gen_ai.response.finish_reason",
        "anthropic.message.stop_reason",
        "gen_ai.finish_reason",
    ),
    input_messages=first(
        "gen_ai.input.messages", "gen_ai.prompt", "gen_ai.request.messages", "gen_ai.input", "gen_ai.prompt_json"
    ),
    output_messages=pl.coalesce(
        first(
            "gen_ai.output.messages",
            "gen_ai.completion",
            "gen_ai.response.messages",
            "gen_ai.output",
            "genai.output",
            "gen_ai.completion_json",
        ),
        _CALLED_OR_SAID,
    ),
    system=first("gen_ai.system_instructions"),
    input=first("gen_ai.input.messages", "gen_ai.prompt", "gen_ai.input"),
    output=pl.coalesce(first("gen_ai.output.messages", "gen_ai.completion", "gen_ai.output"), _ENDED_WITH),
    definitions=first(
        "gen_ai.tool.definitions",
        "gen_ai.request.tools",
        "gen_ai.agent.tools",
        "gen_ai.request.available_tools",
        of_event("gen_ai.client.inference.operation.details", "gen_ai.tool.definitions"),
    ),
    conversation=first("gen_ai.conversation.id", "gen_ai.session.id", "gen_ai.thread.id"),
    error_type=first("error.type"),
    tool_error=pl.when(_ASKED_UNTOLD).then(pl.lit("asked")),
    from_agent=pl.coalesce(
        [
            first("gen_ai.handoff.from_agent", "pi.gen_ai.handoff.from_agent.name"),
            first("gen_ai.agent.handoff.source.name", "gen_ai.agent.handoff.from", "gen_ai.handoff.source"),
            pl.when(pl.col("gen_ai.caller.type").ne_missing("workflow")).then(pl.col("gen_ai.caller.name")),
        ]
    ),
    to_agent=pl.coalesce(
        [
            first("gen_ai.handoff.to_agent"),
            _TO_AGENT.then(pl.col("gen_ai.transfer.target.name")),
            first("pi.gen_ai.handoff.to_agent.name", "gen_ai.agent.handoff.target.name"),
            first("gen_ai.agent.handoff.to", "gen_ai.handoff.target"),
        ]
    ),
)

_EINO = {
    "chatmodel": LLM,
    "agenticmodel": LLM,
    "toolsnode": CHAIN,
    "agentictoolsnode": CHAIN,
    "graph": CHAIN,
    "lambda": CHAIN,
    "passthrough": CHAIN,
    "chattemplate": OTHER,
}

# Relatives that tell the kind of a span by a key of their own: Dify, LoongSuite, Future AGI, Confident AI and others.
_KIND = first(
    "gen_ai.span.kind", "gen_ai.span_kind_name", "fi.span.kind", "confident.span.type", "au.span.kind"
).str.to_lowercase()
_TOLD_TOOL = pl.when(_KIND == "tool")

# What a tool of AgentScope's came to, as LoongSuite tells it: blocks, without the state that says whether it failed.
_STATELESS = (pl.col("gen_ai.span.kind") == "TOOL") & pl.col("gen_ai.tool.call.result").str.contains(
    r'^\[\{"content":".*","type":"text"\}\]$'
)

GENAI_KINDS = Dialect(
    name="genai-kinds",
    kind=pl.coalesce(
        [
            _KIND.replace_strict(
                {
                    "agent": AGENT,
                    "llm": LLM,
                    "tool": TOOL,
                    "chain": CHAIN,
                    "workflow": CHAIN,
                    "task": CHAIN,
                    "step": CHAIN,
                    "entry": CHAIN,
                    "retriever": OTHER,
                    "embedding": OTHER,
                    "reranker": OTHER,
                    "guardrail": OTHER,
                    "evaluator": EVALUATION,
                    "memory": OTHER,
                    **_EINO,
                },
                default=None,
                return_dtype=pl.String,
            ),
            pl.when(pl.col("gen_ai.step.name").is_not_null()).then(pl.lit(CHAIN)),  # Splunk's, of nodes of a graph
        ]
    ),
    agent=first("confident.agent.name", "au.agent.name"),
    tool=first("confident.tool.name", "au.tool.name"),
    arguments=_TOLD_TOOL.then(pl.col("input.value")),
    result=_TOLD_TOOL.then(pl.col("output.value")),
    tool_error=pl.when(scope(r"^opentelemetry\.util\.genai\.handler$") & _STATELESS).then(pl.lit("unknown")),
)

# Operations that use a model and are no call of an agent.
ASIDE = r"(?i)embed|rerank|moderat|image|audio|speech|transcri|^[ts]t[ts]\b"

# What a provider was sent, where the provider is told.
_SENT = pl.when(first("gen_ai.provider.name", "gen_ai.system").is_not_null()).then(
    first("gen_ai.input.messages", "gen_ai.prompt", "gen_ai.prompt_json")
)

BEFORE = r"(?i)permi|approv|guard|valid|check|policy|confirm|hook|schema|list|regist|select|rout"
"""What is done about a tool that is about to run, or has run, by the name of the span."""

# The AI SDK puts its model there, where nobody named the agent.
_NAMED = span_name(r"^invoke_agent (\S.{0,99}?)(?:\([0-9a-f]{32}\))?$")
_MODELS = ("gen_ai.request.model", "gen_ai.response.model")
# Ids that a service gives agents, in place of their names.
_NO_NAME = r"(?i)^invoke_agent (?:asst_\w+|[0-9a-f-]{16,})$"

# Spans named as the conventions demand, by instrumentations that leave the operation out or lost it to a limit.
GENAI_NAMES = Dialect(
    name="genai-names",
    kind=pl.when(pl.col("span.name").str.contains(r"^execute_tool [^ ]"))
    .then(pl.lit(TOOL))
    .when(pl.col("span.name").str.contains(r"^invoke_agent [^ ]"))
    .then(pl.lit(AGENT))
    .when(pl.col("span.name").str.contains(r"^create_agent [^ ]"))
    .then(pl.lit(SETUP))
    .when(
        pl.col("span.name").str.contains(r"^(chat|text_completion|generate_content) \S+$")
        & (pl.col("span.kind") == 3)
        & pl.col("gen_ai.operation.name").is_null()
    )
    .then(pl.lit(LLM))
    .when(
        pl.col("span.name").str.contains(r"^(chat|text_completion|generate_content) [^ ]")
        & first("gen_ai.request.model", "gen_ai.response.model", "gen_ai.system", "gen_ai.provider.name").is_not_null()
    )
    .then(pl.lit(LLM))
    .when(
        first("gen_ai.tool.name").is_not_null()
        & first(
            "gen_ai.tool.call.id",
            "gen_ai.tool.call.arguments",
            "gen_ai.tool.call.result",
            "tool_arguments",
            "tool_response",
        ).is_not_null()
    )
    .then(pl.lit(TOOL))
    .when(  # nothing but a tool's name, which the span's ends with
        pl.col("gen_ai.tool.name").is_not_null()
        & first("gen_ai.operation.name", "gen_ai.request.model").is_null()
        & pl.col("span.name").str.ends_with(pl.col("gen_ai.tool.name"))
        & ~pl.col("span.name").str.contains(BEFORE)
    )
    .then(pl.lit(TOOL))
    .when(  # what failed has no usage
        pl.coalesce([first("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"), _SENT]).is_not_null()
        & first("gen_ai.request.model", "gen_ai.response.model").is_not_null()
        & first("gen_ai.agent.name", "agent_name", "gen_ai.operation.name").is_null()
        & ~pl.col("span.name").str.contains(ASIDE)
        & ~pl.col("llm.request.type").str.contains(ASIDE).fill_null(False)
    )
    .then(pl.lit(LLM))
    .when(  # an operation that nobody has heard of, with a provider's answer
        pl.col("gen_ai.response.id").is_not_null()
        & pl.col("gen_ai.usage.input_tokens").is_not_null()
        & first("gen_ai.request.model", "gen_ai.response.model").is_not_null()
        & ~pl.col("gen_ai.operation.name").str.contains(ASIDE).fill_null(True)
    )
    .then(pl.lit(LLM)),
    agent=pl.when(~pl.col("span.name").str.contains(_NO_NAME) & (first(*_MODELS) != _NAMED).fill_null(True)).then(
        _NAMED
    ),
    tool=pl.when(~scope(NAMED_BY_CLASS).fill_null(False)).then(span_name(r"^execute_tool (\S+)$")),
    request_model=pl.when(pl.col("span.kind") == 3).then(
        pl.col("span.name").str.extract(r"^(?:chat|text_completion|generate_content) (\S+)$")
    ),
)

_OPERATION = pl.col("gen_ai.operation.name").str.replace_all(r"([a-z])([A-Z])", "${1}_$2").str.to_lowercase()


def _says(*words: str) -> pl.Expr:
    return _OPERATION.str.contains(rf"(?:^|[^a-z])(?:{'|'.join(words)})(?:[^a-z]|$)")


# Grafana's, in words of the AI SDK's.
_STREAMS = _OPERATION.str.contains(r"^stream_(?:text|object|response|message)s?$")

# A model that nobody names was asked where that is what is done, by what it took, who has it, or as another's work.
_ASKS = _OPERATION.str.contains(
    r"^(?:llm|model)[._ /-]"
    r"(?:call|request|invoke|chat|complet(?:e|ion)|inference|generat(?:e|ion)(?:_(?:content|text))?)$"
)
_USED = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.provider.name", "gen_ai.system")
_ASKS_SOMEBODY = _ASKS & (first(*_USED).is_not_null() | (pl.col("span.kind") == 3))

# Operations that no convention names (`tool.execute`, `runAgent`), where the span names the tool, agent or model, too.
GENAI_WORDS = Dialect(
    name="genai-words",
    kind=pl.when(first("gen_ai.tool.name").is_not_null() & _says("tool", "function") & ~_OPERATION.str.contains(BEFORE))
    .then(pl.lit(TOOL))
    .when(first("gen_ai.agent.name").is_not_null() & _says("agent") & _says("run", "invoke", "execute", "call"))
    .then(pl.lit(AGENT))
    .when(
        first("gen_ai.request.model", "gen_ai.response.model").is_not_null()
        & (_says("chat", "completion", "completions", "generate", "generation", "inference", "llm") | _STREAMS)
        & ~_OPERATION.str.contains(ASIDE)
    )
    .then(pl.lit(LLM))
    .when(_ASKS_SOMEBODY)
    .then(pl.lit(LLM)),
)

# Where only one model is known, it may stand in both places: the one that answered (OpenAI's agents under Traceloop -
# 0.47 in the other's place alone -, Splunk's, Weave and Laminar, LangChain under Microsoft's distribution), or the one
# that was asked for - of LangChain's and Laminar's where they stream or fail, of Qwen-Agent's under LoongSuite, of
# Google's, Mirascope's and those of LlamaIndex for JavaScript always, of CrewAI's under AWS's distribution, and of
# Bedrock's and Cohere's under OpenLIT, whose answers name none.
_ID = pl.col("gen_ai.response.id")
_OF_AGENTS = scope(r"^opentelemetry\.instrumentation\.openai_agents$")
_MISPLACED = (pl.col("gen_ai.operation.name") == "response") & pl.col("gen_ai.response.model").is_null() & _OF_AGENTS
_OF_LAMINAR = scope(r"^lmnr\.tracer$")
_HANDLER = r"^opentelemetry\.util\.genai\.handler$"  # Splunk's and LoongSuite's
_OF_SPLUNK = scope(_HANDLER) & (pl.col("gen_ai.framework") == "openai_agents")
_ANSWERED = (
    _OF_AGENTS
    | scope(r"^openai-agents$") & (pl.col("span.name") == "response")  # AgentOps
    | scope(r"^weave\.openai_agents$|^microsoft\.opentelemetry\..*langchain")
    | _OF_LAMINAR & (pl.col("span.name") == "agents.response")
)
_ASKED = (
    scope(
        r"^(?:amazon\.opentelemetry\.distro|opentelemetry)\.instrumentation\.langchain$"
        r"|^@traceloop/instrumentation-langchain$|^github\.com/grafana/(?:sigil|agento11y)/"
    )
    | scope(_HANDLER) & pl.col("gen_ai.framework").ne_missing("openai_agents")
    | _OF_LAMINAR & pl.col("span.name").str.starts_with("agents.")
)
_ALWAYS = scope(
    r"^opentelemetry\.instrumentation\.(?:google_generativeai|vertexai)$|^amazon\.opentelemetry\.distro\..*\.crewai$"
    r"|^mirascope\.llm$|^@traceloop/instrumentation-llamaindex$"
    r"|^(?:openlit\.instrumentation\.|@openlit/instrumentation-)(?:bedrock|cohere)$|^@traceloop/instrumentation-bedrock$"
)

# Mirascope writes behind a model's name which of its provider's interfaces it is asked by.
_OF_MIRASCOPE = scope(r"^mirascope\.llm$")
_SAID_MODEL, _INTERFACE = pl.col("gen_ai.response.model"), r":(?:completions|responses)$"

GENAI_ECHOES = Dialect(
    name="genai-echoes",
    request_model=pl.when(AS_ASKED & (_ID.is_not_null() & _ANSWERED | _OF_SPLUNK) | _MISPLACED)
    .then(pl.lit(NOTHING))
    .when(
        pl.col("gen_ai.request.model") == pl.col("gen_ai.operation.name")
    )  # azure-ai-inference, where nobody named one
    .then(pl.lit(NOTHING))
    .when(_OF_MIRASCOPE)
    .then(pl.col("gen_ai.request.model").str.replace(_INTERFACE, "")),
    response_model=pl.when(_MISPLACED)
    .then(pl.col("gen_ai.request.model"))
    .when(AS_ASKED & (_ALWAYS | (_ID.is_null() & _ASKED)) | _OF_MIRASCOPE & _SAID_MODEL.str.contains(_INTERFACE))
    .then(pl.lit(NOTHING)),
)
