"""Spring AI, Embabel, LangChain4j and Quarkus' (Micrometer to OpenTelemetry): every value is text."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, NOTHING, OTHER, TOOL, Dialect, first, scope, span_name, value

_QUARKUS = span_name(r"^langchain4j\.tools\.(.+)$")
# It tells the texts of all messages as one, a line each, without saying whose they are.
_RUN_TOGETHER = (
    scope(r"^io\.quarkus\b") & span_name(r"^(completion) ").is_not_null() & pl.col("gen_ai.prompt").str.contains("\n")
)

# What a tool threw comes back as a text, on a span that ends well; what it gave, as JSON.
_TOOL = (pl.col("spring.ai.kind") == "tool_call") | pl.col("spring.ai.tool.definition.name").is_not_null()
_GAVE = pl.col("spring.ai.tool.call.result")
_IN_JSON = r'(?s)^(?:".*"|\{.*\}|\[.*\]|-?\d+(?:\.\d+)?|true|false|null)$'

SPRING_AI = Dialect(
    name="spring-ai",
    kind=pl.coalesce(
        [
            value("spring.ai.kind", chat_client=CHAIN, advisor=CHAIN, tool_call=TOOL, vector_store=OTHER),
            pl.when(pl.col("spring.ai.tool.definition.name").is_not_null()).then(pl.lit(TOOL)),
            pl.when(_QUARKUS.is_not_null())
            .then(pl.lit(TOOL))
            .when(pl.col("span.name").str.starts_with("langchain4j.aiservices."))
            .then(pl.lit(CHAIN)),
        ]
    ),
    tool=pl.coalesce([pl.col("spring.ai.tool.definition.name"), _QUARKUS]),
    arguments=first("spring.ai.tool.call.arguments"),
    result=first("spring.ai.tool.call.result"),
    tool_error=pl.when(_TOOL & _GAVE.str.starts_with("Exception occurred in tool: "))
    .then(pl.lit("true"))
    .when(_TOOL & ~_GAVE.str.contains(_IN_JSON).fill_null(value=False))
    .then(pl.lit("unknown")),
    input_messages=pl.when(_RUN_TOGETHER).then(pl.lit(NOTHING)),
    definitions=first("spring.ai.chat.client.tool.names", "spring.ai.model.request.tool.names"),
    conversation=pl.when(pl.col("spring.ai.chat.client.conversation.id") != "default").then(
        pl.col("spring.ai.chat.client.conversation.id")
    ),
)

# LangChain4j's own observation of a model's call has keys of its own for what was used, of an answer alone.
_OBSERVED = pl.when((pl.col("gen_ai.operation.name") == "chat") & pl.col("outcome").is_in(["SUCCESS", "ERROR"]))

# What a tool threw is what it gave, on a span that ends well: under OpenInference, which tells it beside texts that
# tools gave, and under Quarkus until it told of tools by the conventions.
_UNDER_OPENINFERENCE = pl.col("span.name") == "AiService.tool"
_NO_WORDS = r"(?s)^(?:Success|\{.*\}|\[.*\]|-?\d+(?:\.\d+)?|true|false)$"
_UNDER_QUARKUS = _QUARKUS.is_not_null() & pl.col("gen_ai.operation.name").is_null()

LANGCHAIN4J = Dialect(
    name="langchain4j",
    tool_error=pl.when(
        _UNDER_QUARKUS | (_UNDER_OPENINFERENCE & ~pl.col("output.value").str.contains(_NO_WORDS).fill_null(value=False))
    ).then(pl.lit("unknown")),
    input_tokens=_OBSERVED.then(pl.col("input_tokens")),
    output_tokens=_OBSERVED.then(pl.col("output_tokens")),
)

_EMBABEL = pl.col("span.name").str.contains(r"^embabel\.")
_OPERATION = pl.col("gen_ai.operation.name")

# How an agent of Embabel's ended is a word beside a span that ends well, unless something was thrown.
_ENDED = pl.col("embabel.agent.status").str.to_lowercase()
_FAILED = pl.when(_ENDED == "failed").then(pl.lit("failed"))

# Around Spring AI's model calls Embabel puts a span of the whole loop, and after each one that tells what it cost.
EMBABEL = Dialect(
    name="embabel",
    kind=pl.coalesce(
        [
            value("embabel.event.type", agent_process=AGENT, action=CHAIN, tool_call=TOOL, llm_call=CHAIN),
            pl.when(_EMBABEL & (_OPERATION != "execute_tool")).then(pl.lit(OTHER)),
            pl.when(_OPERATION.is_in(["tool_loop", "execute_action"])).then(pl.lit(CHAIN)),
            pl.when(pl.col("embabel.interaction.id").is_not_null()).then(pl.lit(CHAIN)),
        ]
    ),
    agent=first("embabel.agent.name"),
    tool=first("embabel.tool.name"),
    finish=_ENDED.replace_strict(
        {"killed": "aborted", "terminated": "aborted", "waiting": "suspended", "paused": "suspended"},
        default=None,
        return_dtype=pl.String,
    ),
    error_type=pl.coalesce([first("embabel.tool.error.type"), _FAILED]),
    error_text=pl.coalesce([first("embabel.tool.error.message"), _FAILED]),
)
