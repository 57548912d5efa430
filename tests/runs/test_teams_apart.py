"""What agents did for each other, where every step is a trace of its own (an instrumentation of a client alone): what
is of one request is one run, alone or beside another, in a conversation or in none, whoever is named."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter, defaultdict
from functools import cache

import pytest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.store.layout import from_requests
from tests import captures
from tests.runs.encodings import ENCODINGS
from tests.runs.requests import request
from tests.runs.teams import Telling, tellings

_TOLD = {"agents": "none", "twice": "nothing", "root": "a step", "below": "its caller"}
_OTHER = 500_000  # the number of the other request beside the first
_ELSE = (*("Be a |Act as a ", "one|eins", "two|zwei", "three|drei", "none|nichts", '"it"|"es"', "A text.|Ein Text."),)
_ELSE += (*("Done.|Fertig.", "Good.|Gut.", "Read.|Gelesen.", "Result of|Outcome of", "no such|no kind of"),)
"""What the other is told in place of what the first is: it asks something else."""
BESIDE = {
    "alone": (None, ()),
    "at once": ((0.05, 0.3, 1.45, -0.7), _ELSE),
    "the same later": ((40, 70), ()),
}
TELLS = ("conversations", "nothing", "ids that count in each answer")
_UNTOLD = ("a tool of another name", "an agent of two words")  # by no more than a tool's name, if agents have none


@cache
def _every():
    return [(course, way) for course, way in tellings() if all(way[key] == told for key, told in _TOLD.items())]


def _steps(telling: Telling, conversation: str | None, named: bool, other=(), counted=False):
    steps = [one for one in telling.spans if one["name"].split()[0] in ("chat", "execute_tool")]
    other = (*other, *(_counted(steps) if counted else ()))
    for step in steps:
        told = dict(step["attributes"])
        if not named:
            told.pop("gen_ai.agent.name", None)
        if conversation is not None:
            told["gen_ai.conversation.id"] = conversation
        for key, value in told.items():
            for pair in other if isinstance(value, str) and "agent" not in key else ():
                told[key] = value = value.replace(*pair.split("|"))
        yield step | {"trace": _alone(step["id"]), "parent": None, "attributes": told}


def _counted(steps):
    """In place of each id, how manieth it is in its answer."""
    for step in steps:
        for message in json.loads(step["attributes"].get("gen_ai.output.messages", "[]")):
            asked = [part["id"] for part in message["parts"] if "id" in part]
            yield from (f"{id}|call_{at}" for at, id in enumerate(asked))


def _alone(id: int) -> int:
    return (1 << 40) + id


def _number(trace: str) -> int:
    return (int(trace, 16) - (1 << 40)) // 1_000


def _wrong(some, tells, beside, named):
    """What is told wrong of these, and how often."""
    after, words = BESIDE[beside]
    told, bodies = [], []
    for number, (encoding, course, way) in enumerate(some):
        first = Telling(number, course, way)
        in_one, counted = f"talk-{number}" if tells == "conversations" else None, tells == TELLS[2]
        spans = list(_steps(first, in_one, named, (), counted))
        told.append(first)
        if after is not None:
            other, later = Telling(number + _OTHER, course, way), after[number % len(after)]
            in_one = f"other-{number}" if in_one and beside == "at once" else in_one
            spans += [
                step | {"at": step["at"] - 1_000 * _OTHER + later}
                for step in _steps(other, in_one, named, words, counted)
            ]
            told.append(other)
        bodies.append(request(map(ENCODINGS[encoding], spans), service=f"app-{number}"))
    runs = captures.as_json(reconstruct(*from_requests(bodies, [], 1), Config(), captures.LATER))
    of = defaultdict(list)
    for run in runs:
        for number in {_number(trace) for trace in run["trace_ids"]}:
            of[number].append(run)
    found = Counter()
    for one in told:
        wrong = one.wrong(of[one.number])
        mixed = {_number(trace) for run in of[one.number] for trace in run["trace_ids"]} != {one.number}
        if wrong is not None or mixed:
            found[wrong or "two requests are one run"] += 1
    return found


def _some(tells, named, seed, count):
    texts = ("all", "histories", "answers") if tells == "conversations" and named else ("all", "histories")
    every = [(course, way) for course, way in _every() if way["texts"] in texts and (named or course not in _UNTOLD)]
    if tells == TELLS[2]:  # of which answers tell, and a hand-over's is not told of two at once
        every = [(c, way) for c, way in every if (way["ids"], way["texts"], way["handed"]) == ("all", "all", "whole")]
    some = random.Random(seed).sample(every, min(count, len(every)))
    return [(encoding, *one) for encoding, one in zip(itertools.cycle(ENCODINGS), some, strict=False)]


@pytest.mark.full
@pytest.mark.parametrize("tells", TELLS)
@pytest.mark.parametrize("beside", BESIDE)
def test_some_requests_whose_steps_are_traces_of_their_own(tells, beside):
    for named in (True, False):
        assert _wrong(_some(tells, named, 1, 25), tells, beside, named) == {}


@pytest.mark.full
@pytest.mark.parametrize("tells", TELLS)
@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("named", [True, False])
def test_requests_whose_steps_are_traces_of_their_own(tells, beside, named):
    assert len(_every()) > 900
    assert _wrong(_some(tells, named, 2, 1_000), tells, beside, named) == {}
