"""OTLP/JSON that is odd: taken, or refused with a reason, and nothing else."""

from __future__ import annotations

import copy
import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from collector import admit, wire
from collector.config import CollectorConfig

RULES = admit.rules(CollectorConfig(store="", inbox=Path("unused")))
TRACE, SPAN = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"


def document(**span: Any) -> dict[str, Any]:
    whole = {"traceId": TRACE, "spanId": SPAN, "name": "chat", **span}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [whole]}]}]}


def taken(body: bytes) -> admit.Admitted:
    return admit.admit_json("traces", body, RULES, 1)


def names(body: bytes) -> list[str]:
    row = taken(body).row
    assert row is not None
    found: list[str] = wire.decode_traces([row.body])["name"].to_pylist()
    return found


def test_a_value_of_the_wrong_kind_is_refused_with_its_place() -> None:
    values = [
        {"stringValue": "x"},
        {"intValue": "5"},
        {"boolValue": True},
        {"doubleValue": 0.5},
        {"bytesValue": "AA=="},
        {"arrayValue": {"values": [{"stringValue": "x"}]}},
        {"kvlistValue": {"values": [{"key": "a", "value": {"intValue": 1}}]}},
    ]
    whole = document(
        kind=3,
        flags=1,
        startTimeUnixNano="5",
        status={"code": 2, "message": "m"},
        attributes=[{"key": "k", "value": value} for value in values],
        events=[{"name": "e", "timeUnixNano": 1}],
        links=[{"traceId": TRACE, "spanId": SPAN}],
    )
    whole["resourceSpans"][0] |= {"resource": {"attributes": []}, "schemaUrl": "u"}
    judged = 0
    for place in list(places(whole)):
        for odd in (None, True, 0, -1, 1.5, 10**30, "", "x", "\0", [], [[]], [None], {}, {"x": 1}):
            other = copy.deepcopy(whole)
            *above, last = place
            holder: Any = other
            for step in above:
                holder = holder[step]
            holder[last] = odd
            try:
                taken(json.dumps(other).encode())
            except admit.Refused as refusal:
                assert refusal.reason == "malformed" and str(refusal)
            judged += 1
    assert judged > 500


def test_half_a_surrogate_pair_costs_one_character() -> None:
    spelled = {
        r"cut \ud83d": "cut \ufffd",
        r"\uDE00 cut": "\ufffd cut",
        r"\ud83d\ud83d\ude00": "\ufffd\U0001f600",
        r"\ud83d\n": "\ufffd\n",
        r"\\ud83d \ud83d": r"\ud83d" + " \ufffd",
        r"\ud83d\ude00": "\U0001f600",
    }
    for text, meant in spelled.items():
        assert names(json.dumps(document(name="@")).replace("@", text).encode()) == [meant]


def test_ids_in_base64_are_ids_where_they_have_their_length() -> None:
    def told(trace: str, span: str) -> Any:
        row = taken(json.dumps(document(traceId=trace, spanId=span)).encode()).row
        found = [] if row is None else wire.decode_traces([row.body]).select(["trace_id", "span_id"]).to_pylist()
        return [tuple(one.values()) for one in found]

    short, long = "pqCoOYLLMKU=", "a8x4mboW5FdcZLQCm4ayIg=="
    assert told(long, short) == [(b64decode(long), b64decode(short))]
    assert told(TRACE, short) == [(bytes.fromhex(TRACE), b64decode(short))]
    assert told(long[:-4], short) == told(long, "pqCo") == told("=" * 24, short) == []


def test_a_byte_order_mark_means_nothing() -> None:
    assert names(b"\xef\xbb\xbf" + json.dumps(document()).encode()) == ["chat"]


def test_keys_that_hide_spans_are_said_at_every_level() -> None:
    lost = {
        "resource_spans": {"resource_spans": []},
        "scope_spans": {"resourceSpans": [{"resource": {}, "scope_spans": []}]},
        "span": {"resourceSpans": [{"scopeSpans": [{"scope": {}, "span": []}]}]},
    }
    for key, whole in lost.items():
        assert f"ignored keys: {key}" in taken(json.dumps(whole).encode()).message
    good = document()["resourceSpans"][0]
    half = taken(json.dumps({"resourceSpans": [good, {"scope_spans": []}]}).encode())
    assert half.row is not None and "ignored keys: scope_spans" in half.message
    old = {"resourceSpans": [{"instrumentationLibrarySpans": good["scopeSpans"], "more": 1}]}
    future = {"resourceSpans": [good | {"more": 1}, {"resource": {}}, {"scopeSpans": None}], "more": 1}
    for whole in ({}, old, future, {"resourceSpans": None}):
        assert taken(json.dumps(whole).encode()).message == ""


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (key,)
        yield from ((key, *rest) for rest in places(item))
