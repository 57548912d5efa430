"""Loops of the AI SDK that are told in part: spans lost, values cut, words kept out."""

import json

import pytest

from tests.runs.requests import runs, span

pytestmark = pytest.mark.full


def _loop(id, at, finish, *steps, parent=None, **told):
    """A loop of the AI SDK 6, whose steps, and the tools between, each last a second."""
    told = {
        "ai.operationId": "ai.generateText",
        "ai.telemetry.functionId": "planner",
        "operation.name": "x planner",
    } | told
    told["ai.response.finishReason"] = finish
    yield span(id, parent, "ai.generateText", at=at, took=len(steps), scope="ai", attributes=told)
    for place, (kind, facts) in enumerate(steps, 1):
        name = f"ai.generateText.{kind}" if kind == "doGenerate" else kind
        facts = {"ai.operationId": name} | {f"ai.{key}": value for key, value in facts.items()}
        yield span(id + place, id, name, at=at + place - 0.9, took=0.8, scope="ai", attributes=facts)


def _step(*calls, prompt=None, has=None):
    asked = [{"toolCallId": i, "toolName": n, "input": "{}"} for i, n in calls]
    told = {"response.toolCalls": json.dumps(asked)} if calls else {"response.text": "done"}
    told |= {"prompt.messages": prompt} if prompt is not None else {}
    told |= {"prompt.tools": [json.dumps({"type": "function", "name": has, "inputSchema": {}})]} if has else {}
    told |= {"response.finishReason": "tool-calls" if calls else "stop", "model.id": "m", "usage.inputTokens": 9}
    return "doGenerate", told


def _ran(call, name):
    return "ai.toolCall", {"toolCall.id": call, "toolCall.name": name, "toolCall.result": '"seen"'}


_ASKED = json.dumps([{"role": "user", "content": [{"type": "text", "text": "go"}]}])


@pytest.mark.parametrize(("name", "status"), [("look", "unknown"), ("pick", "requested")])
def test_what_ran_before_may_have_run_at_the_limit_of_steps_where_its_span_is_lost(name, status):
    """The AI SDK 5 and 6: a tool that nobody there runs is left to another."""
    steps = [_step(("c1", "look"), prompt=_ASKED), _ran("c1", "look"), _step(("c2", name))]
    (run,) = runs(*_loop(1, 0, "tool-calls", *steps))
    assert [(c["call_id"], c["status"]) for c in run["tool_calls"]] == [("c1", "ok"), ("c2", status)]


@pytest.mark.parametrize(
    ("name", "has", "status"),
    [
        ("look", "look", "unknown"),
        ("look", None, "unknown"),
        ("ghost", None, "unknown"),
        ("ghost", "look", "requested"),
    ],
)
def test_what_was_asked_for_may_have_run_where_what_the_next_step_was_told_is_cut(name, has, status):
    """The AI SDK 5 and 6, with values cut and the span of a tool lost."""
    cut = _ASKED[:-1] + ',{"role":"assistant","content":[{"type":"tool-ca'
    steps = [
        _step(("c1", "look"), prompt=_ASKED, has=has),
        _ran("c1", "look"),
        _step(("c2", name), prompt=cut, has=has),
    ]
    (run,) = runs(*_loop(1, 0, "stop", *steps, _step(prompt=cut, has=has)))
    assert [(c["call_id"], c["status"]) for c in run["tool_calls"]] == [("c1", "ok"), ("c2", status)]


@pytest.mark.parametrize("prompt", [None, '{"messages":[{"role":"user","content":"go'])
def test_loops_below_a_span_that_is_lost_are_runs_where_their_words_are_not_told(prompt):
    told = {"ai.prompt": prompt} if prompt is not None else {}
    steps = [_step(("c1", "look")), _ran("c1", "look"), _step()]
    turns = [s for turn in (1, 2, 3) for s in _loop(10 * turn, 10 * turn, "stop", *steps, parent=90, **told)]
    assert [len(run["llm_calls"]) for run in runs(*turns)] == [2, 2, 2]
