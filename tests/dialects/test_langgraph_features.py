"""LangGraph 1.2's functions and graphs that are stopped on their way."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

_SCOPE = "openinference.instrumentation.langchain"


def _chain(id, parent, name, at=0.0, took=1.0, put_out=None, error=None):
    told = {"openinference.span.kind": "CHAIN"} | ({"output.value": put_out} if put_out else {})
    more = {"error": error} if error else {"status": 1}
    return span(id, parent, name, at=at, took=took, attributes=told, scope=_SCOPE, **more)


def _ran(id, parent, at, known, result=None, error=None):
    given = {"gen_ai.tool.call.arguments": {"x": 1}}
    more = {"error": error} if error else {"status": 1}
    return tool(id, parent, "look", "c1" if known else None, result, at=at, took=0.5, attributes=given, **more)


@pytest.mark.parametrize("known", [True, False])
def test_a_task_that_is_made_again_runs_its_tool_as_often_and_asks_for_it_once(known):
    """Each attempt is a step of its own; under LangSmith and Traceloop each tells whose call it is."""
    history = [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"x": 1}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "seen"}]},
    ]
    (run,) = runs(
        _chain(1, None, "planner", took=9, put_out="Done."),
        _chain(2, 1, "call_model", 0),
        chat(3, 2, [("c1", "look", {"x": 1})], "go"),
        _chain(4, 1, "call_tool", 2, error="try again"),
        _ran(5, 4, 2, known, error="try again"),
        _chain(6, 1, "call_tool", 4),
        _ran(7, 6, 4, True, "seen"),
        _chain(8, 1, "call_model", 6),
        chat(9, 8, "Done.", history, at=6),
    )
    assert [(c["status"], c["result"], c["turn"]) for c in run["tool_calls"]] == [("ok", "seen", 0)]
    assert "tool_failure" not in run["boundaries"]


def test_the_name_of_a_step_that_has_not_come_is_no_answer():
    """`interrupt_before`: the edge within the step that asked its model says which one is next."""
    (run,) = runs(
        _chain(1, None, "planner", took=3),
        _chain(2, 1, "agent", 0, 3),
        chat(3, 2, [("c1", "look", {"x": 1})], "go"),
        _chain(4, 2, "tools_condition", 2, 0.1, "tools"),
    )
    assert run["output"] is None
    assert [c["name"] for c in run["tool_calls"]] == ["look"]


_WAITED = [
    {"role": "user", "parts": [{"type": "text", "content": "go"}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"x": 1}}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "seen"}]},
]


@pytest.mark.parametrize(
    "command",
    [
        {"graph": None, "update": None, "resume": "yes", "goto": []},
        {"lg_name": "Command", "resume": {"decisions": []}},
        {"inputs": {"graph": None, "update": None, "resume": True, "goto": []}, "tags": []},
    ],
)
def test_what_goes_on_where_it_had_waited_was_asked_of_an_earlier_run(command):
    """`Command(resume=...)`: a request of its own, in which the user's words stand in the history alone."""
    given = {"openinference.span.kind": "CHAIN", "input.value": json.dumps(command)}
    (run,) = runs(
        span(1, None, "planner", took=9, attributes=given, scope=_SCOPE, status=1),
        _ran(2, 1, 1, True, "seen"),
        chat(3, 1, "Done.", _WAITED, at=3),
    )
    assert (run["input"], run["output"], run["status"]) == (None, "Done.", "ok")
    assert "input not reported" in run["incomplete"]


@pytest.mark.parametrize(("history", "asked"), [(_WAITED, None), (_WAITED[:1], "go")])
def test_an_agent_that_tells_its_answer_alone_was_asked_nothing_where_it_goes_on_after_tools(history, asked):
    """OpenTelemetry's own of LangChain tells no input of an agent that `Command(resume=...)` lets go on."""
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]
    told = {"gen_ai.output.messages": answer}
    (run,) = runs(agent(1, "planner", took=9, attributes=told, scope=_OWN), chat(3, 1, "Done.", history, at=3))
    assert (run["input"], run["output"]) == (asked, "Done.")


_OWN = "opentelemetry.instrumentation.genai.langchain"


@pytest.mark.parametrize(
    ("named", "thread", "description", "left"),
    [
        ("Plan", None, "What to do.", []),
        ("Plan", "t1", "", []),
        ("Plan", "t1", "What to do.", ["Plan"]),  # it may wait for leave
        ("look", None, "", ["look"]),
    ],
)
def test_the_form_of_an_answer_that_an_agent_ended_with_is_no_tool(named, thread, description, left):
    """`ToolStrategy` under OpenTelemetry's own: forms are offered after all tools."""
    last = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": named, "arguments": {"x": 1}}]}]
    told = {"gen_ai.output.messages": last} | ({"gen_ai.conversation.id": thread} if thread else {})
    offered = json.dumps([{"name": "look", "description": ""}, {"name": "Plan", "description": description}])
    asked = chat(2, 1, [("c1", named, {"x": 1})], "go", at=1, gen_ai__tool__definitions=offered, scope=_OWN)
    (run,) = runs(agent(1, "planner", took=9, attributes=told, scope=_OWN), asked)
    assert [c["name"] for c in run["tool_calls"]] == left
    assert run["output"] == (None if left else '{"x":1}')
