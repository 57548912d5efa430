"""Strands, Claude's kit and others for JavaScript: what waits, was given up or ran in the background."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full


def _strands(*spans):
    return runs(*({**one, "scope": "strands-agents", "status": one.get("status", 1)} for one in spans))


def _choice(message, finish):
    return [("gen_ai.choice", {"message": message, "finish_reason": finish})]


@pytest.mark.parametrize(("brought", "status"), [([], "requested"), (_choice('[{"text":"seen"}]', ""), "ok")])
def test_a_tool_of_strands_for_javascript_that_waits_for_somebody_ended_well_and_brought_nothing(brought, status):
    """Version 1.19: the step around it alone tells of the interrupt, for all tools that it ran."""
    thrown = {"exception.type": "InterruptError", "exception.message": "Interrupt raised: ask"}
    call = [{"type": "toolUse", "name": "look", "toolUseId": "c1", "input": {}}]
    (run,) = _strands(
        agent(1, "a", took=9, events=_choice("go", "interrupt")),
        span(2, 1, "execute_agent_loop_cycle", took=8, error=thrown["exception.message"], status=2)
        | {"events": [("exception", thrown)]},
        chat(3, 2, at=1, events=_choice(json.dumps(call), "toolUse")),
        tool(4, 2, "look", "c1", at=3, events=brought),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", status)]


@pytest.mark.parametrize(("told", "status"), [([], "unknown"), (_choice("", "interrupt"), "ok")])
def test_how_a_stream_of_strands_for_javascript_went_that_was_given_up_is_unknown(told, status):
    call = [{"type": "toolUse", "name": "look", "toolUseId": "c1", "input": {}}]
    (run,) = _strands(
        agent(1, "a", took=9, events=told),
        chat(3, 1, asked="go", at=1, events=_choice(json.dumps(call), "toolUse")),
    )
    assert run["status"] == status


@pytest.mark.parametrize(("error", "status"), [("Abandoned", "unknown"), ("no rooms", "error")])
def test_a_tool_of_claudes_kit_for_javascript_that_was_heard_no_more_of_may_not_have_run(error, status):
    """OpenInference 0.3: so it ends the span of a tool that somebody, or a hook, gave no leave."""
    scope = "@arizeai/openinference-instrumentation-claude-agent-sdk"
    asked = {"openinference.span.kind": "AGENT", "input.value": "go", "output.value": "Done."}
    ran = {"openinference.span.kind": "TOOL", "tool.name": "look", "input.value": '{"x": 1}'}
    (run,) = runs(
        span(1, name="ClaudeAgent.query", took=9, status=1, scope=scope, attributes=asked),
        span(2, 1, "look", at=1, took=8, scope=scope, attributes=ran, error=error),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", status)]
    assert ("tool_failure" in run["boundaries"]) == (status == "error")


def test_who_works_on_in_the_background_does_not_answer_for_the_run():
    """Claude Code's agents, newest: the tool that calls one ends once it was launched."""
    (run,) = runs(
        agent(1, "boss", took=20),
        chat(2, 1, [("c1", "Agent", {"subagent_type": "worker", "prompt": "work"})], "go", at=1),
        tool(3, 1, "Agent", "c1", "launched", at=2, took=0.5),
        chat(4, 1, "Led.", "go", at=3),
        agent(5, "worker", 3, at=4, took=8),
        chat(6, 5, "Worked.", "work", at=6),
    )
    assert (run["input"], run["output"]) == ("go", "Led.")


@pytest.mark.parametrize(
    ("name", "output"), [("final_answer", "cold"), ("strands_structured_output", '{"answer":"cold"}')]
)
def test_what_is_handed_in_after_a_schema_is_an_object_whatever_its_fields_are_called(name, output):
    """Strands for JavaScript 1.19; smolagents and BeeAI put a text into a field of that name."""
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, [("c1", name, {"answer": "cold"})], "go", at=1))
    assert (run["output"], run["tool_calls"]) == (output, [])
