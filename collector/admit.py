"""What is let in: one request, judged by the official parser and by OTLP's rules, redacted, as a row for the inbox.

A request that cannot be read is refused for good. A span that breaks a rule is rejected alone, and the answer names the
rule, the count and an example. Nothing here looks at time or disk: `admit` is a function of the bytes and the rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2

from collector import otlp_json, scan, weigh, wire
from collector.config import CollectorConfig
from collector.inbox import Row
from collector.redaction import Redaction
from collector.wire import Signal

MESSAGE_BYTES = 1024  # of an answer
BIG = weigh.SMALL  # from here on a request is counted before it is parsed

_ZERO_TRACE, _ZERO_SPAN = bytes(16), bytes(8)


class Refused(Exception):
    """A request of which nothing is taken, and which is no better the next time."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message[:MESSAGE_BYTES])
        self.reason = reason  # malformed | too_large | wrong_signal


class Admitted(NamedTuple):
    row: Row | None  # None: nothing to keep
    rejected: dict[str, int]  # rule -> spans or log records
    message: str  # for the sender's eyes; empty: all well


class Rules(NamedTuple):
    max_items: int
    max_elements: int
    redaction: Redaction


def rules(config: CollectorConfig) -> Rules:
    return Rules(config.max_request_spans, config.max_request_elements, Redaction(config))


def admit(signal: Signal, body: bytes, rules: Rules, received_unix_nano: int) -> Admitted:
    """Judge one protobuf request."""
    facts = scan.scan(signal, body)
    if (
        facts is not None
        and facts.items <= rules.max_items
        and facts.messages <= rules.max_elements
        and not rules.redaction.concerns(body)
    ):
        return Admitted(Row(signal, received_unix_nano, facts.items, 0, body) if facts.items else None, {}, "")
    return _judge(signal, body, rules, received_unix_nano, facts is not None)


def _judge(signal: Signal, body: bytes, rules: Rules, received_unix_nano: int, plain: bool) -> Admitted:
    """The same by the official parser, which alone refuses, rejects and changes. What is not plain it writes anew: what
    came twice and is one, of which other readers see the last, or both."""
    try:
        if len(body) >= BIG:
            weigh.weigh(signal, body, rules.max_items, rules.max_elements)
        request: Any = wire.parse(signal, body)
    except weigh.TooMany as error:
        raise Refused("too_large", str(error)) from error
    except wire.Undecodable as error:
        _refuse_the_other_signal(signal, body)
        raise Refused("malformed", str(error)) from error

    changed = _move_legacy(signal, request) or not plain
    groups = list(_groups(signal, request))
    items = sum(map(len, groups))
    if items > rules.max_items:
        raise Refused("too_large", f"{items} spans or log records in one request; at most {rules.max_items} are taken")
    rejected, example = _reject(signal, groups)
    if rejected:
        changed = True
        if sum(rejected.values()) == items:
            _refuse_the_other_signal(signal, body)
    masked = 0
    if rules.redaction.concerns(body):
        masked = rules.redaction.apply(request)
        changed = changed or masked > 0
    if changed:
        body = request.SerializeToString()
    items -= sum(rejected.values())
    row = Row(signal, received_unix_nano, items, masked, body) if items else None
    return Admitted(row, rejected, _explain(rejected, example, items) if rejected else "")


def admit_json(signal: Signal, body: bytes, rules: Rules, received_unix_nano: int) -> Admitted:
    """Judge one JSON request."""
    try:
        if len(body) >= BIG:
            weigh.weigh_json(body, rules.max_elements)
        document = otlp_json.loads(body)
        protobuf = otlp_json.convert(signal, document)
    except weigh.TooMany as error:
        raise Refused("too_large", str(error)) from error
    except otlp_json.BadJson as error:
        raise Refused("malformed", str(error)) from error
    admitted = admit(signal, protobuf, rules, received_unix_nano)
    ignored = otlp_json.warning(signal, document)
    return admitted._replace(message=ignored) if ignored and not admitted.message else admitted


def count_data_points(body: bytes, json: bool) -> int:
    """Of a metrics request, all of which are rejected."""
    if len(body) >= BIG:
        return 0
    if json:
        return _count_json_data_points(body)
    try:
        request = metrics_service_pb2.ExportMetricsServiceRequest.FromString(body)
    except DecodeError as error:
        raise Refused("malformed", "the body is not an OTLP metrics request") from error
    return sum(
        len(getattr(metric, kind).data_points)
        for resource in request.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if (kind := metric.WhichOneof("data"))
    )


def _count_json_data_points(body: bytes) -> int:
    try:
        document = otlp_json.loads(body)
    except otlp_json.BadJson as error:
        raise Refused("malformed", str(error)) from error
    if not isinstance(document, dict):
        raise Refused("malformed", "the body is not an OTLP metrics request")
    count = 0
    left: list[Any] = [document]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            points = value.get("dataPoints")
            count += len(points) if isinstance(points, list) else 0
            value = value.values()
        left.extend(inner for inner in value if isinstance(inner, dict | list))
    return count


def _groups(signal: Signal, request: Any) -> Iterator[Any]:
    """The repeated fields that hold spans or log records."""
    if signal == "traces":
        return (scope.spans for resource in request.resource_spans for scope in resource.scope_spans)
    return (scope.log_records for resource in request.resource_logs for scope in resource.scope_logs)


def _move_legacy(signal: Signal, request: Any) -> bool:
    """Spans where OTLP before 0.19 had them go to their present place, else an old exporter loses them unseen."""
    moved = False
    for resource in request.resource_spans if signal == "traces" else request.resource_logs:
        if resource.legacy_scopes:
            scopes = resource.scope_spans if signal == "traces" else resource.scope_logs
            scopes.extend(resource.legacy_scopes)
            resource.ClearField("legacy_scopes")
            moved = True
    return moved


_span_ids = attrgetter("trace_id", "span_id", "parent_span_id")
_log_ids = attrgetter("trace_id", "span_id")


def _span_rule(span: Any) -> str | None:
    trace, own, parent = _span_ids(span)
    if len(trace) != 16 or trace == _ZERO_TRACE:
        return "trace_id must be 16 bytes and not all zero"
    if len(own) != 8 or own == _ZERO_SPAN:
        return "span_id must be 8 bytes and not all zero"
    if len(parent) not in (0, 8):
        return "parent_span_id must be empty or 8 bytes"
    return None


def _log_rule(record: Any) -> str | None:
    if len(record.trace_id) not in (0, 16):
        return "trace_id must be empty or 16 bytes"
    if len(record.span_id) not in (0, 8):
        return "span_id must be empty or 8 bytes"
    return None


def _reject(signal: Signal, groups: list[Any]) -> tuple[dict[str, int], str]:
    """Take out the items that break a rule: (rule -> how many, an example)."""
    broken: Counter[str] = Counter()
    example = ""
    sound = _all_spans_sound if signal == "traces" else _all_logs_sound
    rule_of: Callable[[Any], str | None] = _span_rule if signal == "traces" else _log_rule
    for items in groups:
        if sound(items):
            continue
        rules = [rule_of(item) for item in items]
        for index in range(len(rules) - 1, -1, -1):
            if (rule := rules[index]) is not None:
                example = _example(signal, items[index])
                broken[rule] += 1
        kept = [item for item, rule in zip(items, rules, strict=True) if rule is None]
        if len(kept) == len(items):
            continue
        copies = [type(item).FromString(item.SerializeToString()) for item in kept]
        del items[:]
        items.extend(copies)
    return dict(sorted(broken.items())), example


def _all_spans_sound(spans: Any) -> bool:
    """The rule over a whole list at once: the loop runs in C, as this is most of admission's time."""
    if not spans:
        return True
    traces, own, parents = zip(*map(_span_ids, spans), strict=True)
    return (
        set(map(len, traces)) == {16}
        and set(map(len, own)) == {8}
        and set(map(len, parents)) <= {0, 8}
        and _ZERO_TRACE not in traces
        and _ZERO_SPAN not in own
    )


def _all_logs_sound(records: Any) -> bool:
    if not records:
        return True
    traces, own = zip(*map(_log_ids, records), strict=True)
    return set(map(len, traces)) <= {0, 16} and set(map(len, own)) <= {0, 8}


def _example(signal: Signal, item: Any) -> str:
    name = item.name if signal == "traces" else item.event_name or item.severity_text
    return f"{name[:60]!r} with trace_id {item.trace_id[:20].hex()!r}, span_id {item.span_id[:20].hex()!r}"


def _explain(rejected: dict[str, int], example: str, kept: int) -> str:
    reasons = "; ".join(f"{rule} ({count})" for rule, count in rejected.items())
    total = sum(rejected.values())
    return f"rejected {total} of {total + kept}: {reasons}; for example {example}"[:MESSAGE_BYTES]


def _refuse_the_other_signal(signal: Signal, body: bytes) -> None:
    """ResourceLogs share their field numbers with ResourceSpans, so logs that are posted to /v1/traces decode as spans
    without ids, if at all (and spans posted to /v1/logs as records with an odd trace id)."""
    other: Signal = "logs" if signal == "traces" else "traces"
    if len(body) >= BIG:
        return
    try:
        look: Any = wire.parse(other, body)
    except wire.Undecodable:
        return
    found = [item for items in _groups(other, look) for item in items]
    if other == "logs":
        meant = any(r.time_unix_nano or r.observed_time_unix_nano or r.HasField("body") for r in found)
    else:
        meant = any(_span_rule(span) is None for span in found)
    if meant:
        raise Refused("wrong_signal", f"this is an OTLP {other} payload; send it to /v1/{other}, not /v1/{signal}")
