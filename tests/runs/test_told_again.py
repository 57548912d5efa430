"""Two instrumentations that each tell a whole request in a trace of its own tell of one run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runs.requests import agent, chat, frames, request, runs, text, tool

ID = "call_8sK2mQ4xZ7"
Spans = list[dict[str, Any]]


def told(scope: str, trace: int, at: float = 0, call: str | None = ID, asked: str = "Cats?", **more: Any) -> Spans:
    """A request that a tool was called for, by one instrumentation."""
    id = 100 * trace
    wants = [(call or "", "look", {"for": "cats"})]
    spans = [
        agent(id, "planner", at=at, took=9, **more),
        chat(id + 1, id, wants, asked, at=at + 1, took=1),
        tool(id + 2, id, "look", call, "12", at=at + 3),
        chat(id + 3, id, "Twelve.", asked, at=at + 5, took=2),
    ]
    return [one | {"scope": scope, "trace": trace} for one in spans]


def test_a_request_told_by_two_is_one_run():
    (run,) = runs(*told("handler", 1), *told("processor", 2, 0.002))
    assert len(run["trace_ids"]) == 2
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "ok")]
    assert [c["input_tokens"] for c in run["llm_calls"]] == [10, 10]
    assert (run["agents"], run["status"], run["output"]) == (["planner"], "ok", "Twelve.")


def test_who_tells_more_is_heard():
    less = [one for one in told("handler", 1) if "execute_tool" not in one["name"]]
    (run,) = runs(*less, *told("processor", 2, 0.002))
    assert [c["result"] for c in run["tool_calls"]] == ["12"]


def test_what_only_one_knows_of_the_session_is_told():
    spans = told("handler", 1, attributes={"gen_ai.conversation.id": "talk"})
    (run,) = runs(*told("processor", 2, 0.002), *spans[:1], *(one for one in spans[1:] if one["name"][0] != "e"))
    assert run["conversation_id"] == "talk"


@pytest.mark.parametrize("second", [told("handler", 2), told("processor", 2, call="call_3vB9nL5wY1")])
def test_requests_at_once_are_runs_of_their_own(second):
    """One instrumentation tells of a request once; two that tell other ids tell of two."""
    assert len(runs(*told("handler", 1), *second)) == 2


def test_requests_alike_at_once_are_each_told_by_two():
    calls = {n: f"call_8sK2mQ4xZ{n}" for n in range(4)}
    each = [told(scope, 10 * n + k, 0.001 * n, calls[n]) for n in calls for k, scope in enumerate(("one", "two"), 1)]
    found = runs(*(one for spans in each for one in spans))
    assert sorted(run["trace_ids"] for run in found) == [[f"{10 * n + k:032x}" for k in (1, 2)] for n in calls]
    assert [c["call_id"] for run in found for c in run["tool_calls"]] == list(calls.values())


def test_a_request_to_another_service_is_a_run_of_its_own():
    both = request(told("handler", 1)), request(told("processor", 2), service="other")
    assert text(*frames([("traces", body) for body in both])).count("\n") == 2


def test_the_same_request_later_is_a_run_of_its_own():
    assert len(runs(*told("handler", 1), *told("processor", 2, 20))) == 2


@pytest.mark.parametrize(("asked", "count"), [("Cats?", 1), ("Dogs?", 2)])
def test_where_no_id_is_told_words_and_tokens_say_so(asked, count):
    one, two = ([s for s in told(scope, n, 0.01 * n, None) if s["name"][0] != "e"] for n, scope in enumerate("ab", 1))
    two = [
        s
        if "chat" not in s["name"]
        else chat(s["id"], s["parent"], "Yes.", asked, at=s["at"]) | {"scope": "b", "trace": 2}
        for s in two
    ]
    one = [
        s
        if "chat" not in s["name"]
        else chat(s["id"], s["parent"], "Yes.", "Cats?", at=s["at"]) | {"scope": "a", "trace": 1}
        for s in one
    ]
    assert len(runs(*one, *two)) == count


def test_a_frame_that_shows_nothing_of_the_work_is_no_run_beside_it():
    (run,) = runs(*told("handler", 1), *told("processor", 2, 0.002)[:1])
    assert len(run["llm_calls"]) == 2
    assert len(runs(*told("handler", 1), *told("processor", 2, 0.4)[:1])) == 2
    other = agent(200, "editor", at=0, took=9) | {"scope": "processor", "trace": 2}
    assert len(runs(*told("handler", 1), other)) == 2


def test_a_model_that_failed_is_told_twice_where_all_times_are_those():
    spans = [
        one | {"scope": scope, "trace": n}
        for n, scope in enumerate(("handler", "processor"), 1)
        for one in (
            agent(100 * n, "planner", at=0.001 * n, took=3, error="503"),
            chat(100 * n + 1, 100 * n, at=0.5 + 0.001 * n, took=2, error="503"),
        )
    ]
    (run,) = runs(*spans)
    assert run["status"] == "error"
    assert [c["status"] for c in run["llm_calls"]] == ["error"]


def test_tools_laid_under_a_span_that_never_comes_are_of_who_called_them():
    """OpenInference's, under LangSmith's: the call's id is told by both."""
    lost = tool(301, 300, "look", ID, "12", at=3.001, took=0.9) | {"scope": "processor", "trace": 3}
    (run,) = runs(*told("handler", 1), lost)
    assert len(run["tool_calls"]) == 1
