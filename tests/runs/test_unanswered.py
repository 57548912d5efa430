"""Runs with many tool calls that nothing came back for, or that no id leads to their requests: the work of reading them
grows as they do."""

import json

import pytest

from tests.runs.growth import growth
from tests.runs.requests import agent, chat, runs, tool

MANY = 300
LINEAR = 4.3  # times the work for four times the run


def _said(role, *parts):
    return {"role": role, "parts": list(parts)}


def _request(n, ids=True):
    return {"type": "tool_call", "id": f"c{n}" if ids else None, "name": "look", "arguments": {"n": n}}


OSLO = _said("user", {"type": "text", "content": "Oslo?"})


def _a_turn_each(many):
    for n in range(many):
        yield chat(n + 2, 1, [(f"c{n}", "look", {"n": n})], "Oslo?", at=2 * n)


def _another_conversation_each(many):
    for n in range(many):
        yield chat(n + 2, 1, [(f"c{n}", "look", {"n": n})], f"Oslo, {n}?", at=2 * n)


def _in_one_answer(many):
    return _at_once(many, True)


def _in_one_answer_without_ids(many):
    return _at_once(many, False)


def _at_once(many, ids):
    yield chat(2, 1, [(f"c{n}" if ids else "", "look", {"n": n}) for n in range(many)], "Oslo?", at=1)
    yield chat(3, 1, "Cold.", [OSLO, _said("assistant", *(_request(n, ids) for n in range(many)))], at=3)


def _in_answers_that_only_a_history_tells(many):
    for n in range(many):
        yield chat(n + 2, 1, None, "Oslo?", at=2 * n)
    history = [part for n in range(many) for part in (_said("assistant", _request(n)), OSLO)]
    yield chat(many + 2, 1, "Cold.", [OSLO, *history], at=2 * many)


@pytest.mark.full
@pytest.mark.parametrize(
    "asked",
    [
        _a_turn_each,
        _another_conversation_each,
        _in_one_answer,
        _in_one_answer_without_ids,
        _in_answers_that_only_a_history_tells,
    ],
)
def test_many_calls_without_an_answer_are_read_in_work_that_grows_as_they_do(asked):
    def spans(many):
        return agent(1, "planner", took=3 * many), *asked(many)

    (run,) = runs(*spans(MANY))
    assert len(run["tool_calls"]) == MANY
    assert {call["status"] for call in run["tool_calls"]} == {"unknown"}
    assert growth(spans) < LINEAR


def _each_after_its_request(many):
    for n in range(many):
        yield chat(2 * n + 2, 1, [("", "look", {"n": n})], at=4 * n)
        yield tool(2 * n + 3, 1, "look", at=4 * n + 2, gen_ai__tool__call__arguments={"n": n})


def _all_before_a_request(many):
    yield from (tool(n + 2, 1, "look", at=n) for n in range(many))
    yield from (chat(many + n + 2, 1, [("", "look", {"n": n})], at=many + n) for n in range(many))


def _of_answers_that_are_not_told(many):
    for n in range(many):
        yield chat(2 * n + 2, 1, at=4 * n)
        yield tool(2 * n + 3, 1, "look", at=4 * n + 2)


def _of_agents_that_asked_for_nothing(many):
    for n in range(many):
        yield chat(3 * n + 2, 1, [("", "look", {"n": n})], at=n)
        yield agent(3 * n + 3, f"worker {n}", 1, at=many + n)
        yield tool(3 * n + 4, 3 * n + 3, "look", at=many + n)


@pytest.mark.parametrize(
    ("ran", "count", "turns"),
    [
        (_each_after_its_request, MANY, MANY),
        pytest.param(_all_before_a_request, 2 * MANY, MANY, marks=pytest.mark.full),
        pytest.param(_of_answers_that_are_not_told, MANY, MANY, marks=pytest.mark.full),
        pytest.param(_of_agents_that_asked_for_nothing, 2 * MANY, MANY, marks=pytest.mark.full),
    ],
)
def test_many_tools_without_ids_find_their_requests_in_work_that_grows_as_they_do(ran, count, turns):
    def spans(many):
        return agent(1, "planner", took=5 * many), *ran(many)

    (run,) = runs(*spans(MANY))
    assert len(run["tool_calls"]) == count
    assert len({call["turn"] for call in run["tool_calls"]} - {None}) == turns
    assert growth(spans) < LINEAR


def _asked(text, *exchanged):
    """What a model is sent: what was asked, and what it asked for and was given since."""
    history = [_said("user", {"type": "text", "content": text})]
    for request, result in exchanged:
        told = {"type": "tool_call_response", "response": result} | ({"id": request["id"]} if request["id"] else {})
        history += [_said("assistant", request), _said("tool", told)]
    return history


def _anew(many, id=None):
    """Conversations one after another, each of which asks for the same."""
    request = {"type": "tool_call", "id": id, "name": "look", "arguments": {"n": 1}}
    for n in range(many):
        yield chat(2 * n + 2, 1, [(id or "", "look", {"n": 1})], _asked("Oslo?"), at=4 * n)
        yield chat(2 * n + 3, 1, "Cold.", _asked("Oslo?", (request, f"{n} degrees")), at=4 * n + 2)


@pytest.mark.full
@pytest.mark.parametrize("id", [pytest.param(None, marks=pytest.mark.full), "call_0"])
def test_of_calls_alike_in_conversations_begun_anew_each_has_its_own_result(id):
    def spans(many):
        return agent(1, "planner", took=5 * many), *_anew(many, id)

    (run,) = runs(*spans(MANY))
    assert [call["result"] for call in run["tool_calls"]] == [f"{n} degrees" for n in range(MANY)]
    assert growth(spans) < LINEAR


def test_of_calls_alike_the_newest_have_the_results_that_a_history_cut_short_still_shows():
    request = {"type": "tool_call", "id": None, "name": "look", "arguments": {"n": 1}}
    asks = [chat(n + 2, 1, [("", "look", {"n": 1})], _asked(f"{n}?"), at=2 * n) for n in range(4)]
    last = _asked("So?", (request, "third"), (request, "fourth"))
    (run,) = runs(agent(1, "planner", took=20), *asks, chat(6, 1, "Cold.", [OSLO, OSLO, *last], at=9))
    assert [call["result"] for call in run["tool_calls"]] == [None, None, "third", "fourth"]


def test_of_actions_in_the_same_words_each_has_the_observation_that_follows_it():
    words = 'Thought: look\nAction: look\nAction Input: {"n": 1}'
    spans = [agent(1, "planner", took=40)]
    for n in range(4):
        told = _said("assistant", {"type": "text", "content": f"{words}\nObservation: {n} degrees"})
        spans += [chat(2 * n + 2, 1, words, "Oslo?", at=8 * n)]
        spans += [chat(2 * n + 3, 1, "Thought: so\nFinal Answer: Cold.", [OSLO, told], at=8 * n + 4)]
    (run,) = runs(*spans)
    assert [call["result"] for call in run["tool_calls"]] == [f"{n} degrees" for n in range(4)]


@pytest.mark.parametrize("order", ["AB", "BA"])
def test_of_calls_alike_in_conversations_at_one_time_each_has_its_own_result(order):
    request = {"type": "tool_call", "id": None, "name": "look", "arguments": {"n": 1}}
    spans = [chat(n + 2, 1, [("", "look", {"n": 1})], _asked(f"{x}?"), at=2 * n) for n, x in enumerate("AB")]
    for n, x in enumerate(order):
        spans.append(chat(n + 4, 1, "Cold.", _asked(f"{x}?", (request, f"of {x}")), at=6 + 3 * n))
    (run,) = runs(agent(1, "planner", took=20), *spans)
    assert [call["result"] for call in run["tool_calls"]] == ["of A", "of B"]


@pytest.mark.parametrize("deep", [20, 900])
def test_a_call_of_deeply_nested_arguments_without_an_id_has_its_result(deep):
    part = '{"type":"tool_call","name":"look","arguments":' + '{"a":' * deep + "1" + "}" * deep + "}"
    asked = f'{{"role":"assistant","parts":[{part}]}}'
    brought = '{"role":"tool","parts":[{"type":"tool_call_response","response":"cold"}]}'
    first = chat(2, 1, None, "Oslo?", at=1, attributes={"gen_ai.output.messages": f"[{asked}]"})
    second = chat(3, 1, "Cold.", at=3, attributes={"gen_ai.input.messages": f"[{asked},{brought}]"})
    (run,) = runs(agent(1, "planner", took=9), first, second)
    assert [call["result"] for call in run["tool_calls"]] == ["cold"]


def _called(many, name, works):
    """Calls without spans, and another agent at work while one lasts."""
    for n in range(many):
        request = {"type": "tool_call", "id": f"c{n}", "name": name, "arguments": {"n": n}}
        yield chat(4 * n + 2, 1, [(f"c{n}", name, {"n": n})], _asked(f"Oslo, {n}?"), at=6 * n)
        if works(n):
            yield agent(4 * n + 3, "helper", 1, at=6 * n + 2)
            yield chat(4 * n + 4, 4 * n + 3, "Cold.", _asked("How is it?"), at=6 * n + 2)
        yield chat(4 * n + 5, 1, "Cold.", _asked(f"Oslo, {n}?", (request, "Cold.")), at=6 * n + 4)


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "works"),
    [
        ("ask_helper", lambda n: True),
        *(pytest.param(name, lambda n: n == 0, marks=pytest.mark.full) for name in ("helper", "transfer_to_helper")),
    ],
)
def test_many_calls_find_who_worked_for_them_in_work_that_grows_as_they_do(name, works):
    def spans(many):
        return agent(1, "planner", took=6 * many), *_called(many, name, works)

    (run,) = runs(*spans(MANY))
    assert (len(run["delegations"]), run["tool_calls"]) == (MANY, [])  # a tool that called an agent once calls it again
    assert growth(spans) < LINEAR


def _tried_by_place(many):
    """LlamaIndex's tools, as it tries them first."""
    told = ({"gen_ai.tool.call.arguments": json.dumps({"args": [i]})} for i in range(many))
    return [tool(10 + i, 1, "look", at=2 + i, took=0.5, error="no", attributes=a) for i, a in enumerate(told)]


def _told_twice(many):
    """Two instrumentations of one kit, each with spans of its own beside the other's."""
    given = {"gen_ai.tool.call.arguments": "{}"}
    both = (
        {**tool(10 + 2 * i + k, 1, "look", at=2 + i, took=0.5, attributes=given), "scope": scope}
        for i in range(many)
        for k, scope in enumerate(("one", "two"))
    )
    return list(both)


@pytest.mark.full
@pytest.mark.parametrize(
    ("ran", "count"), [(_told_twice, 60), pytest.param(_tried_by_place, 60, marks=pytest.mark.full)]
)
def test_many_tools_tried_or_told_again_are_read_in_work_that_grows_as_they_do(ran, count):
    def spans(many):
        return agent(1, "planner", took=5 * many), *ran(many)

    (run,) = runs(*spans(60))
    assert len(run["tool_calls"]) == count
    assert growth(spans) < LINEAR


_TWO = [("c1", "look", {"x": 1}), ("c2", "look", {"x": 2})]


def _after_a_loss(*more, output="Both are there."):
    told = [_said("assistant", {"type": "text", "content": output})]
    frame = agent(1, "planner", took=9, attributes={"gen_ai.output.messages": told})
    (run,) = runs(frame, chat(2, 1, _TWO, "go"), tool(3, 1, "look", "c1", "found", at=2), *more)
    assert ("what came last is not visible" in run["incomplete"]) == (output != "found" and not more)
    return [(c["call_id"], c["status"]) for c in run["tool_calls"]]


def test_a_call_whose_span_may_be_lost_is_not_known_to_have_not_run():
    """The span of a call is not told, and the answer after it, which its agent put out, is not either."""
    assert _after_a_loss() == [("c1", "ok"), ("c2", "unknown")]
    assert _after_a_loss(output="found") == [("c1", "ok"), ("c2", "requested")]


def test_a_call_is_not_known_to_have_not_run_where_others_miss_their_parents():
    assert _after_a_loss(chat(5, 77, "Both are there.", at=4)) == [("c1", "ok"), ("c2", "unknown")]


def test_no_call_was_answered_from_memory_by_one_that_ran_after_it():
    back = {"type": "tool_call_response", "id": "c1", "response": "12:00"}
    part = {"type": "tool_call", "id": "c1", "name": "now", "arguments": {}}
    asked = [_said("user", {"type": "text", "content": "go"}), _said("assistant", part), _said("tool", back)]
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "now", {})], "go", at=0, took=1),
        chat(3, 1, [("c2", "now", {})], asked, at=1, took=1),
        tool(4, 1, "now", "c2", "12:00", at=3, took=2),
    )
    assert [c["status"] for c in run["tool_calls"]] != ["requested", "ok"]
