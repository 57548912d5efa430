"""What kits for JavaScript write in versions that lie between the recorded ones."""

import pytest

from tests.dialects.test_unrecorded_kits import called_with, jsons, of_kind
from tests.runs.requests import agent, chat, runs, span, tool


def _loop(id, parent=None, operation="ai.streamText", **more):
    told = {"ai.operationId": operation, "ai.model.id": "m", "ai.telemetry.functionId": "planner"}
    told |= more.pop("attributes", {})
    return span(id, parent, operation, scope="ai", attributes=told, **more)


def _step(id, parent, at, answer=None, calls=(), operation="ai.streamText.doStream", content=True):
    told = {"ai.operationId": operation, "ai.model.id": "m", "ai.response.model": "m", "ai.usage.promptTokens": 5}
    told["ai.response.finishReason"] = "tool-calls" if calls else "stop"
    if content:
        told |= {"ai.prompt.messages": jsons([{"role": "user", "content": "go"}]), "ai.response.text": answer or ""}
        asked = [{"toolCallId": i, "toolName": name, "args": "{}"} for i, name in calls]
        told |= {"ai.response.toolCalls": jsons(asked)} if asked else {}
    return span(id, parent, operation, at=at, scope="ai", attributes=told)


def _tool(id, parent, at, call, name, **told):
    told = {f"ai.toolCall.{key}": value for key, value in told.items()}
    told |= {"ai.operationId": "ai.toolCall", "ai.toolCall.id": call, "ai.toolCall.name": name}
    return span(id, parent, "ai.toolCall", at=at, scope="ai", attributes=told)


_OLD, _NEW = {"ai.usage.promptTokens": 5}, {"ai.usage.inputTokens": 5}


@pytest.mark.parametrize("content", [True, False])
@pytest.mark.parametrize("usage, status", [(_OLD, "unknown"), (_NEW, "ok")])
def test_what_a_tool_threw_into_a_stream_of_the_ai_sdk_is_not_told(content, usage, status):
    given = {"args": "{}"} if content else {}
    usage = usage | {"ai.response.finishReason": "tool-calls"}
    (run,) = runs(
        _loop(1, took=9, attributes=usage | ({"ai.response.text": ""} if content else {})),
        _step(2, 1, 1, calls=[("c1", "look")], content=content),
        _tool(3, 1, 3, "c1", "look", **given, **({"result": '"x"'} if content else {})),
        _step(4, 1, 5, calls=[("c2", "look")], content=content),
        _tool(5, 1, 7, "c2", "look", **given),
    )
    assert called_with(run) == [("look", "planner", "ok", "c1"), ("look", "planner", status, "c2")]
    assert run["status"] == status
    assert ("error" in run["boundaries_unknown"]) == (status == "unknown")


@pytest.mark.parametrize("stopped", ["a tool that failed", "nothing"])
def test_a_loop_of_which_no_content_is_told_may_have_stopped_at_a_tool_that_failed(stopped):
    failed = {"error": "boom"} if stopped != "nothing" else {}
    (run,) = runs(
        span(1, None, "planner", took=9, attributes=of_kind("CHAIN")),
        chat(2, 1, at=1, attributes={"gen_ai.response.finish_reasons": ["tool_calls"]}),
        tool(3, 1, "look", "c1", at=3, **failed),
    )
    assert run["status"] == ("unknown" if failed else "ok")


def test_of_agents_in_a_frame_that_has_not_come_the_first_does_not_answer_for_all():
    def said(frame):
        (run,) = runs(
            *frame,
            agent(2, "planner", 1, at=1, took=3, attributes={"gen_ai.output.messages": _said("sunny")}),
            chat(3, 2, "sunny", "weather?", at=2),
            agent(4, "worker", 1, at=5, took=3, attributes={"gen_ai.output.messages": _said("booked")}),
            chat(5, 4, "booked", "book", at=6),
        )
        return run["output"]

    assert (said([]), said([span(1, None, "handle", took=9)])) == ("booked", "booked")


def _said(text):
    return jsons([{"role": "assistant", "parts": [{"type": "text", "content": text}]}])


def test_what_the_ai_sdk_was_told_of_the_session_reaches_langsmith():
    told = {"langsmith.span.kind": "chain", "langsmith.metadata.sessionId": "s-1", "langsmith.metadata.userId": "ann"}
    (run,) = runs(span(1, None, "loop", took=9, attributes=told), chat(2, 1, "sunny", "go", at=1))
    assert run["conversation_id"] == "s-1"


@pytest.mark.parametrize("told", [None, "seen"])
@pytest.mark.parametrize("words", ["boom", ""])
def test_a_tools_error_on_all_that_ended_after_it_is_not_theirs_where_no_content_is_told(words, told):
    ended = {"gen_ai.response.finish_reasons": ["stop"], "gen_ai.usage.output_tokens": 3}
    (run,) = runs(
        agent(1, "planner", took=20, error=words, attributes=ended),
        chat(2, 1, at=1, attributes=ended | {"gen_ai.response.finish_reasons": ["tool_calls"]}, status=1),
        tool(3, 1, "boom", "c1", at=3, error="boom", events=[("exception", {"exception.message": "boom"})]),
        chat(4, 1, at=5, error=words, attributes=ended),
        tool(5, 1, "look", "c2", told, at=7, error=words),
        chat(6, 1, at=9, error=words, attributes=ended),
    )
    assert (run["status"], [c["status"] for c in run["llm_calls"]]) == ("ok", ["ok"] * 3)
    assert [c["status"] for c in run["tool_calls"]] == ["error", "ok" if told and words else "unknown"]


def test_what_a_condition_of_mastras_workflows_came_to_is_no_answer():
    def piece(id, parent, kind, type, at, out=None, took=1.0, **told):
        told |= {"mastra.span.type": type, "output.value": out, "output.mime_type": "application/json"}
        return span(id, parent, type, at=at, took=took, status=1, attributes=of_kind(kind, **told))

    asked = jsons({"text": "", "toolCalls": [{"toolCallId": "c1", "toolName": "look", "args": {}}]})
    (run,) = runs(
        piece(2, 1, "CHAIN", "workflow_parallel", 0, "{}"),
        piece(3, 1, "LLM", "model_generation", 1, jsons([{"role": "assistant", "parts": []}]), took=9),
        piece(4, 3, "CHAIN", "workflow_loop", 1.5, jsons({"stepResult": {"reason": "error"}}), took=8),
        piece(5, 3, "LLM", "model_step", 2, asked),
        piece(6, 5, "TOOL", "tool_call", 4, "x", **{"tool.name": "look"}),
        piece(7, 3, "LLM", "model_step", 6, jsons({"text": "", "toolCalls": []})),
        piece(8, 4, "CHAIN", "workflow_conditional_eval", 8, "false"),
    )
    assert run["output"] is None


def test_mastras_telemetry_wraps_the_methods_of_an_agent_that_has_a_name():
    def wrapped(id, parent, of, method, at, took):
        return span(id, parent, f"agent.{method}", at=at, took=took, attributes={"componentName": of})

    (run,) = runs(
        wrapped(1, None, "planner", "generate", 0, 20),
        wrapped(2, 1, "planner", "generateLegacy", 0.1, 19.8),
        wrapped(3, 2, "planner", "getToolsets", 0.2, 0.1),
        _step(4, 2, 1, calls=[("c1", "ask")]),
        _tool(5, 2, 3, "c1", "ask", args="{}", result='"cold"') | {"took": 6},
        wrapped(6, 5, "worker", "generate", 4, 4),
        _step(7, 6, 5, "cold"),
        _step(8, 2, 11, "it is cold"),
    )
    assert run["agents"] == ["planner", "worker"]
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("planner", "worker", "ask")]
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "worker", "planner"]


def test_what_mastra_gives_its_model_for_what_a_tool_threw_is_an_error():
    thrown = {"message": "boom", "details": {"domain": "TOOL"}, "code": "TOOL_EXECUTION_FAILED"}
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "look", {})], "go", at=1),
        tool(3, 1, "look", "c1", jsons(thrown), at=3),
        chat(4, 1, "it failed", at=5),
    )
    assert [(c["status"], c["error_kind"]) for c in run["tool_calls"]] == [("error", "soft")]


def test_a_workflow_of_traceloop_for_javascript_is_not_the_agent_that_began_last_in_it():
    def frame(id, parent, name, kind, agent, at, took):
        told = {"traceloop.span.kind": kind, "traceloop.entity.name": name, "gen_ai.agent.name": agent}
        return span(id, parent, name, at=at, took=took, scope="@traceloop/node-server-sdk", attributes=told)

    (run,) = runs(
        frame(1, None, "trip", "workflow", "worker", 0, 20),
        frame(2, 1, "planner", "agent", "planner", 1, 5),
        chat(3, 2, "sunny", "weather?", at=2),
        frame(4, 1, "worker", "agent", "worker", 8, 5),
        chat(5, 4, "booked", "book", at=9),
    )
    assert (run["input"], run["output"], run["agents"]) == ("weather?", "booked", ["planner", "worker"])
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "worker"]
