"""LlamaIndex's own OpenTelemetry (`llama-index-observability-otel`): methods by name, steps of workflows by what they
were given, printed and cut after some 200 letters; a model's call by an event before and one after it."""

import polars as pl

from otelcov.dialects.base import CHAIN, LLM, OTHER, TOOL, Dialect, of_event, scope

_OURS = scope(r"^llamaindex\.opentelemetry\.tracer$")
_GIVEN = pl.col("llamaindex.step.input_summary")  # of a step; whatever works inside it repeats it
_METHOD = pl.col("span.name").str.extract(r"\.([^. ]+)$")
_STEP = _OURS & _METHOD.is_in(["init_run", "setup_agent", "run_agent_step", "parse_agent_output"])
_TOOL = _OURS & (
    (_METHOD == "call_tool") | (_METHOD.is_in(["call", "acall"]) & pl.col("span.name").str.contains(r"Tool\."))
)
# A workflow's own step called it: which tool it is is not told.
_BY_A_STEP = (_METHOD != "call_tool") & (pl.col("llamaindex.step.input_event") != "ToolCall")
_CALL = pl.when(_TOOL & _GIVEN.str.starts_with("ToolCall("))
_STARTS = ("LLMChatStartEvent", "LLMCompletionStartEvent")
_ENDS = ("LLMChatEndEvent", "LLMCompletionEndEvent")


def _told(key: str, *events: str) -> pl.Expr:
    """What any of these events says under a key; they write null as a word."""
    keys = [of_event(event, key) for event in events]
    return pl.coalesce([pl.when(pl.col(k) != "null").then(pl.col(k)) for k in keys])


def _ended(*keys: str) -> pl.Expr:
    return pl.coalesce([_told(key, *_ENDS) for key in keys])


_MODEL = _OURS & pl.any_horizontal([pl.col(of_event(e, "class_name")).is_not_null() for e in (*_STARTS, *_ENDS)])
_CALLS = _ended("response.message.additional_kwargs.tool_calls")
_ANSWER = pl.concat_str(
    pl.lit('[{"role":"assistant","tool_calls":'),
    _CALLS.fill_null("null"),
    pl.lit(',"blocks":'),
    _ended("response.message.blocks"),
    pl.lit("}]"),
)

LLAMA_INDEX_OTEL = Dialect(
    name="llama-index-otel",
    kind=pl.when(_MODEL)
    .then(pl.lit(LLM))
    .when(_TOOL & (_GIVEN.str.starts_with("ToolCall(") | _BY_A_STEP))
    .then(pl.lit(TOOL))
    .when(_OURS & _METHOD.str.contains(r"embed|retrieve|rerank|_prepare_"))
    .then(pl.lit(OTHER))
    .when(_OURS)
    .then(pl.lit(CHAIN)),
    agent=pl.when(_STEP).then(_GIVEN.str.extract(r"\bcurrent_agent_name='([^']+)'\)$")),
    tool=_CALL.then(_GIVEN.str.extract(r"^ToolCall\(tool_name='([^']+)'")),
    call_id=_CALL.then(_GIVEN.str.extract(r"\btool_id='([^']+)'\)$")),
    arguments=_CALL.then(_GIVEN.str.extract(r"(?s)\btool_kwargs=(\{.*\}), tool_id='[^']+'\)$")),
    request_model=pl.when(_MODEL).then(
        pl.coalesce([_told(f"model_dict.{key}", *_STARTS) for key in ("model", "model_name")])
    ),
    response_model=_ended("response.raw.model", "response.raw.model_version"),
    input_tokens=_ended(
        "response.raw.usage.prompt_tokens",
        "response.raw.usage.input_tokens",
        "response.raw.usage_metadata.prompt_token_count",
        "response.additional_kwargs.prompt_tokens",
    ),
    output_tokens=_ended(
        "response.raw.usage.completion_tokens",
        "response.raw.usage.output_tokens",
        "response.raw.usage_metadata.candidates_token_count",
        "response.additional_kwargs.completion_tokens",
    ),
    response_id=_ended("response.raw.id", "response.raw.response_id"),
    finish=pl.coalesce(
        [
            _ended("response.raw.choices").str.extract(r'^\[\{"finish_reason": "(\w+)"'),
            _ended("response.raw.stop_reason", "response.raw.finish_reason"),
            pl.when(_told("reason", "SpanCancelledEvent").is_not_null()).then(pl.lit("canceled")),
        ]
    ),
    input_messages=pl.coalesce([_told("messages", *_STARTS), _told("prompt", *_STARTS)]),
    output_messages=pl.coalesce([_ANSWER, _ended("response.text")]),
    definitions=_told("additional_kwargs.tools", *_STARTS),
    input=pl.when(_OURS).then(_GIVEN.str.extract(r"^AgentWorkflowStartEvent\(user_msg='((?:[^'\\])*)', chat_history=")),
)
