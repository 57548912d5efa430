"""OTLP bytes to messages (to judge a request) and to Arrow (to store it).

    parse(signal, body)      the official parser's verdict: a message, or Undecodable. Admission uses only this one.
    decode_traces(requests)  one Arrow row a span, from requests that were admitted
    decode_logs(requests)    one Arrow row a log record

Rows of the tables are in wire order; the column `request` is the position in `requests`. Attribute lists have the
flat type {key, string_value, bool_value, int_value, double_value, array_value, kvlist_value, bytes_value}: at most
one value is set, none where the AnyValue is empty or absent. `array_value` and `kvlist_value` hold the serialized
ArrayValue / KeyValueList, `resource` and `scope` the serialized Resource / InstrumentationScope (dictionary-encoded):
declaring them as bytes takes the recursion out of the schema, halves the work and loses nothing. Ids are the bytes
that were sent; times are uint64 nanoseconds; an absent `status` is code 0 and an empty message, as in protobuf.

Where ptars and the official parser differ: a *singular* message field that occurs twice inside its parent (no encoder
writes that) is merged by the official parser, and of a oneof it takes the last; in the columns declared as bytes the
last one wins, and every member of a oneof has a value. Admission writes such requests anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

from collector.arrow import call

Signal = Literal["traces", "logs"]

_Type = descriptor_pb2.FieldDescriptorProto

# (name, number, type): a type in lower case is another message of the table, `*` means repeated.
Fields = list[tuple[str, int, str]]
Shapes = dict[str, Fields]

_ANY_VALUE: Fields = [
    ("string_value", 1, "STRING"),
    ("bool_value", 2, "BOOL"),
    ("int_value", 3, "INT64"),
    ("double_value", 4, "DOUBLE"),
    ("array_value", 5, "BYTES"),
    ("kvlist_value", 6, "BYTES"),
    ("bytes_value", 7, "BYTES"),
]
_MESSAGES: Shapes = {
    "any_value": _ANY_VALUE,
    "key_value": [("key", 1, "STRING"), ("value", 2, "any_value")],
    "event": [
        ("time_unix_nano", 1, "FIXED64"),
        ("name", 2, "STRING"),
        ("attributes", 3, "*key_value"),
        ("dropped_attributes_count", 4, "UINT32"),
    ],
    "link": [
        ("trace_id", 1, "BYTES"),
        ("span_id", 2, "BYTES"),
        ("trace_state", 3, "STRING"),
        ("attributes", 4, "*key_value"),
        ("dropped_attributes_count", 5, "UINT32"),
        ("flags", 6, "FIXED32"),
    ],
    "status": [("message", 2, "STRING"), ("code", 3, "INT32")],
    "span": [
        ("trace_id", 1, "BYTES"),
        ("span_id", 2, "BYTES"),
        ("trace_state", 3, "STRING"),
        ("parent_span_id", 4, "BYTES"),
        ("name", 5, "STRING"),
        ("kind", 6, "INT32"),
        ("start_time_unix_nano", 7, "FIXED64"),
        ("end_time_unix_nano", 8, "FIXED64"),
        ("attributes", 9, "*key_value"),
        ("dropped_attributes_count", 10, "UINT32"),
        ("events", 11, "*event"),
        ("dropped_events_count", 12, "UINT32"),
        ("links", 13, "*link"),
        ("dropped_links_count", 14, "UINT32"),
        ("status", 15, "status"),
        ("flags", 16, "FIXED32"),
    ],
    "scope_spans": [("scope", 1, "BYTES"), ("items", 2, "*span"), ("schema_url", 3, "STRING")],
    "resource_spans": [("resource", 1, "BYTES"), ("scopes", 2, "*scope_spans"), ("schema_url", 3, "STRING")],
    "traces": [("resources", 1, "*resource_spans")],
    "log_record": [
        ("time_unix_nano", 1, "FIXED64"),
        ("severity_number", 2, "INT32"),
        ("severity_text", 3, "STRING"),
        ("body", 5, "any_value"),
        ("attributes", 6, "*key_value"),
        ("dropped_attributes_count", 7, "UINT32"),
        ("flags", 8, "FIXED32"),
        ("trace_id", 9, "BYTES"),
        ("span_id", 10, "BYTES"),
        ("observed_time_unix_nano", 11, "FIXED64"),
        ("event_name", 12, "STRING"),
    ],
    "scope_logs": [("scope", 1, "BYTES"), ("items", 2, "*log_record"), ("schema_url", 3, "STRING")],
    "resource_logs": [("resource", 1, "BYTES"), ("scopes", 2, "*scope_logs"), ("schema_url", 3, "STRING")],
    "logs": [("resources", 1, "*resource_logs")],
}


class Undecodable(ValueError):
    """Bytes that are no OTLP request of the signal; `index` is their position in the list that was decoded."""

    def __init__(self, reason: str, index: int = 0) -> None:
        super().__init__(reason)
        self.index = index


def parse(signal: Signal, body: bytes) -> Message:
    """The request as the official parser reads it; OTLP before 0.19 shows in the field `legacy_scopes`."""
    try:
        return cast(Message, request_class(signal).FromString(body))
    except DecodeError as error:
        raise Undecodable(f"the body is not an OTLP {signal} request: {error}") from error


def prepare() -> None:
    """Make now what the first request of spans would have to wait for."""
    _handler("traces")


def decode_shapes(signal: Signal, name: object, shapes: Shapes, body: bytes) -> pa.ListArray:
    """The resources of one request as other shapes show them; `name` tells shapes of a signal apart."""
    if (signal, name) not in _other_shapes:
        _other_shapes[signal, name] = _make_handler(shapes, signal)
    return _record_batch(_other_shapes[signal, name], signal, [body]).column(0)


def decode_traces(requests: Sequence[bytes]) -> pa.Table:
    """One row a span; see the module's docstring for the columns."""
    return _decode("traces", requests, _span_columns)


def decode_logs(requests: Sequence[bytes]) -> pa.Table:
    """One row a log record; `body` is one flat attribute value with an empty key."""
    return _decode("logs", requests, _log_columns)


def encode(message: str, rows: pa.RecordBatch) -> list[bytes]:
    """The way back: each row as the bytes of one `traces`, `span`, `logs`, ... message (see _MESSAGES)."""
    return cast(list[bytes], _handler(message).record_batch_to_array(rows).to_pylist())


def _decode(signal: Signal, requests: Sequence[bytes], columns: Callable[[pa.StructArray], dict[str, Any]]) -> pa.Table:
    batch = _batch(signal, list(requests))
    resources = batch.column(0)
    resource_rows = call("list_flatten", resources)
    scopes = resource_rows.field("scopes")
    scope_rows = call("list_flatten", scopes)
    items = scope_rows.field("items")
    item_rows = call("list_flatten", items)

    scope_of = _owners(items)
    resource_of = _owners(scopes)[scope_of]
    request_of = _owners(resources)[resource_of]
    return pa.table(
        {
            "request": pa.array(request_of, pa.uint32()),
            **columns(item_rows),
            "resource": _spread(resource_rows.field("resource"), resource_of),
            "resource_schema_url": _spread(resource_rows.field("schema_url"), resource_of),
            "scope": _spread(scope_rows.field("scope"), scope_of),
            "scope_schema_url": _spread(scope_rows.field("schema_url"), scope_of),
        }
    )


def _span_columns(spans: pa.StructArray) -> dict[str, Any]:
    status = spans.field("status").flatten()
    return {
        **{name: spans.field(name) for name in ("trace_id", "span_id", "parent_span_id", "trace_state", "flags")},
        **{name: spans.field(name) for name in ("name", "kind", "start_time_unix_nano", "end_time_unix_nano")},
        "attributes": _flat_attributes(spans.field("attributes")),
        "dropped_attributes_count": spans.field("dropped_attributes_count"),
        "events": _with_flat_attributes(spans.field("events")),
        "dropped_events_count": spans.field("dropped_events_count"),
        "links": _with_flat_attributes(spans.field("links")),
        "dropped_links_count": spans.field("dropped_links_count"),
        "status_code": call("coalesce", status[1], pa.scalar(0, status[1].type)),
        "status_message": call("coalesce", status[0], pa.scalar("", status[0].type)),
    }


def _log_columns(records: pa.StructArray) -> dict[str, Any]:
    plain = ("trace_id", "span_id", "time_unix_nano", "observed_time_unix_nano", "severity_number", "severity_text")
    return {
        **{name: records.field(name) for name in plain},
        "event_name": records.field("event_name"),
        "body": _flat_key_values(pa.repeat("", len(records)), records.field("body")),
        "attributes": _flat_attributes(records.field("attributes")),
        "dropped_attributes_count": records.field("dropped_attributes_count"),
        "flags": records.field("flags"),
    }


def _flat_attributes(attributes: pa.ListArray) -> pa.ListArray:
    pairs = attributes.values
    return pa.ListArray.from_arrays(attributes.offsets, _flat_key_values(pairs.field("key"), pairs.field("value")))


def _flat_key_values(keys: pa.Array, values: pa.StructArray) -> pa.StructArray:
    names = ["key", *(name for name, _, _ in _ANY_VALUE)]
    return pa.StructArray.from_arrays([keys, *values.flatten()], names)


def _with_flat_attributes(lists: pa.ListArray) -> pa.ListArray:
    rows = lists.values
    fields = [_flat_attributes(rows.field(f.name)) if f.name == "attributes" else rows.field(f.name) for f in rows.type]
    return pa.ListArray.from_arrays(lists.offsets, pa.StructArray.from_arrays(fields, [f.name for f in rows.type]))


def _owners(lists: pa.ListArray) -> np.ndarray[Any, np.dtype[np.int64]]:
    """For each element of the flattened lists, the row that holds it (offsets, no explode)."""
    return np.repeat(np.arange(len(lists), dtype=np.int64), np.diff(lists.offsets.to_numpy()))


def _spread(values: pa.Array, owners: np.ndarray[Any, np.dtype[np.int64]]) -> pa.DictionaryArray:
    encoded = call("dictionary_encode", values)
    indices = call("take", encoded.indices, pa.array(owners))
    return pa.DictionaryArray.from_arrays(indices, encoded.dictionary)


def _batch(signal: Signal, requests: list[bytes]) -> pa.RecordBatch:
    try:
        return _record_batch(_handler(signal), signal, requests)
    except Undecodable:
        return _record_batch(
            _handler(signal), signal, [_readable(signal, body, index) for index, body in enumerate(requests)]
        )


def _readable(signal: Signal, body: bytes, index: int) -> bytes:
    """The request itself if ptars reads it, else as the official parser writes it anew."""
    try:
        _record_batch(_handler(signal), signal, [body])
        return body
    except Undecodable:
        try:
            canonical = bytes(parse(signal, body).SerializeToString())
            _record_batch(_handler(signal), signal, [canonical])
            return canonical
        except Undecodable as error:
            raise Undecodable(str(error), index) from error


def _record_batch(handler: Any, signal: Signal, requests: list[bytes]) -> pa.RecordBatch:
    try:
        return handler.list_to_record_batch(requests)
    except ValueError as error:
        raise Undecodable(f"not an OTLP {signal} request: {error}") from error
    except BaseException as panic:  # a Rust panic on hostile bytes is a BaseException without a public class
        if type(panic).__module__ != "pyo3_runtime":
            raise
        raise Undecodable(f"not an OTLP {signal} request: the decoder gave up on it") from panic


@cache
def _handler(message_name: str) -> Any:
    return _make_handler(_MESSAGES, message_name)


_other_shapes: dict[tuple[str, object], Any] = {}


def _make_handler(shapes: Shapes, message_name: str) -> Any:
    import ptars  # here: who only parses need not load it

    file = descriptor_pb2.FileDescriptorProto(name="otelcov_wire.proto", package="otelcov.wire", syntax="proto3")
    for name, fields in shapes.items():
        message = file.message_type.add(name=name)
        if name == "any_value":
            message.oneof_decl.add(name="value")  # only members of a oneof are nullable
        message.field.extend(_fields(fields, oneof=name == "any_value"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName(f"otelcov.wire.{message_name}")
    return ptars.HandlerPool([descriptor.file]).get_for_message(descriptor)


def _fields(fields: Fields, oneof: bool) -> Iterable[Any]:
    for name, number, kind in fields:
        label = _Type.LABEL_REPEATED if kind.startswith("*") else _Type.LABEL_OPTIONAL
        field = _Type(name=name, number=number, label=label)
        if kind.isupper():
            field.type = _Type.Type.Value(f"TYPE_{kind}")
        else:
            field.type = _Type.TYPE_MESSAGE
            field.type_name = ".otelcov.wire." + kind.lstrip("*")
        if oneof:
            field.oneof_index = 0
        yield field


_REQUESTS: dict[Signal, Any] = {
    "traces": trace_service_pb2.ExportTraceServiceRequest,
    "logs": logs_service_pb2.ExportLogsServiceRequest,
}


@cache
def request_class(signal: Signal) -> Any:
    """The official request, its descriptor copied into a pool of our own with the field that OTLP before 0.19 used
    for spans and logs (`instrumentation_library_*`, 1000: the same wire shape as `scope_*`), which today's official
    classes would drop as unknown without a word."""
    pool = descriptor_pool.DescriptorPool()
    pending, files = [_REQUESTS[signal].DESCRIPTOR.file], []
    while pending:
        file = pending.pop()
        files.append(file)
        pending.extend(file.dependencies)
    added = set()
    for file in reversed(files):
        if file.name in added:
            continue
        added.add(file.name)
        proto = descriptor_pb2.FileDescriptorProto()
        file.CopyToProto(proto)
        for message in proto.message_type:
            if message.name in ("ResourceSpans", "ResourceLogs"):
                shape = message.name.replace("Resource", "Scope")
                message.field.add(
                    name="legacy_scopes",
                    number=1000,
                    label=_Type.LABEL_REPEATED,
                    type=_Type.TYPE_MESSAGE,
                    type_name=f".{proto.package}.{shape}",
                )
                for reserved in list(message.reserved_range):
                    if reserved.start <= 1000 < reserved.end:
                        message.reserved_range.remove(reserved)
        pool.Add(proto)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(_REQUESTS[signal].DESCRIPTOR.full_name))
