"""Agent traffic for the judge, written as plain rows and turned into OTLP: one trace a turn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from typer.testing import CliRunner

from otelcov.cli.commands import app

START = 1_767_225_600_000_000_000  # 2026-01-01T00:00:00Z
SECOND = 1_000_000_000


class Tool(NamedTuple):
    name: str
    arguments: dict[str, Any]
    result: Any = "ok"
    error: str | None = None


class Said(NamedTuple):
    """One turn."""

    user: str
    agent: str | None
    tools: Sequence[Tool] = ()
    conversation: str = "c1"
    offered: Sequence[str] | None = None
    name: str = "planner"
    system: str | None = None


def request(turns: Sequence[Said], start: int = START) -> ExportTraceServiceRequest:
    out = ExportTraceServiceRequest()
    resource = out.resource_spans.add()
    _put(resource.resource, {"service.name": "shop", "deployment.environment.name": "test"})
    spans = resource.scope_spans.add()
    for k, turn in enumerate(turns):
        begin = start + k * 60 * SECOND
        trace = sha256(f"{start} {k} {turn}".encode()).digest()[:16]
        root = _span(spans, trace, b"", f"invoke_agent {turn.name}", begin, 10)
        _put(
            root,
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": turn.name,
                "gen_ai.conversation.id": turn.conversation,
            },
        )
        messages: list[dict[str, Any]] = []
        if turn.system:
            messages.append({"role": "system", "parts": [{"type": "text", "content": turn.system}]})
        messages.append({"role": "user", "parts": [{"type": "text", "content": turn.user}]})
        at = 1
        for n, tool in enumerate(turn.tools):
            call_id = f"call-{k}-{n}"
            ask = {"type": "tool_call", "id": call_id, "name": tool.name, "arguments": tool.arguments}
            answer = {"role": "assistant", "parts": [ask], "finish_reason": "tool_calls"}
            _chat(spans, trace, root, begin, at, messages, answer, turn)
            ran = _span(spans, trace, root.span_id, f"execute_tool {tool.name}", begin + (at + 0.2) * SECOND, 0.1)
            facts = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool.name,
                "gen_ai.tool.call.id": call_id,
                "gen_ai.tool.call.arguments": json.dumps(tool.arguments),
            }
            if tool.error:
                ran.status.code = 2
                ran.status.message = f"{tool.error}: scripted"
                facts["error.type"] = tool.error
            else:
                facts["gen_ai.tool.call.result"] = json.dumps(tool.result)
            _put(ran, facts)
            came = {"type": "tool_call_response", "id": call_id, "response": tool.error or tool.result}
            messages = [*messages, answer, {"role": "tool", "parts": [came]}]
            at += 1
        if turn.agent is not None:
            said = {"role": "assistant", "parts": [{"type": "text", "content": turn.agent}], "finish_reason": "stop"}
            _chat(spans, trace, root, begin, at, messages, said, turn)
    return out


def store(folder: Path, turns: Sequence[Said], start: int = START) -> Path:
    """A store that holds these turns."""
    files = folder / f"otlp-{start}"
    files.mkdir(parents=True)
    (files / "spans.pb").write_bytes(request(turns, start).SerializeToString())
    place = folder / "store"
    result = CliRunner().invoke(app, ["import", str(files), "--store", str(place)])
    assert result.exit_code == 0, result.output
    return place


def _chat(spans: Any, trace: bytes, root: Any, begin: int, at: int, inputs: Any, output: Any, turn: Said) -> None:
    span = _span(spans, trace, root.span_id, "chat model-a", begin + at * SECOND, 0.1)
    facts = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "model-a",
        "gen_ai.input.messages": json.dumps(inputs),
        "gen_ai.output.messages": json.dumps([output]),
    }
    if turn.offered is not None:
        facts["gen_ai.tool.definitions"] = json.dumps([{"type": "function", "name": name} for name in turn.offered])
    _put(span, facts)


def _span(spans: Any, trace: bytes, parent: bytes, name: str, start: float, seconds: float) -> Any:
    span = spans.spans.add()
    span.trace_id, span.parent_span_id, span.name = trace, parent, name
    span.start_time_unix_nano, span.end_time_unix_nano = int(start), int(start + seconds * SECOND)
    span.span_id = sha256(trace + name.encode() + str(int(start)).encode()).digest()[:8]
    return span


def _put(thing: Any, facts: dict[str, str]) -> None:
    for key, value in facts.items():
        pair = thing.attributes.add()
        pair.key, pair.value.string_value = key, value
