"""How a run ended is told right, or told to be unknown, whatever of it an instrumentation tells."""

from __future__ import annotations

import random
from functools import cache

import pytest

from tests.runs.encodings import ENCODINGS
from tests.runs.endings import COURSES, Telling, tellings
from tests.runs.told_wrong import told_wrong


@cache
def _every():
    return [(encoding, *telling) for encoding in ENCODINGS for telling in tellings()]


@pytest.mark.full
def test_some_endings():
    some = random.Random(1).sample(_every(), 500)
    assert {course for _, course, _ in some} == {*COURSES}
    assert told_wrong(some, Telling) == {}


@pytest.mark.full
def test_every_ending():
    assert len(_every()) > 39_000
    assert told_wrong(_every(), Telling) == {}
