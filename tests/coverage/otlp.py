"""Agent runs as OTLP files by the GenAI conventions, for tests that go the whole way."""

from __future__ import annotations

import hashlib
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

START = 1_754_000_000_000_000_000
SECOND = 1_000_000_000


def write(folder: Path, *runs: tuple[str, float, list[str]]) -> Path:
    """One request per run: (environment, seconds after START, tools of `planner`; `!` for an error)."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (environment, at, tools) in enumerate(runs):
        (folder / f"req-{number:04}.binpb").write_bytes(_request(number, environment, at, tools))
    return folder


def _request(number: int, environment: str, at: float, tools: list[str]) -> bytes:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    _put(
        resource.resource, {"service.name": "shop", "deployment.environment.name": environment, "service.version": "1"}
    )
    scope = resource.scope_spans.add()
    scope.scope.name = "shop"
    trace = hashlib.sha256(str(number).encode()).digest()[:16]
    start = START + int(at * SECOND)

    def span(place: int, name: str, operation: str, attributes: dict[str, str], parent: int | None = 1) -> Span:
        found = scope.spans.add(trace_id=trace, span_id=place.to_bytes(8), name=name)
        found.start_time_unix_nano = start + place * 1_000_000
        found.end_time_unix_nano = start + 12 * SECOND if parent is None else start + (place + 1) * 1_000_000
        if parent is not None:
            found.parent_span_id = parent.to_bytes(8)
        _put(found, {"gen_ai.operation.name": operation, **attributes})
        return found

    span(1, "invoke_agent planner", "invoke_agent", {"gen_ai.agent.name": "planner"}, None)
    model = {"gen_ai.request.model": "gpt-4o", "gen_ai.provider.name": "openai"}
    for i, tool in enumerate(tools):
        span(10 * i + 2, "chat gpt-4o", "chat", model)
        name = tool.rstrip("!")
        called = span(10 * i + 3, f"execute_tool {name}", "execute_tool", {"gen_ai.tool.name": name})
        if tool.endswith("!"):
            called.status.code = called.status.STATUS_CODE_ERROR
    span(9999, "chat gpt-4o", "chat", model)
    return request.SerializeToString()


def _put(thing: object, attributes: dict[str, str]) -> None:
    pairs = [KeyValue(key=k, value=AnyValue(string_value=v)) for k, v in attributes.items()]
    thing.attributes.extend(pairs)  # type: ignore[attr-defined]
