"""OTLP requests cut up and put together in other ways, and small ones written by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue, KeyValueList

from collector import otlp_json
from otelcov.ground.config import Config
from otelcov.runs import reconstruct, run_json
from otelcov.runs.lines import json_lines
from otelcov.store import documents
from otelcov.store.layout import from_requests
from tests.captures import LATER

Requests = Sequence[tuple[str, bytes]]
_CLASSES: dict[str, Any] = {"traces": ExportTraceServiceRequest, "logs": ExportLogsServiceRequest}
SECOND = 1_000_000_000
T0 = 1_800_000_000 * SECOND


def frames(requests: Requests) -> tuple[pl.DataFrame, pl.DataFrame]:
    bodies = {signal: [body for kind, body in requests if kind == signal] for signal in _CLASSES}
    return from_requests(bodies["traces"], bodies["logs"], 1)


def text(spans: pl.DataFrame, logs: pl.DataFrame, config: Config | None = None) -> str:
    """The JSON lines of the runs."""
    config = config or Config()
    return "".join(json_lines(reconstruct(spans, logs, config, LATER), config))


def split(requests: Requests) -> list[tuple[str, bytes]]:
    """One span or log record a request."""
    found = []
    for signal, body in requests:
        whole = _CLASSES[signal].FromString(body)
        for resource in _list(whole):
            for scope in _list(resource):
                for item in _list(scope):
                    alone = _CLASSES[signal]()
                    group = _list(alone).add()
                    group.resource.CopyFrom(resource.resource)
                    group.schema_url = resource.schema_url
                    inner = _list(group).add()
                    inner.scope.CopyFrom(scope.scope)
                    inner.schema_url = scope.schema_url
                    _list(inner).append(item)
                    found.append((signal, alone.SerializeToString()))
    return found


def merged(requests: Requests) -> list[tuple[str, bytes]]:
    """One request a signal: concatenated messages are merged ones."""
    return [(signal, b"".join(body for kind, body in requests if kind == signal)) for signal in _CLASSES]


def by_json(requests: Requests) -> list[tuple[str, bytes]]:
    """There and back as OTLP/JSON."""
    return [
        (signal, otlp_json.to_protobuf(signal, documents.json_line(signal, body)))  # type: ignore[arg-type]
        for signal, body in requests
    ]


def _list(message: Any) -> Any:
    for name in ("resource_spans", "resource_logs", "scope_spans", "scope_logs", "spans", "log_records"):
        if name in message.DESCRIPTOR.fields_by_name:
            return getattr(message, name)
    raise TypeError(message)


def span(
    id: int, parent: int | None = None, name: str = "", trace: int = 1, at: float = 0, took: float = 1, **more: Any
) -> dict[str, Any]:
    """A span in a few words: times in seconds, attributes by their names with `__` for dots."""
    attributes = {key.replace("__", "."): value for key, value in more.items() if "__" in key}
    rest = {key: value for key, value in more.items() if "__" not in key}
    attributes |= rest.pop("attributes", {})
    return {
        "id": id,
        "parent": parent,
        "name": name,
        "trace": trace,
        "at": at,
        "took": took,
        "attributes": attributes,
    } | rest


def request(spans: Iterable[dict[str, Any]], service: str = "app", scope: str = "test") -> bytes:
    whole = ExportTraceServiceRequest()
    group = whole.resource_spans.add()
    group.resource.attributes.append(KeyValue(key="service.name", value=AnyValue(string_value=service)))
    inner = group.scope_spans.add()
    inner.scope.name = scope
    scopes = {scope: inner}
    for one in spans:
        if one.get("scope", scope) not in scopes:
            scopes[one["scope"]] = group.scope_spans.add()
            scopes[one["scope"]].scope.name = one["scope"]
            scopes[one["scope"]].scope.version = one.get("version", "")
        made = scopes[one.get("scope", scope)].spans.add(
            trace_id=one["trace"].to_bytes(16, "big"),
            span_id=one["id"].to_bytes(8, "big"),
            parent_span_id=one["parent"].to_bytes(8, "big") if one["parent"] else b"",
            name=one["name"],
            kind=one.get("kind", 1),
            dropped_attributes_count=one.get("dropped", 0),
            start_time_unix_nano=T0 + int(one["at"] * SECOND),
            end_time_unix_nano=T0 + int((one["at"] + one["took"]) * SECOND),
        )
        if one.get("error") is not None:
            made.status.code, made.status.message = 2, one["error"]
        if one.get("status") is not None:
            made.status.code = one["status"]
        for trace, target, *told in one.get("links", ()):
            link = made.links.add(trace_id=trace.to_bytes(16, "big"), span_id=target.to_bytes(8, "big"))
            link.attributes.extend(
                KeyValue(key=key, value=_value(value)) for some in told for key, value in some.items()
            )
        for name, attributes in one.get("events", ()):
            event = made.events.add(name=name, time_unix_nano=made.start_time_unix_nano)
            event.attributes.extend(KeyValue(key=key, value=_value(value)) for key, value in attributes.items())
        for key, value in one["attributes"].items():
            made.attributes.append(KeyValue(key=key, value=_value(value)))
    return whole.SerializeToString()


def records(bodies: Iterable[tuple[int, dict[str, Any]]], trace: int = 1) -> bytes:
    """Log records of spans, by their bodies."""
    whole = ExportLogsServiceRequest()
    inner = whole.resource_logs.add().scope_logs.add()
    for at, (of, body) in enumerate(bodies):
        made = inner.log_records.add(
            trace_id=trace.to_bytes(16, "big"), span_id=of.to_bytes(8, "big"), time_unix_nano=T0 + at
        )
        made.body.CopyFrom(_deep(body))
    return whole.SerializeToString()


def events(
    *told: tuple[int, str, float, dict[str, Any]], scope: str = "", named: bool = False, deep: bool = False
) -> bytes:
    """Log records of spans (0: of none) of the first trace: (span, name, seconds, attributes); the name is the body, or
    has its field (`named`); objects and lists are JSON, or as OTLP has them (`deep`)."""
    whole = ExportLogsServiceRequest()
    inner = whole.resource_logs.add().scope_logs.add()
    inner.scope.name = scope
    for of, name, at, attributes in told:
        made = inner.log_records.add(
            trace_id=(1).to_bytes(16, "big"),
            span_id=of.to_bytes(8, "big") if of else b"",
            time_unix_nano=T0 + int(at * SECOND),
        )
        if named:
            made.event_name = name
        else:
            made.body.string_value = name
        value_of = _deep if deep else _value
        made.attributes.extend(KeyValue(key=key, value=value_of(value)) for key, value in attributes.items())
    return whole.SerializeToString()


def runs(*spans: dict[str, Any], config: Config | None = None, logs: Sequence[bytes] = ()) -> list[dict[str, Any]]:
    """The run JSON of a few spans."""
    frame = reconstruct(*from_requests([request(spans)], list(logs), 1), config or Config(), LATER)
    return [run_json(row, {}) for row in frame.iter_rows(named=True)]


def _deep(value: Any) -> AnyValue:
    """Objects and lists as OTLP has them, not as JSON."""
    if isinstance(value, dict):
        return AnyValue(kvlist_value=KeyValueList(values=[KeyValue(key=k, value=_deep(v)) for k, v in value.items()]))
    if isinstance(value, list):
        return AnyValue(array_value=ArrayValue(values=[_deep(v) for v in value]))
    return _value(value)


def _value(value: Any) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, bytes):
        return AnyValue(bytes_value=value)
    return AnyValue(string_value=value if isinstance(value, str) else json.dumps(value))


def agent(id: int, name: str, parent: int | None = None, **more: Any) -> dict[str, Any]:
    return span(
        id, parent, f"invoke_agent {name}", gen_ai__operation__name="invoke_agent", gen_ai__agent__name=name, **more
    )


def chat(id: int, parent: int | None, answer: Any = None, asked: Any = None, **more: Any) -> dict[str, Any]:
    """A model call; `answer` is text, or tool calls as (call id, tool, arguments)."""
    told: dict[str, Any] = {}
    if answer is not None:
        calls = [] if isinstance(answer, str) else answer
        parts: list[dict[str, Any]] = [{"type": "text", "content": answer}] if isinstance(answer, str) else []
        parts += [{"type": "tool_call", "id": i, "name": n, "arguments": a} for i, n, a in calls]
        finish = "tool_call" if calls else "stop"
        told["gen_ai.output.messages"] = [{"role": "assistant", "parts": parts, "finish_reason": finish}]
    if asked is not None:
        told["gen_ai.input.messages"] = (
            [{"role": "user", "parts": [{"type": "text", "content": asked}]}] if isinstance(asked, str) else asked
        )
    usage = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2, "gen_ai.request.model": "model-a"}
    attributes = {"gen_ai.operation.name": "chat"} | usage | told | more.pop("attributes", {})
    return span(id, parent, "chat model-a", kind=3, attributes=attributes, **more)


def tool(
    id: int, parent: int | None, name: str, call: str | None = None, result: str | None = None, **more: Any
) -> dict[str, Any]:
    told = {"gen_ai.tool.call.id": call} if call else {}
    told |= {"gen_ai.tool.call.result": result} if result is not None else {}
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name} | told | more.pop("attributes", {})
    return span(id, parent, f"execute_tool {name}", attributes=attributes, **more)
