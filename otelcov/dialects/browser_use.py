"""browser-use under Laminar: what a model wants done in a browser is told as tools, each by its name, in a frame that
repeats it, and what came of it as an object of browser-use's own. `done` is how it ends."""

import polars as pl

from otelcov.dialects.base import OTHER, TOOL, Dialect

_INPUT, _OUTPUT = pl.col("lmnr.span.input").str, pl.col("lmnr.span.output")
_ACTION = pl.when(
    (pl.col("lmnr.span.type") == "TOOL")
    & (_INPUT.extract(r'^\{"action": ?"([^"\\]+)", ?"params": ?\{') == pl.col("span.name"))
)
_CAME = _OUTPUT.str.contains(r'^\{"is_done": ?') & _OUTPUT.str.contains('"extracted_content":', literal=True)
_ERROR = _OUTPUT.str.json_path_match("$.error")

BROWSER_USE = Dialect(
    name="browser-use",
    kind=_ACTION.then(pl.when(pl.col("span.name") == "done").then(pl.lit(OTHER)).otherwise(pl.lit(TOOL))),
    arguments=_ACTION.then(_INPUT.json_path_match("$.params")),
    result=_ACTION.then(
        pl.when(_CAME).then(pl.coalesce([_OUTPUT.str.json_path_match("$.extracted_content"), _ERROR, _OUTPUT]))
    ),
    error_text=_ACTION.then(pl.when(_CAME).then(_ERROR)),
    tool_error=_ACTION.then(pl.when(_CAME & _ERROR.is_not_null()).then(pl.lit("true"))),
)
