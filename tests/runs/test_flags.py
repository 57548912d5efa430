"""A flag of failure that only a later input shows is the call's, also where its span tells a result and no failure."""

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

ASKED = {"role": "user", "parts": [{"type": "text", "content": "Well?"}]}


def _request(name, id):
    return {"type": "tool_call", "name": name} | ({"id": id} if id else {})


def _response(text, id, **flag):
    return {"type": "tool_call_response", "response": text} | ({"id": id} if id else {}) | flag


def _statuses(run):
    return [(c["name"], c["status"], c["error_kind"]) for c in run["tool_calls"]]


@pytest.mark.parametrize("flag", [{"is_error": True}, {"isError": True}, {"status": "error"}])
@pytest.mark.parametrize("ids", [("c1", "c2"), (None, None)])
def test_the_flag_of_a_part_is_its_calls(flag, ids):
    asked = [{"role": "assistant", "parts": [_request("look", ids[0]), _request("find", ids[1])]}]
    came = [
        {"role": "tool", "parts": [_response("no such row", ids[0], **flag)]},
        {"role": "tool", "parts": [_response("a row", ids[1])]},
    ]
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [(ids[0], "look", {}), (ids[1], "find", {})], [ASKED]),
        tool(3, 1, "look", ids[0], "no such row", at=2),
        tool(4, 1, "find", ids[1], "a row", at=3),
        chat(5, 1, "done", [ASKED, *asked, *came], at=5),
    )
    assert _statuses(run) == [("look", "error", "soft"), ("find", "ok", None)]
    assert run["tool_calls"][0]["result"] == "no such row"


def test_inputs_that_hold_only_what_is_new_are_each_read_for_flags():
    asked = [{"role": "assistant", "parts": [_request("look", "c1")]}]
    again = [{"role": "assistant", "parts": [_request("look", "c2")]}]
    (run,) = runs(
        agent(1, "a", took=12),
        chat(2, 1, [("c1", "look", {"n": 1})], [ASKED]),
        tool(3, 1, "look", "c1", "no such row", at=2),
        chat(
            4,
            1,
            [("c2", "look", {"n": 2})],
            [*asked, {"role": "tool", "parts": [_response("no such row", "c1", is_error=True)]}],
            at=4,
        ),
        tool(5, 1, "look", "c2", "a row", at=6),
        chat(6, 1, "done", [*again, {"role": "tool", "parts": [_response("a row", "c2")]}], at=8),
    )
    assert _statuses(run) == [("look", "error", "soft"), ("look", "ok", None)]
    assert "tool_recovery" in run["boundaries"]


def test_of_a_call_that_only_its_span_tells_the_flag_is_read_too():
    asked = {"role": "assistant", "parts": [_request("look", "c1")]}
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, None, [ASKED]),
        tool(3, 1, "look", "c1", "no such row", at=2),
        chat(4, 1, None, [asked, {"role": "tool", "parts": [_response("no such row", "c1", is_error=True)]}], at=4),
    )
    assert _statuses(run) == [("look", "error", "soft")]


def test_a_flag_in_what_a_tool_found_is_not_the_calls():
    asked = {"role": "assistant", "parts": [_request("look", "c1")]}
    found = 'The log says {"is_error": true}.'
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {})], [ASKED]),
        tool(3, 1, "look", "c1", found, at=2),
        chat(4, 1, "done", [ASKED, asked, {"role": "tool", "parts": [_response(found, "c1")]}], at=4),
    )
    assert _statuses(run) == [("look", "ok", None)]


def test_a_tool_that_failed_and_of_whose_next_call_nothing_is_told_but_that_it_ran_may_have_recovered():
    """The AI SDK without content: a span of a tool that failed, and one that says no more than that it was called."""

    def ran(id, at, **more):
        told = {"ai.operationId": "ai.toolCall", "ai.toolCall.name": "look"}
        return span(id, 1, "ai.toolCall", scope="ai", at=at, attributes=told, **more)

    def asked(id, at):
        told = {"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "m"}
        return span(id, 1, "ai.generateText.doGenerate", scope="ai", at=at, attributes=told)

    root = span(1, None, "ai.generateText", scope="ai", took=20, attributes={"ai.operationId": "ai.generateText"})
    (run,) = runs(root, asked(2, 1), ran(3, 3, error="no such row"), asked(4, 5), ran(5, 7), asked(6, 9))
    assert [c["status"] for c in run["tool_calls"]] == ["error", "unknown"]
    assert "tool_failure" in run["boundaries"] and "tool_recovery" in run["boundaries_unknown"]


@pytest.mark.parametrize(("later", "recovered"), [(1, False), (4, True)])
def test_of_calls_of_one_turn_that_ran_at_once_none_recovers_from_the_other_where_their_order_is_not_told(
    later, recovered
):
    """LangGraph under LangSmith, with values cut: the ids of the calls are told, and not what the model asked."""
    failed = tool(3, 1, "look", "a", at=1, took=2, error="no such row")
    (run,) = runs(agent(1, "planner", took=9), chat(2, 1), failed, tool(4, 1, "look", "b", "found", at=later, took=2))
    assert ("tool_recovery" in run["boundaries"]) == recovered
    assert "tool_recovery" in {*run["boundaries"], *run["boundaries_unknown"]}
