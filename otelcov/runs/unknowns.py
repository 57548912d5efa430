"""A reason in `incomplete` for every fact of a run that is null, whatever the cause: `told(runs)`.

The causes that only spans show (values cut, attributes dropped, a parent that never came) are found while runs are
put together. This is the rest: what nothing on the wire reports.
"""

from __future__ import annotations

import polars as pl

_EXECUTED = pl.element().struct.field("status") != "requested"


def told(runs: pl.DataFrame) -> pl.DataFrame:
    """RUNS rows whose `incomplete` names what is null in them."""
    reasons = [
        pl.when(unknown.fill_null(False)).then(pl.lit(reason)) for reason, unknown in _reasons().items()
    ]
    every = pl.concat_list("incomplete", *reasons).list.drop_nulls().list.unique().list.sort()
    return runs.with_columns(incomplete=every)


def _reasons() -> dict[str, pl.Expr]:
    succeeded = pl.element().struct.field("status") == "ok"
    return {
        "arguments not reported": _any_call(_null("arguments") & _null("arguments_text") & _EXECUTED),
        "arguments not parsable": _any_call(_null("arguments") & _null("arguments_text").not_()),
        "results not reported": _any_call(_null("result") & succeeded),
        "tool status not reported": _any_call(pl.element().struct.field("status") == "unknown"),
        "no agent name": _any_call(_null("agent")) | _any_model(_null("agent")),
        "model not reported": _any_model(_null("request_model") & _null("response_model")),
        "tokens not reported": _any_model((_null("input_tokens") | _null("output_tokens")) & succeeded),
        "delegation without an agent's name": _any("delegations", _null("from") | _null("to")),
        "delegations not visible": pl.col("delegations").is_null(),
        "tool calls not visible": pl.col("tool_calls").is_null(),
        "model calls not visible": pl.col("llm_calls").is_null(),
        "input not reported": pl.col("input").is_null(),
        "output not reported": pl.col("output").is_null() & (pl.col("status") != "error"),
        "outcome not visible": pl.col("status") == "unknown",
    }


def _null(field: str) -> pl.Expr:
    return pl.element().struct.field(field).is_null()


def _any_call(unknown: pl.Expr) -> pl.Expr:
    return _any("tool_calls", unknown)


def _any_model(unknown: pl.Expr) -> pl.Expr:
    return _any("llm_calls", unknown)


def _any(column: str, unknown: pl.Expr) -> pl.Expr:
    return pl.col(column).list.eval(unknown).list.any()
