"""Monocle: what a span is in `span.type`, what it is about in numbered entities (the agent, the tool, the model).

What was said, and what a call used, stands in events: what somebody was given as texts, of which a request's is the
only one, and what came of it as one text - a model's under the role of who said it. Of what a model asked for
LangChain's tells the first alone, and a stream's no arguments: these are left alone. Of Strands' tools those of
one turn are one span, named by the first, with what came of the last."""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, LLM, OTHER, TOOL, Dialect, as_message, first, of_event, scope

_MINE = scope(r"^monocle_apptrace")
_TASK = pl.col("span.name").str.starts_with("crewai.task.")  # called an agent, as is whoever does it
_TYPE = pl.when(_MINE).then(pl.when(_TASK).then(pl.lit("agentic.turn")).otherwise(pl.col("span.type")))
_IS_TOOL = pl.col("span.type").str.contains(r"^agentic\.(?:tool|mcp)\.invocation$")
_ASKS = _TYPE.is_in(["agentic.turn", "agentic.invocation"])
_CALLS = _TYPE.is_in(["inference", "inference.framework"])
_MANY = pl.col("span.name").str.contains(r"^strands\..*\._execute$")
_GIVEN = pl.col(of_event("data.input", "input"))
_CAME = pl.when(pl.col(of_event("data.output", "error_code")).is_null()).then(
    pl.col(of_event("data.output", "response"))
)
_WANTS = pl.col("span.subtype").is_in(["tool_call", "delegation"]).fill_null(value=False)
_ONE = r'^\["(?:[^"\\]|\\.)*"\]$'
_SAID = pl.when(~_WANTS & _CAME.str.contains(r'^\{"(?:ai|assistant)": ?"')).then(_CAME)
_ASKED = pl.when(_CAME.str.contains(r'^\{"assistant": ?\[\{"tool_id": ?"')).then(
    _CAME.str.json_path_match("$.assistant")
)
_REASON = pl.col(of_event("metadata", "finish_reason"))
_WHY = pl.when(_REASON != "FUNCTION_CALL").then(_REASON)  # Gemini's, which gives none such
_OF_CALL = ("id", "name", "arguments")
_OWNER = pl.when(pl.col("entity.2.type").str.starts_with("agent.")).then(pl.col("entity.2.name"))

MONOCLE = Dialect(
    name="monocle",
    kind=_TYPE.replace_strict(
        {
            "workflow": CHAIN,
            "agentic.turn": CHAIN,
            "agentic.invocation": AGENT,
            "agentic.delegation": OTHER,  # that of the tool which bears its agent's name
            "agentic.tool.invocation": TOOL,
            "agentic.mcp.invocation": TOOL,
            "inference": LLM,
            "inference.framework": LLM,
            "inference.modelapi": OTHER,  # the client's part of a framework's call
            "retrieval": OTHER,
            "embedding": OTHER,
        },
        default=None,
        return_dtype=pl.String,
    ),
    agent=pl.when(_TYPE == "agentic.invocation").then(pl.col("entity.1.name")).when(_MINE & _IS_TOOL).then(_OWNER),
    tool=pl.when(_MINE & _IS_TOOL).then(pl.col("entity.1.name")),
    request_model=pl.when(_TYPE.str.starts_with("inference")).then(pl.col("entity.2.name")),
    input_tokens=pl.when(_CALLS).then(first(of_event("metadata", "prompt_tokens"))),
    output_tokens=pl.when(_CALLS).then(first(of_event("metadata", "completion_tokens"))),
    # Where no reason is told: that the model asked for a tool, or for one that hands over.
    finish=pl.when(_CALLS).then(pl.coalesce([_WHY, pl.when(_WANTS).then(pl.lit("tool_calls"))])),
    output_messages=pl.when(_CALLS).then(
        pl.coalesce(
            pl.concat_str(
                pl.lit('[{"role":"assistant","tool_calls":'),
                _ASKED.str.replace_many([f'"tool_{key}":' for key in _OF_CALL], [f'"{key}":' for key in _OF_CALL]),
                pl.lit("}]"),
            ),
            as_message(pl.coalesce([_SAID.str.json_path_match(f"$.{role}") for role in ("ai", "assistant")])),
        )
    ),
    arguments=pl.when(_MINE & _IS_TOOL).then(_GIVEN),
    result=pl.when(_MINE & _IS_TOOL & ~_MANY).then(_CAME),
    tool_error=pl.when(_MINE & _IS_TOOL & _MANY).then(pl.lit("unknown")),
    input=pl.when(_ASKS).then(
        pl.when(_GIVEN.str.contains(_ONE))
        .then(_GIVEN.str.json_path_match("$[0]"))
        .when(~_GIVEN.str.contains(r"^[\[{]"))
        .then(_GIVEN)
    ),
    output=pl.when(_ASKS & ~_CAME.str.starts_with("WorkflowHandler(")).then(_CAME),
    conversation=pl.when(_MINE).then(pl.col("scope.agentic.session")),
    # Who called an agent of a graph; where a tool did, its span shows it.
    from_agent=pl.when(_TYPE == "agentic.invocation").then(pl.col("entity.1.from_agent")),
)
