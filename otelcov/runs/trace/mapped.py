"""What a span was in OTLP, put back where another format kept it as attributes.

OpenTelemetry writes into formats that have no place for them the scope as `otel.scope.name`, the status as
`otel.status_code` and `otel.status_description`, and what was dropped as `otel.dropped_attributes_count`; Jaeger tells
a span's kind as `span.kind` and names an event by an attribute `event`, Zipkin writes all of an event as
`name|{attributes}|dropped`. A span that comes from there has no scope, and OpenTelemetry's own always have one: without
it nobody knows who told of a step, nor that two did.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope

from otelcov.ground.patterns import late
from otelcov.ground.schemas import SPANS
from otelcov.runs.content.jsontext import parse_json, to_json
from otelcov.runs.trace.attributes import columns, scope_of

_NAME = ("otel.scope.name", "otel.library.name")
_VERSION = ("otel.scope.version", "otel.library.version")
_STATUS, _WHY, _DROPPED = "otel.status_code", "otel.status_description", "otel.dropped_attributes_count"
_ERROR = "error"  # Jaeger's says whether, Zipkin's why
_KIND = "span.kind"
_KEYS = (*_NAME, *_VERSION, _STATUS, _WHY, _DROPPED, _ERROR, _KIND)
_CODES = {"ok": 1, "error": 2}
_KINDS = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}


def mapped_back(spans: pl.DataFrame) -> pl.DataFrame:
    """These spans (SPANS columns), those without a scope with what their attributes tell of it."""
    nameless = [b for b in spans["scope"].unique().to_list() if not scope_of(b)[0]]
    if not nameless:
        return spans
    bare = spans["scope"].is_in(pl.Series(nameless, dtype=pl.Binary).implode(), nulls_equal=True).to_numpy()
    there, others = np.flatnonzero(bare), np.flatnonzero(~bare)
    some = spans[there]
    told, _ = columns([some["attributes"], some["content"]], _KEYS, some.height)
    told = told.with_columns(pl.lit(None, pl.String).alias(key) for key in _KEYS if key not in told.columns)
    mapped = told.select(pl.any_horizontal(pl.col(key).is_not_null() for key in (*_NAME, _STATUS))).to_series()
    if not mapped.any():
        return spans
    back = some.with_columns(
        _scope(told, some["scope"]),
        _kind(told, some["kind"], mapped),
        *_status(told, some, mapped),
        _dropped(told, some["dropped_attributes_count"]),
    )
    return pl.concat([spans[others], _events(back, mapped)])[np.argsort(np.concatenate([others, there]))]


def named_back(spans: pl.DataFrame) -> pl.DataFrame:
    """These spans (SPANS columns), those of the AI SDK that somebody gave another name by the one that they had: Sentry
    calls its loops, its models' calls and its tools as the conventions do."""
    own = [b for b in spans["scope"].unique().to_list() if scope_of(b)[0] == _AI]
    if not own:
        return spans
    given = spans["scope"].is_in(pl.Series(own, dtype=pl.Binary).implode()) & ~spans["name"].str.starts_with("ai.")
    there = np.flatnonzero(given.fill_null(value=False).to_numpy())
    some = spans[there]
    told, _ = columns([some["attributes"], some["content"]], [_OPERATION], some.height)
    if _OPERATION not in told.columns:
        return spans
    back = told[_OPERATION].zip_with(told[_OPERATION].str.starts_with("ai.").fill_null(value=False), some["name"])
    return spans.with_columns(spans["name"].scatter(there, back))


_AI, _OPERATION = "ai", "ai.operationId"


def _scope(told: pl.DataFrame, scope: pl.Series) -> pl.Series:
    pairs = told.select(name=pl.coalesce(_NAME), version=pl.coalesce(_VERSION))
    made = {
        (name, version): InstrumentationScope(name=name, version=version or "").SerializeToString()
        for name, version in pairs.unique().iter_rows()
        if name
    }
    back = pl.Series([made.get(pair) for pair in pairs.iter_rows()], dtype=pl.Binary)
    return back.zip_with(back.is_not_null(), scope).alias("scope")


def _kind(told: pl.DataFrame, own: pl.Series, mapped: pl.Series) -> pl.Series:
    back = told[_KIND].str.to_lowercase().replace_strict(_KINDS, default=None, return_dtype=pl.Int32)
    return back.zip_with((own.fill_null(0) == 0) & mapped & back.is_not_null(), own).alias("kind")


def _status(told: pl.DataFrame, spans: pl.DataFrame, mapped: pl.Series) -> list[pl.Series]:
    """How a span ended, where that is unset."""
    own, code = spans["status_code"].fill_null(0), pl.col(_STATUS).str.to_lowercase().str.strip_prefix("status_code_")
    flag = pl.col(_ERROR).str.to_lowercase()
    failed = flag.is_not_null() & ~flag.is_in(["", "false", "0"])
    known = code.replace_strict(_CODES, default=None, return_dtype=pl.Int32)
    said = pl.coalesce(_WHY, pl.when(failed & ~flag.is_in(["true", "1"])).then(pl.col(_ERROR)))
    back = told.select(code=pl.coalesce(known, pl.when(failed & mapped).then(2)).fill_null(0).cast(pl.Int32), said=said)
    message = spans["status_message"]
    empty = message.fill_null("") == ""
    code_of = own.zip_with(own != 0, back["code"]).alias("status_code")
    said_of = back["said"].zip_with(empty & mapped & (code_of == 2), message).alias("status_message")
    return [code_of, said_of]


def _dropped(told: pl.DataFrame, own: pl.Series) -> pl.Series:
    back = told[_DROPPED].cast(pl.UInt32, strict=False)
    return own.zip_with((own.fill_null(0) != 0) | back.is_null(), back).alias("dropped_attributes_count")


def _events(spans: pl.DataFrame, mapped: pl.Series) -> pl.DataFrame:
    """Events with the names and the attributes that they had."""
    names = spans["events"].list.eval(pl.element().struct.field("name").fill_null("").str.contains(_ODD))
    odd = mapped & names.list.any().fill_null(value=False)
    if not odd.any():
        return spans
    some = spans["events"].to_list()
    for row in odd.arg_true():
        some[row] = [_event(event) for event in some[row]]
    return spans.with_columns(pl.Series("events", some, dtype=SPANS["events"]))


_ODD = r"^$|^[^|{]+\|\{"


def _event(event: dict[str, Any]) -> dict[str, Any]:
    if not event["name"]:
        named = next((kv["string_value"] for kv in event["attributes"] or () if kv["key"] == "event"), None)
        return event if named is None else event | {"name": named}
    hit = _ANNOTATION.fullmatch(event["name"])
    told = parse_json(hit[2]) if hit is not None else None
    if hit is None or not isinstance(told, dict):
        return event
    pairs = [_pair(key, value) for key, value in told.items()]
    return event | {"name": hit[1], "attributes": [*(event["attributes"] or ()), *pairs]}


_ANNOTATION = late(r"([^|{]+)\|(\{.*\})(?:\|\d+)?", re.S)


def _pair(key: str, value: Any) -> dict[str, Any]:
    text = value if isinstance(value, str) else to_json(value)
    return dict.fromkeys(_FIELDS) | {"key": key, "string_value": text}


_FIELDS = (
    "key",
    "string_value",
    "bool_value",
    "int_value",
    "double_value",
    "array_value",
    "kvlist_value",
    "bytes_value",
)
