"""What a count does beside counting: which sums it makes anew, and which files it removes."""

from __future__ import annotations

import os
import time

import pytest

from otelcov.coverage.facts import BUCKET_NS
from otelcov.sums import kept
from otelcov.sums.kept import Kept, Stretch
from otelcov.sums.rolled import _OFTEN, _RESTS_S, _Hour

HOUR = 480_000 * BUCKET_NS
SECOND = 10**9


@pytest.mark.parametrize(
    ("fresh", "after_s", "wanted"),
    [(1, -1, False), (1, 60, False), (_OFTEN + 1, 60, True), (1, _RESTS_S, True), (0, _RESTS_S, False)],
)
def test_an_hour_that_is_just_over_is_not_summed_again_at_each_count(fresh: int, after_s: float, wanted: bool) -> None:
    batches = [f"b{n}" for n in range(fresh + 1)]
    hour = _Hour(HOUR, Stretch("before", HOUR, 1, ("b0",)), frozenset(batches))
    assert hour.wanted(HOUR + BUCKET_NS + int(after_s * SECOND)) == wanted


def test_what_counts_have_left_goes_sooner_than_what_reports_may_still_read(tmp_path) -> None:
    ages = {"left-old.spans.arrow": 400, "left-new.spans.arrow": 10, "left-mine.spans.arrow": 9_000}
    ages |= {"batch-some.runs.parquet": 400, "batch-old.runs.parquet": 4_000, "kept.lock": 9_000, "beside.lock": 9_000}
    for name, age in ages.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    kept.sweep(Kept(tmp_path, left="left-mine"))
    gone = ages.keys() - {path.name for path in tmp_path.iterdir()}
    assert gone == {"left-old.spans.arrow", "batch-old.runs.parquet"}
