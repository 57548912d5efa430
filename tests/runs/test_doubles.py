"""Two instrumentations at once that keep traces of their own: what both tell counts once."""

import itertools
from dataclasses import replace

import polars as pl
import pytest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.runs.joining.doubles import random
from otelcov.runs.joining.join import joints
from otelcov.runs.reconstruct import groups, stage_one
from otelcov.store.layout import from_requests
from tests.captures import LATER
from tests.runs.requests import agent, chat, request, runs, tool

FIRST, SECOND = "call_Ab3dE5fG7hI9jK1lM", "call_Zz9yX8wV7uT6sR5qP"
UNCOUNTED = {"gen_ai.usage.input_tokens": "", "gen_ai.usage.output_tokens": ""}


def _said(role, **part):
    return {"role": role, "parts": [part]}


def _history(id):
    asked = _said("assistant", type="tool_call", id=id, name="look", arguments={"a": 1})
    return [
        _said("user", type="text", content="go"),
        asked,
        _said("tool", type="tool_call_response", id=id, response=3),
    ]


def _framework(trace, at=0.0, id=FIRST, told=None):
    """An agent, as its framework tells it by a trace of its own."""
    more = {"trace": trace, "scope": "framework"}
    given = {"gen_ai.tool.call.arguments": '{"a": 1}'}
    return [
        agent(1, "helper", at=at, took=9, **more),
        chat(2, 1, [(id, "look", {"a": 1})], asked="go", at=at + 1, attributes=told or {}, **more),
        tool(3, 1, "look", None, "3", at=at + 3, attributes=given, **more),
        chat(4, 1, "done", asked=_history(id), at=at + 5, attributes=told or {}, **more),
    ]


def _client(trace, at=0.0, id=FIRST, told=None):
    """The same, as the provider's client tells it: a trace for each call."""
    more = {"took": 0.98, "scope": "client", "attributes": told or {}}
    return [
        chat(1, None, [(id, "look", {"a": 1})], asked="go", at=at + 1.01, trace=trace, **more),
        chat(1, None, "done", asked=_history(id), at=at + 5.01, trace=trace + 1, **more),
    ]


def _once(run):
    assert [(c["agent"], c["input_tokens"]) for c in run["llm_calls"]] == [("helper", 10)] * 2
    assert [(c["name"], c["agent"], c["status"], c["arguments"]) for c in run["tool_calls"]] == [
        ("look", "helper", "ok", {"a": 1})
    ]
    assert (run["input"], run["output"], len(run["trace_ids"])) == ("go", "done", 3)


@pytest.mark.parametrize(("framework", "client"), [({}, {}), (UNCOUNTED, {}), ({}, UNCOUNTED)])
def test_what_framework_and_client_tell_in_traces_of_their_own_is_one_run(framework, client):
    (run,) = runs(*_framework(1, told=framework), *_client(5, told=client))
    _once(run)


def test_runs_beside_each_other_keep_their_own_calls():
    both = [*_framework(1), *_client(5), *_framework(21, at=0.2, id=SECOND), *_client(25, at=0.2, id=SECOND)]
    for run in runs(*both):
        _once(run)
    assert len(runs(*both)) == 2


def _failing(trace, id, asked, parent=None, at=1.0, scope="client"):
    words = "Error code: 500" if parent is None else "Call failed: Error code: 500"
    return chat(id, parent, asked=asked, at=at, trace=trace, scope=scope, error=words, attributes=UNCOUNTED, took=0.98)


@pytest.mark.parametrize("asked", ["go", None])
def test_a_failed_call_that_framework_and_client_tell_in_traces_of_their_own_is_one_run(asked):
    host = [agent(1, "helper", took=9, trace=1, scope="framework"), _failing(1, 2, asked, 1, scope="framework")]
    (run,) = runs(*host, _failing(2, 3, asked, at=1.01))
    assert [(c["agent"], c["status"]) for c in run["llm_calls"]] == [("helper", "error")]


@pytest.mark.parametrize(
    ("asked", "at"),
    [
        ("stay", 1.01),  # other words
        ("go", 2.5),  # another time
    ],
)
def test_another_failed_call_is_another_run(asked, at):
    host = [agent(1, "helper", took=9, trace=1, scope="framework"), _failing(1, 2, "go", 1, scope="framework")]
    assert len(runs(*host, _failing(2, 3, asked, at=at))) == 2


def test_of_two_that_failed_at_once_nobody_says_whose_call_it_was():
    hosts = [
        span
        for trace in (1, 2)
        for span in (
            agent(1, "helper", took=9, trace=trace, scope="framework"),
            _failing(trace, 2, "go", 1, scope="framework"),
        )
    ]
    assert len(runs(*hosts, _failing(3, 3, "go", at=1.01))) == 3


def _branch(scope, id, at=0.0, name="helper", error=None, tokens=10, long=1.0):
    told = UNCOUNTED if error else {"gen_ai.usage.input_tokens": tokens}
    return [
        agent(id, name, 1, at=0.1 + at, took=9, scope=scope),
        chat(id + 1, id, None if error else "done", at=1 + at, took=long, scope=scope, error=error, attributes=told),
    ]


@pytest.mark.parametrize("error", [None, "boom"])
def test_a_call_that_two_instrumentations_tell_in_branches_of_their_own_is_one(error):
    top = chat(20, 1, "first", at=0.01, took=0.01, scope="third")
    (run,) = runs(
        agent(1, "lead", took=10),
        top,
        *_branch("events", 2, error=error),
        *_branch("client", 5, at=0.2, error=error, long=0.7),
    )
    assert len(run["llm_calls"]) == 2


@pytest.mark.parametrize(
    "other", [{"name": "other"}, {"tokens": 11}, {"at": 0.7}, {"scope": "events"}, {"at": -0.2}, {"long": 2}]
)
def test_calls_of_branches_that_may_be_different_work_are_different_calls(other):
    more = {"scope": "client", "at": 0.2, "long": 0.7} | other
    (run,) = runs(agent(1, "lead", took=10), *_branch("events", 2), *_branch(id=5, **more))
    assert len(run["llm_calls"]) == 2


def test_a_replay_with_the_same_ids_is_another_run():
    replayed = runs(*_framework(1), *_client(5), *_framework(21, at=100), *_client(25, at=100))
    assert [r["trace_ids"][0][-2:] for r in replayed] == ["01", "15"]
    for run in replayed:
        _once(run)


def test_ids_that_count_join_nothing():
    apart = runs(*_framework(1, id="call_1"), *_client(5, id="call_1", told=UNCOUNTED))
    assert [len(r["trace_ids"]) for r in apart] == [1, 2]
    known = [
        "call_Ab3dE5fG7hI9jK1lM",
        "toolu_01A09q90qw90lq917835lq9",
        "5f2a1c3e-9b7d-4e6f-8a1b-2c3d4e5f6a7b",
        "D681PevKs",
    ]
    assert [random(id) for id in [*known, "call_0", "1", "get_weather", "call_weather_2", None]] == [True] * 4 + [
        False
    ] * 5


def test_a_later_request_repeats_ids_and_is_another_run():
    later = [
        *_history(FIRST),
        _said("assistant", type="text", content="done"),
        _said("user", type="text", content="more"),
    ]
    again = [
        agent(1, "helper", at=20, took=5, trace=9, scope="framework"),
        chat(2, 1, "well", asked=later, at=21, trace=9, scope="framework"),
        chat(1, None, "well", asked=later, at=21.01, took=0.98, trace=10, scope="client"),
    ]
    first, second = runs(*_framework(1), *_client(5), *again)
    _once(first)
    assert (second["tool_calls"], len(second["llm_calls"]), second["output"]) == ([], 1, "well")


def test_what_the_client_alone_tells_is_of_the_run_whose_tools_it_asked_for():
    spans = [s for s in _framework(1) if not s["name"].startswith("chat")]
    spans[1]["attributes"] |= {"gen_ai.tool.call.id": FIRST}
    (run,) = runs(*spans, *_client(5))
    assert [c["agent"] for c in run["llm_calls"]] == [None, None]
    assert [(c["name"], c["status"], c["turn"]) for c in run["tool_calls"]] == [("look", "ok", 0)]


def test_a_tool_in_a_trace_of_another_service_ran_for_who_asked_by_its_id():
    asked = [s for s in _framework(1) if not s["name"].startswith("execute")]
    ran = tool(7, None, "look", FIRST, "4", at=3, trace=2)
    (run,) = runs(*asked, ran)
    assert [(c["name"], c["agent"], c["result"], c["evidence"]) for c in run["tool_calls"]] == [
        ("look", "helper", "4", ["span", "message"])
    ]
    (run,) = runs(*_framework(1), ran)
    assert [(c["name"], c["agent"]) for c in run["tool_calls"]] == [("look", "helper")]


@pytest.mark.full
def test_traces_are_joined_alike_in_any_order_and_in_any_parts():
    spans = [*_framework(1), *_client(5), *_framework(21, at=0.2, id=SECOND), *_client(25, at=0.2, id=SECOND)]
    whole = reconstruct(*from_requests([request(spans)], [], 1), Config(), LATER)
    for some in itertools.islice(itertools.permutations(spans), 0, 40_000, 9_999):
        frame, logs = from_requests([request(some)], [], 1)
        assert reconstruct(frame, logs, Config(), LATER).equals(whole)
    where = joints(frame)
    told = frame.filter(pl.col("parent_span_id").is_not_null())["trace_id"].unique()
    with_agents, alone = (frame.filter(pl.col("trace_id").is_in(told.implode()) == yes) for yes in (True, False))
    assert stage_one(alone, logs, Config(), LATER, where)[2]  # who may tell of them is asked for
    runs_, waiting, _ = stage_one(with_agents, logs, Config(), LATER, replace(where, awaited=set(told)))
    assert (runs_.height, waiting) == (0, set(told))
    assert sorted(len(group) for group in groups(frame, logs, Config())) == [3, 3]


def test_a_call_whose_own_root_has_not_come_is_told_in_its_own_trace():
    asked = [("call_Ab3dE5fG7hI9jK1lM", "search", {})]
    told = runs(
        agent(1, "planner", took=9, scope="framework"),
        chat(2, 1, asked, at=1, scope="framework"),
        chat(3, 99, asked, trace=2, at=1, scope="client"),
    )
    assert [len(run["llm_calls"]) for run in told] == [1, 1]


@pytest.mark.parametrize(("said", "took", "calls"), [("Blue.", 0, 1), ("Red.", 0, 2), ("Blue.", 0.1, 2)])
def test_a_call_that_a_program_notes_some_time_after_it_is_one(said, took, calls):
    """Its note has no duration; what has is a call of its own."""
    note = chat(3, 1, said, "It?", at=2.5, took=took, scope="app")
    (run,) = runs(agent(1, "planner", took=9), chat(2, 1, "Blue.", "It?", at=1), note)
    assert len(run["llm_calls"]) == calls
