"""Runs with thousands of tool calls that nothing came back for, or that no id leads to their requests: read in a time
that grows as they do."""

import time

import pytest

from tests.runs.requests import agent, chat, runs, tool

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
        (_in_one_answer, {"unknown"}),
        (_in_one_answer_without_ids, {"unknown"}),
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


def _each_after_its_request():
    for n in range(MANY):
        yield chat(2 * n + 2, 1, [("", "look", {"n": n})], at=4 * n)
        yield tool(2 * n + 3, 1, "look", at=4 * n + 2, gen_ai__tool__call__arguments={"n": n})


def _all_before_a_request():
    yield from (tool(n + 2, 1, "look", at=n) for n in range(MANY))
    yield from (chat(MANY + n + 2, 1, [("", "look", {"n": n})], at=MANY + n) for n in range(MANY))


def _of_answers_that_are_not_told():
    for n in range(MANY):
        yield chat(2 * n + 2, 1, at=4 * n)
        yield tool(2 * n + 3, 1, "look", at=4 * n + 2)


def _of_agents_that_asked_for_nothing():
    for n in range(MANY):
        yield chat(3 * n + 2, 1, [("", "look", {"n": n})], at=n)
        yield agent(3 * n + 3, f"worker {n}", 1, at=MANY + n)
        yield tool(3 * n + 4, 3 * n + 3, "look", at=MANY + n)


@pytest.mark.parametrize(
    ("ran", "count", "turns"),
    [
        (_each_after_its_request, MANY, MANY),
        (_all_before_a_request, 2 * MANY, MANY),
        (_of_answers_that_are_not_told, MANY, MANY),
        (_of_agents_that_asked_for_nothing, 2 * MANY, MANY),
    ],
)
def test_thousands_of_tools_without_ids_find_their_requests_in_seconds(ran, count, turns):
    spans = [agent(1, "planner", took=5 * MANY), *ran()]
    start = time.monotonic()
    (run,) = runs(*spans)
    assert time.monotonic() - start < 10  # a square of them takes half a minute
    assert len(run["tool_calls"]) == count
    assert len({call["turn"] for call in run["tool_calls"]} - {None}) == turns
