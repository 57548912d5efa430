"""BeeAI under OpenInference: every event of a step is a span of the step's kind in it, without a class of its own.

In JavaScript, and in Python at first, a step has no span but its events: that it began, how it went and that it is
over. How it went tells of a model's answer or a tool's result; what a tool does lies in its beginning. The name is the
event's, its number after it, with the tool's in it; a step of an agent around it tells the tool by its own name.
"""

import polars as pl

from otelcov.dialects.base import AGENT, CHAIN, LLM, NOTHING, OTHER, TOOL, Dialect, scope

_PYTHON = scope(r"^openinference\.instrumentation\.beeai$")
# A span with more attributes than it may have has lost what it began with: its name tells of which event it is.
_NAMED = pl.col("span.name").str.extract(r"^((?:agent|backend|tool)\.[\w.]+\.\w+)-\d+$")
_TARGET = pl.coalesce(pl.col("target"), _NAMED)
_FIRST = _PYTHON & (_TARGET.is_not_null() | pl.col("beeai.version").is_not_null())

BEEAI = Dialect(
    name="beeai",
    kind=pl.when(
        _PYTHON & ~_FIRST & pl.col("openinference.span.kind").is_not_null() & pl.col("metadata.class_name").is_null()
    ).then(pl.lit(OTHER)),
)

_JS = scope(r"^@arizeai/openinference-instrumentation-beeai$") | _FIRST
_EVENT = pl.when(_JS).then(_TARGET)
_TELLS = _EVENT.str.contains(r"\.(?:success|error|toolStart)$")
_KIND = pl.col("openinference.span.kind").str.to_uppercase()
_IS_TOOL = _TELLS & (_KIND == "TOOL")
# The way in which its agents hand in their answer is a tool, too. Where the answer is hidden, its name alone tells.
_HANDED_IN = _EVENT.str.ends_with(".finalAnswer.success") & pl.col("output.value").is_null()
_FAILED = pl.when(_EVENT.str.ends_with(".error"))
_PRINTED = pl.col("output.value").str.extract(r"""(?s)^\{'role': 'assistant', 'text': ['"](.*)['"]\}$""")
_PLAIN = _PRINTED.str.replace_all(r"\n", "\n", literal=True).str.replace_all(r"\'", "'", literal=True)

BEEAI_JS = Dialect(
    name="beeai-js",
    kind=pl.when(_JS & (_KIND == "AGENT") & (_EVENT.is_null() | _EVENT.str.ends_with(".start")))
    .then(pl.lit(AGENT))
    .when(_TELLS & (_KIND == "LLM"))
    .then(pl.lit(LLM))
    .when(_IS_TOOL & ~_HANDED_IN.fill_null(False))
    .then(pl.lit(TOOL))
    .when(_JS)
    .then(pl.lit(CHAIN)),
    tool=pl.when(_FIRST & (_KIND == "AGENT")).then(pl.col("tool.name")),
    output=pl.when(_FIRST & _PRINTED.str.contains(r"\\[^n']")).then(pl.lit(NOTHING)).when(_FIRST).then(_PLAIN),
    arguments=pl.when(_JS & (_KIND == "TOOL")).then(pl.col("tool.parameters")),
    result=pl.when(_IS_TOOL).then(
        pl.coalesce(pl.col("output.value").str.json_path_match("$.result"), pl.col("output.value"))
    ),
    error_type=_FAILED.then(pl.col("exception.type")),
    error_text=_FAILED.then(pl.col("exception.message")),
)
