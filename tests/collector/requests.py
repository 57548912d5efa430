"""OTLP requests, built with the official classes."""

from __future__ import annotations

import http.client
import os
from typing import Any

import grpc
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.collector.running import EXPORT

PROTOBUF = {"Content-Type": "application/x-protobuf"}
JSON = {"Content-Type": "application/json"}


def traces(spans: int = 1, **attributes: str) -> ExportTraceServiceRequest:
    """Spans with ids of their own."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "test"
    scope = resource.scope_spans.add()
    for _ in range(spans):
        span = scope.spans.add(trace_id=os.urandom(16), span_id=os.urandom(8), name="chat", kind=3)
        span.start_time_unix_nano, span.end_time_unix_nano = 1_700_000_000_000_000_000, 1_700_000_001_000_000_000
        for key, value in attributes.items():
            span.attributes.add(key=key.replace("__", ".")).value.string_value = value
    return request


def logs(records: int = 1) -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    scope = request.resource_logs.add().scope_logs.add()
    for _ in range(records):
        scope.log_records.add(time_unix_nano=1, trace_id=os.urandom(16)).body.string_value = "said"
    return request


def span_ids(body: bytes) -> list[bytes]:
    request = ExportTraceServiceRequest.FromString(body)
    return [s.span_id for r in request.resource_spans for c in r.scope_spans for s in c.spans]


def post(
    port: int, body: bytes, headers: dict[str, str] = PROTOBUF, path: str = "/v1/traces"
) -> tuple[int, bytes, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        try:
            connection.request("POST", path, body, headers)
        except (BrokenPipeError, ConnectionResetError):  # refused early; the answer may already be waiting
            connection._HTTPConnection__state = "Request-sent"  # type: ignore[attr-defined]
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


def call(
    port: int, body: bytes, method: str = EXPORT, credentials: Any = None, **options: Any
) -> tuple[grpc.StatusCode, bytes, Any]:
    """(code, answer or details, trailers) of one unary call."""
    unlimited = [("grpc.max_send_message_length", -1)]
    target = f"localhost:{port}" if credentials else f"127.0.0.1:{port}"
    channel = (
        grpc.secure_channel(target, credentials, options=unlimited)
        if credentials
        else grpc.insecure_channel(target, options=unlimited)
    )
    with channel:
        send = channel.unary_unary(method, request_serializer=_same, response_deserializer=_same)
        try:
            answer, state = send.with_call(body, timeout=60, **options)
            return grpc.StatusCode.OK, answer, dict(state.trailing_metadata() or ())
        except grpc.RpcError as error:
            said: Any = error
            return said.code(), (said.details() or "").encode(), dict(said.trailing_metadata() or ())


def _same(data: bytes) -> bytes:
    return data
