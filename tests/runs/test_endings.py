"""How a run ended is told right, or told to be unknown, whatever of it an instrumentation tells."""

from __future__ import annotations

import random

import pytest

from tests.runs.encodings import ENCODINGS
from tests.runs.endings import COURSES, Telling, tellings
from tests.runs.told_wrong import told_wrong

_EVERY = [(encoding, *telling) for encoding in ENCODINGS for telling in tellings()]


@pytest.mark.full
def test_some_endings():
    some = random.Random(1).sample(_EVERY, 500)
    assert {course for _, course, _ in some} == {*COURSES}
    assert told_wrong(some, Telling) == {}


@pytest.mark.full
def test_every_ending():
    assert len(_EVERY) > 39_000
    assert told_wrong(_EVERY, Telling) == {}
