"""Runs as the contract's JSON lines.

The text is put together by columns: a run costs microseconds instead of the fraction of a millisecond that Python
dictionaries take, and a million runs are no unusual window. `run_json` says the same of one row.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.schemas import LLM_CALL, TOOL_CALL

_CHUNK = 10_000  # runs whose text is in memory at one time
_BEFORE_CALLS = (
    *("run_id", "trace_ids", "conversation_id", "case", "service", "environment", "release", "side"),
    *("start_unix_nano", "end_unix_nano", "settled", "status", "input", "output"),
    *("agents", "known_tools", "known_tools_source"),
)
_AFTER_CALLS = ("llm_calls", "delegations", "boundaries", "boundaries_unknown", "path", "states", "incomplete")
_JSON_ALREADY = ("arguments", "result")  # columns that hold JSON text


def json_lines(runs: pl.DataFrame, config: Config) -> Iterator[str]:
    """The lines of RUNS rows, some thousand at a time, each with its line feed."""
    for some in runs.iter_slices(_CHUNK):
        lines = some.select(_line(_sides(some, config)))
        yield "".join(f"{line}\n" for line in lines.to_series())


def _line(side: pl.Expr) -> pl.Expr:
    before = pl.struct([side if name == "side" else pl.col(name) for name in _BEFORE_CALLS]).struct.json_encode()
    after = pl.struct(_without_times("llm_calls", LLM_CALL), *_AFTER_CALLS[1:]).struct.json_encode()
    calls = pl.col("tool_calls").list.eval(_call(pl.element())).list.join(",")
    told = pl.when(pl.col("tool_calls").is_null()).then(pl.lit("null")).otherwise(pl.format("[{}]", calls))
    return pl.concat_str(before.str.head(-1), pl.lit(',"tool_calls":'), told, pl.lit(","), after.str.slice(1))


def _call(call: pl.Expr) -> pl.Expr:
    """One tool call; what it was given and gave back is JSON already and goes in as it is."""
    names = _timeless(TOOL_CALL)
    parts: list[pl.Expr] = []
    while names:
        if names[0] in _JSON_ALREADY:
            name = names.pop(0)
            parts.append(pl.format('"{}":{}', pl.lit(name), call.struct.field(name).fill_null("null")))
            continue
        some = []
        while names and names[0] not in _JSON_ALREADY:
            some.append(call.struct.field(names.pop(0)))
        parts.append(pl.struct(some).struct.json_encode().str.slice(1).str.head(-1))
    return pl.format("{}{}{}", pl.lit("{"), pl.concat_str(parts, separator=","), pl.lit("}"))


def _without_times(name: str, kind: pl.Struct) -> pl.Expr:
    fields = [pl.element().struct.field(field) for field in _timeless(kind)]
    return pl.col(name).list.eval(pl.struct(fields)).alias(name)


def _timeless(kind: pl.Struct) -> list[str]:
    return [field.name for field in kind.fields if not field.name.endswith("_unix_nano")]


def _sides(runs: pl.DataFrame, config: Config) -> pl.Expr:
    names = {name: config.side(name) for name in runs["environment"].drop_nulls().unique().to_list()}
    environment = pl.col("environment")
    return environment.replace_strict(names, default=pl.lit("unspecified"), return_dtype=pl.String).alias("side")
