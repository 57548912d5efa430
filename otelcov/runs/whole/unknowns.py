"""A reason in `incomplete` for every fact of a run that is null, whatever the cause: `told(runs)`.

The causes that only spans show (values cut, attributes dropped, a parent that never came) are found while runs are
put together. This is the rest: what nothing on the wire reports.
"""

from __future__ import annotations

import polars as pl

NO_ROOT = "missing parent"  # of a run whose root has not come: it settles when its trace is quiet, others at once
_CALLS = {
    "arguments not reported": pl.all_horizontal(
        pl.col("arguments", "arguments_text").is_null(), pl.col("status") != "requested"
    ),
    "arguments not parsable": pl.col("arguments").is_null() & pl.col("arguments_text").is_not_null(),
    "results not reported": pl.col("result").is_null() & pl.col("status").is_in(["ok", "unknown"]),
    "tool status not reported": pl.col("status") == "unknown",
    "no agent name": pl.col("agent").is_null(),
}
_MODELS = {
    "model not reported": pl.all_horizontal(pl.col("request_model", "response_model").is_null()),
    "tokens not reported": pl.any_horizontal(pl.col("input_tokens", "output_tokens").is_null())
    & (pl.col("status") != "error"),
    "what came of a model call not reported": pl.col("status") == "unknown",
    "no agent name": pl.col("agent").is_null(),
}
_DELEGATIONS = {"delegation without an agent's name": pl.any_horizontal(pl.col("from", "to").is_null())}
_WHOLE = {
    "tool calls not visible": pl.col("tool_calls").is_null(),
    "model calls not visible": pl.col("llm_calls").is_null(),
    "delegations not visible": pl.col("delegations").is_null(),
    "input not reported": pl.col("input").is_null(),
    "output not reported": pl.col("output").is_null() & (pl.col("status") != "error"),
    "outcome not visible": pl.col("status") == "unknown",
}


def told(runs: pl.DataFrame) -> pl.DataFrame:
    """RUNS rows whose `incomplete` names what is null in them."""
    numbered = runs.with_row_index("run")
    parts = [
        _found(numbered.select("run", *{name for e in _WHOLE.values() for name in e.meta.root_names()}), _WHOLE),
        _found(_items(numbered, "tool_calls"), _CALLS),
        _found(_items(numbered, "llm_calls"), _MODELS),
        _found(_items(numbered, "delegations"), _DELEGATIONS),
        numbered.select("run", reason="incomplete").explode("reason").drop_nulls(),
    ]
    reasons = pl.concat(parts).unique().sort("run", "reason").group_by("run", maintain_order=True).agg("reason")
    joined = numbered.join(reasons, on="run", how="left", maintain_order="left")
    return joined.with_columns(incomplete=pl.col("reason").fill_null([])).select(runs.columns)


def _items(numbered: pl.DataFrame, column: str) -> pl.DataFrame:
    return numbered.select("run", column).explode(column).drop_nulls(column).unnest(column)


def _found(rows: pl.DataFrame, reasons: dict[str, pl.Expr]) -> pl.DataFrame:
    """run, reason: one row for each that holds."""
    which = [pl.when(unknown).then(pl.lit(reason)) for reason, unknown in reasons.items()]
    some = rows.filter(pl.any_horizontal(*reasons.values()))
    return some.select("run", reason=pl.concat_list(which)).explode("reason").drop_nulls().unique()
