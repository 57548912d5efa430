"""OTLP bytes to Arrow, until collector/wire.py does it."""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool

_F = descriptor_pb2.FieldDescriptorProto
_KINDS = {"string": _F.TYPE_STRING, "bytes": _F.TYPE_BYTES, "bool": _F.TYPE_BOOL, "int64": _F.TYPE_INT64, "double": _F.TYPE_DOUBLE,  # noqa: E501
          "int32": _F.TYPE_INT32, "uint32": _F.TYPE_UINT32, "fixed64": _F.TYPE_FIXED64, "fixed32": _F.TYPE_FIXED32}  # fmt: skip
_MESSAGES = {
    "AnyValue": "string_value:1:string bool_value:2:bool int_value:3:int64 double_value:4:double array_value:5:bytes kvlist_value:6:bytes bytes_value:7:bytes",  # noqa: E501
    "KeyValue": "key:1:string value:2:AnyValue",
    "Event": "time_unix_nano:1:fixed64 name:2:string attributes:3:KeyValue* dropped_attributes_count:4:uint32",  # noqa: E501
    "Link": "trace_id:1:bytes span_id:2:bytes trace_state:3:string attributes:4:KeyValue* dropped_attributes_count:5:uint32 flags:6:fixed32",  # noqa: E501
    "Status": "message:2:string code:3:int32",
    "Span": "trace_id:1:bytes span_id:2:bytes trace_state:3:string parent_span_id:4:bytes name:5:string kind:6:int32 start_time_unix_nano:7:fixed64 end_time_unix_nano:8:fixed64 attributes:9:KeyValue* dropped_attributes_count:10:uint32 events:11:Event* dropped_events_count:12:uint32 links:13:Link* dropped_links_count:14:uint32 status:15:Status flags:16:fixed32",  # noqa: E501
    "ScopeSpans": "scope:1:bytes spans:2:Span* schema_url:3:string",
    "ResourceSpans": "resource:1:bytes scope_spans:2:ScopeSpans* schema_url:3:string",
    "Traces": "resource_spans:1:ResourceSpans*",
    "LogRecord": "time_unix_nano:1:fixed64 severity_number:2:int32 severity_text:3:string body:5:AnyValue attributes:6:KeyValue* dropped_attributes_count:7:uint32 flags:8:fixed32 trace_id:9:bytes span_id:10:bytes observed_time_unix_nano:11:fixed64 event_name:12:string",  # noqa: E501
    "ScopeLogs": "scope:1:bytes log_records:2:LogRecord* schema_url:3:string",
    "ResourceLogs": "resource:1:bytes scope_logs:2:ScopeLogs* schema_url:3:string",
    "Logs": "resource_logs:1:ResourceLogs*",
}


@cache
def _pool() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="otelcov/t.proto", package="otelcov.t", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if name == "AnyValue":
            message.oneof_decl.add(name="value")
        for field in fields.split():
            n, number, kind = field.split(":")
            f = message.field.add(name=n, number=int(number), label=3 if kind.endswith("*") else 1)
            if kind in _KINDS:
                f.type = _KINDS[kind]
            else:
                f.type, f.type_name = _F.TYPE_MESSAGE, ".otelcov.t." + kind.rstrip("*")
            if name == "AnyValue":
                f.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool.FindFileByName("otelcov/t.proto")


@cache
def _handler(message: str) -> Any:
    import ptars

    return ptars.HandlerPool([_pool()]).get_for_message(_pool().message_types_by_name[message])


def decode_traces(requests: list[bytes]) -> Any:
    return _handler("Traces").list_to_record_batch(requests)


def decode_logs(requests: list[bytes]) -> Any:
    return _handler("Logs").list_to_record_batch(requests)


def encode(message: str, batch: Any) -> list[bytes]:
    return [m.as_py() for m in _handler(message).record_batch_to_array(batch)]
