"""LiteLLM's `otel` callback: one `raw_gen_ai_request` per call, its facts as Python literals under the provider's name.

The callback also writes GenAI attributes onto whatever span is current, the last call over the ones before, or the
first alone (1.110, as `arize` and `langfuse_otel` do); the raw span is the one that can be believed.
"""

import polars as pl

from otelcov.dialects.base import DATED, LLM, NOTHING, OTHER, Dialect, first

_RAW = pl.col("span.name") == "raw_gen_ai_request"
_PROVIDERS = (
    "openai",
    "azure",
    "anthropic",
    "gemini",
    "vertex_ai",
    "bedrock",
    "groq",
    "ollama",
    "mistral",
    "openai_like",
    "hosted_vllm",
)


def _keys(*names: str) -> pl.Expr:
    return first(*(f"llm.{p}.{n}" for n in names for p in _PROVIDERS))


def _number(name: str) -> pl.Expr:
    return _keys("usage").str.extract(rf"['\"]{name}['\"]:\s*(\d+)")


# Of a stream it tells the model that was asked for as the one that answered, its proxy that by which users know it.
_STREAM = ((pl.col("span.name") == "litellm_request") | (pl.col("scope.name") == "litellm")) & (
    first("llm.is_streaming", "litellm.request.streaming").str.to_lowercase() == "true"
)
_SAID = first("gen_ai.response.model", "llm.response.model")  # the latter of its callbacks for Phoenix and Langfuse
_ECHO = pl.when(
    (_STREAM & (first("gen_ai.request.model", "llm.model_name") == _SAID))
    | ((pl.col("span.name") == "litellm_request") & (pl.col("litellm.model_group") == _SAID))  # the proxy's own name
    | (_RAW & (_keys("stream").str.to_lowercase() == "true") & ~_keys("model").str.contains(DATED))
).then(pl.lit(NOTHING))

# A span of the program's own: what was called first, or last, of all within it.
_BORROWED = first("litellm.call_id", "litellm.trace_id", "litellm.cache_hit").is_not_null() & ~(
    pl.col("scope.name") == "litellm"
)

_ASIDE = _keys("data", "embeddings", "embedding", "results").is_not_null() & _keys("choices", "content").is_null()
_TYPE = pl.when(pl.col("span.name") == "litellm_request").then(pl.col("llm.request.type"))

LITELLM = Dialect(
    name="litellm",
    kind=pl.when((_RAW & _ASIDE) | _TYPE.str.contains("embedding|rerank|moderation|image|speech|transcription"))
    .then(pl.lit(OTHER))
    .when(
        _RAW | _TYPE.str.contains("completion|response|message")
    )  # of what failed, or is not logged, there is no raw one
    .then(pl.lit(LLM)),
    request_model=pl.when(_RAW & (_keys("stream").str.to_lowercase() == "true") & _keys("id").is_null()).then(
        _keys("model")  # of an answer in pieces the raw span has what was asked alone
    ),
    response_model=pl.coalesce([_ECHO, pl.when(_RAW).then(_keys("model"))]),
    response_id=pl.when(_RAW).then(_keys("id")),
    input_tokens=pl.when(_RAW).then(pl.coalesce(_number("prompt_tokens"), _number("input_tokens"))),
    output_tokens=pl.when(_RAW).then(pl.coalesce(_number("completion_tokens"), _number("output_tokens"))),
    input_messages=pl.when(_RAW).then(_keys("messages", "contents")),
    output_messages=pl.when(_RAW).then(_keys("choices", "content", "candidates")),
    definitions=pl.when(_RAW).then(_keys("tools")),
    tool_error=pl.when(_BORROWED).then(pl.lit("borrowed")),
)
