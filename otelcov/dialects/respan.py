"""Respan (formerly Keywords AI): a kind key of its own beside OpenLLMetry's names, its scope empty where a kit's own
tracing was turned into spans."""

import polars as pl

from otelcov.dialects.base import (
    AGENT,
    CHAIN,
    DATED,
    EVALUATION,
    HANDOFF,
    LLM,
    NOTHING,
    OTHER,
    TOOL,
    Dialect,
    first,
    json_text,
    scope,
    value,
)

_TYPE = pl.col("respan.entity.log_type").str.to_lowercase()
_NAME = pl.col("traceloop.entity.name").replace(
    {"codex.command": "command_execution", "codex.web_search": "web_search"}  # as the model is told to have asked
)
_LLM, _TOOL, _HANDOFF = pl.when(_TYPE == "chat"), pl.when(_TYPE == "tool"), pl.when(_TYPE == "handoff")
# What LangChain runs for an agent is a workflow or a task with the agent's name.
_GRAPH = _TYPE.is_in(["workflow", "task"]) & (json_text("langchain.metadata", "lc_agent_name") == _NAME)
_AGENT = pl.when(((_TYPE == "agent") | _GRAPH).fill_null(value=False))
# Methods of kits that OpenInference calls agents: what smolagents' are called, and whose step one of LlamaIndex's is.
_OF_SMOLAGENTS = scope(r"smolagents$")
_OF_AUTOGEN = scope(r"autogen_agentchat$")
_OF_DSPY = _NAME.is_in(["ReAct", "CodeAct", "ChainOfThought", "ProgramOfThought"])  # what makes an agent, not its name
_METHOD = _NAME.str.contains(r"^\w*(?:Agent|Workflow)\w*\.\w+$")
_CALLED = (
    pl.when(_OF_SMOLAGENTS & _NAME.str.contains(r"^\w*Agent\.run$"))
    .then(None)
    .when(_OF_SMOLAGENTS)
    .then(_NAME.str.extract(r"^(.+?)(?:\.run)?$"))
    .when(_OF_AUTOGEN)
    .then(_NAME.str.extract(r"^(.+?)(?:\.(?:on_messages|run)(?:_stream)?)?$"))
    .when((_METHOD & _NAME.str.ends_with(".run")) | _OF_DSPY)
    .then(None)
    .when(_METHOD)
    .then(json_text("traceloop.entity.output", "current_agent_name"))
    .otherwise(_NAME)
)
# One model is in both places, of OpenAI's kit: a response knows the one that answered, a generation the one asked for.
_SAME = (_TYPE == "chat") & (pl.col("gen_ai.request.model") == pl.col("gen_ai.response.model"))
# What OpenAI's kit says of a tool that raised is not what the model was told.
_RAISED = pl.col("traceloop.entity.output").str.contains(
    r'^\{"error":\{"message":".*","status_code":\d+\}\}$|^\{"status": "error", "error": "\w+", "message": "'
)
# A call that failed is told by LlamaIndex's method alone.
_UNANSWERED = (_TYPE == "task") & _RAISED & _NAME.str.contains(r"^\w+\.a?(?:stream_)?(?:chat|complete)\w*$")

# What it says of an agent, a turn or a workflow is what these are made of, and nobody's words.
_MADE_OF = pl.col("traceloop.entity.input").str.contains(
    r'^\{"(?:handoffs":\[|agent_name":"[^"]*","turn":|workflow_name":"|name":"[^"]*"\}$)'
)

# Since respan-sdk 2.9 messages are around what a tool of OpenAI's kit was given and gave; one that waits gave nothing.
_GIVEN = pl.when(pl.col("traceloop.entity.input").str.starts_with('[{"role": "tool", "content": "')).then(
    pl.col("traceloop.entity.input").str.json_path_match("$[0].content")
)
# What a tool was asked for is told with its name: a text of AutoGen's first versions, with an id of Strands for
# JavaScript, with a server's of Codex.
_ASKED = pl.col("traceloop.entity.input").str
_BY_NAME = pl.when(
    _ASKED.contains(r'^\{"name": ?"[^"]*", ?(?:"id": ?"[^"]*", ?"arguments": ?\{|"arguments": ?")')
    & (_ASKED.json_path_match("$.name") == _NAME)
    | _ASKED.contains(r'^\{"server": ?"[^"]*", ?"tool": ?"[^"]*", ?"arguments": ?\{') & _NAME.str.starts_with("mcp__")
).then(_ASKED.json_path_match("$.arguments"))
_FRAMED = pl.col("traceloop.entity.output").str.starts_with('{"role": "tool", "content": "')
_GAVE = pl.when(_FRAMED).then(pl.col("traceloop.entity.output").str.json_path_match("$.content"))
_TWICE = _OF_SMOLAGENTS & pl.col("traceloop.entity.output").str.starts_with('"\\"')  # as JSON, and that as JSON
_UNTOLD = (_TYPE == "tool") & (pl.col("traceloop.entity.output") == '{"role": "tool", "content": ""}')

# Of Agno one call stands for all of a run's, which were asked what came of tools, too, and a tool without a result may
# wait for leave.
_ALL = (_NAME == "model_request") & (pl.col("traceloop.entity.input").str.extract(r'(?s)^.*\{"role":"(\w+)"') == "tool")
_FINISHED = (
    (_TYPE == "tool") & (_NAME == "finish") & (pl.col("traceloop.entity.output").str.strip_chars('"') == "Completed.")
)  # DSPy's ReAct is done
_RESOLVED = _OF_AUTOGEN & pl.col("gen_ai.request.model").str.contains(DATED)
_OPEN = (_TYPE == "tool") & pl.col("agno.tool.name").is_not_null() & pl.col("traceloop.entity.output").is_null()

RESPAN = Dialect(
    name="respan",
    kind=pl.coalesce(
        [
            _AGENT.then(pl.lit(AGENT)),
            pl.when(_UNANSWERED).then(pl.lit(LLM)),
            pl.when(_FINISHED).then(pl.lit(OTHER)),
            value(
                "respan.entity.log_type",
                workflow=CHAIN,
                task=CHAIN,
                custom=CHAIN,
                span=CHAIN,
                chat=LLM,
                text=LLM,
                completion=LLM,
                response=LLM,
                generation=LLM,
                tool=TOOL,
                handoff=HANDOFF,
                guardrail=OTHER,
                embedding=OTHER,
                transcription=OTHER,
                speech=OTHER,
                score=EVALUATION,
            ),
        ]
    ),
    agent=_AGENT.then(_CALLED),
    tool=_TOOL.then(_NAME),
    arguments=_TOOL.then(
        pl.coalesce([_GIVEN, _BY_NAME, first("gen_ai.tool.call.arguments", "traceloop.entity.input")])
    ),
    call_id=_TOOL.then(first("agno.tool.call.id", "respan.metadata.tool_call_id")),
    response_id=_LLM.then(pl.col("respan.metadata.response_id")),
    finish=_LLM.then(pl.col("respan.metadata.stop_reason")),
    tool_error=pl.when(_UNTOLD | _OPEN).then(pl.lit("unknown")).when((_TYPE == "chat") & _ALL).then(pl.lit("shared")),
    result=pl.when((_TYPE == "tool") & _RAISED)
    .then(pl.lit(NOTHING))
    .when((_TYPE == "tool") & _TWICE)
    .then(pl.col("traceloop.entity.output").str.json_path_match("$"))
    .when(_TYPE == "tool")
    .then(pl.coalesce([_GAVE, first("gen_ai.tool.call.result", "traceloop.entity.output")])),
    request_model=pl.when((_SAME & (_NAME == "response")) | _RESOLVED).then(pl.lit(NOTHING)),
    response_model=pl.when(_SAME & (_NAME == "generation"))
    .then(pl.lit(NOTHING))
    .when(_RESOLVED)
    .then(pl.col("gen_ai.request.model")),
    input_messages=_LLM.then(pl.col("traceloop.entity.input")),
    output_messages=_LLM.then(
        pl.when(~pl.col("traceloop.entity.output").str.starts_with('{"error":')).then(pl.col("traceloop.entity.output"))
    ),
    output=pl.when(_TYPE.is_not_null() & _RAISED).then(pl.lit("null")),
    definitions=_LLM.then(pl.col("llm.request.functions")),
    input=pl.when(_TYPE.is_not_null() & _MADE_OF).then(pl.lit("null")),
    conversation=pl.coalesce(
        [
            first("respan.threads.thread_identifier", "respan.sessions.session_identifier"),
            first("respan.trace.trace_group_identifier"),
            pl.when(_TYPE.is_not_null()).then(json_text("langchain.metadata", "thread_id")),
        ]
    ),
    from_agent=_HANDOFF.then(json_text("traceloop.entity.input", "from_agent")),
    to_agent=_HANDOFF.then(json_text("traceloop.entity.output", "to_agent")),
)
