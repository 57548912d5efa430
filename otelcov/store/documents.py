"""Stored rows as documents for other programs: OTLP requests, OTLP/JSON, and a flat table of spans.

What goes out comes in again: the runs of an export are the runs of the store.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec
import polars as pl
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from otelcov.store.otlp import to_otlp

_REQUEST_ROWS = 2_000  # far below what a collector lets in at once
_CLASSES: dict[str, Any] = {"traces": ExportTraceServiceRequest, "logs": ExportLogsServiceRequest}
_HEX = {"trace_id", "span_id", "parent_span_id"}
_AROUND = ("resource", "resource_schema_url", "scope", "scope_schema_url")
_TYPED = ("string_value", "bool_value", "int_value", "double_value", "bytes_value")


def requests(spans: pl.DataFrame, logs: pl.DataFrame) -> Iterator[tuple[str, bytes]]:
    """(signal, OTLP protobuf) of SPANS and LOGS rows, sorted: equal rows give equal bytes."""
    for some in spans.sort("trace_id", "start_time_unix_nano", "span_id").iter_slices(_REQUEST_ROWS):
        yield "traces", to_otlp(some)
    for some in logs.sort("trace_id", "time_unix_nano", "span_id", "event_name").iter_slices(_REQUEST_ROWS):
        yield "logs", _logs_to_otlp(some)


def json_line(signal: str, body: bytes) -> bytes:
    """A request as one line of OTLP/JSON."""
    return msgspec.json.encode(_object(_CLASSES[signal].FromString(body))) + b"\n"


def flat(spans: pl.DataFrame) -> pl.DataFrame:
    """One row a span, for spreadsheets and other engines: ids in hex, key-values as JSON text."""
    ids = ("trace_id", "span_id", "parent_span_id")
    plain = (
        *("name", "kind", "start_time_unix_nano", "end_time_unix_nano", "status_code", "status_message"),
        *("service", "environment", "release", "trace_state"),
    )
    rows = spans.sort("trace_id", "start_time_unix_nano", "span_id")
    # A loop over rows: arrays and key-value lists among the values are protobuf bytes.
    attributes = [_text(_pairs([*row[0], *row[1]])) for row in rows.select("attributes", "content").iter_rows()]
    events = [_text([_with_pairs(event) for event in row]) for row in rows["events"].to_list()]
    links = [_text([_with_pairs(link) for link in row]) for row in rows["links"].to_list()]
    scopes = [_scope(scope) for scope in rows["scope"].to_list()]
    return rows.select(pl.col(*ids).bin.encode("hex"), *plain).with_columns(
        pl.Series("scope", [name for name, _ in scopes], pl.String),
        pl.Series("scope_version", [version for _, version in scopes], pl.String),
        pl.Series("resource", [_resource(resource) for resource in rows["resource"].to_list()], pl.String),
        pl.Series("attributes", attributes, pl.String),
        pl.Series("events", events, pl.String),
        pl.Series("links", links, pl.String),
    )


def _object(message: Message) -> dict[str, Any]:
    """A message by the rules of OTLP/JSON: ids in hex, enums as numbers, 64-bit integers as text."""
    return {
        field.json_name: [_json(field, item) for item in value] if field.is_repeated else _json(field, value)
        for field, value in message.ListFields()
    }


def _json(field: Any, value: Any) -> Any:
    if field.type == field.TYPE_MESSAGE:
        return _object(value)
    if field.type == field.TYPE_BYTES:
        return value.hex() if field.name in _HEX else b64encode(value).decode()
    if field.type in (field.TYPE_INT64, field.TYPE_UINT64, field.TYPE_FIXED64):
        return str(value)
    if field.type == field.TYPE_DOUBLE and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _logs_to_otlp(logs: pl.DataFrame) -> bytes:
    """Log records as one request. Row by row with the official classes: they are few beside spans."""
    request = ExportLogsServiceRequest()
    around: tuple[Any, ...] | None = None
    for row in logs.sort(*_AROUND, maintain_order=True, nulls_last=False).iter_rows(named=True):
        here = tuple(row[name] for name in _AROUND)
        if here != around:
            resource, resource_url, scope, scope_url = around = here
            resource_logs = request.resource_logs.add(schema_url=resource_url or "")
            resource_logs.resource.ParseFromString(resource or b"")
            scope_logs = resource_logs.scope_logs.add(schema_url=scope_url or "")
            scope_logs.scope.ParseFromString(scope or b"")
        _fill_record(scope_logs.log_records.add(), row)
    return bytes(request.SerializeToString())


def _fill_record(record: LogRecord, row: dict[str, Any]) -> None:
    for name in ("trace_id", "span_id"):
        setattr(record, name, row[name] or b"")
    for name in ("time_unix_nano", "observed_time_unix_nano", "severity_number", "dropped_attributes_count", "flags"):
        setattr(record, name, row[name] or 0)
    for name in ("severity_text", "event_name"):
        setattr(record, name, row[name] or "")
    if row["body"] is not None:
        _fill_value(record.body, row["body"])
    for pair in [*(row["attributes"] or []), *(row["content"] or [])]:
        _fill_value(record.attributes.add(key=pair["key"]).value, pair)


def _fill_value(value: AnyValue, pair: dict[str, Any]) -> None:
    for name in _TYPED:
        if pair[name] is not None:
            setattr(value, name, pair[name])
    for name in ("array_value", "kvlist_value"):
        if pair[name] is not None:
            part = getattr(value, name)
            part.SetInParent()
            part.ParseFromString(pair[name])


def _pairs(pairs: list[dict[str, Any]] | None) -> dict[str, Any]:
    """Key-values as an object, sorted by key."""
    return {pair["key"]: _plain_pair(pair) for pair in sorted(pairs or [], key=lambda pair: pair["key"] or "")}


def _plain_pair(pair: dict[str, Any]) -> Any:
    scalar = next((pair[name] for name in _TYPED if pair[name] is not None), None)
    if scalar is not None:
        return scalar
    value = AnyValue()
    _fill_value(value, pair)
    return _plain(value)


def _plain(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_plain(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {pair.key: _plain(pair.value) for pair in value.kvlist_value.values}
    return getattr(value, kind)


def _with_pairs(item: dict[str, Any]) -> dict[str, Any]:
    """An event or a link."""
    ids = {name: item[name].hex() for name in ("trace_id", "span_id") if item.get(name) is not None}
    return {**item, **ids, "attributes": _pairs(item["attributes"])}


@lru_cache(maxsize=1024)
def _scope(data: bytes | None) -> tuple[str | None, str | None]:
    scope = InstrumentationScope.FromString(data or b"")
    return scope.name or None, scope.version or None


@lru_cache(maxsize=1024)
def _resource(data: bytes | None) -> str:
    pairs = Resource.FromString(data or b"").attributes
    return _text({pair.key: _plain(pair.value) for pair in sorted(pairs, key=lambda pair: pair.key)})


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
