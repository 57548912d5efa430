"""What agents did for each other is told right, or told to be unknown, whatever of it an instrumentation tells."""

from __future__ import annotations

import itertools
import random
from functools import cache

import pytest

from tests.runs.encodings import ENCODINGS
from tests.runs.teams import COURSES, WORKFLOWS, Telling, tellings
from tests.runs.told_wrong import told_wrong


@cache
def _every():
    return list(tellings())


def _sample(count, seed):
    """Each of these is written in the next of the encodings."""
    some = random.Random(seed).sample(_every(), count)
    return [(encoding, *one) for encoding, one in zip(itertools.cycle(ENCODINGS), some, strict=False)]


@pytest.mark.full
def test_some_tellings_of_teams():
    some = _sample(500, 1)
    assert {course for _, course, _ in some} == {*COURSES, *WORKFLOWS}
    assert told_wrong(some, Telling) == {}


def test_an_agent_that_is_a_step_of_a_graph_fails_as_others_do():
    failing = [one for one in _every() if one[0] == "one fails" and one[1]["agents"] == "by name"]
    assert told_wrong([("openinference", *one) for one in failing[::40]], Telling) == {}


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 5))
def test_tellings_of_teams(seed):
    assert len(_every()) > 90_000
    assert told_wrong(_sample(8_000, seed), Telling) == {}
