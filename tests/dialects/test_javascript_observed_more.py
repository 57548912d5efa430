"""GitHub's Copilot by its own telemetry: the CLI (1.0.102), and the runtime of its SDK (1.0.14)."""

import pytest

from tests.runs.requests import runs, span

pytestmark = pytest.mark.full

_SCOPE = "github.copilot"
_FAILED = "gen_ai.client.operation.exception"
_USER = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
_ASKED = {"type": "tool_call", "id": "call_5DV3qx", "name": "pay", "arguments": {"to": "Ann"}}


def _said(*parts):
    return [{"role": "assistant", "parts": list(parts)}]


def _words(text):
    return {"type": "text", "content": text}


def _turn(id=1, parent=None, name="invoke_agent", took=20, said="u1", attributes=None, events=(), **more):
    told = {"gen_ai.operation.name": "invoke_agent", "github.copilot.agent.type": "builtin"} | (attributes or {})
    begun = [("github.copilot.user.message", {"github.copilot.user.message.source": "user"})] if said else []
    return span(id, parent, name, took=took, scope=_SCOPE, attributes=told, events=[*begun, *events], **more)


def _chat(id, at, answer=None, why=None, tokens=None, parent=1, by="u1", turn=0, **more):
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "github.copilot.turn_id": turn}
    told |= {"github.copilot.interaction_id": by} if by else {}
    told |= {"gen_ai.output.messages": answer} if answer else {"gen_ai.input.messages": _USER} if by else {}
    told |= {"gen_ai.response.finish_reasons": [why]} if why else {}
    if tokens:
        used = {"gen_ai.usage.input_tokens": tokens, "gen_ai.usage.output_tokens": tokens // 10}
        told |= used | {"gen_ai.response.model": "m", "gen_ai.response.id": f"chatcmpl-x{id}Rt"}
    return span(id, parent, "chat m", at=at, scope=_SCOPE, attributes=told | more.pop("attributes", {}), **more)


def _tool(id, at, parent=1, name="pay", code=None, said="", result=None, call="call_5DV3qx", given=None, took=1):
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": call}
    told |= {"gen_ai.tool.call.arguments": given or {"to": "Ann"}}
    told |= {"gen_ai.tool.call.result": result} if result else {}
    told |= {"error.type": "cancelled" if code == "cancelled" else "ToolError"} if code else {}
    thrown = {"github.copilot.error_code": code, "exception.type": "ToolError", "exception.message": said}
    failed = {"error": said, "events": [(_FAILED, thrown)]} if code else {}
    return span(id, parent, f"execute_tool {name}", at=at, took=took, scope=_SCOPE, attributes=told, **failed)


def test_a_tool_that_somebody_rejected_did_not_run():
    (run,) = runs(
        _turn(),
        _chat(2, 1, _said(_ASKED), "tool_calls", 100),
        _tool(3, 3, code="rejected", said="The user rejected this tool call."),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["requested"]
    assert "tool_failure" not in run["boundaries"]


def test_a_tool_that_was_under_way_as_all_was_called_off_may_have_run():
    (run,) = runs(
        _turn(error="Operation aborted"),
        _chat(2, 1, _said(_ASKED), "tool_calls", 100),
        _tool(3, 3, code="cancelled", said="Operation aborted"),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["unknown"]


def test_the_turn_that_is_told_after_a_run_was_called_off_is_none():
    told = {"gen_ai.input.messages": _USER}
    empty = _turn(9, took=1, said="", attributes={"gen_ai.response.finish_reasons": ["error"]}, trace=2, at=22)
    (run,) = runs(_turn(attributes=told), empty, _chat(10, 22.1, None, "error", parent=9, by=None, trace=2, took=0.1))
    assert run["input"] == "go"


def test_the_model_that_was_asked_is_not_known_to_have_answered_and_why_a_call_failed_is_not_told():
    (run,) = runs(
        _turn(),
        _chat(
            2,
            1,
            why="error",
            error="Model call failed",
            attributes={"error.type": "ModelCallError"},
            events=[(_FAILED, {"exception.type": "ModelCallError"})],
        ),
        _chat(3, 4, _said(_words("Done.")), "stop", 100),
    )
    assert [(c["status"], c["response_model"]) for c in run["llm_calls"]] == [("error", None), ("ok", None)]
    assert {"rate_limit", "timeout"} <= set(run["boundaries_unknown"])


def test_what_the_sdks_runtime_tells_twice_counts_once():
    used = {"gen_ai.usage.input_tokens": 404, "gen_ai.usage.output_tokens": 44, "gen_ai.input.messages": _USER * 2}
    (run,) = runs(
        _turn(attributes=used | {"gen_ai.output.messages": _said(_words("Done."), _words("Done."))}),
        _chat(2, 1, took=0.2),
        _chat(3, 1.2, _said(_ASKED, _ASKED), "tool_calls", 200, took=4),
        _tool(4, 3, took=4),
        _tool(5, 3, result="paid"),
        _chat(6, 7, None, "error", turn=1, took=0.5),
        _chat(7, 7.5, _said(_words("Done."), _words("Done.")), "stop", 204, turn=1),
    )
    assert (run["status"], run["output"], run["boundaries"]) == ("ok", "Done.", [])
    assert [(c["status"], c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [("ok", None, None)] * 2
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [("ok", "paid")]


def test_an_agent_that_the_sdks_runtime_calls_what_all_are_called_is_who_was_asked_for():
    given = {"agent_type": "researcher", "prompt": "look"}
    asked = _ASKED | {"name": "task", "arguments": given}
    again = [(_FAILED, {"exception.type": "SessionTurnError", "exception.message": "Duplicate subagent.started"})]
    custom = {"gen_ai.agent.name": "custom-agent", "github.copilot.agent.type": "custom"}
    inner = _ASKED | {"id": "call_9tBxQa"}
    (run,) = runs(
        _turn(),
        _chat(2, 1, took=0.2),
        _chat(3, 1.2, _said(asked, asked), "tool_calls", 200),
        _tool(4, 3, name="task", given=given, took=9),
        _tool(5, 3, name="task", given=given, result="Looked.", took=6),
        _turn(6, 5, "invoke_agent custom-agent", 0.1, "", custom, again, at=3.1, error="Duplicate subagent.started"),
        _chat(7, 3.1, parent=6, by=None, took=0.1, error="Duplicate subagent.started", events=again),
        _turn(8, 5, "invoke_agent custom-agent", 5, "", custom, at=3.2),
        _chat(9, 3.2, _said(inner, inner, _words("Looked.")), "stop", 406, parent=8, by=None, took=5),
        _tool(10, 5, parent=8, call="call_9tBxQa", result="paid"),
        _chat(11, 13, _said(_words("Done."), _words("Done.")), "stop", 204, turn=1),
    )
    assert [(d["from"], d["to"], d["tool"], d["status"]) for d in run["delegations"]] == [
        (None, "researcher", "task", "ok")
    ]
    assert [(c["name"], c["agent"], c["status"]) for c in run["tool_calls"]] == [("pay", "researcher", "ok")]
    assert run["llm_calls"] is None


def test_a_digest_is_no_tools_name_and_a_span_around_tools_is_several_calls():
    digest = "e33637ee6376db005d33fac0606c13c156466beb32247342353586093608152e"
    (run,) = runs(
        _turn(), _chat(2, 1, None, "tool_calls", 100), _tool(3, 3, name=digest), _chat(4, 5, None, "stop", 101)
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [(None, "ok")]
    (run,) = runs(_turn(), _chat(2, 1, None, "stop", 406, took=9), _tool(3, 3))
    assert run["llm_calls"] is None
