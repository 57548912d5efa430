"""Log records that tell of a step which another span is: coding agents put what a tool was given, and what a model
answered, into records of the request's span.

A record that names a call is of the spans of that call. A response is of the model call that the record's span had
begun last when it was written, unless that had another under way, too. Any other is of its own span, as events are.
"""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from otelcov.dialects.base import EVENT

_OF_CALL = ("tool_use_id", "gen_ai.tool.call.id", "call_id")
_OF_MODEL = "gen_ai.request.model"


def record_pairs(logs: pl.DataFrame, spans: pl.DataFrame, wanted: Collection[str]) -> list[pl.DataFrame]:
    """The attributes of those records that dialects read, each under its record's name and its own, by the row of the
    span that they are of."""
    names = sorted({key.partition(EVENT)[0] for key in wanted if EVENT in key})
    if not logs.height or not names:
        return []
    told = (pl.col("event_name"), pl.col("body").struct.field("string_value"), _text("event.name"))
    named = pl.coalesce(*(pl.when(name.is_in(names)).then(name) for name in told))
    some = logs.filter(pl.col("trace_id").is_not_null()).with_columns(record=named)
    some = some.filter(pl.col("record").is_not_null() & (pl.col("attributes").list.len() > 0))
    if not some.height:
        return []
    time = pl.col("time_unix_nano").fill_null(0)
    texts = pl.col("attributes").list.eval(pl.element().struct.field("string_value")).list.join("\0")
    some = some.sort(time, texts).with_row_index("number")
    near = spans.with_row_index("row").join(some.select("trace_id").unique(), on="trace_id", how="semi")
    rows = _of_calls(some, near)
    rest = some.join(rows, on="number", how="anti")
    answers = rest.filter(pl.col("record").str.ends_with("response"))
    rows = pl.concat([rows, _of_models(answers, near, time)])
    rest = rest.join(rows, on="number", how="anti").filter(~pl.col("record").str.ends_with("response"))
    own = rest.join(near.select("trace_id", "span_id", "row"), on=("trace_id", "span_id")).select("number", "row")
    placed = pl.concat([rows, own]).join(some, on="number").sort("number", "row")
    pairs = placed.select(
        "row", "record", pl.col("attributes").list.concat(pl.col("content").fill_null([])).alias("pair")
    ).explode("pair")
    pairs = pairs.select("row", "record", pl.col("pair").struct.unnest())
    return [pairs.with_columns(key=pl.concat_str("record", "key", separator=EVENT)).drop("record")]


def _text(key: str) -> pl.Expr:
    """A text attribute."""
    element = pl.element().struct
    return (
        pl.col("attributes").list.eval(element.field("string_value").filter(element.field("key") == key)).list.first()
    )


def _of_calls(some: pl.DataFrame, near: pl.DataFrame) -> pl.DataFrame:
    """number, row: the records that name a call, by the spans that name it."""
    called = pl.coalesce(*map(_text, _OF_CALL)).alias("call")
    theirs = near.select("trace_id", "row", called).drop_nulls()
    return some.select("number", "trace_id", called).join(theirs, on=("trace_id", "call")).select("number", "row")


def _of_models(some: pl.DataFrame, near: pl.DataFrame, time: pl.Expr) -> pl.DataFrame:
    """number, row: the records of a span that holds model calls."""
    begin, end = pl.col("start_time_unix_nano"), pl.col("end_time_unix_nano")
    models = near.filter(_text(_OF_MODEL).is_not_null()).select(
        "trace_id", "row", begin.alias("begin"), end.alias("end"), span_id="parent_span_id"
    )
    begun = some.select("number", "trace_id", "span_id", time.alias("at")).join(models, on=("trace_id", "span_id"))
    begun = begun.filter(pl.col("begin") <= pl.col("at")).sort("begin", "row")
    last = begun.group_by("number", maintain_order=True).agg(
        pl.col("row").last(), alone=(pl.col("end") > pl.col("begin").last()).sum() == 1
    )
    return last.filter("alone").select("number", "row")
