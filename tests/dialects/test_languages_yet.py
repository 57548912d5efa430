"""Kits of Go, Java, .NET, Rust and Kotlin, by spans written as their published sources write them."""

import json

import pytest

from tests.runs.requests import chat, runs, span

pytestmark = pytest.mark.full


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


_GOOSE_ASKS = {
    "role": "assistant",
    "parts": [{"type": "tool_call", "id": "call_1xK", "name": "shell", "arguments": {"command": "ls"}}],
    "finish_reason": "tool_call",
}


def _goose(id, parent, name, at, took=1, **told):
    """block/goose (crates/goose: the agent, its state machine, and the conventions of its providers)."""
    attributes = {"gen_ai.operation.name": name, "session.id": "s1"} | told
    return span(id, parent, name, at=at, took=took, scope="goose", attributes=attributes)


def _goose_run(response, *tools):
    asked = {"role": "user", "parts": [{"type": "text", "content": "hi"}]}
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1xK", "response": response}]}
    done = {"role": "assistant", "parts": [{"type": "text", "content": "done"}], "finish_reason": "stop"}

    def model(id, at, answer, *messages):
        told = {"gen_ai.input.messages": messages, "gen_ai.output.messages": [answer], "gen_ai.request.model": "gpt-5"}
        return _goose(id, 1, "chat", at, **told)

    (run,) = runs(
        _goose(1, None, "invoke_agent", 0, 20, **{"gen_ai.agent.name": "goose"}),
        model(2, 1, _GOOSE_ASKS, asked),
        *tools,
        model(4, 5, done, asked, _GOOSE_ASKS, back),
    )
    return [(c["name"], c["status"]) for c in run["tool_calls"]]


_DECLINED = "The user has declined to run this tool. DO NOT attempt to call it again."


@pytest.mark.parametrize(
    ("error", "response", "status"),
    [
        (None, {"content": [{"type": "text", "text": _DECLINED}], "isError": True}, "requested"),
        ("hook_denied", {"error": "-32603: Tool call denied by policy hook `p`: no."}, "requested"),
        ("tool_error", {"content": [{"type": "text", "text": "no such file"}], "isError": True}, "error"),
    ],
)
def test_goose_says_of_a_tool_that_it_was_given_no_leave(error, response, status):
    ran = {"gen_ai.tool.name": "shell", "gen_ai.tool.call.id": "call_1xK", "error.type": error}
    assert _goose_run(response, *([_goose(3, 1, "execute_tool", 3, **ran)] if error else [])) == [("shell", status)]


@pytest.mark.parametrize("answered", [True, False])
def test_ellmer_marks_the_calls_that_went_well(answered):
    """tidyverse/ellmer (R/otel.R): the span of a call that failed ends with nothing more on it."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.model": "gpt-4.1"}
    used = {"gen_ai.response.id": "chatcmpl-7xK", "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}
    agent = span(1, None, "invoke_agent", kind=3, took=9, scope="ellmer", attributes={"gen_ai.operation.name": "chat"})
    call = span(2, 1, "chat gpt-4.1", kind=3, at=1, scope="ellmer", attributes=told | (used if answered else {}))
    (run,) = runs(agent, call | {"status": 1 if answered else None})
    assert [c["status"] for c in run["llm_calls"]] == ["ok" if answered else "unknown"]


def _eino(id, parent, name, type, at, took=1, told=None, **values):
    """cloudwego/eino-ext (callbacks/langfuse/v2: handler.go, model.go, marshal.go)."""
    put = {f"langfuse.observation.{key}": json.dumps(value) for key, value in values.items()}
    attributes = (
        {"langfuse.observation.type": type} | put | {f"langfuse.observation.{k}": v for k, v in (told or {}).items()}
    )
    scope = "github.com/cloudwego/eino-ext/callbacks/langfuse"
    return span(id, parent, name, at=at, took=took, scope=scope, attributes=attributes)


_EINO_UNDONE = {
    "interrupted": {"status_message": "callback: interrupted", "metadata.eino_callback_interrupted": "true"},
    "cancelled": {"status_message": "callback: cancelled", "metadata.eino_callback_cancelled": "true"},
}


@pytest.mark.parametrize(
    ("became", "status", "result"),
    [(None, "ok", "sunny"), ("interrupted", "requested", None), ("cancelled", "unknown", None)],
)
def test_eino_ends_well_the_spans_of_tools_that_wait_or_were_called_off(became, status, result):
    asked = [{"role": "user", "content": "hi"}]
    function = {"name": "look", "arguments": '{"q": 1}'}
    asks = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "call_9xK", "type": "function", "function": function}],
    }
    out = {"status": became, "cause": "x"} if became else {"Response": "sunny", "ToolOutput": None, "Extra": None}
    model = {"model.name": "gpt-4o"}
    (run,) = runs(
        _eino(1, None, "helper", "agent", 0, 20, input={"Messages": asked, "EnableStreaming": False}),
        _eino(2, 1, "ReAct", "span", 1, 19),
        _eino(3, 2, "ChatModel", "generation", 1, told=model, input=asked, output=asks),
        _eino(4, 2, "ToolNode", "span", 3, 2, input=asks),
        _eino(
            5, 4, "look", "tool", 3, told=_EINO_UNDONE.get(became), input={"ArgumentsInJSON": '{"q": 1}'}, output=out
        ),
    )
    (tool,) = run["tool_calls"]
    assert (tool["status"], tool["arguments"], tool["result"]) == (status, {"q": 1}, result)


_PEER = "Tool not executed because another tool call in the same assistant turn was invalid."


@pytest.mark.parametrize(
    ("told", "back", "status"),
    [
        ({"gen_ai.tool.call.result": "sunny"}, "sunny", "ok"),
        ({"gen_ai.tool.call.result": "Toolset error: ToolCallError: ToolCallError: boom"}, None, "error"),
        ({"gen_ai.tool.call.result": "ToolNotFoundError: look"}, None, "requested"),
        ({}, "kept from it by a hook", "unknown"),
        ({"gen_ai.tool.name": None}, "The arguments for tool `look` are not a JSON object: {.", "requested"),
        (None, _PEER, "requested"),
    ],
)
def test_rig_tells_what_became_of_a_tool_by_what_came_back(told, back, status):
    """0xPlaygrounds/rig (crates/rig-core/src/agent/runner.rs, prompt_request; src/tool): `tracing` sets no status."""
    shown = back or (told or {})["gen_ai.tool.call.result"]
    asks = {"id": "call_9xK", "type": "function", "function": {"name": "look", "arguments": '{"q": 1}'}}
    asked = [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": [asks]}]
    answered = [*asked, {"role": "tool", "tool_call_id": "call_9xK", "content": shown}]

    def rig(id, parent, name, at, took=1, **more):
        told = {"gen_ai.operation.name": name, "target": "rig_core::agent::runner"} | more
        told = {key: value for key, value in told.items() if value is not None}
        return span(id, parent, name, at=at, took=took, scope="app", attributes=told)

    def model(id, at, said, back):
        told = {"gen_ai.input.messages": json.dumps(said), "gen_ai.output.messages": json.dumps([back])}
        return rig(id, 1, "chat", at, **told | {"gen_ai.request.model": "gpt-4o", "target": "rig::agent_chat"})

    tool = {"gen_ai.tool.name": "look", "gen_ai.tool.type": "function"} | (told or {})
    if tool["gen_ai.tool.name"]:
        tool |= {"gen_ai.tool.call.id": "call_9xK", "gen_ai.tool.call.arguments": '{"q": 1}'}
    (run,) = runs(
        rig(1, None, "invoke_agent", 0, 20, **{"gen_ai.agent.name": "planner", "gen_ai.prompt": "hi"}),
        model(2, 1, asked[:1], asked[1]),
        *([rig(3, 1, "execute_tool", 3, **tool)] if told is not None else []),
        model(4, 5, answered, {"role": "assistant", "content": "done"}),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", status)]


def _koog(id, parent, operation, at, took=1, **told):
    """JetBrains/koog (agents-features-opentelemetry: feature/OpenTelemetry.kt, span/*.kt)."""
    attributes = {"koog.event.id": f"e{id}", "gen_ai.operation.name": operation} | told.pop("attributes", {})
    span_ = span(id, parent, f"{operation} x", at=at, took=took, scope="ai.koog", attributes=attributes, **told)
    return span_ | {"status": 2 if told.get("error") else 1}


def _koog_model(id, at, asked, answer=None):
    told = {"gen_ai.request.model": "gpt-4o", "gen_ai.input.messages": json.dumps(asked)}
    used = {"gen_ai.response.model": "gpt-4o", "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}
    if answer:
        told |= used | {"gen_ai.output.messages": json.dumps([answer])}
    return _koog(id, 1, "chat", at, kind=3, attributes=told)


_HI = {"role": "user", "parts": [{"type": "text", "content": "hi"}]}
_CALL = {"type": "tool_call", "id": "call_9xK", "name": "look", "arguments": {"q": 1}}
_LOOKS = {"role": "assistant", "parts": [_CALL], "finish_reason": "tool_calls"}


@pytest.mark.parametrize(
    ("result", "error", "status"),
    [("sunny", None, ("ok", "sunny")), ({}, "boom", ("error", None)), (None, None, ("unknown", None))],
)
def test_a_tool_that_was_under_way_as_koogs_agent_was_closed_ends_well(result, error, status):
    told = {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "call_9xK", "gen_ai.tool.call.arguments": '{"q": 1}'}
    told |= {"gen_ai.tool.call.result": json.dumps(result)} if result is not None else {}
    told |= {"error.type": "IllegalStateException"} if error else {}
    (run,) = runs(
        _koog(1, None, "invoke_agent", 0, 20, attributes={"gen_ai.agent.id": "planner"}),
        _koog_model(2, 1, [_HI], _LOOKS),
        _koog(3, 1, "execute_tool", 3, attributes=told, error=error),
    )
    (call,) = run["tool_calls"]
    assert (call["status"], call["result"]) == status
    assert [c["response_model"] for c in run["llm_calls"]] == [None]  # the model that was asked for, again


def test_a_model_that_was_asked_as_koogs_agent_was_closed_ends_well():
    agent = _koog(1, None, "invoke_agent", 0, 20, attributes={"gen_ai.agent.id": "planner"})
    (run,) = runs(agent, _koog_model(2, 1, [_HI]))
    assert ([c["status"] for c in run["llm_calls"]], run["status"]) == (["unknown"], "unknown")


def _rust(id, parent, name, at, took=1, **told):
    """zavora-ai/adk-rust (adk-agent/src/llm_agent.rs; adk-core/src/types.rs), whose exporter names the scope."""
    attributes = {"gcp.vertex.agent.session_id": "s1", "target": "adk_agent::llm_agent"} | told
    return span(id, parent, name, at=at, took=took, scope="opentelemetry-otlp", attributes=attributes)


def _rust_model(id, at, contents, answer=None):
    told = {"gcp.vertex.agent.llm_request": json.dumps({"model": "gemini-2.5-flash", "contents": contents})}
    told |= {"gcp.vertex.agent.llm_response": json.dumps(answer)} if answer else {}
    return _rust(id, 1, "call_llm", at, **told)


@pytest.mark.parametrize(
    ("response", "ran", "status"),
    [
        ({"weather": "sunny"}, True, "ok"),
        ({"error": "boom"}, True, "error"),
        ({"error": "Tool 'look' execution denied by confirmation policy"}, False, "requested"),
        ({"error": "Tool 'look' is temporarily disabled after 3 consecutive failures"}, False, "requested"),
    ],
)
def test_adk_for_rust_tells_where_its_spans_were_made_and_a_call_as_a_part_by_itself(response, ran, status):
    asked = {"role": "user", "parts": [{"text": "hi"}]}
    asks = {"role": "model", "parts": [{"name": "look", "args": {"q": 1}, "id": "call_9xK"}]}
    back = {"functionResponse": {"name": "look", "response": response}, "id": "call_9xK"}
    done = {"role": "model", "parts": [{"text": "done"}]}
    (run,) = runs(
        _rust(1, None, "agent.execute", 0, 20, **{"agent.name": "planner"}),
        _rust_model(2, 1, [asked], asks),
        *([_rust(3, 1, "execute_tool look", 3, **{"tool.name": "look"})] if ran else []),
        _rust_model(4, 5, [asked, asks, {"role": "function", "parts": [back]}], done),
    )
    assert [(c["agent"], c["request_model"]) for c in run["llm_calls"]] == [("planner", "gemini-2.5-flash")] * 2
    assert [(c["name"], c["arguments"], c["status"]) for c in run["tool_calls"]] == [("look", {"q": 1}, status)]
    assert (run["input"], run["output"], run["conversation_id"]) == ("hi", "done", "s1")
