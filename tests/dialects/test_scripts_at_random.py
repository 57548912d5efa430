"""What scripts drawn at random brought to light in smolagents, BeeAI and AgentScope: written by hand."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

_OFFERED = '{"type": "function", "function": {"name": "look", "parameters": {}}}'
SMOL, BEE = "openinference.instrumentation.smolagents", "openinference.instrumentation.beeai"


def _model(id, parent, at, asked, calls, scope=SMOL, name="OpenAIModel.generate", **more):
    """A model's call that asks for tools; `asked`: roles and texts."""
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": 9}
    told |= {"metadata.class_name": name} if scope == BEE else {"llm.tools.0.tool.json_schema": _OFFERED}
    for n, (role, text) in enumerate(asked):
        told |= {f"llm.input_messages.{n}.message.role": role}
        told |= {f"llm.input_messages.{n}.message.contents.0.message_content.type": "text"}
        told |= {f"llm.input_messages.{n}.message.contents.0.message_content.text": text}
    told |= {"llm.output_messages.0.message.role": "assistant"}
    for n, (call_id, named, given) in enumerate(calls):
        one = f"llm.output_messages.0.message.tool_calls.{n}.tool_call."
        told |= {one + "id": call_id, one + "function.name": named, one + "function.arguments": json.dumps(given)}
    return span(id, parent, name, at=at, status=1, scope=scope, attributes=told, **more)


def _ran(id, parent, at, name, given, came, **more):
    told = {"openinference.span.kind": "TOOL", "tool.name": name}
    told |= {"input.value": json.dumps({"args": [], "sanitize_inputs_outputs": True, "kwargs": given})}
    told |= {"output.value": came} if came else {}
    return span(id, parent, "Look", at=at, scope=SMOL, attributes=told, **more)


def _step(id, parent, at, took, came):
    return span(
        id,
        parent,
        f"Step {id}",
        at=at,
        took=took,
        scope=SMOL,
        attributes={"openinference.span.kind": "CHAIN", "output.value": came},
    )


def _calling(*calls):
    named = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
    return "tool-call", f"Calling tools:\n{named}"


_TASK = [("system", "You solve tasks."), ("user", "New task:\nwrite of owls")]
_DONE = [("call_9", "final_answer", {"answer": "All done."})]
_AGENT = {"openinference.span.kind": "AGENT", "input.value": '{"task": "write of owls", "reset": true}'}


def _told(run):
    return [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]]


def test_what_a_kit_saw_has_its_frame_taken_off_in_the_role_of_a_tool_too():
    """smolagents 1.26, of a tool that gave nothing: its span has no output."""
    call = ("call_1", "look", {"x": 1})
    (run,) = runs(
        span(1, None, "ToolCallingAgent.run", took=20, status=1, scope=SMOL, attributes=_AGENT),
        _model(2, 1, 1, _TASK, [call]),
        _ran(3, 1, 3, "look", {"x": 1}, ""),
        _model(4, 1, 5, [*_TASK, _calling(call), ("tool-response", "Observation:\n")], _DONE),
    )
    assert _told(run) == [("look", "ok", "")]


def test_what_ran_beside_a_tool_that_raised_is_unknown_where_its_span_is_lost():
    """History tells of a step that failed its error alone."""
    calls = [("call_1", "look", {"x": 1}), ("call_2", "watch", {"x": 2})]
    failed = "Error:\nError executing tool 'watch'\nNow let's retry: take care not to repeat previous errors!"
    (run,) = runs(
        span(1, None, "ToolCallingAgent.run", took=20, status=1, scope=SMOL, attributes=_AGENT),
        _model(2, 1, 1, _TASK, calls),
        _ran(4, 1, 3.5, "watch", {"x": 2}, "", error="ValueError: no"),
        _model(5, 1, 5, [*_TASK, ("tool-response", failed)], _DONE),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "unknown"), ("watch", "error")]


def test_what_a_step_put_out_before_the_model_answered_is_no_answer():
    """The agent's own span is lost; the model hands in its answer in the next step."""
    call = ("call_1", "look", {"x": 1})
    seen = '{"found": ["x"], "n": 3}'
    (run,) = runs(
        _step(2, 1, 1, 3, seen),
        _model(3, 2, 1.5, _TASK, [call]),
        _ran(4, 2, 3, "look", {"x": 1}, seen),
        _step(5, 1, 5, 3, "All done."),
        _model(6, 5, 5.5, [*_TASK, _calling(call), ("tool-response", f"Observation:\n{seen}")], _DONE),
        _ran(7, 5, 6.6, "final_answer", _DONE[0][2], "All done."),
    )
    assert (run["input"], run["output"]) == ("write of owls", None)


@pytest.mark.parametrize(
    "before", ["", "This is the context relevant to the task:\nYour task: none\n\n\nThis is the expected criteria for "]
)
def test_a_user_s_words_come_out_of_bee_ai_s_frame(before):
    """Its agent's own span is lost."""
    before = before and f"{before}your output:\na line\n\n"
    asked = [("system", "help"), ("user", f"{before}Your task: is 1 &lt; 2?")]
    said = ("c1", "final_answer", {"response": "Yes."})
    (run,) = runs(_model(2, 99, 1, asked, [said], BEE, "OpenAIChatModel"), span(3, 99, "final_answer", at=3, scope=BEE))
    assert run["input"] == "is 1 < 2?"


def test_an_error_with_its_causes_below_it_is_no_answer():
    """BeeAI's agents put out what they threw."""
    told = {
        "openinference.span.kind": "AGENT",
        "agent.name": "planner",
        "metadata.class_name": "A",
        "input.value": '{"input": "go"}',
    }
    told |= {"output.value": "AgentError(beeai_framework.agents.errors): Out of retries.\n  ToolError(beeai): no"}
    (run,) = runs(
        span(
            1,
            None,
            "planner",
            took=9,
            scope=BEE,
            error="Out of retries.",
            events=[("exception", {"exception.type": "AgentError", "exception.message": "Out of retries."})],
            attributes=told,
        ),
        _model(2, 1, 1, [("user", "Your task: go")], [("c1", "look", {})], BEE, "OpenAIChatModel"),
    )
    assert (run["status"], run["output"]) == ("error", None)


def test_what_a_turn_tells_in_one_message_was_asked_for_one_after_another():
    """AgentScope 2, of which the first model's call is lost: the tool's span and the history tell of one call."""
    kit = {"scope": "agentscope"}
    told = [
        {"type": "tool_call", "id": "call_1", "name": "look", "arguments": {"x": 1}},
        {"type": "tool_call_response", "id": "call_1", "response": "Sunny."},
        {"type": "tool_call", "id": "call_2", "name": "look", "arguments": {"x": 2}},
        {"type": "tool_call_response", "id": "call_2", "response": "Rain."},
    ]
    asked = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    (run,) = runs(
        agent(1, "planner", took=20, **kit),
        tool(3, 1, "look", "call_1", "Sunny.", at=3, **kit),
        chat(4, 1, [("call_2", "look", {"x": 2})], [*asked, {"role": "assistant", "parts": told[:2]}], at=5, **kit),
        tool(5, 1, "look", "call_2", "Rain.", at=7, **kit),
        chat(6, 1, "Done.", [*asked, {"role": "assistant", "parts": told}], at=9, **kit),
    )
    assert [(c["call_id"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("call_1", "ok", "Sunny."),
        ("call_2", "ok", "Rain."),
    ]
