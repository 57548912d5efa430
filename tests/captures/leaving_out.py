"""The requests of a capture as an instrumentation would have sent them that leaves something out."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

ATTRIBUTES = {
    "call ids": r"(tool_?call\.?(id|#\.id)|tool_call_id|tool_id|tool\.call\.id|tool_calls\.#\.(id|tool_call\.id)"
    r"|tool_use_id|call_id|toolCallId)$",
    "response ids": r"response\.?_?id$|completion_id",
    "sessions": r"session|conversation|thread_?id|user\.id|group_id",
    "agents": r"agent",
    "definitions": r"(tool\.definitions|llm\.tools|request\.functions|available_tools|tools$)",
    "models": r"model",
    "tokens": r"token|usage",
    "roles": r"role$",
    "finish reasons": r"finish_reason|stop_reason",
    "operations": r"(operation\.name|span\.kind|request\.type|span_type|spanType|observation\.type)$",
    "what is no convention": r"^(?!gen_ai\.|llm\.|input\.|output\.|openinference\.span|tool\.|error\.|exception\.)",
    "inputs": r"(^input|prompt|input\.messages|inputs?$|input\.value|\.input$|gen_ai\.user|gen_ai\.system)",
    "outputs": r"(^output|completion|output\.messages|outputs?$|output\.value|\.output$|result)",
    "arguments": r"(arguments|parameters|\.args$|tool_args)",
}
"""Attributes by their keys, `#` for each number in one."""
SPANS = ("tool spans", "agent spans")
LEFT_OUT = (*ATTRIBUTES, *SPANS, "names of scopes", "call ids and arguments", "agents and sessions")

_TOOLS = {
    ("gen_ai.operation.name", "execute_tool"),
    ("openinference.span.kind", "TOOL"),
    ("traceloop.span.kind", "tool"),
}
_AGENTS = {
    *(("gen_ai.operation.name", word) for word in ("invoke_agent", "create_agent")),
    *(("openinference.span.kind", word) for word in ("AGENT", "CHAIN")),
    *(("traceloop.span.kind", word) for word in ("agent", "task", "workflow")),
}
Bodies = tuple[list[bytes], list[bytes]]  # of spans, of log records


def without(bodies: Bodies, what: str) -> Bodies:
    """The same requests without this, one of LEFT_OUT."""
    traces = [ExportTraceServiceRequest.FromString(body) for body in bodies[0]]
    logs = [ExportLogsServiceRequest.FromString(body) for body in bodies[1]]
    if what == "names of scopes":
        for scope in (s.scope for s in _scopes(traces, logs)):
            scope.name, scope.version = "lib." + hashlib.md5(scope.name.encode()).hexdigest()[:6], "1"
    elif what == "tool spans":
        _drop_spans(traces, _TOOLS, ("execute_tool", "running tool"))
    elif what == "agent spans":
        _drop_spans(traces, _AGENTS, ("invoke_agent",))
    else:
        for name in what.split(" and "):
            _drop_attributes(traces, logs, re.compile(ATTRIBUTES[name]).search)
    return [t.SerializeToString() for t in traces], [x.SerializeToString() for x in logs]


def _scopes(traces: list[Any], logs: list[Any]) -> Iterator[Any]:
    for trace in traces:
        for group in trace.resource_spans:
            yield from group.scope_spans
    for log in logs:
        for group in log.resource_logs:
            yield from group.scope_logs


def _drop_attributes(traces: list[Any], logs: list[Any], unwanted: Callable[[str], object]) -> None:
    spans = [span for scope in _scopes(traces, []) for span in scope.spans]
    events = [event for span in spans for event in span.events]
    records = [record for scope in _scopes([], logs) for record in scope.log_records]
    for holder in (*spans, *events, *records):
        kept = [a for a in holder.attributes if not unwanted(re.sub(r"\d+", "#", a.key))]
        if len(kept) < len(holder.attributes):
            del holder.attributes[:]
            holder.attributes.extend(kept)


def _drop_spans(traces: list[Any], told: set[tuple[str, str]], begins: tuple[str, ...]) -> None:
    """Without some spans: what was in them is in what held them."""
    scopes = list(_scopes(traces, []))
    parents = {
        (span.trace_id, span.span_id): span.parent_span_id
        for scope in scopes
        for span in scope.spans
        if span.name.startswith(begins) or any((a.key, a.value.string_value) in told for a in span.attributes)
    }
    for scope in scopes:
        kept = [span for span in scope.spans if (span.trace_id, span.span_id) not in parents]
        for span in kept:
            while (span.trace_id, span.parent_span_id) in parents:
                span.parent_span_id = parents[span.trace_id, span.parent_span_id]
        copies = [type(span).FromString(span.SerializeToString()) for span in kept]
        del scope.spans[:]
        scope.spans.extend(copies)
