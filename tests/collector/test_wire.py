"""The decoder against the official parser, on generated and on mutated requests."""

from __future__ import annotations

import json
import math
import os
import random
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1 import common_pb2

from collector import admit, otlp_json, wire
from collector.config import CollectorConfig

RULES = admit.rules(CollectorConfig(store="", inbox=Path()))

text = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
uint64 = st.integers(0, 2**64 - 1)
uint32 = st.integers(0, 2**32 - 1)


def filled(message: Any, /, **fields: Any) -> Any:
    for name, value in fields.items():
        target = getattr(message, name)
        if isinstance(value, list):
            target.extend(value)
        elif hasattr(target, "CopyFrom"):
            target.CopyFrom(value)
        else:
            setattr(message, name, value)
    return message


def made(kind: Any, /, **strategies: Any) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({}, optional=strategies).map(lambda fields: filled(kind(), **fields))


any_value: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.just(common_pb2.AnyValue()),
        text.map(lambda v: common_pb2.AnyValue(string_value=v)),
        st.booleans().map(lambda v: common_pb2.AnyValue(bool_value=v)),
        st.integers(-(2**63), 2**63 - 1).map(lambda v: common_pb2.AnyValue(int_value=v)),
        st.floats().map(lambda v: common_pb2.AnyValue(double_value=v if v == v else math.nan)),  # JSON has one NaN
        st.binary(max_size=8).map(lambda v: common_pb2.AnyValue(bytes_value=v)),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(
            lambda v: common_pb2.AnyValue(array_value=common_pb2.ArrayValue(values=v)),
        ),
        st.lists(st.tuples(text, inner), max_size=3).map(
            lambda v: common_pb2.AnyValue(
                kvlist_value=common_pb2.KeyValueList(values=[common_pb2.KeyValue(key=k, value=x) for k, x in v])
            )
        ),
    ),
    max_leaves=6,
)
attributes = st.lists(made(common_pb2.KeyValue, key=text, value=any_value), max_size=3)
spans = ExportTraceServiceRequest.DESCRIPTOR.fields_by_name["resource_spans"].message_type
Span = spans.fields_by_name["scope_spans"].message_type.fields_by_name["spans"].message_type._concrete_class
Event, Link = Span.Event, Span.Link
Status = Span.DESCRIPTOR.fields_by_name["status"].message_type._concrete_class
event = made(Event, time_unix_nano=uint64, name=text, attributes=attributes, dropped_attributes_count=uint32)
link = made(
    Link,
    trace_id=st.binary(max_size=17),
    span_id=st.binary(max_size=9),
    trace_state=text,
    attributes=attributes,
    flags=uint32,
)
span = made(
    Span,
    trace_id=st.binary(min_size=16, max_size=16),
    span_id=st.binary(min_size=8, max_size=8),
    parent_span_id=st.sampled_from([b"", bytes(range(8))]),
    trace_state=text,
    flags=uint32,
    name=text,
    kind=st.integers(-(2**31), 2**31 - 1),
    start_time_unix_nano=uint64,
    end_time_unix_nano=uint64,
    attributes=attributes,
    dropped_attributes_count=uint32,
    events=st.lists(event, max_size=2),
    links=st.lists(link, max_size=2),
    status=made(Status, message=text, code=st.integers(0, 5)),
)
Scope = spans.fields_by_name["scope_spans"].message_type.fields_by_name["scope"].message_type._concrete_class
ScopeSpans = spans.fields_by_name["scope_spans"].message_type._concrete_class
Resource = spans.fields_by_name["resource"].message_type._concrete_class
scope_spans = made(
    ScopeSpans, scope=made(Scope, name=text, attributes=attributes), spans=st.lists(span, max_size=3), schema_url=text
)
resource_spans = made(
    spans._concrete_class,
    resource=made(Resource, attributes=attributes),
    scope_spans=st.lists(scope_spans, max_size=2),
    schema_url=text,
)
request = made(ExportTraceServiceRequest, resource_spans=st.lists(resource_spans, max_size=2))


def expected(message: Any) -> list[dict[str, Any]]:
    """The rows of the official parser's view."""
    return [
        {
            "trace_id": s.trace_id,
            "span_id": s.span_id,
            "parent_span_id": s.parent_span_id,
            "trace_state": s.trace_state,
            "flags": s.flags,
            "name": s.name,
            "kind": s.kind,
            "start_time_unix_nano": s.start_time_unix_nano,
            "end_time_unix_nano": s.end_time_unix_nano,
            "attributes": [flat(a) for a in s.attributes],
            "dropped_attributes_count": s.dropped_attributes_count,
            "events": [
                {
                    "time_unix_nano": e.time_unix_nano,
                    "name": e.name,
                    "attributes": [flat(a) for a in e.attributes],
                    "dropped_attributes_count": e.dropped_attributes_count,
                }
                for e in s.events
            ],
            "dropped_events_count": s.dropped_events_count,
            "links": [
                {
                    "trace_id": k.trace_id,
                    "span_id": k.span_id,
                    "trace_state": k.trace_state,
                    "attributes": [flat(a) for a in k.attributes],
                    "dropped_attributes_count": k.dropped_attributes_count,
                    "flags": k.flags,
                }
                for k in s.links
            ],
            "dropped_links_count": s.dropped_links_count,
            "status_code": s.status.code,
            "status_message": s.status.message,
            "resource": r.resource.SerializeToString(),
            "resource_schema_url": r.schema_url,
            "scope": c.scope.SerializeToString(),
            "scope_schema_url": c.schema_url,
        }
        for r in message.resource_spans
        for c in r.scope_spans
        for s in c.spans
    ]


def flat(attribute: Any) -> dict[str, Any]:
    kinds = ["string", "bool", "int", "double", "array", "kvlist", "bytes"]
    row: dict[str, Any] = {"key": attribute.key, **{f"{kind}_value": None for kind in kinds}}
    which = attribute.value.WhichOneof("value")
    if which in row:
        value = getattr(attribute.value, which)
        row[which] = value.SerializeToString() if hasattr(value, "SerializeToString") else value
    return row


def rows(body: bytes) -> list[dict[str, Any]]:
    table = wire.decode_traces([body]).drop_columns(["request"])
    return [dict(row) for row in table.to_pylist()]


def same(a: Any, b: Any) -> bool:
    return repr(a) == repr(b)  # NaN equals NaN here


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(request)
def test_the_decoder_gives_the_values_of_the_official_parser(message: Any) -> None:
    assert same(rows(message.SerializeToString()), expected(message))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(request)
def test_json_and_protobuf_of_one_request_decode_alike(message: Any) -> None:
    def document(value: Any) -> Any:
        out: dict[str, Any] = {}
        for field, item in value.ListFields():
            items = list(item) if field.is_repeated else [item]
            if field.type == field.TYPE_MESSAGE:
                items = [document(i) for i in items]
            elif field.type == field.TYPE_BYTES:
                import base64

                hexed = field.name in ("trace_id", "span_id", "parent_span_id")
                items = [i.hex() if hexed else base64.b64encode(i).decode() for i in items]
            elif field.type in (field.TYPE_INT64, field.TYPE_FIXED64):
                items = [str(i) for i in items]
            elif field.type == field.TYPE_DOUBLE:
                items = [i if abs(i) < 1e308 else str(i) for i in items]
            out[field.json_name] = items if field.is_repeated else items[0]
        return out

    converted = otlp_json.to_protobuf("traces", json.dumps(document(message)).encode())
    assert same(rows(converted), rows(message.SerializeToString()))


def samples() -> list[bytes]:
    rng = random.Random(7)
    found = []
    for index in range(12):
        message = ExportTraceServiceRequest()
        resource = message.resource_spans.add()
        resource.resource.attributes.add(key="service.name").value.string_value = "s"
        scope = resource.scope_spans.add()
        scope.scope.name = "lib"
        for _ in range(1 + index % 3):
            s = scope.spans.add(trace_id=rng.randbytes(16), span_id=rng.randbytes(8), name="chat ü", kind=3)
            s.start_time_unix_nano = 1
            s.attributes.add(key="text").value.string_value = "hello" * (index + 1)
            s.attributes.add(key="n").value.int_value = -5
            s.attributes.add(key="d").value.double_value = 0.5
            s.attributes.add(key="l").value.array_value.values.add().string_value = "x"
            pair = s.attributes.add(key="m").value.kvlist_value.values.add(key="k")
            pair.value.bool_value = True
            s.events.add(name="e", time_unix_nano=2).attributes.add(key="k").value.bytes_value = b"\0"
            s.links.add(trace_id=rng.randbytes(16), span_id=rng.randbytes(8))
            s.status.code = 2
        found.append(message.SerializeToString())
    return found


def mutated(rng: random.Random, body: bytes, other: bytes) -> bytes:
    data = bytearray(body)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1) if data else 0
        match rng.randrange(7):
            case 0 if data:
                data[at % len(data)] = rng.randrange(256)
            case 1 if data:
                data[at % len(data)] ^= 1 << rng.randrange(8)
            case 2:
                del data[at : at + rng.randrange(1, 9)]
            case 3:
                data[at:at] = rng.randbytes(rng.randrange(1, 9))
            case 4:
                data[at:at] = other[rng.randrange(len(other)) :][: rng.randrange(1, 40)]
            case 5:
                data[at : at + 1] = b"\xff" * rng.randrange(1, 11)
            case _:
                del data[at:]
    return bytes(data)


def compare(signal: wire.Signal, kind: Any, body: bytes) -> bool:
    """Admission accepts what the official parser accepts, and what was admitted decodes to as many rows."""
    try:
        official = kind.FromString(body)
    except DecodeError:
        official = None
    try:
        admitted = admit.admit(signal, body, RULES, 1)
    except admit.Refused as refusal:
        assert official is None or refusal.reason != "malformed", body.hex()
        return False
    assert official is not None, body.hex()
    if admitted.row is None:
        return False
    decode = wire.decode_traces if signal == "traces" else wire.decode_logs
    table = decode([admitted.row.body])
    assert table.num_rows == admitted.row.spans, body.hex()
    if signal == "traces":
        again = kind.FromString(admitted.row.body)
        found = [dict(row) for row in table.drop_columns(["request"]).to_pylist()]
        wanted = expected(again)
        plain = ("trace_id", "span_id", "parent_span_id", "name", "kind", "start_time_unix_nano", "trace_state")
        for one, two in zip(found, wanted, strict=True):
            assert {k: one[k] for k in plain} == {k: two[k] for k in plain}, body.hex()
            assert len(one["attributes"]) == len(two["attributes"]), body.hex()
    return True


def run_mutations(count: int, seed: int) -> None:
    rng = random.Random(seed)
    bodies = samples()
    record = ExportLogsServiceRequest()
    said = record.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=3, trace_id=bytes(range(16)))
    said.body.kvlist_value.values.add(key="k").value.string_value = "v"
    said.attributes.add(key="a").value.array_value.values.add().int_value = 1
    accepted = 0
    for number in range(count):
        if number % 5:
            accepted += compare(
                "traces", ExportTraceServiceRequest, mutated(rng, rng.choice(bodies), rng.choice(bodies))
            )
        else:
            accepted += compare(
                "logs", ExportLogsServiceRequest, mutated(rng, record.SerializeToString(), rng.choice(bodies))
            )
    assert accepted > count // 50  # else the mutations test nothing but refusal


def test_mutated_requests_are_judged_as_the_official_parser_does() -> None:
    run_mutations(2_000, seed=int(os.environ.get("OTELCOV_TEST_SEED", "1")))


@pytest.mark.full
def test_a_hundred_thousand_mutated_requests_are_judged_as_the_official_parser_does() -> None:
    run_mutations(100_000, seed=2)


def test_hostile_bytes_never_escape_as_a_rust_panic() -> None:
    length_that_wraps = b"\x0a\x0e\x12\x0c\x12\x0a\x2a" + b"\xff" * 9 + b"\x01"
    with pytest.raises(wire.Undecodable):
        wire.decode_traces([length_that_wraps])


def test_one_bad_request_among_good_ones_is_named_by_its_place() -> None:
    good = samples()[0]
    with pytest.raises(wire.Undecodable) as caught:
        wire.decode_traces([good, b"\xff\xff", good])
    assert caught.value.index == 1


def test_unknown_and_future_fields_are_harmless() -> None:
    message = ExportTraceServiceRequest.FromString(samples()[0])
    span = message.resource_spans[0].scope_spans[0].spans[0]
    future = span.SerializeToString() + b"\xfa\x3e\x03abc" + b"\x80\x7d\x05"
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add().MergeFromString(future)
    admitted = admit.admit("traces", request.SerializeToString(), RULES, 1)
    assert admitted.row is not None and b"abc" in admitted.row.body
    assert wire.decode_traces([admitted.row.body])["name"].to_pylist() == ["chat ü"]


def test_what_comes_twice_and_is_one_is_kept_as_the_official_parser_reads_it() -> None:
    def part(number: int, *inner: bytes) -> bytes:
        body = b"".join(inner)
        return _varint(number << 3 | 2) + _varint(len(body)) + body

    def pair(*values: bytes) -> bytes:
        return part(1, b"k") + b"".join(part(2, value) for value in values)

    text, number, nothing = part(1, b"x"), b"\x18\x07", b""
    array, other, pairs = part(5, part(1, text)), part(5, part(1, number)), part(6, part(1, pair(text)))
    attributes = [
        [text + number],
        [number + text],
        [array + other],
        [array + text + other],
        [pairs + pairs],
        [text, number],
        [text, nothing],
        [array, other],
        [part(5, part(1, text + number))],
        [part(6, part(1, pair(text, number)))],
    ]
    span = part(1, bytes(range(16))) + part(2, bytes(range(8))) + b"".join(part(9, pair(*each)) for each in attributes)
    status, resource, scope = (
        part(15, b"\x18\x02") + part(15, text),
        part(1, part(1, pair(text))),
        part(1, part(1, b"n")),
    )
    again = part(1, part(1, pair(number)))
    for body in (
        part(1, part(2, part(2, span))),
        part(1, part(2, part(2, span, status))),
        part(1, resource, part(2, part(2, span)), again),
        part(1, part(2, scope, part(2, span), part(1, part(2, b"v")))),
    ):
        admitted = admit.admit("traces", body, RULES, 1)
        assert admitted.row is not None
        assert same(rows(admitted.row.body), expected(ExportTraceServiceRequest.FromString(body)))


def test_spans_of_otlp_before_0_19_are_kept() -> None:
    request = ExportTraceServiceRequest.FromString(samples()[0])
    old = request.resource_spans[0].scope_spans[0].SerializeToString()
    del request.resource_spans[0].scope_spans[:]
    body = request.resource_spans[0].SerializeToString() + b"\xc2\x3e" + _varint(len(old)) + old
    admitted = admit.admit("traces", b"\x0a" + _varint(len(body)) + body, RULES, 1)
    assert admitted.row is not None and admitted.row.spans == 1
    assert len(wire.decode_traces([admitted.row.body])) == 1


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])
