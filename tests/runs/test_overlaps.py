"""What traces tell twice, found again by time, where a scripted model gives all runs the same words, ids and tokens."""

from __future__ import annotations

import subprocess
import sys

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otelcov.runs.joining.overlaps import overlapping
from tests.runs.growth import growth
from tests.runs.requests import agent, chat, span, tool

CALL = "call_Ab3dE5fG7hI9jK1lM"
ANSWER = {"gen_ai.response.id": "chatcmpl-Ab3dE5fG7hI9jK1lM"}
TOLD = [
    {"role": "user", "parts": [{"type": "text", "content": "go"}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": CALL, "name": "look", "arguments": {}}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": CALL, "response": 3}]},
]
LINEAR = 4.3  # times the work for four times the runs
KEYS = st.sampled_from(["a", "b", None])
TIMES = st.integers(0, 12)
SPENT = st.tuples(TIMES, TIMES).map(lambda two: (min(two), max(two)))


def _frame(rows, start, end):
    schema = {"key": pl.String, start: pl.Int64, end: pl.Int64}
    return pl.DataFrame([(key, *spent) for key, spent in rows], schema=schema, orient="row")


@given(st.lists(st.tuples(KEYS, SPENT)), st.lists(st.tuples(KEYS, SPENT)), st.integers(0, 3), st.booleans())
def test_overlapping_is_what_it_says(rows, found, slack, keyed):
    hits = overlapping(
        _frame(rows, "start_unix_nano", "end_unix_nano"), _frame(found, "low", "high"), ["key"] * keyed, slack
    )
    assert hits.to_list() == [
        any(
            (key == other or not keyed) and low <= end + slack and high >= start - slack for other, (low, high) in found
        )
        for key, (start, end) in rows
    ]


def _told_twice(at, trace):
    """An agent's run, and the same two calls as its provider's client tells them, each in a trace of its own."""
    return [
        agent(1, "a", trace=trace, at=at, took=5),
        chat(2, 1, [(CALL, "look", {})], "go", trace=trace, at=at + 0.1, attributes=ANSWER),
        tool(3, 1, "look", CALL, "3", trace=trace, at=at + 1.2, took=0.5),
        chat(4, 1, "x", TOLD, trace=trace, at=at + 2, attributes=ANSWER),
        chat(1, None, [(CALL, "look", {})], "go", trace=trace + 1, at=at + 0.2, took=0.8, scope="b", attributes=ANSWER),
        chat(1, None, "x", TOLD, trace=trace + 2, at=at + 2.1, took=0.8, scope="b", attributes=ANSWER),
    ]


def _through_a_gateway(at, trace):
    return [
        agent(1, "a", trace=trace, at=at, took=5),
        chat(2, 1, "x", "go", trace=trace, at=at + 0.1),
        span(1, None, "POST /v1/chat/completions", trace=trace + 1, at=at + 0.15, took=0.9, kind=2, scope="b"),
        chat(2, 1, "x", "go", trace=trace + 1, at=at + 0.2, took=0.8, scope="b"),
    ]


@pytest.mark.parametrize("apart", [6, 0])
@pytest.mark.parametrize("one", [_told_twice, _through_a_gateway])
def test_runs_with_the_same_ids_words_and_tokens_cost_no_more_each(one, apart):
    assert growth(lambda n: [s for i in range(n) for s in one(i * apart, 10 * i + 1)], 30) < LINEAR


MANY = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
import polars as pl
from otelcov.ground.schemas import RUNS
from otelcov.runs.joining.doubles import Loner, told_elsewhere
many, second = 30_000, 10**9
began = range(0, many * second, second)
columns = ["start_unix_nano", "end_unix_nano", "service", "tool_calls", "llm_calls"]
times = [{"start_unix_nano": at, "end_unix_nano": at + second // 9} for at in began]
calls = [[{"call_id": "same", "name": "look"} | spent] for spent in times]
models = [[{"status": "ok", "input_tokens": 10, "output_tokens": 2} | spent] for spent in times]
told = [spent | {"service": "a", "tool_calls": calls[i], "llm_calls": models[i]} for i, spent in enumerate(times)]
runs = pl.DataFrame(told, schema=RUNS.to_frame().select(columns).schema)
print(told_elsewhere(runs, [Loner(2 * at, 2 * at, "a", (10, 2), ("same",)) for at in began]).sum())
"""


def test_thirty_thousand_calls_of_one_id_are_looked_up_in_a_few_gigabytes():
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["15000"], done.stderr
