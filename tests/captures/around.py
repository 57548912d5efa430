"""What other instrumentations tell around an agent's spans: the request that it serves, and those that it makes."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span

from tests.captures import Scenario

_INTERNAL, _SERVER, _CLIENT = 1, 2, 3
_FAILED = 2
_MS = 1_000_000


def beside(scenario: Scenario) -> Scenario:
    """Each span made two requests, of which the first failed, caught an exception, and logged what happened."""
    return replace(scenario, requests=tuple(_each(scenario, _beside)))


def framed(scenario: Scenario, from_afar: bool = False) -> Scenario:
    """Each trace of several spans is what a handler did in a server that a frontend asked, where all of them failed
    without a word if the trace did. `from_afar`: of the frontend nothing is told."""
    sizes = Counter(span.trace_id for body in scenario.bodies("traces") for _, span in _spans(_read(body)))
    return replace(scenario, requests=tuple(_each(scenario, lambda whole, logs: _framed(whole, sizes, from_afar))))


def recorded(scenario: Scenario) -> Scenario:
    """Exceptions are log records of their spans, as OpenTelemetry has them since it gives up events of spans."""
    return replace(scenario, requests=tuple(_each(scenario, _recorded)))


def _each(scenario: Scenario, change: Any) -> Iterator[tuple[str, bytes]]:
    for signal, body in scenario.requests:
        if signal != "traces":
            yield signal, body
            continue
        whole, logs = _read(body), ExportLogsServiceRequest()
        change(whole, logs)
        yield "traces", whole.SerializeToString()
        if logs.resource_logs:
            yield "logs", logs.SerializeToString()


def _read(body: bytes) -> ExportTraceServiceRequest:
    return ExportTraceServiceRequest.FromString(body)


def _spans(whole: ExportTraceServiceRequest) -> Iterator[tuple[ResourceSpans, Span]]:
    for group in whole.resource_spans:
        for scope in group.scope_spans:
            for span in scope.spans:
                yield group, span


def _beside(whole: ExportTraceServiceRequest, logs: ExportLogsServiceRequest) -> None:
    for group, span in list(_spans(whole)):
        made = group.scope_spans.add()
        made.scope.name = "opentelemetry.instrumentation.httpx"
        begin, end = span.start_time_unix_nano, max(span.start_time_unix_nano + 9, span.end_time_unix_nano)
        for number, (name, code) in enumerate((("POST", 429), ("POST", 200), ("look into the cache", 0))):
            one = made.spans.add(
                trace_id=span.trace_id,
                span_id=_id(span, f"beside {number}"),
                parent_span_id=span.span_id,
                name=name,
                kind=_CLIENT if code else _INTERNAL,
                start_time_unix_nano=begin + number,
                end_time_unix_nano=min(begin + number + 1, end),
            )
            if code:
                one.attributes.extend(_told({"http.request.method": "POST", "http.response.status_code": code}))
            if code != 200:
                one.status.code = _FAILED
            if not code:
                one.events.add(name="exception").attributes.extend(_told({"exception.type": "KeyError"}))
        written = logs.resource_logs.add(resource=group.resource).scope_logs.add()
        written.scope.name = "app"
        for severity, line in ((9, "HTTP Request: POST 200 OK"), (17, "lookup failed: ValueError: boom")):
            record = written.log_records.add(
                trace_id=span.trace_id, span_id=span.span_id, time_unix_nano=begin + severity
            )
            record.severity_number, record.body.string_value = severity, line  # type: ignore[assignment]
            record.attributes.extend(_told({"code.function.name": "handle"}))


def _recorded(whole: ExportTraceServiceRequest, logs: ExportLogsServiceRequest) -> None:
    for resource in whole.resource_spans:
        for group in resource.scope_spans:
            thrown = [(span, event) for span in group.spans for event in span.events if event.name == "exception"]
            if not thrown:
                continue
            inner = logs.resource_logs.add(resource=resource.resource).scope_logs.add(scope=group.scope)
            for span, event in thrown:
                ids = {"trace_id": span.trace_id, "span_id": span.span_id}
                time, told = event.time_unix_nano, event.attributes
                inner.log_records.add(event_name=event.name, time_unix_nano=time, attributes=told, **ids)
                span.events.remove(event)


def _framed(whole: ExportTraceServiceRequest, sizes: Counter[bytes], from_afar: bool) -> None:
    for group, span in list(_spans(whole)):
        if span.parent_span_id or sizes[span.trace_id] < 2:
            continue
        asked = whole.resource_spans.add()
        asked.resource.attributes.extend(_told({"service.name": "frontend"}))
        above = b""
        for number, (name, kind, around) in enumerate(
            (("POST", _CLIENT, asked), ("POST /chat", _SERVER, group), ("handle_chat", _INTERNAL, group))
        ):
            made = around.scope_spans.add()
            made.scope.name = "opentelemetry.instrumentation.fastapi"
            one = made.spans.add(
                trace_id=span.trace_id,
                span_id=_id(span, f"frame {number}"),
                parent_span_id=above,
                name=name,
                kind=kind,  # type: ignore[arg-type]
                start_time_unix_nano=max(1, span.start_time_unix_nano - (3 - number) * _MS),
                end_time_unix_nano=span.end_time_unix_nano + (3 - number) * _MS,
            )
            one.status.code = _FAILED if span.status.code == _FAILED else 0  # type: ignore[assignment]
            above = one.span_id
        span.parent_span_id = above
        if from_afar:
            del asked.scope_spans[:]


def _id(span: Span, of: str) -> bytes:
    return hashlib.sha256(span.span_id + of.encode()).digest()[:8]


def _told(attributes: dict[str, Any]) -> list[KeyValue]:
    return [
        KeyValue(key=key, value=AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=value))
        for key, value in attributes.items()
    ]
