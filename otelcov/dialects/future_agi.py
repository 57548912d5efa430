"""Future AGI's traceAI: OpenInference's instrumentations with keys of its own.

The model that was asked for is one of a request's parameters; in the place of its name stands the one that answered,
where the answer is told. Those of OpenAI's agents are the answer's own.
"""

import polars as pl

from otelcov.dialects.base import AGENT, LLM, NOTHING, TOOL, Dialect, answered_by, first, json_text, scope, value

_KIND = first("gen_ai.span.kind", "fi.span.kind").str.to_uppercase()
_PARAMETERS = pl.col("gen_ai.request.parameters")
_NAMED = pl.col("gen_ai.request.model")
# The kind is told last, and dropped first.
_OF_CLIENT = scope(r"^traceai_(?:openai|anthropic|google_genai)$").fill_null(value=False)
_LLM = (_KIND == "LLM").fill_null(value=False) | (_KIND.is_null() & _OF_CLIENT)
_TOLD = _LLM & _PARAMETERS.is_not_null()
_OF_ANSWER = _PARAMETERS.str.starts_with('{"id": "resp_')
_OF_GEMINI = scope(r"^traceai_google_genai$")  # whose parameters leave it out
_ASKED = pl.coalesce(
    [
        pl.when(~_OF_ANSWER).then(json_text("gen_ai.request.parameters", "model", "model_name")),
        pl.when(_OF_GEMINI).then(json_text("input.value", "model")),
    ]
)
_OVERWRITTEN = _OF_CLIENT & first("gen_ai.usage.input_tokens", "output.value").is_not_null()
# Of a chat the first message alone, whose it is is told with the others.
_FIRST_SAID = (
    scope(r"^traceai_openai$")
    & (pl.col("span.name") == "ChatCompletion")
    & (pl.col("input.mime_type") == "application/json")
    & ~pl.col("input.value").str.contains(r"^[\[{]")
)
_FIRST_GIVEN = r'^\{"args": \[\{"entity_type": "agent", "id": "[^"]*", "role": "([^"\\]*)"'

FUTURE_AGI = Dialect(
    name="future-agi",
    # Haystack's agent is a component of a pipeline like any other, and nothing is told of what it does.
    kind=pl.when(scope(r"^traceai_haystack$") & (pl.col("span.name") == "Agent.run")).then(pl.lit(AGENT)),
    # A task of CrewAI's tells whose it is only by what it was given.
    agent=pl.when(scope(r"^traceai_crewai$") & (_KIND == "AGENT")).then(
        pl.col("input.value").str.extract(_FIRST_GIVEN)
    ),
    request_model=pl.when(_LLM & (_PARAMETERS.is_not_null() | _OVERWRITTEN)).then(
        pl.coalesce([_ASKED, pl.when(_OF_ANSWER.fill_null(value=False) | _OVERWRITTEN).then(pl.lit(NOTHING))])
    ),
    response_model=pl.when(_LLM & _OVERWRITTEN | _TOLD & (_OF_ANSWER | (_NAMED != _ASKED)))
    .then(_NAMED)
    .when(_TOLD)
    .then(answered_by("output.value")),
    input=pl.when(_FIRST_SAID).then(pl.lit(NOTHING)),
    input_messages=pl.when(_FIRST_SAID).then(pl.lit(NOTHING)),
    definitions=pl.when(_TOLD & pl.col("gen_ai.tool.definitions").is_null()).then(_PARAMETERS),
)

# Of Pydantic AI it tells the runs of agents, with all their models' tokens, and what a program wraps by itself.
FUTURE_AGI_PYDANTIC = Dialect(
    name="future-agi-pydantic",
    kind=value("pydantic_ai.span_kind", agent_run=AGENT, stream=AGENT, model_request=LLM, tool_call=TOOL),
    agent=first("pydantic_ai.agent.name"),
    tool=first("pydantic_ai.tool.name"),
    arguments=first("pydantic_ai.tool.args"),
    result=first("pydantic_ai.tool.result"),
    tool_error=first("pydantic_ai.tool.is_error"),
    input=first("pydantic_ai.run.prompt"),
    output=first("pydantic_ai.run.result"),
    error_type=first("pydantic_ai.error.type"),
    error_text=first("pydantic_ai.error.message", "pydantic_ai.tool.error_message"),
)
