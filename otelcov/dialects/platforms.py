"""Platforms' own SDKs: LangWatch, Laminar, Braintrust, TruLens, Prompt flow, LiveKit, Pipecat. One kind key
each."""

import polars as pl

from otelcov.dialects.base import (
    AGENT,
    CHAIN,
    DATED,
    EVALUATION,
    HANDOFF,
    LLM,
    NOTHING,
    OTHER,
    SETUP,
    TOOL,
    Dialect,
    first,
    json_number,
    json_text,
    scope,
    value,
)

_LANGWATCH = pl.col("langwatch.span.type").str.to_lowercase()


def _langwatch(side: str) -> pl.Expr:
    """What a value is that says its type; of a list, the first."""
    text = pl.col(f"langwatch.{side}")
    listed = text.str.contains(r'^\{"type": ?"list", ?"value": ?\[\{"type"')
    typed = text.str.contains(r'^\{"type": ?"\w+", ?"value": ?') & text.str.ends_with("}")
    return (
        pl.when(listed & typed)
        .then(text.str.json_path_match("$.value[0].value"))
        .when(typed)
        .then(text.str.json_path_match("$.value"))
        .otherwise(text)
    )


_LANGWATCH_IN, _LANGWATCH_OUT = _langwatch("input"), _langwatch("output")

# A tool's message of LangChain's, of which the text alone is left.
_LANGWATCH_SAID = pl.col("langwatch.output")
_LANGWATCH_MESSAGE = (_LANGWATCH == "tool") & _LANGWATCH_SAID.str.contains(
    r'^\{"type": ?"chat_messages", ?"value": ?\[\{"role": ?"unknown"'
)

LANGWATCH = Dialect(
    name="langwatch",
    kind=value(
        "langwatch.span.type",
        llm=LLM,
        tool=TOOL,
        agent=AGENT,
        chain=CHAIN,
        workflow=CHAIN,
        component=CHAIN,
        module=CHAIN,
        span=CHAIN,
        rag=OTHER,
        retrieval=OTHER,
        guardrail=OTHER,
        evaluation=EVALUATION,
    ),
    agent=pl.coalesce(
        [
            pl.col("langwatch.langchain.run.metadata.lc_agent_name"),
            pl.when(_LANGWATCH == "agent").then(pl.col("span.name")),
        ]
    ),
    tool=pl.when(_LANGWATCH == "tool").then(pl.col("span.name")),
    arguments=pl.when(_LANGWATCH == "tool").then(_LANGWATCH_IN),
    result=pl.when(_LANGWATCH_MESSAGE)
    .then(_LANGWATCH_SAID.str.json_path_match("$.value[0].content"))
    .when(_LANGWATCH == "tool")
    .then(_LANGWATCH_OUT),
    tool_error=pl.when(_LANGWATCH_MESSAGE).then(pl.lit("unknown")),
    input_tokens=json_number("langwatch.metrics", "promptTokens", "prompt_tokens"),
    output_tokens=json_number("langwatch.metrics", "completionTokens", "completion_tokens"),
    input_messages=_LANGWATCH_IN,
    output_messages=_LANGWATCH_OUT,
    input=_LANGWATCH_IN,
    output=_LANGWATCH_OUT,
    conversation=first("langwatch.thread.id", "langwatch.thread_id"),
)

_LMNR = pl.col("lmnr.span.type").str.to_uppercase()
# It tells an agent of OpenAI's SDK by what the agent is made of; what it has none of is left out.
_LMNR_MADE = pl.col("lmnr.span.input").str
_LMNR_AGENT = (
    pl.when(
        (_LMNR == "DEFAULT")
        & _LMNR_MADE.starts_with('{"name":"')
        & (
            _LMNR_MADE.contains('","handoffs":[', literal=True)
            | scope(r"^lmnr\.tracer$") & _LMNR_MADE.contains(',"output_type":"', literal=True)
        )
    )
    .then(_LMNR_MADE.extract(r'^\{"name":"((?:[^"\\]|\\.)+)",'))
    .fill_null("")
)
_IS_LMNR_AGENT = (_LMNR_AGENT != "") & (pl.col("span.name") == _LMNR_AGENT)
_LMNR_HANDS_OVER = scope(r"^lmnr\.tracer$") & (pl.col("span.name") == "agents.handoff")  # whose facts may be dropped
# A function of the program's, of which its SDK for JavaScript (0.8) says no type.
_LMNR_OBSERVED = scope(r"^lmnr\.tracer$") & _LMNR.is_null() & first("lmnr.span.input", "lmnr.span.output").is_not_null()
# Spans around an agent's that tell what was used.
_LMNR_AROUND = first("openai.agents.task.name", "openai.agents.turn.index").is_not_null()

LAMINAR = Dialect(
    name="laminar",
    # What OpenAI's Agents SDK calls a span comes first: a handoff and a list of tools are of type TOOL, too.
    kind=pl.coalesce(
        [
            value(
                "openai.agents.span.type",
                agent=AGENT,
                function=TOOL,
                generation=LLM,
                response=LLM,
                handoff=HANDOFF,
                guardrail=OTHER,
                mcp_tools=SETUP,
                mcp_list_tools=SETUP,
                transcription=OTHER,
                speech=OTHER,
                speech_group=OTHER,
            ),
            pl.when(pl.col("openai.agents.handoff.to").is_not_null() | _LMNR_HANDS_OVER).then(pl.lit(HANDOFF)),
            pl.when(_IS_LMNR_AGENT).then(pl.lit(AGENT)),
            pl.when((_LMNR == "TOOL") & (pl.col("span.name") == "agents.mcp_tools")).then(pl.lit(SETUP)),
            value(
                "lmnr.span.type",
                llm=LLM,
                tool=TOOL,
                default=CHAIN,
                executor=CHAIN,
                evaluation=OTHER,
                evaluator=EVALUATION,
                human_evaluator=EVALUATION,
            ),
            pl.when(_LMNR_OBSERVED).then(pl.lit(CHAIN)),
        ]
    ),
    agent=pl.coalesce(
        [
            first("openai.agents.agent.name", "openai.agents.turn.agent_name"),
            pl.when(_IS_LMNR_AGENT).then(pl.col("span.name")),
        ]
    ),
    from_agent=first("openai.agents.handoff.from"),
    to_agent=first("openai.agents.handoff.to"),
    definitions=first("openai.agents.agent.tools"),
    tool=pl.when(_LMNR == "TOOL").then(pl.col("span.name")),
    call_id=pl.when(_LMNR == "TOOL").then(pl.col("lmnr.association.properties.metadata.tool_call_id")),  # OpenHands
    arguments=pl.when(_LMNR == "TOOL").then(first("lmnr.span.input")),
    result=pl.when(_LMNR == "TOOL").then(first("lmnr.span.output")),
    input_messages=first("lmnr.span.input"),
    output_messages=first("lmnr.span.output"),
    input=pl.when(~_IS_LMNR_AGENT & ~_LMNR_AROUND).then(first("lmnr.span.input")),
    output=pl.when(~_LMNR_AROUND).then(first("lmnr.span.output")),
    conversation=first("lmnr.association.properties.session_id"),
)

_BRAINTRUST = json_text("braintrust.span_attributes", "type").str.to_lowercase()
# Calls of a client that say no type: RubyLLM's, and those of Go's clients, tell a model among their parameters.
_BRAINTRUST_CALL = (
    pl.col("braintrust.span_attributes").is_null()
    & pl.col("braintrust.input_json").is_not_null()
    & ~pl.col("span.name").str.contains(r"(?i)embed|moderat|image|audio|speech|rerank")
    & (
        json_text("braintrust.metadata", "provider").is_not_null()
        & json_text("braintrust.metadata", "model").is_not_null()
        | (pl.col("span.name") == "ruby_llm.chat")
    )
).fill_null(value=False)
_BRAINTRUST_LLM = pl.when((_BRAINTRUST == "llm") | _BRAINTRUST_CALL)
_BRAINTRUST_TOOL = pl.when(_BRAINTRUST == "tool")
# One key holds the model that was asked for or, with most clients, the one that answered: where that is dated, nobody
# knows whether the date was asked for.
_BRAINTRUST_MODEL = json_text("braintrust.metadata", "model")
_DATED = _BRAINTRUST_MODEL.str.contains(DATED) & pl.col("braintrust.output_json").is_not_null()

BRAINTRUST = Dialect(
    name="braintrust",
    kind=pl.coalesce(
        [
            _BRAINTRUST.replace_strict(
                {"llm": LLM, "tool": TOOL, "function": CHAIN, "task": CHAIN, "eval": CHAIN, "score": EVALUATION},
                default=None,
                return_dtype=pl.String,
            ),
            pl.when(_BRAINTRUST_CALL).then(pl.lit(LLM)),
            # Google's ADK for Go, as it calls back.
            pl.when(pl.col("adk.agent.name").is_not_null() & pl.col("span.name").str.starts_with("agent_run [")).then(
                pl.lit(AGENT)
            ),
        ]
    ),
    agent=first("adk.agent.name"),
    tool=_BRAINTRUST_TOOL.then(
        pl.coalesce([pl.col("tool.name"), json_text("braintrust.span_attributes", "name"), pl.col("span.name")])
    ),
    arguments=_BRAINTRUST_TOOL.then(first("braintrust.input_json", "braintrust.input")),
    result=_BRAINTRUST_TOOL.then(first("braintrust.output_json", "braintrust.output")),
    request_model=pl.when(~_DATED.fill_null(value=False)).then(_BRAINTRUST_MODEL),
    response_model=pl.when(_DATED).then(_BRAINTRUST_MODEL),
    input_tokens=json_number("braintrust.metrics", "prompt_tokens"),
    output_tokens=json_number("braintrust.metrics", "completion_tokens"),
    input_messages=first("braintrust.input_json", "braintrust.input"),
    output_messages=first("braintrust.output_json", "braintrust.output"),
    definitions=_BRAINTRUST_LLM.then(pl.col("braintrust.metadata")),
    input=first("braintrust.input_json", "braintrust.input"),
    output=first("braintrust.output_json", "braintrust.output"),
    conversation=first("adk.agent.session_id"),
)

_TRULENS = pl.col("ai.observability.span_type").str.to_lowercase()
_TRULENS_TOOL = _TRULENS.is_in(["tool", "mcp"])

# The conventions' key has the function that ran, of LangGraph's tools the one that runs any; a model's call is a node
# of the graph, of which Python prints what it gave.
_TRULENS_RAN = pl.col("ai.observability.call.function").str.contains(r"\bToolNode\.\w+$")
_TRULENS_SAID = pl.col("ai.observability.call.return")
_TRULENS_GRAPH = pl.col("ai.observability.call.kwargs.config")
_TRULENS_MODEL = (
    (_TRULENS == "graph_node")
    & (pl.col("ai.observability.graph_node.node_name") == "model_node")
    & _TRULENS_GRAPH.str.contains("'lc_agent_name'", literal=True)
)


def _given(pattern: str) -> pl.Expr:
    return pl.when(_TRULENS_RAN).then(
        pl.col("ai.observability.call.kwargs.input").str.extract(rf'^\[\{{{pattern}, "type": "tool_call"\}}\]$')
    )


def _said(pattern: str) -> pl.Expr:
    return pl.when(_TRULENS_MODEL).then(_TRULENS_SAID.str.extract(pattern))


TRULENS_GRAPHS = Dialect(
    name="trulens-graphs",
    kind=pl.when(_TRULENS_MODEL).then(pl.lit(LLM)),
    agent=pl.when(_TRULENS_MODEL | _TRULENS_RAN).then(_TRULENS_GRAPH.str.extract(r"'lc_agent_name': '([^']+)'")),
    tool=pl.when(_TRULENS_TOOL).then(
        pl.coalesce(
            [
                pl.col("ai.observability.mcp.tool_name"),
                pl.col("ai.observability.call.function").str.extract(r"([^.]+)$"),
            ]
        )
    ),
    call_id=_given(r'"name": .*, "id": "([^"]*)"'),
    arguments=_given(r'"name": "[^"]*", "args": (\{.*\}), "id": "[^"]*"'),
    result=pl.when(_TRULENS_RAN).then(pl.col("ai.observability.graph_node.output_state")),
    response_model=_said(r"'model_name': '([^']+)'"),
    input_tokens=_said(r"usage_metadata=\{'input_tokens': (\d+)"),
    output_tokens=_said(r"usage_metadata=\{'input_tokens': \d+, 'output_tokens': (\d+)"),
    response_id=_said(r"response_metadata=\{.*?'id': '([^']+)'"),
    finish=_said(r"'finish_reason': '([^']+)'"),
)

TRULENS = Dialect(
    name="trulens",
    kind=_TRULENS.replace_strict(
        {
            "record_root": CHAIN,
            "agent": CHAIN,
            "graph_node": CHAIN,
            "graph_task": CHAIN,
            "workflow_step": CHAIN,
            "generation": LLM,
            "tool": TOOL,
            "mcp": TOOL,
            "retrieval": OTHER,
            "reranking": OTHER,
            "eval_root": EVALUATION,
            "eval": EVALUATION,
        },
        default=None,
        return_dtype=pl.String,
    ),
    arguments=first("ai.observability.mcp.input_arguments"),
    result=pl.when(_TRULENS_TOOL).then(first("ai.observability.mcp.output_content", "ai.observability.call.return")),
    tool_error=first("ai.observability.mcp.output_is_error"),
    response_model=first("ai.observability.cost.model"),
    input_tokens=first("ai.observability.cost.num_prompt_tokens"),
    output_tokens=first("ai.observability.cost.num_completion_tokens"),
    input=first("ai.observability.record_root.input"),
    output=first("ai.observability.record_root.output"),
)

_PROMPTFLOW = pl.when(pl.col("framework") == "promptflow").then(pl.col("span_type").str.to_lowercase())
_PROMPTFLOW_LLM = _PROMPTFLOW == "llm"

PROMPTFLOW = Dialect(
    name="promptflow",
    kind=_PROMPTFLOW.replace_strict(
        {
            "llm": LLM,
            "flow": CHAIN,
            "function": CHAIN,
            "tool": CHAIN,  # a step of the flow, which no model asks for
            "assistant": CHAIN,
            "langchain": CHAIN,
            "embedding": OTHER,
            "retrieval": OTHER,
        },
        default=None,
        return_dtype=pl.String,
    ),
    request_model=pl.when(_PROMPTFLOW_LLM).then(json_text("inputs", "model")),
    response_model=pl.when(_PROMPTFLOW_LLM).then(first("llm.response.model")),
    input_messages=pl.when(_PROMPTFLOW_LLM).then(first("inputs")),
    output_messages=pl.when(_PROMPTFLOW_LLM).then(first("llm.generated_message", "output")),
    definitions=pl.when(_PROMPTFLOW_LLM).then(first("inputs")),
    input=pl.when(_PROMPTFLOW == "flow").then(first("inputs")),
    output=pl.when(_PROMPTFLOW == "flow").then(first("output")),
)

_LIVEKIT = pl.col("scope.name").str.contains("livekit")
# Whether a model that had failed is there again is asked beside the call that another answered.
_LIVEKIT_PROBE = pl.col("lk.fallback.recovery").str.to_lowercase() == "true"
# It says `error` of an answer that was broken off; of one that failed, nothing.
_LIVEKIT_BROKEN_OFF = _LIVEKIT & pl.col("gen_ai.response.finish_reasons").str.contains('"error"', literal=True)

LIVEKIT_MODELS = Dialect(
    name="livekit models",
    kind=pl.when(_LIVEKIT_PROBE).then(pl.lit(OTHER)),
    finish=pl.when(_LIVEKIT_BROKEN_OFF).then(pl.lit("canceled")),
)

_LIVEKIT_HANDOFF = pl.when(_LIVEKIT & (pl.col("span.name") == "update_agent"))

# In JavaScript one agent leaves and another comes: `joining.sessions` makes a change of both.
_LIVEKIT_LEAVES, _LIVEKIT_COMES = (
    pl.when(_LIVEKIT & (pl.col("span.name") == name)) for name in ("drain_agent_activity", "start_agent_activity")
)
_LIVEKIT_LABEL = first("lk.agent_label")
# Its first versions tell words around their models alone; beside calls they are not what was answered.
_LIVEKIT_CALLS = first("lk.pii.response.function_calls", "lk.response.function_calls").fill_null("[]")
_LIVEKIT_ANSWER = pl.when(_LIVEKIT & (pl.col("span.name") == "llm_node") & (_LIVEKIT_CALLS == "[]"))

LIVEKIT = Dialect(
    name="livekit",
    kind=pl.when(pl.col("lk.function_tool.name").is_not_null())
    .then(pl.lit(TOOL))
    .when(pl.col("span.name").is_in(["agent_session", "agent_turn", "llm_node", "user_turn"]) & _LIVEKIT)
    .then(pl.lit(CHAIN))
    .otherwise(_LIVEKIT_HANDOFF.then(pl.lit(HANDOFF))),
    tool=first("lk.function_tool.name"),
    call_id=first("lk.function_tool.id"),
    arguments=first("lk.function_tool.arguments", "lk.pii.function_tool.arguments"),
    result=first("lk.function_tool.output", "lk.pii.function_tool.output"),
    tool_error=first("lk.function_tool.is_error"),
    # What is said at one go may be several turns (JavaScript).
    response_id=pl.when(_LIVEKIT & (pl.col("span.name") == "agent_turn")).then(pl.col("lk.speech_id")),
    input=first("lk.pii.user_input", "lk.user_input"),
    output=_LIVEKIT_ANSWER.then(first("lk.pii.response.text", "lk.response.text")),
    finish=pl.when(pl.col("lk.interrupted").str.to_lowercase() == "true").then(pl.lit("canceled")),
    from_agent=_LIVEKIT_HANDOFF.then(first("lk.previous_agent_label")).otherwise(_LIVEKIT_LEAVES.then(_LIVEKIT_LABEL)),
    to_agent=_LIVEKIT_HANDOFF.then(_LIVEKIT_LABEL).otherwise(_LIVEKIT_COMES.then(_LIVEKIT_LABEL)),
)

_PIPECAT = pl.when(scope(r"^pipecat\b"))
_PIPECAT_LLM = pl.when(scope(r"^pipecat\b") & (pl.col("gen_ai.operation.name") == "chat"))

# Once a model has answered, it tells that one's name as the one that is asked; beside it stands what was set.
_PIPECAT_ASKED = pl.col("gen_ai.request.model")

PIPECAT_MODELS = Dialect(
    name="pipecat models",
    request_model=_PIPECAT_LLM.then(
        pl.coalesce(
            [pl.col("param.model"), pl.when(~_PIPECAT_ASKED.str.contains(DATED)).then(_PIPECAT_ASKED), pl.lit(NOTHING)]
        )
    ),
)

PIPECAT = Dialect(
    name="pipecat",
    kind=_PIPECAT.then(
        pl.col("span.name").replace_strict({"conversation": CHAIN, "turn": CHAIN}, default=None, return_dtype=pl.String)
    ),
    input_messages=_PIPECAT_LLM.then(pl.col("input")),
    output_messages=_PIPECAT_LLM.then(pl.col("output")),
    definitions=_PIPECAT_LLM.then(pl.col("tools")),
)
