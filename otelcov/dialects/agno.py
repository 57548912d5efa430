"""Agno under OpenInference: agents have names of their own, where they are nodes of a graph by ids, too; before 0.1.9 a
tool that failed put out `None`. Under OpenTelemetry's own, too, what waits or was called off puts out words on that."""

import polars as pl

from otelcov.dialects.base import NOTHING, Dialect, first, json_number, scope

_OURS = scope(r"^openinference\.instrumentation\.agno$")
_KIND = pl.col("openinference.span.kind").str.to_uppercase()
_MUTE = (
    _OURS
    & pl.col("scope.version").str.contains(r"^0\.1\.[0-8]$")
    & (_KIND == "TOOL")
    & (pl.col("output.value") == "None")
)
TO_BE_RUN = "I have tools to execute, but "
"""What it says of all that it has not run yet."""

# What waits for somebody, or was called off, puts out words on that.
_SAYS = pl.when(_OURS & _KIND.is_in(["AGENT", "CHAIN"]))
_WAITS = pl.col("output.value").str.starts_with(TO_BE_RUN) | pl.col("output.value").str.starts_with("Team run paused. ")
_CALLED_OFF = pl.col("output.value").str.contains(r"^(?:Team r|Workflow r|R)un [0-9a-f-]{36} was cancelled$")
_PUT_OUT = pl.col("gen_ai.output.messages").str
_NEWER = pl.when(
    scope(r"^opentelemetry\.instrumentation\.genai\.agno$") & (pl.col("gen_ai.operation.name") == "invoke_agent")
)
_NEWER_WAITS = _PUT_OUT.contains(rf'"content": ?"(?:{TO_BE_RUN}|Team run paused\. )')
_NEWER_CALLED_OFF = _PUT_OUT.contains(r'"content": ?"(?:Team r|R)un [0-9a-f-]{36} was cancelled"')
_ANSWER = pl.when(_OURS & (_KIND == "LLM") & pl.col("llm.token_count.prompt").is_null())

AGNO = Dialect(
    name="agno",
    agent=pl.when(_OURS).then(first("agno.agent", "agno.team")),
    result=pl.when(_MUTE).then(pl.lit(NOTHING)),
    tool_error=pl.when(_MUTE).then(pl.lit("unknown")),
    finish=pl.coalesce(
        [
            on.then(pl.when(waits).then(pl.lit("suspended")).when(called_off).then(pl.lit("aborted")))
            for on, waits, called_off in (
                (_SAYS, _WAITS, _CALLED_OFF),
                (_NEWER, _NEWER_WAITS, _NEWER_CALLED_OFF),
            )
        ]
    ),
    input_tokens=_ANSWER.then(json_number("output.value", "prompt_tokens")),
    output_tokens=_ANSWER.then(json_number("output.value", "completion_tokens")),
    definitions=pl.when(_OURS).then(first("llm.tools", "agno{key_suffix}.tools")),
)
