"""Runs with thousands of tool calls that nothing came back for: read in a time that grows as they do."""

import time

import pytest

from tests.runs.requests import agent, chat, runs

MANY = 5_000


def _said(role, *parts):
    return {"role": role, "parts": list(parts)}


def _request(n, ids=True):
    return {"type": "tool_call", "id": f"c{n}" if ids else None, "name": "look", "arguments": {"n": n}}


OSLO = _said("user", {"type": "text", "content": "Oslo?"})


def _a_turn_each():
    for n in range(MANY):
        yield chat(n + 2, 1, [(f"c{n}", "look", {"n": n})], "Oslo?", at=2 * n)


def _another_conversation_each():
    for n in range(MANY):
        yield chat(n + 2, 1, [(f"c{n}", "look", {"n": n})], f"Oslo, {n}?", at=2 * n)


def _in_one_answer():
    return _at_once(True)


def _in_one_answer_without_ids():
    return _at_once(False)


def _at_once(ids):
    yield chat(2, 1, [(f"c{n}" if ids else "", "look", {"n": n}) for n in range(MANY)], "Oslo?", at=1)
    yield chat(3, 1, "Cold.", [OSLO, _said("assistant", *(_request(n, ids) for n in range(MANY)))], at=3)


def _in_answers_that_only_a_history_tells():
    for n in range(MANY):
        yield chat(n + 2, 1, None, "Oslo?", at=2 * n)
    history = [part for n in range(MANY) for part in (_said("assistant", _request(n)), OSLO)]
    yield chat(MANY + 2, 1, "Cold.", [OSLO, *history], at=2 * MANY)


@pytest.mark.parametrize(
    ("asked", "statuses"),
    [
        (_a_turn_each, {"unknown"}),
        (_another_conversation_each, {"unknown"}),
        (_in_one_answer, {"requested"}),
        (_in_one_answer_without_ids, {"requested"}),
        (_in_answers_that_only_a_history_tells, {"requested"}),
    ],
)
def test_thousands_of_calls_without_an_answer_are_read_in_seconds(asked, statuses):
    spans = [agent(1, "planner", took=3 * MANY), *asked()]
    start = time.monotonic()
    (run,) = runs(*spans)
    assert time.monotonic() - start < 20  # a square of them takes minutes
    assert len(run["tool_calls"]) == MANY
    assert {call["status"] for call in run["tool_calls"]} == statuses
