"""How a run ended is told right, or told to be unknown, whatever of it an instrumentation tells."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.store.layout import from_requests
from tests import captures
from tests.runs.encodings import ENCODINGS
from tests.runs.endings import COURSES, Telling, tellings
from tests.runs.requests import request

_AT_ONCE = 400
_EVERY = [(encoding, *telling) for encoding in ENCODINGS for telling in tellings()]


def _wrong(some):
    """How often what is told wrong, with a telling in which it is."""
    found, example = Counter(), {}
    for start in range(0, len(some), _AT_ONCE):
        part = some[start : start + _AT_ONCE]
        told = [Telling(start + at, course, way) for at, (_, course, way) in enumerate(part)]
        body = request(ENCODINGS[part[t.number - start][0]](span) for t in told for span in t.spans)
        runs = {telling.number: [] for telling in told}
        for run in captures.as_json(reconstruct(*from_requests([body], [], 1), Config(), captures.LATER)):
            for number in {int(trace, 16) - 1 for trace in run["trace_ids"]}:
                runs[number].append(run)
        for telling in told:
            if (wrong := telling.wrong(runs[telling.number])) is not None:
                found[wrong] += 1
                example.setdefault(wrong, part[telling.number - start])
    return {wrong: (count, example[wrong]) for wrong, count in found.items()}


def test_some_endings():
    some = random.Random(1).sample(_EVERY, 500)
    assert {course for _, course, _ in some} == {*COURSES}
    assert _wrong(some) == {}


@pytest.mark.full
def test_every_ending():
    assert len(_EVERY) > 39_000
    assert _wrong(_EVERY) == {}
