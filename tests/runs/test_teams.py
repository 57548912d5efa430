"""What agents did for each other is told right, or told to be unknown, whatever of it an instrumentation tells."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.store.layout import from_requests
from tests import captures
from tests.runs.encodings import ENCODINGS
from tests.runs.requests import request
from tests.runs.teams import COURSES, WORKFLOWS, Telling, tellings

_AT_ONCE = 400
_EVERY = list(tellings())


def _wrong(some, encodings=tuple(ENCODINGS)):
    """How often what is told wrong, with a telling in which it is. Each is written in the next of the encodings."""
    found, example = Counter(), {}
    for start in range(0, len(some), _AT_ONCE):
        told = [Telling(start + at, *one) for at, one in enumerate(some[start : start + _AT_ONCE])]
        encode = {telling.number: encodings[telling.number % len(encodings)] for telling in told}
        body = request(ENCODINGS[encode[telling.number]](span) for telling in told for span in telling.spans)
        runs = {telling.number: [] for telling in told}
        for run in captures.as_json(reconstruct(*from_requests([body], [], 1), Config(), captures.LATER)):
            for number in {int(trace, 16) - 1 for trace in run["trace_ids"]}:
                runs[number].append(run)
        for telling in told:
            if (wrong := telling.wrong(runs[telling.number])) is not None:
                found[wrong] += 1
                example.setdefault(wrong, (encode[telling.number], telling.course, telling.way))
    return {wrong: (count, example[wrong]) for wrong, count in found.items()}


def test_some_tellings_of_teams():
    some = random.Random(1).sample(_EVERY, 500)
    assert {course for course, _ in some} == {*COURSES, *WORKFLOWS}
    assert _wrong(some) == {}


def test_an_agent_that_is_a_step_of_a_graph_fails_as_others_do():
    failing = [(course, way) for course, way in _EVERY if course == "one fails" and way["agents"] == "by name"]
    assert _wrong(failing[::40], ["openinference"]) == {}


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 5))
def test_tellings_of_teams(seed):
    assert len(_EVERY) > 90_000
    assert _wrong(random.Random(seed).sample(_EVERY, 8_000)) == {}
