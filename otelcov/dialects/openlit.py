"""OpenLIT, for Python and JavaScript: what it spells otherwise than the conventions, and what it guesses."""

import polars as pl

from otelcov.dialects.base import AGENT, AS_ASKED, CHAIN, LLM, NOTHING, OTHER, TOOL, UNTOLD, Dialect, first, scope

_WORD = pl.col("gen_ai.operation.name").str.extract(r"^(\S+) \S")  # OpenLIT: `tool lookup_order`, `workflow …`

OPENLIT = Dialect(
    name="openlit",
    kind=_WORD.replace_strict(
        {"chat": LLM, "tool": TOOL, "execute_tool": TOOL, "workflow": CHAIN, "agent": AGENT, "invoke_agent": AGENT},
        default=None,
        return_dtype=pl.String,
    ),
    # In 1.33 agents have no name; Dynamiq's have none but what it calls a role.
    agent=pl.when((pl.col("gen_ai.system") == "crewai") | (pl.col("gen_ai.endpoint") == "dynamiq.agent_run")).then(
        pl.col("gen_ai.agent.role")
    ),
    tool=pl.when(_WORD.is_in(["tool", "execute_tool"])).then(
        pl.col("gen_ai.operation.name").str.extract(r"^\S+ (.+)$")
    ),
)

# It calls every node of a graph an agent, what Dynamiq's agents work in and whatever they remember, also nodes that all
# agents of LangChain are made of, and what guards one; instrumentations of OpenTelemetry, the function in which a
# supervisor calls its agents, and the files of Qwen's.
_FILES = (pl.col("gen_ai.agent.name") == "Memory") & (
    scope(r"qwen_agent$") | scope(r"util\.genai\.handler$") & (pl.col("gen_ai.agent.description") == "")  # LoongSuite
)
_NODE = _FILES | (
    scope(r"^openlit\.instrumentation\.lang(?:graph|chain)$|genai\b.*\b(?:langchain|handler)$")
    & (pl.col("gen_ai.operation.name") == "invoke_agent")
    & pl.col("gen_ai.agent.name").str.contains(r"^(?:model|tools|call_model|call_agent)$|\w\.(?:before|after)_\w+$")
)
# For JavaScript it names the runner of Google's ADK after the kit.
_NODE |= scope(r"^@openlit/instrumentation-google-adk$") & (pl.col("gen_ai.agent.name") == "google_adk")
_NODE |= pl.col("gen_ai.endpoint") == "dynamiq.workflow_run"
_GUARD = pl.col("gen_ai.guardrail.triggered").is_not_null() | pl.col("gen_ai.endpoint").fill_null("").str.starts_with(
    "dynamiq.memory_"
)

# What a client of Letta's asks for is the work of an agent, in as many steps as it takes; it prints the objects that
# were sent and came.
_LETTA = scope(r"^openlit\.instrumentation\.letta$") & (pl.col("gen_ai.operation.name") == "chat")
_SENT = r"^\"?\[MessageCreate\([^()]*role='user', content='([^'\\]*)', name=[^()]*\)\]\"?$"

OPENLIT_NODES = Dialect(
    name="openlit-nodes",
    kind=pl.when(_GUARD).then(pl.lit(OTHER)).when(_NODE).then(pl.lit(CHAIN)).when(_LETTA).then(pl.lit(AGENT)),
    agent=pl.when(_GUARD | _NODE).then(pl.lit("unknown")),
    input=pl.when(_LETTA).then(pl.coalesce([pl.col("gen_ai.input.messages").str.extract(_SENT), pl.lit(NOTHING)])),
    output=pl.when(_LETTA).then(pl.lit(NOTHING)),
    input_messages=pl.when(_LETTA).then(pl.lit(NOTHING)),
    output_messages=pl.when(_LETTA).then(pl.lit(NOTHING)),
)

# For JavaScript so do those of clients like OpenAI's, of answers with words; of Together's the model that was asked
# stands for any.
_STREAMED_JS = (
    scope(r"^@openlit/instrumentation-(?:openai|groq|mistral|together|vllm|ai21|gradient)$")
    & (
        (pl.col("gen_ai.request.is_stream").str.to_lowercase() == "true")
        | pl.col("gen_ai.server.time_per_output_token").is_not_null()  # Mistral's says that nothing streams
    )
    & (pl.col("openai.api.type").fill_null("") != "responses")
)

# Before 1.37 it did not ask what a streamed chat with OpenAI's client had used.
_STREAMED_CHAT = (
    scope(r"^openlit\.otel\.tracing$")
    & (pl.col("gen_ai.request.is_stream").str.to_lowercase() == "true")
    & (pl.col("gen_ai.system") == "openai")
    & ~pl.col("gen_ai.response.id").fill_null("").str.starts_with("resp_")
)

# Where a provider told no usage with a stream it guesses one from the texts' lengths, and leaves out what was cached.
_GUESSED = pl.when(
    scope(r"^openlit\.instrumentation\.openai$")
    & (pl.col("gen_ai.request.stream").str.to_lowercase() == "true")
    & first("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens").is_null()
    | _STREAMED_CHAT
    | _STREAMED_JS
    & first("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens").is_null()
    & pl.col("gen_ai.output.messages").str.contains('"type":"text"', literal=True).fill_null(value=True)
).then(pl.lit(UNTOLD))

# For JavaScript the end of a stream bears the answer's id; before it came, the model that was asked stands for any.
_ENDLESS = scope(r"^@openlit/instrumentation-") & (pl.col("gen_ai.response.id").fill_null("") == "")

# Of LangChain.js it names a tool by its class, prints the message that it gave as an object, and counts by itself what
# a model was asked.
_LANGCHAIN_JS = scope(r"^@openlit/instrumentation-langchain$")
_TOOL_JS = pl.when(_LANGCHAIN_JS & (pl.col("gen_ai.operation.name") == "execute_tool"))

# Of a stream of LangGraph's it tells the pieces one after another, which may each be all that was said so far; of
# Anthropic's models in LangChain, where no answer names one, the provider in place of it, and a guess of its tokens.
_IN_PIECES = scope(r"^openlit\.instrumentation\.langgraph$") & (pl.col("gen_ai.execution.mode") == "stream")
_NO_MODEL = scope(r"^openlit\.instrumentation\.langchain$")
_ASKED_NOBODY = _NO_MODEL & (pl.col("gen_ai.request.model") == pl.col("gen_ai.provider.name"))
_NOBODY_ANSWERED = pl.when(_NO_MODEL & (pl.col("gen_ai.response.model") == pl.col("gen_ai.provider.name")))

OPENLIT_GUESSES = Dialect(
    name="openlit-guesses",
    output=pl.when(_IN_PIECES).then(pl.lit(NOTHING)),
    request_model=pl.when(_ASKED_NOBODY).then(pl.lit(NOTHING)),
    tool=_TOOL_JS.then(pl.lit(NOTHING)),
    result=pl.when(_LANGCHAIN_JS & pl.col("gen_ai.tool.call.result").str.contains(r"^\[object \w+\]$")).then(
        pl.lit(NOTHING)
    ),
    input_tokens=pl.coalesce(
        [_GUESSED, pl.when(_LANGCHAIN_JS).then(pl.lit(UNTOLD)), _NOBODY_ANSWERED.then(pl.lit(UNTOLD))]
    ),
    output_tokens=pl.coalesce([_GUESSED, _NOBODY_ANSWERED.then(pl.lit(UNTOLD))]),
    response_model=pl.coalesce(
        [
            pl.when((_ENDLESS | _STREAMED_JS & scope("together$")) & AS_ASKED).then(pl.lit(NOTHING)),
            _NOBODY_ANSWERED.then(pl.lit(NOTHING)),
        ]
    ),
)
