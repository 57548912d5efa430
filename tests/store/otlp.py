"""Plain OTLP for the tests of the store."""

from __future__ import annotations

import time
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.inbox import Row

HOUR = 3_600_000_000_000
NOW = time.time_ns()


def span(id: int, trace: int = 1, start: int = NOW, end: int | None = None, **attributes: str) -> dict[str, Any]:
    return {
        "id": id,
        "trace": trace,
        "start": start,
        "end": start + 5 if end is None else end,
        "attributes": attributes,
    }


def trace_request(*spans: dict[str, Any], service: str = "s") -> bytes:
    request = ExportTraceServiceRequest()
    around = request.resource_spans.add()
    around.resource.attributes.add(key="service.name").value.string_value = service
    scope = around.scope_spans.add()
    for s in spans:
        made = scope.spans.add(
            trace_id=s["trace"].to_bytes(16, "big"),
            span_id=s["id"].to_bytes(8, "big"),
            name=f"span {s['id']}",
            start_time_unix_nano=s["start"],
            end_time_unix_nano=s["end"],
        )
        for key, value in s["attributes"].items():
            made.attributes.add(key=key).value.string_value = value
    return bytes(request.SerializeToString())


def log_request(*bodies: str, at: int = NOW) -> bytes:
    request = ExportLogsServiceRequest()
    scope = request.resource_logs.add().scope_logs.add()
    for body in bodies:
        scope.log_records.add(time_unix_nano=at).body.string_value = body
    return bytes(request.SerializeToString())


def traces(*spans: dict[str, Any], received: int = NOW, masked: int = 0) -> Row:
    return Row("traces", received, len(spans), masked, trace_request(*spans))


def logs(*bodies: str, at: int = NOW, received: int = NOW) -> Row:
    return Row("logs", received, len(bodies), 0, log_request(*bodies, at=at))
