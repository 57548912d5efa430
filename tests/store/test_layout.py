"""OTLP bytes to columns and back."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otelcov.ground.schemas import LOGS, SPANS
from otelcov.store import layout

text = st.text(max_size=8) | st.just("x" * 300)
uint32 = st.integers(0, 2**32 - 1)
uint64 = st.integers(0, 2**64 - 1)


def _any(value: Any) -> AnyValue:
    match value:
        case None:
            return AnyValue()
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=value)
        case bytes():
            return AnyValue(bytes_value=value)
        case list():
            out = AnyValue()
            out.array_value.SetInParent()
            out.array_value.values.extend(_any(v) for v in value)
            return out
        case dict():
            out = AnyValue()
            out.kvlist_value.SetInParent()
            out.kvlist_value.values.extend(KeyValue(key=k, value=_any(v)) for k, v in value.items())
            return out
    raise AssertionError(value)


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | text
    | st.binary(max_size=4)
    | st.just(b"\xff" * 300)
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3), max_leaves=6
)
attributes = st.dictionaries(text, values, max_size=4).map(
    lambda d: [KeyValue(key=k, value=_any(v)) for k, v in d.items()]
)
events = st.builds(Span.Event, time_unix_nano=uint64, name=text, attributes=attributes, dropped_attributes_count=uint32)
links = st.builds(
    Span.Link,
    trace_id=st.binary(min_size=16, max_size=16),
    span_id=st.binary(min_size=8, max_size=8),
    trace_state=text,
    attributes=attributes,
    dropped_attributes_count=uint32,
    flags=uint32,
)


@st.composite
def spans(draw: st.DrawFn) -> Span:
    span = Span(
        trace_id=draw(st.binary(min_size=16, max_size=16)),
        span_id=draw(st.binary(min_size=8, max_size=8)),
        parent_span_id=draw(st.just(b"") | st.binary(min_size=8, max_size=8)),
        trace_state=draw(text),
        flags=draw(uint32),
        name=draw(text),
        kind=draw(st.integers(0, 5)),  # type: ignore[arg-type]
        start_time_unix_nano=draw(uint64),
        end_time_unix_nano=draw(uint64),
        attributes=draw(attributes),
        dropped_attributes_count=draw(uint32),
        events=draw(st.lists(events, max_size=2)),
        dropped_events_count=draw(uint32),
        links=draw(st.lists(links, max_size=2)),
        dropped_links_count=draw(uint32),
    )
    code, message = draw(st.integers(0, 2)), draw(text)
    if code or message:
        span.status.code, span.status.message = code, message  # type: ignore[assignment]
    return span


@st.composite
def requests(draw: st.DrawFn) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    for _ in range(draw(st.integers(0, 3))):
        resource_spans = request.resource_spans.add(schema_url=draw(text))
        resource_spans.resource.attributes.extend(draw(attributes))
        for _ in range(draw(st.integers(0, 2))):
            scope_spans = resource_spans.scope_spans.add(schema_url=draw(text))
            scope_spans.scope.name = draw(text)
            scope_spans.spans.extend(draw(st.lists(spans(), max_size=2)))
    return request


def told(request: ExportTraceServiceRequest) -> Counter[Any]:
    """What a request says of each span, whatever the order of spans, and of a span's attributes, is."""
    said: Counter[Any] = Counter()
    for rs in request.resource_spans:
        for ss in rs.scope_spans:
            for span in ss.spans:
                span = Span.FromString(span.SerializeToString())
                span.parent_span_id = span.parent_span_id.strip(b"\0") and span.parent_span_id
                pairs = sorted(span.attributes, key=lambda kv: kv.key)
                del span.attributes[:]
                span.attributes.extend(pairs)
                around = Resource.SerializeToString(rs.resource), InstrumentationScope.SerializeToString(ss.scope)
                said[(*around, rs.schema_url, ss.schema_url, span.SerializeToString())] += 1
    return said


@settings(max_examples=40, deadline=None)
@given(st.lists(requests(), max_size=3))
def test_nothing_is_lost_between_otlp_and_columns(sent: list[ExportTraceServiceRequest]) -> None:
    ids = [s.trace_id + s.span_id for r in sent for rs in r.resource_spans for ss in rs.scope_spans for s in ss.spans]
    frame, _ = layout.from_requests([r.SerializeToString() for r in sent], [], 5)
    assert frame.schema == SPANS
    back = ExportTraceServiceRequest.FromString(layout.to_otlp(frame))
    if len(set(ids)) == len(ids):
        whole = ExportTraceServiceRequest()
        for r in sent:
            whole.MergeFrom(r)
        assert told(back) == told(whole)
    else:
        assert frame.height == len(set(ids))


def test_an_id_of_zeros_is_none() -> None:
    request, records = ExportTraceServiceRequest(), ExportLogsServiceRequest()
    scope_spans = request.resource_spans.add().scope_spans.add()
    scope_spans.spans.add(trace_id=b"t" * 16, span_id=b"s" * 8, parent_span_id=bytes(8))
    scope_spans.spans.add(trace_id=b"t" * 16, span_id=b"r" * 8, parent_span_id=b"\0" * 7 + b"s")
    records.resource_logs.add().scope_logs.add().log_records.add(trace_id=bytes(16), span_id=bytes(8))
    spans, logs = layout.from_requests([request.SerializeToString()], [records.SerializeToString()], 0)
    assert dict(spans.select("span_id", "parent_span_id").rows()) == {b"s" * 8: None, b"r" * 8: b"\0" * 7 + b"s"}
    assert logs.select("trace_id", "span_id").row(0) == (None, None)


def test_a_long_value_is_content_whatever_its_key() -> None:
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add(trace_id=b"t" * 16, span_id=b"s" * 8)
    for key, value in {"a": "x" * 256, "b": "x" * 257, "c": ["x" * 300], "d": 7, "e": b"x" * 300}.items():
        span.attributes.append(KeyValue(key=key, value=_any(value)))
    frame, _ = layout.from_requests([request.SerializeToString()], [], 0)
    assert [kv["key"] for kv in frame["attributes"][0]] == ["a", "d"]
    assert [kv["key"] for kv in frame["content"][0]] == ["b", "c", "e"]


def test_service_environment_and_release_come_from_the_resource() -> None:
    def told_by(**resource: Any) -> tuple[Any, ...]:
        request = ExportTraceServiceRequest()
        resource_spans = request.resource_spans.add()
        for key, value in resource.items():
            resource_spans.resource.attributes.append(KeyValue(key=key.replace("_", "."), value=_any(value)))
        resource_spans.scope_spans.add().spans.add(trace_id=b"t" * 16, span_id=b"s" * 8)
        frame, _ = layout.from_requests([request.SerializeToString()], [], 0)
        return frame.select("service", "environment", "release").row(0)

    assert told_by(service_name="a", deployment_environment_name="Prod", service_version="1") == ("a", "Prod", "1")
    assert told_by(deployment_environment="old") == (None, "old", None)
    assert told_by(deployment_environment="old", deployment_environment_name="new") == (None, "new", None)
    assert told_by(service_name=7, service_version=["1"]) == (None, None, None)
    assert told_by(service_name="") == (None, None, None)


def test_log_records_keep_body_event_name_and_ids() -> None:
    request = ExportLogsServiceRequest()
    scope_logs = request.resource_logs.add().scope_logs.add()
    record = scope_logs.log_records.add(time_unix_nano=2**64 - 1, event_name="gen_ai.choice", trace_id=b"t" * 16)
    record.body.CopyFrom(_any({"content": "hi"}))
    scope_logs.log_records.add(observed_time_unix_nano=3, severity_text="INFO", severity_number=9)  # type: ignore[arg-type]
    scope_logs.log_records.append(scope_logs.log_records[1])
    _, frame = layout.from_requests([], [request.SerializeToString()], 7)
    assert frame.schema == LOGS
    first, second = frame.sort("time_unix_nano", descending=True).rows(named=True)
    assert (first["time_unix_nano"], first["event_name"]) == (2**64 - 1, "gen_ai.choice")
    assert first["body"]["kvlist_value"] == record.body.kvlist_value.SerializeToString()
    assert (second["trace_id"], second["severity_text"], second["body"]["string_value"]) == (None, "INFO", None)
