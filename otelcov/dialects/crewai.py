"""CrewAI: names and definitions that stand in attributes of its own, under OpenInference and OpenLLMetry."""

import polars as pl

from otelcov.dialects.base import CHAIN, NOTHING, OTHER, Dialect, first, scope, span_name

_OURS = scope(r"crewai")
_TOOL = _OURS & (pl.col("openinference.span.kind").str.to_uppercase() == "TOOL")

# Early OpenInference (0.1.8) wrote down what methods were given: a tool's call as text, and all of a task's agent.
_CALLING = pl.col("input.value").str.json_path_match("$.calling")
_USED = pl.when(_TOOL & (pl.col("span.name") == "ToolUsage._use") & _CALLING.is_not_null())
_TASK = pl.when(_OURS & (pl.col("span.name") == "Task._execute_core"))

# OpenLIT calls every method of a flow an agent, and what runs an agent is a flow: such spans have no agent's name.
_OPENLIT = scope(r"^openlit\.instrumentation\.crewai$").fill_null(value=False)
_METHOD = (
    _OPENLIT & pl.col("span.name").str.contains(r"^invoke_agent [a-z_0-9]+$") & pl.col("gen_ai.agent.name").is_null()
)
_RUNS_AN_AGENT = _OPENLIT & (pl.col("span.name") == "invoke_workflow AgentExecutor")

# Splunk's calls the crew around all an agent, and an agent is told its task, and after that what to make of it.
_SPLUNKS = scope(r"^opentelemetry\.util\.genai\.handler$") & (pl.col("gen_ai.framework") == "crewai")
_CREW = (_SPLUNKS & (pl.col("gen_ai.conversation_root").str.to_lowercase() == "true")).fill_null(value=False)

# LoongSuite's says that the crew is asked what its tasks are filled in with, and of each task what it is.
_UNFILLED = pl.col("gen_ai.input.messages").str.json_path_match("$[0].parts[0].content") == "{}"
_CREWS = pl.col("gen_ai.crewai.component").is_not_null()

# CrewAI itself says the same: what its tasks are filled in with, if anything.
_BARE = scope(r"^crewai$") & pl.col("crewai.crew.inputs").is_in(["null", "{}"])

# What a flow's method is given that listens to another is what that put out: no words of anybody.
_LISTENS = pl.col("flow.node.type").is_in(["listen", "router"])

CREWAI = Dialect(
    name="crewai",
    kind=pl.when(
        _OURS & pl.col("span.name").str.contains(r"\.(task|workflow)$") & pl.col("gen_ai.agent.name").is_null()
    )
    .then(pl.lit(CHAIN))
    .when(_METHOD | _RUNS_AN_AGENT | _CREW)
    .then(pl.lit(CHAIN))
    .when(scope(r"^crewai\.telemetry$"))
    .then(pl.lit(OTHER)),
    agent=pl.coalesce(
        [
            first("crewai.agent.role"),
            pl.when(_METHOD | _RUNS_AN_AGENT | _CREW).then(pl.lit(NOTHING)),
            _TASK.then(pl.col("input.value").str.extract(r"^\{\"agent\": \"[^\"]*? role='([^']+)' goal=")),
            _TASK.then(pl.col("output.value").str.extract(r'"agent": "([^"\\]+)", "output_format": "\w+"\}$')),
        ]
    ),
    tool=pl.when(_TOOL & (pl.col("span.name") != "ToolUsage._use")).then(span_name(r"^'?(.+?)'?(?:\.run|\._?use)$")),
    arguments=_USED.then(_CALLING.str.extract(r"(?s) arguments=(\{.*\})$").fill_null(NOTHING)),
    definitions=first("crewai.agent.tools", "crewai.task.tools"),
    input=pl.coalesce(
        [
            first("crewai.task.description", "gen_ai.crewai.task.description"),
            pl.when((_CREWS & _UNFILLED) | _BARE).then(pl.lit(NOTHING)),
            pl.when(_LISTENS).then(pl.lit("{}")),
            pl.when(_SPLUNKS).then(pl.col("gen_ai.input.messages").str.json_path_match("$[0].parts[0].content")),
        ]
    ),
    output=pl.coalesce([first("crewai.crew.result"), pl.when(_METHOD | _RUNS_AN_AGENT).then(pl.lit(NOTHING))]),
)
