"""OpenInference (Arize): https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md"""

import polars as pl

from otelcov.dialects.base import (
    AGENT,
    CHAIN,
    EVALUATION,
    HANDOFF,
    LLM,
    NOTHING,
    OTHER,
    SETUP,
    THREAD,
    TOOL,
    Dialect,
    answered_by,
    first,
    json_text,
    scope,
    span_name,
    value,
)

_LISTS = ["mcp_tools", "list_tools"]
_TOOL_INPUT = pl.when(
    pl.col("tool.name").is_not_null() | (pl.col("openinference.span.kind").str.to_uppercase() == "TOOL")
)

# Claude's Agent SDK answers with text; a list in JSON is of the errors that ended the run.
_ERRORS = (scope("claude[-_]agent[-_]sdk$") & (pl.col("output.mime_type") == "application/json")).fill_null(value=False)

# One key holds the model that was asked for and, with some clients, the one that answered once it has; the parameters
# of the request tell which was asked for. Those of an agent's response are the answer's own.
_ANSWER = scope(r"openai[-_]agents$").fill_null(value=False) & (pl.col("span.name") == "response")
_ANSWERED = first("output.value", "output.mime_type", "llm.token_count.prompt").is_not_null()
# The instrumentation of OpenAI's client for JavaScript does not, where a chat streams: it tells the text alone.
_TEXT_ALONE = scope(r"^@arizeai/openinference-instrumentation-openai$") & (pl.col("output.mime_type") == "text/plain")
_OVERWRITTEN = _ANSWER | _ANSWERED & ~_TEXT_ALONE.fill_null(value=False) & (
    scope(r"openinference.*[.-](?:openai|groq|mistralai|together|portkey|haystack|google[-_]genai)$").fill_null(
        value=False
    )
)
# Where the answer's has a key of its own, too (of Anthropic's client since 3.0).
_AS_ANSWERED = (pl.col("llm.response.model_name") == pl.col("llm.model_name")).fill_null(value=False)
_ASKED = pl.when(~_ANSWER).then(json_text("llm.invocation_parameters", "model", "model_name"))
# AutoGen tells of an alias which dated model it takes it for.
_RESOLVED = (scope("autogen") & pl.col("llm.model_name").str.contains(r"-\d{4}-\d{2}-\d{2}$")).fill_null(value=False)
# LangChain's tells the model that answered where it can, which its parameters alone tell from the one asked for.
_EITHER = scope(r"^openinference\.instrumentation\.langchain$").fill_null(value=False) & ~(
    pl.col("llm.invocation_parameters").str.starts_with("{").fill_null(value=False)
)
# Bedrock's, for JavaScript, leaves out who made a model and which version it is.
_IN_FULL = pl.when(scope(r"^@arizeai/openinference-instrumentation-bedrock$")).then(json_text("input.value", "modelId"))
_LLM = pl.col("openinference.span.kind").str.to_uppercase() == "LLM"

# Its processor for Strands names a step's node after its kind and a number of its own.
_OF_A_STEP = r"^(?:llm|tool|cycle)_(?:.+_)?(?:\d{10,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$"

# A function that a program declares an agent (`@tracer.agent`) has no name but its span's; one that says what is done
# is no agent's.
_DOES = (
    r"(?:^|[^a-z])(?:run|invoke|call|execute|handle|process|answer|ask|main|loop|turn|step|request|response|query"
    r"|session|conversation|chat|workflow|task|trace|execution|invocation|interaction|pipeline|completion)(?:[^a-z]|$)"
    r"|agent(?:run|call|loop|turn|step|execution|invocation|workflow|executor)"
)
_LONGEST_NAME = 41
_DECLARED = (
    (pl.col("openinference.span.kind").str.to_uppercase() == "AGENT")
    & ~scope(r"(?i)openinference[.-]instrumentation").fill_null(value=False)
    & first("gen_ai.operation.name", "ai.operationId", "graph.node.id", "metadata", "llm.system").is_null()
    & pl.col("span.name").str.contains(r"^[A-Za-z][\w -]*$")
    & (pl.col("span.name").str.len_chars() <= _LONGEST_NAME)
    & ~pl.col("span.name").str.to_lowercase().str.contains(_DOES)
)

# A function that one of Bedrock's agents gives back to the program that asked runs there, if at all.
_OF_BEDROCK = pl.when(scope("bedrock$").fill_null(value=False)).then(pl.col("metadata"))
_GIVEN_BACK = _OF_BEDROCK.str.contains(r'"execution_type":\s*"RETURN_CONTROL"')

# Of Traceloop's spans that tell no reason, of OpenAI's Responses and of what failed, the processor says that they
# stopped.
_TOLD_WHY = first("gen_ai.response.finish_reasons", "gen_ai.output.messages")
_NONE_TOLD = pl.col("error.type").is_not_null() | pl.col("span.name").str.ends_with(".response")
_MADE_UP = scope(r"^opentelemetry\.instrumentation\.") & _NONE_TOLD & _TOLD_WHY.is_null()

OPENINFERENCE_MADE_UP = Dialect(
    name="openinference-made-up",
    finish=pl.when(_MADE_UP & (pl.col("llm.finish_reason") == "stop")).then(pl.lit(NOTHING)),
)

# Of OpenAI's client for Python all that it asks its server is an LLM's: lists of models, files, images, moderations.
# The type of what came back names the span, and only of a model's answer is told whose it is.
_OF_A_TYPE = pl.col("span.name").str.contains(r"^[A-Z]\w*(?:\[.+\])?$")
_COMPLETION = pl.col("span.name").str.contains(r"^(?:Parsed)?(?:(?:Chat)?Completion|Response)(?:$|\W)")
_ASKED_ELSE = scope(r"^openinference\.instrumentation\.openai$") & _OF_A_TYPE & ~_COMPLETION
_UNCOUNTED = first("llm.model_name", "llm.token_count.prompt", "llm.token_count.completion").is_null()

OPENINFERENCE_REQUESTS = Dialect(
    name="openinference-requests",
    kind=pl.when(_ASKED_ELSE & _UNCOUNTED & (pl.col("openinference.span.kind").str.to_uppercase() == "LLM")).then(
        pl.lit(OTHER)
    ),
)

# The id of an answer that is told whole: OpenAI's, in JavaScript as the only one of a list.
_ID = r'^\s*\[?\s*\{\s*"id":\s*"((?:chatcmpl|resp|msg)[-_][^"\\]+)"'

# The session that an invocation of ADK's is given; the one that is told beside that may be that of a run before it,
# whose context was never left.
_INVOKED_IN = pl.when(scope(r"google_adk$") & pl.col("span.name").str.starts_with("invocation [")).then(
    pl.col("input.value").str.extract(r'^\{"user_id": ?"[^"\\]*", ?"session_id": ?"([^"\\]+)"')
)

_KIND = value(
    "openinference.span.kind",
    agent=AGENT,
    chain=CHAIN,
    llm=LLM,
    tool=TOOL,
    retriever=OTHER,
    embedding=OTHER,
    reranker=OTHER,
    guardrail=OTHER,
    evaluator=EVALUATION,
    prompt=OTHER,
)
# AG2's chat of two, told as if it were the agent that begins it: often one that stands for the user.
_CHAT = pl.col("ag2.recipient.name").is_not_null()
# Who chooses the next speaker of a group of its: that is the group's own work.
_CHOOSES = scope(r"instrumentation\.ag2$") & pl.col("agent.name").is_in(["checking_agent", "speaker_selection_agent"])
# To who began it nobody answered, as of a group: its last message is the first.
_UNANSWERED = pl.col("input.value").str.json_path_match("$.message") == pl.col("output.value")
# A reply that asks for tools, or is what they gave, is no answer; whose tools they are, it tells only of who runs them.
_AG2 = scope(r"^openinference\.instrumentation\.ag2$")
_GAVE_BACK = _AG2 & pl.col("output.value").str.starts_with('{"role": "tool", "tool_responses"')
_ASKS_TOOLS = _AG2 & pl.col("output.value").str.contains('"tool_calls": [{', literal=True)
_EXECUTES = _AG2 & (
    (pl.col("agent.name") == "_Group_Tool_Executor") | (pl.col("openinference.span.kind").str.to_uppercase() == "TOOL")
)

OPENINFERENCE = Dialect(
    name="openinference",
    kind=pl.when(_CHAT).then(pl.lit(CHAIN)).otherwise(_KIND),
    # Processors that turn GenAI spans into these write ids of nodes beside the agent's name.
    agent=pl.coalesce(
        [
            pl.when(_CHAT | _CHOOSES | _EXECUTES)
            .then(pl.lit("unknown"))
            .otherwise(first("agent.name", "gen_ai.agent.name")),
            pl.when(~pl.col("graph.node.id").str.contains(_OF_A_STEP)).then(pl.col("graph.node.id")),
            json_text("metadata", "lc_agent_name", "agent_collaborator_name"),
            pl.when(_DECLARED).then(pl.col("span.name")),
        ]
    ),
    tool=first("tool.name", "tool_call.function.name"),
    call_id=first("tool_call.id", "tool.id", "tool.call_id", "tool.call.id"),
    arguments=_TOOL_INPUT.then(
        first("tool_call.function.arguments", "input.value", "tool.arguments", "tool.parameters")
    ),
    result=_TOOL_INPUT.then(first("output.value", "tool.output", "tool.result")),
    request_model=pl.coalesce(
        [
            pl.col("llm.request.model_name"),
            pl.when(pl.col("openinference.span.kind").is_not_null() | pl.col("llm.model_name").is_not_null()).then(
                first("gen_ai.request.model", "ai.model.id")
            ),
            _ASKED,
            _IN_FULL,
            pl.when(~_OVERWRITTEN & ~_AS_ANSWERED & ~_RESOLVED & ~_EITHER).then(pl.col("llm.model_name")),
            first("embedding.model_name"),
        ]
    ),
    response_model=pl.coalesce(
        [
            first("llm.response.model_name", "llm.response.model"),
            pl.when(_LLM).then(answered_by("output.value")),
            pl.when(_OVERWRITTEN | (pl.col("llm.model_name") != _ASKED)).then(pl.col("llm.model_name")),
        ]
    ),
    input_tokens=first("llm.token_count.prompt"),
    output_tokens=first("llm.token_count.completion"),
    response_id=pl.coalesce([pl.col("llm.response.id"), pl.when(_LLM).then(pl.col("output.value").str.extract(_ID))]),
    finish=first("llm.finish_reason", "llm.finish_reasons"),
    input_messages=first("gen_ai.input.messages", "input.value"),  # which the processors' own keys hold in part
    output_messages=pl.when(_GAVE_BACK).then(pl.lit(NOTHING)).otherwise(first("output.value")),
    input=first("input.value"),
    output=pl.when(_CHAT & (_UNANSWERED | _CHOOSES) | _GAVE_BACK | _ASKS_TOOLS)
    .then(pl.lit(NOTHING))
    .when(~_ERRORS)
    .then(first("output.value")),
    # Of the AI SDK its parameters are a model's name; the tools stay in the keys that it was made of.
    definitions=first(
        "llm.tools", "agent.tools", "gen_ai.tool.definitions", "ai.prompt.tools", "llm.invocation_parameters"
    ),
    tool_error=_TOOL_INPUT.then(pl.when(_GIVEN_BACK).then(pl.lit("denied"))),
    conversation=pl.coalesce(
        [_INVOKED_IN, pl.col("session.id"), THREAD, json_text("metadata", "thread_id", "session_id", "conversation_id")]
    ),
    # A team of AutoGen takes turns, a crew's tasks come one after another: this is who worked before.
    from_agent=pl.when(scope("autogen|crewai").fill_null(value=False))
    .then(None)
    .otherwise(first("graph.node.parent_id")),
)

# OpenAI Agents SDK: a handoff is a TOOL span that names no tool; input and output are the two agents. In JavaScript it
# names one that nobody has, and the input holds both; so is the list of what a server offers. Paid puts a word of its
# own before the names of spans.
_TOOL = first("openinference.span.kind", "gen_ai.span.kind").str.to_uppercase() == "TOOL"
_AGENT = pl.col("openinference.span.kind").str.to_uppercase() == "AGENT"
_OVER = pl.col("span.name").str.contains(r"^(?:paid\.trace\.)?handoff to ")
_UNNAMED = (pl.col("gen_ai.operation.name") == "execute_tool") & pl.col("gen_ai.tool.name").is_null()  # Microsoft's

OPENAI_AGENTS = Dialect(
    name="openai-agents-handoff",
    kind=pl.when(
        (_TOOL | _UNNAMED)
        & _OVER
        & (pl.col("tool.name").is_null() | pl.col("tool.name").str.starts_with("handoff_to_"))
    )
    .then(pl.lit(HANDOFF))
    .when(_TOOL & pl.col("tool.name").is_null() & pl.col("span.name").is_in(_LISTS))
    .then(pl.lit(SETUP))
    .when(pl.col("span.name").str.contains(r"^\S.* -> .*\.handoff$"))
    .then(pl.lit(HANDOFF)),
    # Before 1.0 an agent is told by its span's name; the frame around all agents tells no system of models.
    agent=pl.when(scope("openai_agents") & _AGENT & pl.col("llm.system").is_not_null()).then(pl.col("span.name")),
    to_agent=span_name(r"^(?:paid\.trace\.)?handoff to (.+)$"),
    from_agent=pl.when(_OVER & ~pl.col("input.value").str.starts_with("{"))
    .then(pl.col("input.value"))
    .when(_OVER)
    .then(json_text("input.value", "from_agent")),
)

# `mcp_tools` and the like: the agent asks a server what it offers.
OPENAI_AGENTS_TOOLS = Dialect(
    name="openai-agents-mcp-list",
    definitions=pl.when(
        pl.col("span.name").is_in(_LISTS) | scope("openai_agents") & pl.col("span.name").str.contains("^mcp")
    ).then(pl.col("output.value")),
)
