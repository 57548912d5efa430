"""What was at the time of what, by keys that all may share."""

from __future__ import annotations

import subprocess
import sys

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otelcov.runs.joining.overlaps import overlapping

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


MANY = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
import polars as pl
from otelcov.ground.schemas import RUNS
from otelcov.runs.joining.doubles import Loner, told_elsewhere
many, second = 30_000, 10**9
began = range(0, many * second, second)
columns = ["start_unix_nano", "end_unix_nano", "service", "scope", "tool_calls", "llm_calls"]
times = [{"start_unix_nano": at, "end_unix_nano": at + second // 9} for at in began]
calls = [[{"call_id": "same", "name": "look"} | spent] for spent in times]
models = [[{"status": "ok", "input_tokens": 10, "output_tokens": 2} | spent] for spent in times]
told = [spent | {"service": "a", "tool_calls": calls[i], "llm_calls": models[i]} for i, spent in enumerate(times)]
runs = pl.DataFrame(told, schema=RUNS.to_frame().select(columns).schema)
print(told_elsewhere(runs, [Loner(2 * at, 2 * at, "a", (10, 2), ("same",)) for at in began]).sum())
"""


@pytest.mark.full
def test_thirty_thousand_calls_of_one_id_are_looked_up_in_a_few_gigabytes():
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["15000"], done.stderr
