"""A span counts once, and the copy that counts does not depend on the order of arrival."""

from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.inbox import Row
from otelcov.ground.schemas import SPANS
from otelcov.store import duplicates, layout
from tests.store.otlp import NOW, log_request, span, trace_request


def rows(*requests: bytes) -> pl.DataFrame:
    table = layout.table("spans", [Row("traces", n, 0, 0, body) for n, body in enumerate(requests)])
    return duplicates.new(layout.frame(table, SPANS))


def kept(*spans: dict[str, Any]) -> dict[str, Any]:
    one = duplicates.unique("spans", rows(*map(trace_request, spans)))
    assert one.height == 1
    told = one.row(0, named=True)
    attributes = {kv["key"]: kv["string_value"] for kv in told["attributes"]}
    return {"end": told["end_time_unix_nano"], **attributes, "copies": told["copies"], "differed": told["differed"]}


def test_an_ended_span_wins_over_one_that_has_not_ended() -> None:
    assert kept(span(1, end=0, a="x", b="y"), span(1, end=NOW)) == {"end": NOW, "copies": 1, "differed": True}


def test_the_later_end_wins() -> None:
    assert kept(span(1, end=NOW, a="x"), span(1, end=NOW + 1))["end"] == NOW + 1


def test_more_attributes_win() -> None:
    assert kept(span(1, a="z"), span(1, a="a", b="b")) == {
        "end": NOW + 5,
        "a": "a",
        "b": "b",
        "copies": 1,
        "differed": True,
    }


def test_the_greater_bytes_win() -> None:
    assert kept(span(1, a="b"), span(1, a="c"), span(1, a="a"))["a"] == "c"


def test_equal_copies_are_duplicates_and_no_conflict() -> None:
    assert kept(*[span(1, a="x")] * 3) == {"end": NOW + 5, "a": "x", "copies": 2, "differed": False}


def test_spans_without_copies_are_left_alone() -> None:
    frame = rows(trace_request(span(1), span(2)), trace_request(span(1, trace=2)))
    assert duplicates.unique("spans", frame).equals(frame)


def test_equal_log_records_are_one_and_different_ones_stay() -> None:
    _, frame = layout.from_requests([], [log_request("a", "b"), log_request("a"), log_request("a", at=NOW + 1)], 0)
    assert sorted((r["body"]["string_value"], r["time_unix_nano"] - NOW) for r in frame.rows(named=True)) == [
        ("a", 0),
        ("a", 1),
        ("b", 0),
    ]


versions = st.builds(
    lambda id, end, attributes, service: trace_request(span(id, end=end, **attributes), service=service),
    st.integers(1, 3),
    st.sampled_from([0, NOW, NOW + 1]),
    st.dictionaries(st.sampled_from("ab"), st.sampled_from(["", "x", "y" * 300])),
    st.sampled_from("st"),
)


@settings(deadline=None, max_examples=60)
@given(st.lists(versions, min_size=1, max_size=8), st.randoms(use_true_random=False), st.integers(0, 8))
def test_neither_order_nor_grouping_changes_what_counts(sent: list[bytes], random: Any, cut: int) -> None:
    frame = rows(*sent)
    told = frame.columns
    once = duplicates.unique("spans", frame).drop("received_unix_nano").sort("span_id")
    shuffled = frame[random.sample(range(frame.height), frame.height)]
    parts = [duplicates.unique("spans", part) for part in (shuffled[:cut], shuffled[cut:])]
    again = duplicates.unique("spans", pl.concat(parts)).drop("received_unix_nano").sort("span_id")
    assert again.equals(once), told
