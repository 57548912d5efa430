"""Gateways and proxies, by spans written as the newest of their published sources write them."""

import json

import pytest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct, run_json
from otelcov.store.layout import from_requests
from tests.captures import LATER
from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import agent, chat, request, span, tool

_ASKS = {"id": "call_1x9K", "type": "function", "name": "weather", "args": '{"city":"Oslo"}'}
_USER = {"role": "user", "content": "go"}
_BACK = [
    _USER,
    {"role": "assistant", "tool_calls": [_ASKS]},
    {"role": "tool", "content": "12", "tool_call_id": _ASKS["id"]},
]


def _flat(family, messages):
    for n, message in enumerate(messages):
        at = f"{family}.{n}.message"
        yield from ((f"{at}.{key}", message[key]) for key in ("role", "content", "tool_call_id") if key in message)
        for m, call in enumerate(message.get("tool_calls", ())):
            yield f"{at}.tool_calls.{m}.tool_call.id", call["id"]
            yield f"{at}.tool_calls.{m}.tool_call.function.name", call["name"]
            yield f"{at}.tool_calls.{m}.tool_call.function.arguments", call["args"]


def _bifrost(id, trace, at, asked, answer):
    """maximhq/bifrost (plugins/otel/openinference.go; transports/bifrost-http: TracingMiddleware), profile
    `open_inference`."""
    told = {"openinference.span.kind": "LLM", "llm.model_name": "gpt-4o-2024-08-06", "llm.token_count.prompt": 10}
    told |= {"llm.token_count.completion": 2, "llm.invocation_parameters": '{"model":"gpt-4o"}'}
    told |= {"input.value": json.dumps(asked), "output.value": json.dumps([answer])}
    told |= dict(_flat("llm.input_messages", asked)) | dict(_flat("llm.output_messages", [answer]))
    frame = {"openinference.span.kind": "CHAIN"}
    return [
        span(id, None, "/v1/chat/completions", trace, at, 1, kind=2, status=1, attributes=frame),
        span(id + 1, id, "chat gpt-4o", trace, at + 0.1, 0.8, kind=3, status=1, attributes=told),
    ]


def _runs(app, gateway):
    bodies = [request(app), request(gateway, service="bifrost", scope="bifrost")]
    frame = reconstruct(*from_requests(bodies, [], 1), Config(), LATER)
    return [run_json(row, {}) for row in frame.iter_rows(named=True)]


_THROUGH = [
    *_bifrost(10, 11, 1, [_USER], {"role": "assistant", "tool_calls": [_ASKS]}),
    *_bifrost(20, 12, 5, _BACK, {"role": "assistant", "content": "It is 12."}),
]


@pytest.mark.parametrize("app", [False, True])
def test_a_frame_that_a_gateway_explains_as_a_chain_is_a_request_to_a_model_all_the_same(app):
    asks = (_ASKS["id"], "weather", {"city": "Oslo"})
    back = [{"role": "tool", "parts": [{"type": "tool_call_response", "id": asks[0], "response": "12"}]}]
    own = [
        agent(1, "planner", took=9),
        chat(2, 1, [asks], "go", at=0.9, took=1.2),
        tool(3, 1, "weather", asks[0], "12", at=3),
        chat(4, 1, "It is 12.", back, at=4.9, took=1.2),
    ]
    (run,) = _runs(own if app else [], _THROUGH)
    assert [(c["name"], c["arguments"], c["result"], c["status"]) for c in run["tool_calls"]] == [
        ("weather", {"city": "Oslo"}, "12", "ok")
    ]
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("go", "It is 12.", 2)
    assert run["agents"] == (["planner"] if app else [])


def test_how_a_tool_went_that_daprs_executor_left_open_is_unknown():
    """dapr/dapr-agents (dapr_agents/observability/wrappers/executor.py): deferred for leave, or cut off."""

    def step(id, parent, name, at, took, kind, status=1, **told):
        told |= {"openinference.span.kind": kind}
        scope = "dapr_agents.observability.instrumentor"
        return span(id, parent, name, at=at, took=took, status=status, attributes=told, scope=scope)

    def tool(id, at, name, **more):
        told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": f"toolu_{id}"}
        told |= {"tool.name": name, "input.value": '{"c": "x"}', "input.mime_type": "application/json"}
        return step(id, 1, f"execute_tool {name}", at, 1, "TOOL", **told | more)

    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "w", "output.value": '"done"'}
    (run,) = agreed(
        step(1, None, "invoke_agent w", 0, 20, "AGENT", **named),
        tool(2, 1, "Bash", **{"output.value": '"a b"'}),
        tool(3, 3, "Edit", **{"output.value": '"no file"', "error.type": "tool_error", "status": 2}),
        tool(4, 5, "Write", **{"tool.completed": False, "status": 0}),
    )
    told = [(c["name"], c["status"]) for c in run["tool_calls"]]
    assert told == [("Bash", "ok"), ("Edit", "error"), ("Write", "unknown")]


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({"decision": "approved", "success": "true"}, "ok"),
        ({"decision": "approved", "success": "false"}, "error"),
        ({"decision": "denied", "success": "false"}, "requested"),
        ({"decision": "denied", "success": "false", "outcome": "denied"}, "error"),  # it ran in its sandbox before
        ({"success": "false", "output": "exec command rejected by user"}, "requested"),
        ({"success": "false", "output": "unsupported call: exec_command"}, "requested"),
        ({"success": "false", "output": "rejected by userland"}, "error"),
    ],
)
def test_a_tool_of_codex_that_was_given_no_leave_or_that_nobody_has_did_not_run(told, status):
    """openai/codex (codex-rs/otel/src/events/session_telemetry.rs: `tool_decision`, `sandbox_outcome`, `tool_result`;
    codex-rs/core/src/tools/events.rs, registry.rs)."""

    def step(id, parent, name, at, took, told, **more):
        return span(id, parent, name, at=at, took=took, scope="codex_exec", attributes=told, **more)

    call = {"tool_name": "exec_command", "call_id": "call_8Xk"}
    events = [
        (f"event otel/src/{name}.rs:9", {"event.name": f"codex.{name}", **call, **{k: told[k] for k in keys}})
        for name, of in (
            ("tool_decision", ["decision"]),
            ("sandbox_outcome", ["outcome"]),
            ("tool_result", ["success", "output"]),
        )
        if (keys := [k for k in of if k in told])
    ]
    (run,) = agreed(
        step(1, None, "session_task.turn", 0, 40, {"thread.id": 2}),
        step(2, 1, "receiving_stream", 1, 8, {}),
        step(3, 2, "exec_command", 2, 5, call),
        step(4, 3, "dispatch_tool_call_with_state", 3, 3, {}, events=events),
        step(5, 2, "handle_responses", 8, 0.5, {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 3}),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("exec_command", status)]


def test_what_azures_service_runs_for_an_agent_is_told_in_the_content_of_a_call_by_net():
    """Azure/azure-sdk-for-net (Azure.AI.Extensions.OpenAI: Telemetry/OpenTelemetryResponseScope.cs)."""
    search = {"type": "web_search_call", "id": "ws_1", "action": {"query": "x"}, "status": "completed"}
    look = {"type": "mcp_call", "id": "mcp_1", "name": "look", "arguments": '{"q": 1}', "status": "failed"}
    asks = [{"type": "tool_call", "content": item} for item in (search, look)]
    said = [{"role": "assistant", "parts": asks}]
    said.append({"role": "assistant", "parts": [{"type": "text", "content": "done"}], "finish_reason": "completed"})
    asked = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "finder", "gen_ai.request.model": "gpt-4o"}
    told |= {"gen_ai.provider.name": "microsoft.foundry", "az.namespace": "Microsoft.CognitiveServices"}
    told |= {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps(said)}
    scope = "Azure.AI.Projects.ProjectResponsesClient"
    (run,) = agreed(span(1, None, "invoke_agent finder", kind=3, took=9, scope=scope, attributes=told))
    assert [(c["name"], c["arguments"], c["call_id"], c["status"]) for c in run["tool_calls"]] == [
        ("web_search", {"query": "x"}, "ws_1", "ok"),
        ("look", {"q": 1}, "mcp_1", "error"),
    ]
    assert (run["agents"], run["output"]) == (["finder"], "done")
