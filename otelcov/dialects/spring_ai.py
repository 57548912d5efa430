"""Spring AI and Quarkus LangChain4j (Micrometer to OpenTelemetry): every value is text."""

import polars as pl

from otelcov.dialects.base import CHAIN, OTHER, TOOL, Dialect, first, span_name, value

_QUARKUS = span_name(r"^langchain4j\.tools\.(.+)$")

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
    definitions=first("spring.ai.chat.client.tool.names", "spring.ai.model.request.tool.names"),
    conversation=pl.when(pl.col("spring.ai.chat.client.conversation.id") != "default").then(
        pl.col("spring.ai.chat.client.conversation.id")
    ),
)
