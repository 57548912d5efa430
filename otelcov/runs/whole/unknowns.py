"""A reason in `incomplete` for every fact of a run that is null, whatever the cause: `told(runs)`.

The causes that only spans show (values cut, attributes dropped, a parent that never came) are found while runs are
put together. This is the rest: what nothing on the wire reports.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from otelcov.ground.columns import Groups, Ints
from otelcov.ground.masks import true

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
_ITEMS = {"tool_calls": _CALLS, "llm_calls": _MODELS, "delegations": _DELEGATIONS}
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
    found = [_found(runs.select(**_WHOLE), np.arange(runs.height))]
    for column, reasons in _ITEMS.items():
        items, of = _opened(runs[column])
        found.append(_found(items.struct.unnest().select(**reasons), of))
    named, of = _opened(runs["incomplete"])
    table = sorted({reason for some in found for reason in some}.union(named.unique()))
    codes, of_run = {reason: code for code, reason in enumerate(table)}, max(len(table), 1)
    given = of * of_run + named.cast(pl.Enum(table)).to_physical().to_numpy()
    held = (run * of_run + codes[reason] for some in found for reason, run in some.items())
    pairs = np.unique(np.concatenate([given, *held]))
    items = pl.Series("incomplete", table, pl.String)[pairs % of_run]
    lists = Groups(np.arange(runs.height), pairs // of_run).lists(items)
    return runs.with_columns(lists.alias("incomplete"))


def _opened(lists: pl.Series) -> tuple[pl.Series, Ints]:
    """What the lists hold, and the place of the list that holds it."""
    lengths = lists.list.len().fill_null(0).to_numpy()
    return lists.list.explode(empty_as_null=False, keep_nulls=False), np.repeat(np.arange(len(lists)), lengths)


def _found(unknown: pl.DataFrame, of: Ints) -> dict[str, Ints]:
    """By reason the runs of whose rows (`of`) it holds, once each or more."""
    held = ((reason, of[true(unknown[reason])]) for reason in unknown.columns)
    return {reason: runs for reason, runs in held if len(runs)}
