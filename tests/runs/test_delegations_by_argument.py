"""A tool's arguments that name an agent: of a delegation, if that agent worked for it."""

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

GIVEN = {"agent": "worker", "task": "x"}


def _told(run):
    handed = [(d["from"], d["to"], d["form"], d["tool"]) for d in run["delegations"]]
    return handed, [(c["name"], c["agent"]) for c in run["tool_calls"]]


@pytest.mark.parametrize("name", ["delegate", "assign_work", "start"])
@pytest.mark.parametrize("key", ["agent", "agentName", "to_agent", "next_agent", "subagent"])
def test_a_tool_of_any_name_is_a_delegation_to_the_agent_that_it_was_given_and_that_works_then(name, key):
    """In its time, below its caller; the tool has no span."""
    (run,) = runs(
        agent(1, "planner", took=20),
        chat(2, 1, [("c1", name, {key: "worker", "task": "x"})], at=1),
        agent(3, "worker", parent=1, at=4, took=6),
        chat(4, 3, "found", at=5),
        chat(5, 1, "done", at=12),
    )
    assert _told(run) == ([("planner", "worker", "tool", name)], [])


def test_what_hands_over_by_an_argument_is_a_handoff():
    (run,) = runs(
        span(1, None, "workflow", gen_ai__operation__name="invoke_workflow", took=20),
        agent(2, "planner", parent=1, took=5),
        chat(3, 2, [("c1", "pass_on", GIVEN)], at=1),
        tool(4, 2, "pass_on", call="c1", at=3),
        agent(5, "worker", parent=1, at=6, took=9),
        chat(6, 5, "done", at=7),
    )
    assert _told(run) == ([("planner", "worker", "handoff", "pass_on")], [])


def test_a_tool_that_is_asked_about_an_agent_is_none():
    """Who asked is heard again before that agent works."""
    (run,) = runs(
        span(1, None, "workflow", gen_ai__operation__name="invoke_workflow", took=20),
        agent(2, "planner", parent=1, took=7),
        chat(3, 2, [("c1", "load_of", GIVEN)], at=1),
        tool(4, 2, "load_of", call="c1", at=3),
        chat(5, 2, "done", at=5),
        agent(6, "worker", parent=1, at=8, took=9),
        chat(7, 6, "done", at=9),
    )
    assert _told(run) == ([], [("load_of", "planner")])


def test_an_agent_that_does_not_work_in_the_run_was_called_by_none():
    (run,) = runs(
        agent(1, "planner", took=20), chat(2, 1, [("c1", "load_of", GIVEN)], at=1), tool(3, 1, "load_of", "c1", at=3)
    )
    assert _told(run) == ([], [("load_of", "planner")])


def test_of_a_tool_that_delegates_by_its_name_and_tells_no_arguments_who_works_next_was_called():
    (run,) = runs(
        agent(1, "planner", took=20),
        span(2, 1, "chat m", gen_ai__operation__name="chat", gen_ai__request__model="m", at=1),
        span(
            3, 1, "execute_tool delegate", gen_ai__operation__name="execute_tool", gen_ai__tool__name="delegate", at=3
        ),
        agent(4, "worker", parent=1, at=6, took=6),
        span(5, 4, "chat m", gen_ai__operation__name="chat", gen_ai__request__model="m", at=7),
    )
    assert _told(run) == ([("planner", "worker", "tool", "delegate")], [])
