"""Kits of Go, Java, .NET, Rust and Kotlin, by spans written as their published sources write them."""

import pytest

from tests.runs.requests import chat, runs, span


def _docker(id, parent, name, **told):
    """docker/docker-agent (pkg/runtime/loop.go, agent_delegation.go, toolexec/dispatcher.go; pkg/telemetry/genai)."""
    attributes = {"cagent.agent.name": told.pop("agent", "root"), "gen_ai.conversation.id": "s1"}
    return span(id, parent, name, scope="cagent", attributes=attributes | told.pop("attributes", {}), **told)


def _docker_turn(id, parent, at, answer, agent="root"):
    return [
        _docker(id, parent, "runtime.stream", at=at, agent=agent),
        _docker(id + 1, id, "runtime.fallback", at=at, agent=agent),
        chat(id + 2, id + 1, answer, "hi", at=at),
    ]


def _docker_tool(id, parent, name, handler=None, at=4, took=1, agent="root", **told):
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": f"call_{name}8K"}
    outer = told.pop("attributes", {})
    ran = [_docker(id + 1, id, handler, at=at, took=took, agent=agent, status=1, attributes=tool)] if handler else []
    call = _docker(id, parent, "runtime.tool.call", at=at, took=took, agent=agent, attributes=tool | outer, **told)
    return [call | {"status": None if told.get("error") else 1}, *ran]


def _asks(name):
    return [(f"call_{name}8K", name, {})]


@pytest.mark.parametrize(
    ("told", "handler", "status"),
    [
        ({"attributes": {"cagent.approval.decision": "allow"}}, "runtime.tool.handler", "ok"),
        ({"attributes": {"cagent.approval.decision": "deny"}}, None, "requested"),
        ({"attributes": {"cagent.approval.decision": "canceled"}}, None, "unknown"),
        ({"error": "tool not available"}, None, "requested"),
    ],
)
def test_a_span_from_before_leave_was_given_does_not_say_that_dockers_tool_ran(told, handler, status):
    (run,) = runs(
        _docker(1, None, "runtime.session", took=30),
        *_docker_turn(2, 1, 1, _asks("look")),
        *_docker_tool(10, 1, "look", handler, **told),
        *_docker_turn(20, 1, 8, "done"),
    )
    assert [(c["name"], c["status"], c["agent"]) for c in run["tool_calls"]] == [("look", status, "root")]
    assert (run["agents"], len(run["llm_calls"])) == (["root"], 2)


def test_docker_tells_agents_by_a_key_of_its_own():
    invoked = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    (run,) = runs(
        _docker(1, None, "runtime.session", took=60),
        *_docker_turn(2, 1, 1, _asks("transfer_task")),
        *_docker_tool(10, 1, "transfer_task", "runtime.tool.handler.runtime", took=20),
        _docker(15, 11, "runtime.task_transfer", at=4, took=20, agent="helper", attributes=invoked),
        _docker(16, 15, "runtime.session", at=5, took=18, agent="helper"),
        *_docker_turn(30, 16, 6, "done by helper", agent="helper"),
        *_docker_turn(40, 1, 30, _asks("handoff")),
        *_docker_tool(50, 1, "handoff", "runtime.tool.handler.runtime", at=33),
        _docker(55, 51, "runtime.handoff", at=33, took=0, agent="helper", attributes=invoked),
        *_docker_turn(60, 1, 40, "final", agent="helper"),
    )
    assert (run["agents"], run["tool_calls"]) == (["helper", "root"], [])
    assert [c["agent"] for c in run["llm_calls"]] == ["root", "helper", "root", "helper"]
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [
        ("root", "helper", "transfer_task"),
        ("root", "helper", "handoff"),
    ]
