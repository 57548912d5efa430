"""What happened is told right, or told to be unknown, whatever of it an instrumentation tells, and where."""

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
from tests.runs.tellings import APART, COURSES, IN_ONE_TRACE, WAYS, Telling, ways

_AT_ONCE = 500


def _wrong(courses_and_ways, talk=False, encodings=tuple(ENCODINGS)):
    """How often what is told wrong, with a way of telling in which it is. `talk`: two at a time are asked for in one
    conversation. Each two are written in the next of the encodings."""
    found, example = Counter(), {}
    every = list(courses_and_ways)
    for start in range(0, len(every), _AT_ONCE):
        some = list[Telling]()
        for at, one in enumerate(every[start : start + _AT_ONCE]):
            some.append(Telling(start + at, *one, before=some[-1] if talk and at % 2 else None))
        encode = {telling.number: encodings[telling.number // 2 % len(encodings)] for telling in some}
        body = request(ENCODINGS[encode[telling.number]](span) for telling in some for span in telling.spans)
        runs = {telling.number: [] for telling in some}
        for run in captures.as_json(reconstruct(*from_requests([body], [], 1), Config(), captures.LATER)):
            of = {_number(trace) for trace in run["trace_ids"]}
            for number in of:
                runs[number].append(run if len(of) == 1 else run | {"llm_calls": []})
        for telling in some:
            if (wrong := telling.wrong(runs[telling.number])) is not None:
                found[wrong] += 1
                example.setdefault(wrong, (encode[telling.number], telling.course, telling.way))
    return {wrong: (count, example[wrong]) for wrong, count in found.items()}


def _number(trace_id):
    number = int(trace_id, 16)
    return number - 1 if number < 10**9 else (number - 10**9) // 1_000


EVERY = [(course, way | IN_ONE_TRACE) for course in COURSES for way in ways(WAYS)]
_MORE = list(ways(WAYS | APART))


def _some(count, seed, known=lambda way: True):
    chance, some = random.Random(seed), []
    while len(some) < count:
        course, way = chance.choice(list(COURSES)), chance.choice(_MORE)
        if known(way):
            some.append((course, way))
    return some


def _told_to_be_one(way):
    """Does this tell which traces are of one run?"""
    if way["traces"] == "one":
        return True
    whole = way["arguments of history"] and (way["answers"] or way["tool spans"] == "none")
    return whole and (way["traces"] == "a conversation" or way["history"] == "whole")


@pytest.mark.full
def test_some_tellings_of_one_trace():
    assert _wrong(EVERY[::11]) == {}


@pytest.mark.full
def test_some_tellings_of_traces_apart():
    assert _wrong(_some(600, 1, _told_to_be_one)) == {}


def _twice(count, seed):
    """Two courses at a time that are told in the same way."""
    chance = random.Random(seed)
    return [
        pair for _, way in _some(count, seed, _told_to_be_one) for pair in [(chance.choice(list(COURSES)), way)] * 2
    ]


@pytest.mark.full
def test_two_requests_of_one_conversation_are_two_runs():
    assert _wrong(_twice(200, 1), talk=True) == {}


@pytest.mark.full
def test_every_telling_of_one_trace():
    assert len(EVERY) > 7_000
    for encoding in ENCODINGS:
        assert _wrong(EVERY, encodings=[encoding]) == {}, encoding


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 6))
def test_tellings_of_traces_apart(seed):
    assert _wrong(_some(5_000, seed, _told_to_be_one)) == {}
    assert _wrong(_twice(1_500, seed), talk=True) == {}
