"""Messages in log records that name a trace, but no span of it: what was said while a model was asked."""

from __future__ import annotations

import polars as pl

from otelcov.dialects.base import LLM
from otelcov.runs.content.chat import ROLES

_DETAILS = "gen_ai.client.inference.operation.details"
_MESSAGES = [name for name in (*ROLES, "gen_ai.choice", _DETAILS) if name.startswith("gen_ai.")]


def of_the_only_call(logs: pl.DataFrame, spans: pl.DataFrame, kinds: pl.Series) -> pl.DataFrame:
    """The records, where messages that name no span are of the only model call of their trace if all of them were
    written while it ran: of several calls nobody can tell which each is of."""
    lone = pl.col("trace_id").is_not_null() & pl.col("span_id").fill_null(b"").is_in([b""])
    if logs.filter(lone).is_empty():
        return logs
    named = pl.col("attributes").list.eval(
        pl.element()
        .struct.field("string_value")
        .filter(pl.element().struct.field("key").is_in(["event.name", "otel.event.name"]))
    )
    lone &= pl.col("event_name").is_in(_MESSAGES).fill_null(value=False) | named.list.first().is_in(_MESSAGES)
    some = logs.filter(lone)
    if not some.height:
        return logs
    begin, end = pl.col("start_time_unix_nano"), pl.col("end_time_unix_nano")
    calls = spans.filter(kinds == LLM).select("trace_id", "span_id", begin=begin, end=end)
    only = calls.join(some.select("trace_id").unique(), on="trace_id").filter(pl.len().over("trace_id") == 1)
    told = pl.col("time_unix_nano")
    at = pl.when(told > 0).then(told).otherwise("observed_time_unix_nano")
    during = (at >= pl.col("begin")) & (at <= pl.col("end"))
    of = some.join(only, on="trace_id").group_by("trace_id").agg(pl.col("span_id_right").first(), during=during.all())
    of = of.filter(pl.col("during").fill_null(value=False)).select("trace_id", of="span_id_right")
    placed = pl.when(lone).then("of").otherwise("span_id").alias("span_id")
    return logs.join(of, on="trace_id", how="left", maintain_order="left").with_columns(placed).drop("of")
