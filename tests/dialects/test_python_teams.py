"""Agents that work at once, teams, tools of servers, and instrumentations that fail by themselves, for Python."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

_OI = {"scope": "openinference.instrumentation.llama_index"}


def _of_kind(kind, **more):
    return {"openinference.span.kind": kind} | {key.replace("__", "."): value for key, value in more.items()}


def _frame(id, parent, at, took):
    return span(id, parent, "Agent.run", at=at, took=took, attributes=_of_kind("CHAIN"), **_OI)


def _asks(id, parent, call, city, at, took=1.0):
    asked = "llm.output_messages.0.message.tool_calls.0.tool_call."
    said = {f"{asked}id": call, f"{asked}function.name": "look", f"{asked}function.arguments": json.dumps(city)}
    said |= {"llm.output_messages.0.message.role": "assistant", "llm.input_messages.0.message.role": "user"}
    said |= {"llm.input_messages.0.message.content": "where?", "llm.model_name": "m"}
    return span(id, parent, "achat", at=at, took=took, attributes=_of_kind("LLM") | said, **_OI)


def _looks(id, parent, city, at):
    told = {"tool.name": "look", "output.value": f"seen {city['city']}"}
    told["input.value"] = json.dumps({"kwargs": city})
    return span(id, parent, "FunctionTool.acall", at=at, took=0.5, attributes=_of_kind("TOOL") | told, **_OI)


@pytest.mark.parametrize("same", [False, True])
def test_of_agents_that_ask_for_one_tool_at_once_each_has_what_it_asked_for(same):
    """No call has an id: the arguments tell which is whose, and where the work was done if these are the same."""
    oslo, rome = {"city": "Oslo"}, {"city": "Oslo" if same else "Rome"}
    (run,) = runs(
        _frame(1, None, 0, 30),
        _frame(2, 1, 1, 20),
        _frame(3, 1, 2, 20),
        _asks(4, 2, "c1", oslo, 3, 3),
        _asks(5, 3, "c2", rome, 4, 2.5),
        _looks(6, 2, oslo, 8),
        _looks(7, 3, rome, 9),
    )
    told = [(c["call_id"], c["arguments"], c["result"], c["turn"]) for c in run["tool_calls"]]
    assert told == [("c1", oslo, "seen Oslo", 0), ("c2", rome, f"seen {rome['city']}", 1)]


def test_tools_after_an_answer_that_ended_to_have_some_called_were_asked_for_at_once():
    nothing = {"gen_ai.output.messages": [{"role": "assistant", "parts": [], "finish_reason": "tool_call"}]}
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, asked="go", at=1, attributes=nothing),
        tool(3, 1, "look", "c1", "seen", at=3),
        tool(4, 1, "count", "c2", "7", at=4.5),
        chat(5, 1, "done", "go", at=6),
    )
    assert run["path"] == [["a/count", "a/look"]]
    assert [c["turn"] for c in run["tool_calls"]] == [0, 0]


def test_an_agent_of_a_team_whose_model_cannot_be_seen_is_one_although_it_sends_messages():
    (run,) = runs(
        span(1, None, "team", took=20),
        agent(2, "a", 1, at=1, took=3),
        span(3, 2, "autogen create topic", at=2, messaging__operation="create"),
        agent(4, "b", 1, at=5, took=5),
        tool(5, 4, "look", "c1", "seen", at=6),
    )
    assert run["agents"] == ["a", "b"] and run["delegations"] is None


def _function(id, parent, name, at, call=None):
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    told |= {"gen_ai.tool.call.id": call} if call else {}
    scope = "semantic_kernel.functions.kernel_function"
    return span(id, parent, f"execute_tool {name}", at=at, took=5, attributes=told, scope=scope)


@pytest.mark.parametrize(
    ("name", "call", "told"), [("VeYMMfUPSoFwQssQ", None, []), ("Tools-look", "c1", ["Tools-look"])]
)
def test_a_prompt_that_a_program_runs_in_semantic_kernel_is_no_tool(name, call, told):
    (run,) = runs(_function(1, None, name, 0, call), chat(2, 1, "cold", "weather?", at=1))
    assert [c["name"] for c in run["tool_calls"]] == told


@pytest.mark.parametrize(
    ("text", "ran", "told"),
    [
        ("Missing required argument(s): ['city'].", False, ("error", "soft")),
        ("Error: tool 'look' not found in any workbench", True, ("error", "soft")),
        ("Error: tool box not found", True, ("error", "soft")),
        ("Error: no box found", True, ("ok", "soft")),
    ],
)
def test_a_framework_says_that_it_could_not_call_a_tool(text, ran, told):
    brought = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": text}]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}]}
    question = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {})], "go", at=1),
        *([tool(3, 1, "look", "c1", text, at=3)] if ran else []),
        chat(4, 1, "done", [question, asked, brought], at=5),
    )
    assert [(c["status"], c["error_kind"]) for c in run["tool_calls"]] == [told]


def test_what_openlit_wrote_in_place_of_an_answer_is_none():
    events = [
        ("gen_ai.content.prompt", {"gen_ai.prompt": "user: go"}),
        ("gen_ai.content.completion", {"gen_ai.completion": "Function called with tools"}),
    ]
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, at=1, events=events), tool(3, 1, "look", "c1", "seen", at=3))
    assert run["output"] is None
    assert [(c["name"], c["turn"]) for c in run["tool_calls"]] == [("look", 0)]
