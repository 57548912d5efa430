"""Deterministic OTLP traffic of agents, fast enough for tens of millions of spans.

A few hundred runs are written out once with the official protobuf classes, with marks where ids, times, tool names,
call ids and texts stand. Each further run is such a template with the marks filled in, so a span costs a join of byte
strings. Messages follow the current GenAI conventions (JSON in attributes, a growing history), spans arrive in order
of their end, as a batch processor exports them: children first, runs interleaved, traces split over requests.

    python -m tests.bench.generate DIR --spans 1e6 --hours 24 --unique 0.9      files for `otelcov import DIR`
"""

from __future__ import annotations

import argparse
import json
import operator
import random
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

MS = 1_000_000
HOUR = 3_600_000 * MS
PLANNER_TOOLS = (
    *("search_hotel", "search_train", "read_mailbox", "get_calendar"),
    *("find_contact", "look_up_fare", "check_budget", "list_flights"),
)
WORKER_TOOLS = (
    *("book_flights", "rent_vehicle", "send_invoice", "reserve_seat", "order_dinner", "write_ticket", "update_order"),
    *("close_ticket", "query_ledger", "fetch_report", "parse_upload", "merge_branch", "run_pipeline", "scan_package"),
    *("sync_records", "issue_refund"),
)
RESTRICTED_TOOL = "delete_order"  # as long as the others: a name can take the place of any other
MODELS = {"planner": ("gpt-4o", "gpt-4o-2024-08-06", "openai"), "worker": ("claude-sonnet-4-5",) * 2 + ("anthropic",)}
SERVICES = ("travel-assistant", "back-office", "support-desk")
ENVIRONMENTS = ("production",) * 16 + ("staging",) + ("test",) * 3
RELEASES = ("2.3.0", "2.4.0")
TEXT = """
please could the we agreed confirm booking for guests with window seats and breakfast before noon on Friday because the
earlier train was cancelled so find another hotel near station under budget invoice attached refund issued customer
asked again about their order number account support thanks summary of next steps will follow report shows three open
items flights from Oslo to Lisbon Rome Vienna two nights total price within limits
"""


@dataclass(frozen=True)
class Traffic:
    """What to generate. Equal values give equal bytes."""

    spans: int
    request_spans: int = 512
    text: int = 30  # average characters of a message or a tool's result
    seed: int = 0
    since_ns: int = 1_767_225_600_000 * MS  # 2026-01-01
    length_ns: int = 24 * HOUR
    unique: float = 0.05  # share of runs whose path no other run takes
    templates: int = 240


class Request(NamedTuple):
    body: bytes  # an ExportTraceServiceRequest
    spans: int


def requests(traffic: Traffic) -> Iterator[Request]:
    """The requests in the order of sending."""
    rng = random.Random(traffic.seed)
    templates = [_template(rng, traffic.text) for _ in range(traffic.templates)]
    weights = [1 / (rank + 1) for rank in range(len(templates))]  # few ways are common, many are rare
    pool = " ".join(rng.choices(TEXT.split(), k=200_000)).encode()
    heads = [_resource(s, e, r) for s in SERVICES for e in ENVIRONMENTS for r in RELEASES]
    waiting: list[list[tuple[int, bytes]]] = [[] for _ in heads]
    mean = sum(len(t.spans) * w for t, w in zip(templates, weights, strict=True)) / sum(weights)
    pause = max(1.0, traffic.length_ns / (traffic.spans / mean))
    made, clock = 0, float(traffic.since_ns)
    chunk = 64 * len(heads)
    while made < traffic.spans:
        for template in rng.choices(templates, weights, k=chunk):
            stream = waiting[int(rng.random() * len(heads))]
            stream += template.run(rng, pool, int(clock), rng.random() < traffic.unique)
            made += len(template.spans)
            clock += pause
            if made >= traffic.spans:
                break
        left = made - traffic.spans  # the very last run is cut: its root comes last, or never
        for head, stream in zip(heads, waiting, strict=True):
            stream.sort(key=operator.itemgetter(0))
            if left > 0 and len(stream) > left:
                del stream[-left:]
                left = 0
            whole = (
                len(stream) if made >= traffic.spans else len(stream) // traffic.request_spans * traffic.request_spans
            )
            for first in range(0, whole, traffic.request_spans):
                part = stream[first : min(first + traffic.request_spans, whole)]
                yield Request(_request(head, [span for _, span in part]), len(part))
            del stream[:whole]


def _request(resource: bytes, spans: list[bytes]) -> bytes:
    scope = InstrumentationScope(name="acme.agents", version="1.9.2").SerializeToString()
    scope_spans = b"".join([_field(0x0A, scope), *spans])
    return _field(0x0A, _field(0x0A, resource) + _field(0x12, scope_spans))


def _field(tag: int, content: bytes) -> bytes:
    """A length-delimited protobuf field."""
    prefix, length = bytearray([tag]), len(content)
    while length > 127:
        prefix.append(length & 127 | 128)
        length >>= 7
    prefix.append(length)
    return bytes(prefix) + content


def _resource(service: str, environment: str, release: str) -> bytes:
    names = {
        "service.name": service,
        "service.version": release,
        "deployment.environment.name": environment,
        "telemetry.sdk.language": "python",
        "telemetry.sdk.name": "opentelemetry",
        "telemetry.sdk.version": "1.45.2",
    }
    return Resource(attributes=[_attribute(k, v) for k, v in names.items()]).SerializeToString()


def _attribute(key: str, value: object) -> KeyValue:
    made = AnyValue()
    if isinstance(value, int):
        made.int_value = value
    elif isinstance(value, list):
        made.array_value.values.extend(AnyValue(string_value=v) for v in value)
    else:
        made.string_value = str(value)
    return KeyValue(key=key, value=made)


@dataclass(frozen=True)
class _Template:
    """One way a run can go, as literal bytes and numbered values between them."""

    spans: list[tuple[int, Callable[[list[bytes]], tuple[bytes, ...]]]]  # end, picker of its parts
    literals: list[bytes]
    times: list[int]
    tools: list[tuple[bytes, tuple[bytes, ...]]]  # usual name, names to choose from
    calls: int
    texts: list[int]

    def run(self, rng: random.Random, pool: bytes, start: int, unique: bool) -> Iterator[tuple[int, bytes]]:
        """The spans of one more run with the times they end at."""
        count = len(self.spans)
        ids = rng.randbytes(16 + 8 * count)
        pace = 0.5 + rng.random()
        times = [start + int(t * pace) for t in self.times]
        packed = struct.pack(f"<{len(times)}Q", *times)
        digits = rng.randbytes(8 * (self.calls + 1)).hex().encode()
        last = len(pool) - 4096
        values = [ids[:16]]
        values += [ids[at : at + 8] for at in range(16, len(ids), 8)]
        values += [packed[at : at + 8] for at in range(0, len(packed), 8)]
        values += [rng.choice(names) for _, names in self.tools] if unique else [name for name, _ in self.tools]
        values += [digits[at : at + 16] for at in range(0, len(digits), 16)]
        values += [pool[(at := int(rng.random() * last)) : at + length] for length in self.texts]
        values += self.literals
        for end, parts in self.spans:
            yield start + int(end * pace), b"".join(parts(values))


@dataclass
class _Script:
    """Writes one run down; every mark is text or bytes that occurs nowhere else."""

    rng: random.Random
    text_length: int
    spans: list[tuple[int, Span]] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    tools: list[tuple[bytes, tuple[bytes, ...]]] = field(default_factory=list)
    calls: int = 0
    texts: list[int] = field(default_factory=list)
    clock: int = 0
    opened: int = 0

    def text(self) -> str:
        mark = f"@text{len(self.texts):03d}@"
        length = max(len(mark), min(4000, int(self.rng.expovariate(1 / self.text_length)) + 20))
        self.texts.append(length)
        return mark.ljust(length, ".")

    def tool(self, agent: str, name: str | None = None) -> str:
        names = (name,) if name else PLANNER_TOOLS if agent == "planner" else WORKER_TOOLS
        self.tools.append((self.rng.choice(names).encode(), tuple(n.encode() for n in names)))
        return f"@tool{len(self.tools) - 1:05d}@@"

    def call_id(self) -> str:
        self.calls += 1
        return f"call_@{self.calls - 1:03d}".ljust(21, "@")

    def open(self, parent: Span | None, name: str, kind: Span.SpanKind, attributes: dict[str, object]) -> Span:
        span = Span(trace_id=b"<<<<trace-id>>>>", span_id=b"<id%04d>" % self.opened, name=name, kind=kind)
        span.parent_span_id = parent.span_id if parent else b""
        span.attributes.extend(_attribute(k, v) for k, v in attributes.items())
        span.start_time_unix_nano = self._time()
        self.opened += 1
        return span

    def close(self, span: Span, lasted_ms: int, attributes: dict[str, object], error: str | None = None) -> None:
        self.clock += lasted_ms * MS
        span.end_time_unix_nano = self._time()
        if error:
            span.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message=f"{error}: the call failed"))
            attributes = {**attributes, "error.type": error}
        span.attributes.extend(_attribute(k, v) for k, v in attributes.items())
        self.spans.append((self.clock, span))

    def _time(self) -> int:
        self.times.append(self.clock)
        self.clock += MS
        return int(struct.unpack("<Q", b"<ts%04d>" % (len(self.times) - 1))[0])


def _template(rng: random.Random, text_length: int) -> _Template:
    script = _Script(rng, text_length)
    _agent(script, None, "planner", turns=rng.choice((1, 1, 2, 2, 3)), delegates=rng.random() < 0.55)
    marks: dict[bytes, int] = {b"<<<<trace-id>>>>": 0}

    def number(found: list[bytes]) -> None:
        for mark in found:
            marks[mark] = len(marks)

    number([b"<id%04d>" % i for i in range(script.opened)])
    number([b"<ts%04d>" % i for i in range(len(script.times))])
    number([b"@tool%05d@@" % i for i in range(len(script.tools))])
    number([(b"@%03d" % i).ljust(16, b"@") for i in range(script.calls)] + [b"<<conversation>>"])
    number([(b"@text%03d@" % i).ljust(length, b".") for i, length in enumerate(script.texts)])
    literals: list[bytes] = []
    spans = []
    for end, span in script.spans:
        raw = _field(0x12, span.SerializeToString())
        places = sorted((at, mark) for mark in marks for at in _find_all(raw, mark))
        picks, done = [], 0
        for at, mark in places:
            literals.append(raw[done:at])
            picks += [len(marks) + len(literals) - 1, marks[mark]]
            done = at + len(mark)
        literals.append(raw[done:])
        spans.append((end, operator.itemgetter(*picks, len(marks) + len(literals) - 1)))
    return _Template(spans, literals, script.times, script.tools, script.calls, script.texts)


def _find_all(raw: bytes, mark: bytes) -> Iterator[int]:
    at = raw.find(mark)
    while at >= 0:
        yield at
        at = raw.find(mark, at + len(mark))


def _agent(script: _Script, parent: Span | None, agent: str, turns: int, delegates: bool) -> None:
    """One agent: a model call, its tools, again, and an answer."""
    rng = script.rng
    request_model, _, provider = MODELS[agent]
    user = "" if parent is None and rng.random() < 0.02 else script.text()
    history: list[dict[str, object]] = [{"role": "user", "parts": [{"type": "text", "content": user}] if user else []}]
    names = PLANNER_TOOLS if agent == "planner" else WORKER_TOOLS
    common = {"gen_ai.provider.name": provider, "gen_ai.request.model": request_model}
    span = script.open(
        parent,
        f"invoke_agent {agent}",
        Span.SPAN_KIND_INTERNAL,
        {
            "gen_ai.operation.name": "invoke_agent",
            **common,
            "gen_ai.agent.name": agent,
            "gen_ai.conversation.id": "<<conversation>>",
            "gen_ai.input.messages": json.dumps(history),
            "gen_ai.tool.definitions": json.dumps([{"type": "function", "name": name} for name in names]),
        },
    )
    failure = rng.random()
    for turn in range(turns):
        wanted = [(script.tool(agent), script.call_id()) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        if failure < 0.02:
            wanted.append((script.tool(agent, RESTRICTED_TOOL), script.call_id()))
        delegated = delegates and turn == turns - 1
        asked = [*wanted, *([("delegate_to_worker", script.call_id())] if delegated else [])]
        _chat(script, span, agent, history, [(n, c, {"query": script.text()}) for n, c in asked])
        for name, call in wanted:
            broken = rng.random() < 0.06
            _tool(script, span, agent, name, call, history, "TimeoutError" if broken else None)
            if broken and rng.random() < 0.8:
                again = script.call_id()
                _chat(script, span, agent, history, [(name, again, {"query": script.text()})])
                _tool(script, span, agent, name, again, history, None)
        if delegated:
            name, call = asked[-1]
            tool = _open_tool(script, span, agent, name, call, history)
            _agent(script, tool, "worker", rng.choice((1, 1, 2)), delegates=False)
            _close_tool(script, tool, call, history, None)
    if failure > 0.985:
        _chat(script, span, agent, history, [], error="InternalServerError")
        script.close(span, 5, {}, error="InternalServerError")
        return
    answer = _chat(script, span, agent, history, [])
    script.close(span, 5, {"gen_ai.output.messages": answer})


def _chat(
    script: _Script,
    parent: Span,
    agent: str,
    history: list[dict[str, object]],
    asked: list[tuple[str, str, dict[str, str]]],
    error: str | None = None,
) -> str:
    request_model, response_model, provider = MODELS[agent]
    read = json.dumps(history)
    span = script.open(
        parent,
        f"chat {request_model}",
        Span.SPAN_KIND_CLIENT,
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": request_model,
            "gen_ai.conversation.id": "<<conversation>>",
            "gen_ai.input.messages": read,
            "server.address": "llm.internal",
            "server.port": 443,
        },
    )
    if error:
        script.close(span, 2000, {}, error)
        return ""
    parts: list[dict[str, object]] = [
        {"type": "tool_call", "id": call, "name": name, "arguments": arguments} for name, call, arguments in asked
    ]
    reason = "tool_call" if asked else "stop"
    message = {"role": "assistant", "parts": parts or [{"type": "text", "content": script.text()}]}
    history.append(message)
    written = json.dumps([{**message, "finish_reason": reason}])
    outcome = {
        "gen_ai.response.model": response_model,
        "gen_ai.response.finish_reasons": [reason],
        "gen_ai.usage.input_tokens": len(read) // 4,
        "gen_ai.usage.output_tokens": len(written) // 4,
        "gen_ai.output.messages": written,
    }
    script.close(span, script.rng.randrange(400, 4000), outcome)
    return written


def _tool(
    script: _Script, parent: Span, agent: str, name: str, call: str, history: list[dict[str, object]], error: str | None
) -> None:
    _close_tool(script, _open_tool(script, parent, agent, name, call, history), call, history, error)


def _open_tool(
    script: _Script, parent: Span, agent: str, name: str, call: str, history: list[dict[str, object]]
) -> Span:
    asked = next(p for m in reversed(history) for p in m["parts"] if p.get("id") == call)  # type: ignore[attr-defined]
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": call,
        "gen_ai.tool.type": "function",
        "gen_ai.agent.name": agent,
        "gen_ai.tool.call.arguments": json.dumps(asked["arguments"]),
    }
    return script.open(parent, f"execute_tool {name}", Span.SPAN_KIND_INTERNAL, attributes)


def _close_tool(script: _Script, span: Span, call: str, history: list[dict[str, object]], error: str | None) -> None:
    result = "Error: the call timed out" if error else script.text()
    history.append({"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": result}]})
    outcome = {} if error else {"gen_ai.tool.call.result": result}
    script.close(span, script.rng.randrange(20, 900), dict(outcome), error)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write generated agent traffic as OTLP files.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--spans", type=lambda n: int(float(n)), default=100_000)
    parser.add_argument("--request-spans", type=int, default=512)
    parser.add_argument("--text", type=int, default=30, help="average characters of a message")
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--unique", type=float, default=0.05, help="share of runs with a path of their own")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    traffic = Traffic(
        asked.spans,
        asked.request_spans,
        asked.text,
        asked.seed,
        length_ns=int(asked.hours * HOUR),
        unique=asked.unique,
    )
    asked.folder.mkdir(parents=True, exist_ok=True)
    began, size, files = time.monotonic(), 0, 0
    for files, request in enumerate(requests(traffic), 1):
        (asked.folder / f"{files:07d}.traces.pb").write_bytes(request.body)
        size += len(request.body)
    took = time.monotonic() - began
    print(f"{traffic.spans} spans in {files} files, {size / traffic.spans:.0f} bytes a span, {took:.1f} s")


if __name__ == "__main__":
    main()
