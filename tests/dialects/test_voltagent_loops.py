"""VoltAgent 2.10: a span of a model holds the loop around it, which is one call where no tools are offered."""

import json

import pytest

from tests.runs.requests import runs, span


def _of(id, parent, name, agent, at, took, **told):
    told = {"entity.type": "agent", "entity.name": agent} | told
    return span(id, parent, name, at=at, took=took, scope="@voltagent/core", status=1, attributes=told)


def _loop(id, parent, agent, at, tools):
    told = {"span.type": "llm", "llm.model": "m", "llm.tools.count": tools, "llm.finish_reason": "stop"}
    told |= {"llm.usage.prompt_tokens": 100 + id, "llm.usage.completion_tokens": id}
    told["llm.messages"] = json.dumps([{"role": "user", "content": [{"type": "text", "text": "plain"}]}])
    return _of(id, parent, "llm:generateText", agent, at, 1, **told)


def test_a_loop_without_tools_is_a_call_and_one_with_tools_leaves_the_calls_unknown():
    answered = {"input": "plain", "output": "done", "ai.response.finish_reason": "stop"}
    (alone,) = runs(_of(1, None, "writer", "writer", 0, 4, **answered), _loop(2, 1, "writer", 1, 0))
    assert [(c["agent"], c["input_tokens"], c["output_tokens"], c["status"]) for c in alone["llm_calls"]] == [
        ("writer", 102, 2, "ok")
    ]
    (mixed,) = runs(
        _of(1, None, "lead", "lead", 0, 9, **answered),
        _loop(2, 1, "lead", 1, 3),
        _of(3, 2, "writer", "writer", 1.2, 0.5, **answered),
        _loop(4, 3, "writer", 1.3, 0),
    )
    assert mixed["llm_calls"] is None


_ANSWERED = {"input": "go", "output": "led", "ai.response.finish_reason": "stop", "agent.state": "completed"}


def _tool(id, parent, name, at, took=1, **told):
    told = {"span.type": "tool", "tool.call.id": f"c{id}"} | told
    return _of(id, parent, f"tool.execution:{name}", "lead", at, took, **told)


@pytest.mark.parametrize(
    "schema",
    [
        {"def": {"type": "object", "shape": {"city": {"def": {"type": "string"}, "type": "string"}}}, "type": "object"},
        {"_def": {"unknownKeys": "strip", "typeName": "ZodObject"}, "~standard": {"version": 1, "vendor": "zod"}},
    ],
)
def test_what_a_tool_takes_is_not_what_it_was_given_and_its_span_bears_its_name(schema):
    """As where its content, or what goes beyond a limit on attributes, was left out."""
    (run,) = runs(
        _of(1, None, "lead", "lead", 0, 9, **_ANSWERED),
        _tool(2, 1, "look", 2, **{"tool.parameters": json.dumps(schema)}),
    )
    assert [(c["name"], c["arguments"], c["arguments_text"]) for c in run["tool_calls"]] == [("look", None, None)]


def test_a_way_to_a_subagent_whose_span_is_lost_is_a_delegation():
    given = json.dumps({"task": "write", "targetAgents": ["writer"]})
    (run,) = runs(
        _of(1, None, "lead", "lead", 0, 9, **_ANSWERED),
        _tool(2, 1, "delegate_task", 1, 5, **{"tool.name": "delegate_task", "input": given, "output": "[]"}),
        _loop(4, 3, "lead", 2, 2) | {"trace": 1},
        _tool(5, 3, "look", 3, **{"tool.name": "look", "input": "{}", "output": "cold", "subagent.name": "writer"}),
    )
    assert [(c["name"], c["agent"]) for c in run["tool_calls"]] == [("look", "writer")]
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"] or []] == [("lead", "writer", "delegate_task")]


@pytest.mark.parametrize("content", [True, False])
def test_a_run_that_went_well_did_not_fail_with_an_agent_below_a_tool_though_its_own_loop_is_lost(content):
    of = {"subagent.name": "writer"}
    told = {"entity.type": "agent", "entity.name": "lead"} | of
    loop = {"span.type": "llm", "llm.tools.count": 2, "llm.model": "m"}
    (run,) = runs(
        _of(1, None, "lead", "lead", 0, 9, **(_ANSWERED if content else {"ai.response.finish_reason": "stop"})),
        _tool(2, 1, "delegate_task", 1, 5, **{"tool.name": "delegate_task"}),
        span(3, 2, "subagent:writer", at=2, scope="@voltagent/core", error="model is down", attributes=told),
        span(4, 3, "llm:streamText", at=2, scope="@voltagent/core", error="model is down", attributes=told | loop),
    )
    assert (run["status"], run["output"]) == (("ok", "led") if content else ("ok", None))
