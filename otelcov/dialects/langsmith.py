"""LangSmith's OpenTelemetry export: `langsmith.span.kind`, LangChain JSON in `gen_ai.prompt` / `gen_ai.completion`."""

import polars as pl

from otelcov.dialects.base import (
    AGENT,
    CHAIN,
    LLM,
    NOTHING,
    OTHER,
    TOOL,
    UNTOLD,
    Dialect,
    answered_by,
    first,
    json_number,
    json_text,
    of_event,
    value,
)

_IS_TOOL = pl.col("langsmith.span.kind").str.to_lowercase() == "tool"
_IS_LLM = pl.col("langsmith.span.kind").str.to_lowercase() == "llm"
_IS_CHAIN = pl.col("langsmith.span.kind").str.to_lowercase() == "chain"
# The processor for OpenAI's Agents SDK writes a list of one object as that object: such a result is not what it was.
_AGENTS_SDK = (pl.col("langsmith.metadata.ls_integration") == "openai-agents-sdk").fill_null(False)
_RESPONSE = _AGENTS_SDK & (pl.col("langsmith.metadata.object") == "response").fill_null(False)
_WHOLE = ~_AGENTS_SDK | pl.col("gen_ai.completion").str.starts_with('{"output":')
# A tool that failed: an empty object that one gave has a frame, and what a function gave that raised is null.
_RAISED = pl.col(of_event("exception", "exception.type")).is_not_null()
_NOTHING = (pl.col("gen_ai.completion") == "{}") | (_RAISED & (pl.col("gen_ai.completion") == '{"output":null}'))
# What a function in JavaScript gave that is no object stands in a frame.
_FRAMED = r'^\{"outputs":("(?:[^"\\]|\\.)*"|\[.*\]|[^\[{",]+)\}$'

# What its wrapper of the AI SDK gives a tool: the arguments, and beside them whose call this is and all that was said.
_CALLED = pl.when(_IS_TOOL & pl.col("gen_ai.prompt").str.starts_with('{"args":[')).then(pl.col("gen_ai.prompt"))
_GIVEN = r'^\{"args":\[(\{.*?\}),\{"toolCallId":"[^"]+"'
_VERCEL = (pl.col("langsmith.metadata.ls_integration") == "vercel-ai-sdk").fill_null(False)
_WRAPPED = pl.when(_VERCEL)
# A list is what a tool gave, or all that it gave bit by bit, of which its model saw the last.
_BIT_BY_BIT = _VERCEL & _IS_TOOL & pl.col("gen_ai.completion").str.starts_with('{"outputs":[')

# Its tracing of Claude's Agent SDK: what a tool was given stands in a frame, an error may be that nobody gave leave,
# and what was interrupted ends with a word on that in the user's name.
_CLAUDES = (pl.col("langsmith.metadata.ls_integration") == "claude-agent-sdk").fill_null(False)
# For JavaScript it sends a conversation's span alone.
_CONVERSES = _CLAUDES | (pl.col("langsmith.metadata.ls_integration") == "claude-agent-sdk-js").fill_null(False)
_STOPPED = _CONVERSES & pl.col("gen_ai.completion").str.contains(r'"text": ?"\[Request interrupted by user')
# It says of a run that it failed, and not by which error; a limit of turns shows by their number. What no model wrote
# has a model of its own name. A stream tells with a message what was counted as it began, unless the transcript does.
_FAILED = _CONVERSES & (pl.col("langsmith.metadata.is_error").str.to_lowercase() == "true") & ~_IS_LLM
_TURNS, _MOST = (pl.col(f"langsmith.metadata.{n}_turns").cast(pl.Int64, strict=False) for n in ("num", "max"))
_BY_NONE = _CLAUDES & _IS_LLM & (pl.col("gen_ai.request.model") == "<synthetic>")
_BEGUN = 9  # tokens, and more, are no answer that has only begun
_BY_TOOL = pl.col("gen_ai.completion").str.starts_with('{"role":"tool"')
_WRONG = json_text("gen_ai.completion", "text")


def _counted(name: str) -> pl.Expr:
    return pl.coalesce(
        [json_number(key, name) for key in ("langsmith.usage_metadata", "langsmith.metadata.usage_metadata")]
    )


LANGSMITH = Dialect(
    name="langsmith",
    kind=pl.coalesce(
        [
            pl.when(_CONVERSES & (pl.col("span.name") == "claude.conversation")).then(pl.lit(AGENT)),
            value(
                "langsmith.span.kind",
                chain=CHAIN,
                llm=LLM,
                tool=TOOL,
                retriever=OTHER,
                embedding=OTHER,
                prompt=OTHER,
                parser=OTHER,
            ),
        ]
    ),
    agent=first("langsmith.metadata.lc_agent_name", "langsmith.metadata.agent_name", "langsmith.metadata.agentName"),
    tool=_WRAPPED.then(pl.when(_IS_TOOL).then("langsmith.trace.name")),  # a generator's span has another's name
    call_id=_WRAPPED.then(_CALLED.str.extract(r',\{"toolCallId":"([^"]+)"')),
    arguments=pl.coalesce(
        [
            _WRAPPED.then(_CALLED.str.extract(_GIVEN)),
            pl.when(_CLAUDES & _IS_TOOL).then(pl.col("gen_ai.prompt").str.json_path_match("$.input")),
            pl.when(_IS_TOOL & (pl.col("gen_ai.prompt") != "{}")).then(first("gen_ai.prompt")),  # hidden or none
        ]
    ),
    finish=pl.when(_STOPPED)
    .then(pl.lit("aborted"))
    .when(_VERCEL & _IS_LLM)
    .then(pl.col("gen_ai.completion").str.extract(r'"finishReason":(?:\{"unified":)?"([^"]+)"')),
    output=pl.when(_STOPPED | _FAILED | (_CLAUDES & _BY_TOOL)).then(pl.lit(NOTHING)),
    output_messages=pl.when(_BY_NONE).then(pl.lit(NOTHING)),
    error_type=pl.when(_FAILED & (_TURNS > _MOST))
    .then(pl.lit("error_max_turns"))
    .when(_FAILED | _BY_NONE)
    .then(pl.lit("_OTHER")),
    error_text=pl.when(_FAILED & (_TURNS > _MOST))
    .then(pl.lit("error_max_turns"))
    .when(_FAILED | _BY_NONE)
    .then(pl.coalesce([_WRONG, pl.lit("_OTHER")])),
    tool_error=pl.when(_CLAUDES & _IS_TOOL & _RAISED).then(pl.lit("unknown")),
    result=pl.when(_BIT_BY_BIT)
    .then(pl.lit(NOTHING))
    .when(_IS_TOOL & _WHOLE & ~_NOTHING)
    .then(pl.coalesce([pl.col("gen_ai.completion").str.extract(_FRAMED), pl.col("gen_ai.completion")]))
    .when(_IS_CHAIN)  # which may be a tool by its name
    .then(pl.col("gen_ai.completion").str.extract(_FRAMED)),
    # A response tells of no model but the one that answered.
    request_model=pl.when(_RESPONSE).then(pl.lit(NOTHING)).when(_BY_NONE).then(pl.col("langsmith.metadata.model")),
    response_model=pl.when(_RESPONSE)
    .then(pl.col("gen_ai.request.model"))
    .when(_IS_LLM)
    .then(answered_by("gen_ai.completion")),
    input_tokens=pl.when(_BY_NONE).then(pl.lit(UNTOLD)).when(_IS_LLM).then(_counted("input_tokens")),
    output_tokens=pl.when(_CLAUDES & _IS_LLM & (_counted("output_tokens").cast(pl.Int64, strict=False) < _BEGUN))
    .then(pl.lit(UNTOLD))
    .when(_IS_LLM)
    .then(_counted("output_tokens")),
    conversation=first(
        "langsmith.metadata.thread_id",
        "langsmith.metadata.session_id",
        "langsmith.metadata.conversation_id",
        "langsmith.metadata.sessionId",  # as the AI SDK was told it
        "langsmith.metadata.threadId",
        "langsmith.metadata.conversationId",
        "langsmith.metadata.chatId",
    ),
    definitions=pl.coalesce(
        [
            pl.col("langsmith.metadata.tools"),
            pl.when(_IS_LLM & pl.col("gen_ai.prompt").str.contains('"tools":[', literal=True)).then(
                pl.col("gen_ai.prompt")  # a client's whole request
            ),
        ]
    ),
)

# It writes agents as chains, too: they alone list the tools they have.
_AGENT = (
    _AGENTS_SDK
    & (pl.col("langsmith.span.kind").str.to_lowercase() == "chain")
    & pl.col("gen_ai.tool.definitions").is_not_null()
)

# For JavaScript it writes guardrails as tools.
_GUARDRAIL = _AGENTS_SDK & pl.col("langsmith.metadata.triggered").is_not_null()

LANGSMITH_AGENTS = Dialect(
    name="langsmith-openai-agents",
    kind=pl.when(_AGENT).then(pl.lit(AGENT)).when(_GUARDRAIL).then(pl.lit(CHAIN)),
    agent=pl.when(_AGENT).then("span.name"),
)
