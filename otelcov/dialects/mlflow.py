"""MLflow tracing exported over OTLP: `mlflow.spanType`, JSON in `mlflow.spanInputs` / `mlflow.spanOutputs`."""

import polars as pl

from otelcov.dialects.base import (
    AGENT,
    CHAIN,
    EVALUATION,
    LLM,
    OTHER,
    TOOL,
    Dialect,
    answered_by,
    first,
    json_number,
    json_text,
    scope,
)

_NAME = pl.col("span.name").str.replace(r"_\d+$", "")
# Before 3.17 Pydantic AI's agents and tools are of a type that is not known where Pydantic AI came without MCP's kit.
_GIVEN = pl.col("mlflow.spanType").str.strip_chars('"').str.to_lowercase()
_HANDLES = (_GIVEN == "unknown") & (_NAME == "ToolManager.handle_call")
_TYPE = (
    pl.when((_GIVEN == "unknown") & _NAME.str.contains(r"^Agent\.run\w*$"))
    .then(pl.lit("agent"))
    .when(_HANDLES)
    .then(pl.lit("tool"))
    .otherwise(_GIVEN)
)


def _told(key: str) -> pl.Expr:
    """A text among an object's own fields, which are attributes, as JSON."""
    return pl.when(_TYPE.is_not_null()).then(pl.col(key).str.extract(r'^"(.+)"$'))


_ASKED, _ANSWERED = _told("model"), pl.col("mlflow.llm.model").str.strip_chars('"')

# In 2.21 the messages of a chat end with the answer, of which outputs may leave out the calls (LangChain).
_LAST = pl.col("mlflow.chat.messages").str.json_path_match("$[-1:]")
_SAID = _LAST.str.json_path_match("$.role") == "assistant"
_OUTPUTS = pl.when(_TYPE.is_in(["llm", "chat_model"]) & pl.col("mlflow.chat.tokenUsage").is_null())

# A team of Strands is told as an agent; a tool of smolagents or of LlamaIndex by its class, and at most a field names
# it.
_TEAM = first("gen_ai.operation.name", "span.name").is_in(["invoke_graph", "invoke_swarm"]).fill_null(value=False)
_CLASS = _NAME.str.contains(r"\.__call__$|^\w*FunctionTool\.a?call$")

# Of a stream that was not read as one, its class stands for what came (Bedrock's, LlamaIndex's, that of OpenAI's kit).
_PUT_OUT = pl.when(
    ~pl.col("mlflow.spanOutputs").str.ends_with('"body": "EventStream"}')
    & ~pl.col("mlflow.spanOutputs").str.contains(r'^"<(?:(?:async_)?generator object |\w*APIResponse \[)')
).then(pl.col("mlflow.spanOutputs"))

# AutoGen's agents stand before the method that ran, where other kits' classes do.
_OF_AUTOGEN = pl.when(
    _NAME.str.ends_with(".on_messages")
    | pl.col("mlflow.spanOutputs").str.contains('"models_usage"', literal=True).fill_null(value=False)
).then(_NAME.str.extract(r"^(\w+)\.(?:run|on_messages)$"))

MLFLOW = Dialect(
    name="mlflow",
    # DSPy's ReAct calls a tool of its own to say that it is done, and smolagents one to hand in its answer.
    kind=pl.when((_TYPE == "tool") & _NAME.is_in(["Tool.finish", "FinalAnswerTool.__call__"]))
    .then(pl.lit(OTHER))
    .when(_NAME.str.ends_with("._prepare_chat_with_tools"))  # LlamaIndex makes a request ready
    .then(pl.lit(OTHER))
    .when((_TYPE == "agent") & _TEAM)
    .then(pl.lit(CHAIN))
    .otherwise(
        _TYPE.replace_strict(
            {
                "agent": AGENT,
                "tool": TOOL,
                "llm": LLM,
                "chat_model": LLM,
                "chain": CHAIN,
                "workflow": CHAIN,
                "task": CHAIN,
                "retriever": OTHER,
                "embedding": OTHER,
                "parser": OTHER,
                "reranker": OTHER,
                "memory": OTHER,
                "guardrail": OTHER,
                "evaluator": EVALUATION,
            },
            default=None,
            return_dtype=pl.String,
        )
    ),
    agent=pl.when((_TYPE == "agent") & ~_TEAM).then(
        pl.coalesce(
            [
                pl.col("mlflow.agent.name"),
                pl.col("span.name").str.extract(r"^invoke_agent (\S.*)$"),
                _OF_AUTOGEN,
                pl.when(~_NAME.str.contains(r"^\w+\.\w+$")).then(_NAME),
                pl.when(_told("name") != "None").then(_told("name")),
                pl.when(_told("_name") != "None").then(_told("_name")),
            ]
        )
    ),
    tool=pl.when((_TYPE == "tool") & _CLASS)
    .then(_told("name"))
    .when(_HANDLES)
    .then(pl.col("mlflow.spanInputs").str.json_path_match("$.call.tool_name"))
    .when(_TYPE == "tool")
    .then(_NAME.str.replace(r"^Tool\.", "")),  # DSPy's class and the tool's name
    call_id=pl.when(_HANDLES).then(pl.col("mlflow.spanInputs").str.json_path_match("$.call.tool_call_id")),
    arguments=pl.when(_HANDLES)
    .then(pl.col("mlflow.spanInputs").str.json_path_match("$.call.args"))
    .when(_TYPE == "tool")
    .then(first("mlflow.spanInputs")),
    result=pl.when((_TYPE == "tool") & (pl.col("mlflow.spanOutputs") != "null")).then(first("mlflow.spanOutputs")),
    request_model=pl.coalesce(
        [
            pl.when(_told("object").is_null()).then(_ASKED),
            _ANSWERED,
            pl.col("mlflow.spanInputs").str.extract(r'"model":\s*"([^"]+)"'),
            pl.when(_TYPE.is_not_null()).then(json_text("invocation_params", "model", "model_name")),
        ]
    ),
    response_model=pl.coalesce(
        [
            pl.when(_ANSWERED != _ASKED).then(_ANSWERED),
            _OUTPUTS.then(answered_by("mlflow.spanOutputs")),
            _OUTPUTS.then(
                pl.col("mlflow.spanOutputs").str.extract(r'"model": "([^"\\]+)", "object": "chat\.completion"')
            ),
        ]
    ),
    input_tokens=pl.coalesce(
        [
            json_number("mlflow.chat.tokenUsage", "input_tokens"),
            _OUTPUTS.then(json_number("mlflow.spanOutputs", "prompt_tokens")),
        ]
    ),
    output_tokens=pl.coalesce(
        [
            json_number("mlflow.chat.tokenUsage", "output_tokens"),
            _OUTPUTS.then(json_number("mlflow.spanOutputs", "completion_tokens")),
        ]
    ),
    finish=_OUTPUTS.then(json_text("mlflow.spanOutputs", "finish_reason")),
    input_messages=pl.coalesce(
        [pl.when(_SAID).then(pl.col("mlflow.spanInputs")), first("mlflow.chat.messages", "mlflow.spanInputs")]
    ),
    output_messages=pl.coalesce([pl.when(_SAID).then(_LAST), _PUT_OUT]),
    input=first("mlflow.spanInputs"),
    output=_PUT_OUT,
    definitions=pl.coalesce(
        [
            pl.col("mlflow.chat.tools"),
            pl.col("mlflow.spanInputs").str.extract(r'(?s)"function_tools": (\[.*?\]), "\w+_tools": \['),
        ]
    ),
    conversation=first("mlflow.trace.session"),
    # A function that was called off neither gave anything, not even null, nor threw an Exception: its span ends well.
    tool_error=pl.when(
        pl.col("mlflow.spanFunctionName").is_not_null()
        & pl.col("mlflow.spanInputs").is_not_null()
        & pl.col("mlflow.spanOutputs").is_null()
    ).then(pl.lit("unknown")),
)

# Told by the conventions' names, at will, an agent without a name of its own bears that of the method that ran it, and
# a tool of DSPy that of its class before its own.
_OURS = scope(r"^mlflow\.")
_AGENT_NAME, _TOOL_NAME = (pl.col(f"gen_ai.{of}.name").str.replace(r"_\d+$", "") for of in ("agent", "tool"))

MLFLOW_METHODS = Dialect(
    name="mlflow-methods",
    kind=pl.when(_OURS & (_TOOL_NAME == "Tool.finish")).then(pl.lit(OTHER)),
    agent=pl.when(_OURS & _AGENT_NAME.str.contains(r"^\w+\.\w+$")).then(
        pl.coalesce([pl.col("name").str.extract(r'^"(.+)"$'), pl.lit("unknown")])
    ),
    # The conventions' name for the model that was asked for is given to the one that answered.
    request_model=pl.when(_OURS & pl.col("object").is_null()).then(pl.col("model").str.extract(r'^"(.+)"$')),
    tool=pl.when(_OURS & _TOOL_NAME.str.contains(r"^Tool\.")).then(_TOOL_NAME.str.replace(r"^Tool\.", "")),
)
