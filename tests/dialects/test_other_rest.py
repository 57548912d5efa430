"""Observers that no capture holds, by spans as their own kits wrote them in runs of many scripts."""

import json
from functools import partial

import pytest

from tests.runs.requests import runs, span

pytestmark = pytest.mark.full

_jsons = partial(json.dumps, separators=(",", ":"))  # as JavaScript writes it


def _neatlogs(id, parent, name, kind, at, took=1, scope="neatlogs", **more):
    """Neatlogs 1.1: keys of its own, numbered where there are several."""
    told = {f"neatlogs.{key}": value for key, value in more.pop("told", {}).items()}
    told |= {"neatlogs.span.kind": kind, "neatlogs.instrumentation.name": scope}
    return span(id, parent, name, at=at, took=took, status=1, scope=scope, attributes=told, **more)


def _messages(side, *messages):
    return {f"llm.{side}_messages.{n}.{key}": x for n, told in enumerate(messages) for key, x in told.items()}


def _said(role, text, **more):
    return {"role": role, "content": text} | more


_USED = {"llm.token_count.prompt": 10, "llm.token_count.completion": 2}


def _called(*calls):
    return {f"llm.tool_calls.{n}.{key}": x for n, told in enumerate(calls) for key, x in told.items()}


@pytest.mark.parametrize(("scope", "asked", "answered"), [("openai", None, "m"), ("langchain", "m", None)])
def test_neatlogs_tells_what_an_answer_asks_for_beside_its_message(scope, asked, answered):
    scope = f"neatlogs.{scope}"
    calls = [{"id": "c1", "name": "look", "arguments": '{"at":1}'}, {"id": "c2", "name": "ghost", "arguments": "{}"}]
    model = {"llm.model_name": "m"} | _USED
    back = [_said("tool", "cold", tool_call_id="c1"), _said("tool", "Unknown tool: ghost", tool_call_id="c2")]
    first = model | _messages("input", _said("user", "go")) | _messages("output", _said("assistant", "Let me."))
    first |= _called(*calls) | {"llm.finish_reason": "tool_calls", "llm.tools.0.name": "look"}
    then = _messages("input", _said("user", "go"), _said("assistant", "Let me."), *back)
    then |= model | _messages("output", _said("assistant", "It is cold.")) | {"llm.finish_reason": "stop"}
    gave = {"tool.name": "look", "tool_call.id": "c1", "tool.input": '{"at":1}', "tool.output": "[object ToolMessage]"}
    (run,) = runs(
        _neatlogs(1, None, "planner", "agent", 0, 9, told={"session.id": "s1", "agent.output": '"It is cold."'}),
        _neatlogs(2, 1, "chat", "llm", 1, scope=scope, told=first),
        _neatlogs(3, 1, "tool", "tool", 3, scope=scope, told=gave),
        _neatlogs(4, 1, "chat", "llm", 5, scope=scope, told=then),
    )
    assert [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("look", {"at": 1}, "ok", "cold"),
        ("ghost", {}, "requested", "Unknown tool: ghost"),
    ]
    calls = [(c["agent"], c["request_model"], c["response_model"], c["input_tokens"]) for c in run["llm_calls"]]
    assert calls == [("planner", asked, answered, 10)] * 2
    assert (run["input"], run["output"], run["conversation_id"]) == ("go", "It is cold.", "s1")


def test_neatlogs_tells_who_handed_over_and_its_own_end_of_a_trace_is_no_step():
    """OpenAI's Agents SDK: items in place of calls, and no word of to whom."""
    scope = "neatlogs.openai_agents"
    model = {"llm.model_name": "m"} | _USED
    asks = model | _called({"id": "fc_1", "name": "transfer_to_math", "arguments": "{}"})
    (run,) = runs(
        _neatlogs(1, None, "openai_agents.trace", "workflow", 0, 20, scope),
        _neatlogs(2, 1, "openai_agents.agent.triage", "agent", 1, 4, scope, told={"agent.name": "triage"}),
        _neatlogs(3, 2, "openai_agents.generation", "llm", 1.5, scope=scope, told=asks),
        _neatlogs(4, 2, "openai_agents.handoff", "agent", 4, 0.1, scope, told={"agent.handoff_from": "triage"}),
        _neatlogs(5, 1, "openai_agents.agent.math", "agent", 6, 9, scope, told={"agent.name": "math"}),
        _neatlogs(6, 5, "g", "llm", 7, scope=scope, told=model | _messages("output", _said("assistant", "3"))),
        _neatlogs(7, 1, "neatlogs.trace.complete", "Neatlogs.INTERNAL", 20, 0),
    )
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("triage", "math", "transfer_to_math")]
    assert (run["agents"], run["tool_calls"], run["output"]) == (["math", "triage"], [], "3")


def _typed(kind, value):
    return _jsons({"type": kind, "value": value})


def _langwatch(id, parent, name, kind, at, took=1, given=None, came=None, **more):
    """LangWatch 0.16: each value says its type."""
    told = {"langwatch.span.type": kind} | more.pop("told", {})
    told |= {f"langwatch.{side}": value for side, value in (("input", given), ("output", came)) if value is not None}
    return span(id, parent, name, at=at, took=took, scope="langwatch", attributes=told, **more)


@pytest.mark.parametrize("listed", [True, False])
def test_the_values_of_langwatch_say_their_type_and_hold_what_they_are(listed):
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":1}'}}
    asked = [{"role": "user", "content": "go"}]
    asks, said = {"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "assistant", "content": "cold"}

    def answer(message):
        told = {"type": "chat_messages", "value": [message]}
        return _typed("list", [told]) if listed else _jsons(told)

    back = {"role": "tool", "tool_call_id": "c1", "content": "21"}
    used = {"langwatch.metrics": _typed("json", {"promptTokens": 9, "completionTokens": 2})}
    (run,) = runs(
        _langwatch(1, None, "planner", "agent", 0, 9, _typed("text", "go"), _typed("text", "cold")),
        _langwatch(2, 1, "llm", "llm", 1, 1, _typed("chat_messages", asked), answer(asks), told=used),
        _langwatch(3, 1, "look", "tool", 3, 1, _typed("text", '{"at":1}'), _typed("text", "21")),
        _langwatch(4, 1, "llm", "llm", 5, 1, _typed("chat_messages", [*asked, asks, back]), answer(said), told=used),
    )
    assert (run["input"], run["output"]) == ("go", "cold")
    assert [(c["call_id"], c["arguments"], c["result"]) for c in run["tool_calls"]] == [("c1", {"at": 1}, "21")]
    assert [c["input_tokens"] for c in run["llm_calls"]] == [9, 9]


def test_an_empty_function_beside_a_message_is_no_call_of_it():
    """LangWatch's handler for LangChain.js, which leaves out what an answer asks for, and names the agent."""
    told = {"langwatch.langchain.run.metadata.lc_agent_name": "planner"}
    empty = {"role": "assistant", "content": "cold", "function_call": {}}
    came = _typed("list", [{"type": "chat_messages", "value": [empty]}])
    (run,) = runs(
        _langwatch(1, None, "planner", "chain", 0, 9, told=told),
        _langwatch(2, 1, "openai m", "llm", 1, 1, _typed("chat_messages", [_said("user", "go")]), came, told=told),
    )
    assert (run["agents"], run["output"], run["tool_calls"] or []) == (["planner"], "cold", [])
    assert run["status"] == "ok"
