"""Kits for JavaScript that were run against a model of ours: what their spans tell in part, or in another's words."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

_BEE = "@arizeai/openinference-instrumentation-beeai"


def _bee(id, parent, target, kind, at, number=1, **told):
    """An event of BeeAI for JavaScript 0.1.13 under OpenInference 1.5, which ends well."""
    error = told.pop("error", None)
    told = {"target": target, "name": target.rsplit(".", 1)[-1], "openinference.span.kind": kind} | told
    name = f"{target}-{number}"
    return span(id, parent, name, at=at, took=0.001, scope=_BEE, attributes=told, status=2 if error else 1)


def _of_agent(*events, answer="It is sunny.", took=20):
    told = {"openinference.span.kind": "AGENT", "beeai.version": "0.1.13", "input.value": "weather?"}
    told["output.value"] = json.dumps({"role": "assistant", "text": answer})
    main = span(1, None, "beeai-framework-main", took=took, scope=_BEE, status=1, attributes=told)
    (run,) = runs(main, _bee(2, 1, "agent.toolCalling.start", "AGENT", 0.1), *events)
    return run


def _answered(id, at, tokens, *calls, number=1):
    asked = [{"type": "tool-call", "toolCallId": i, "toolName": n, "args": a} for i, n, a in calls]
    message = [{"meta": {}, "content": asked, "role": "assistant"}]
    told = {"llm.token_count.prompt": tokens, "llm.token_count.completion": 2, "llm.model_name": "m"}
    told |= {"output.value": json.dumps(message), "llm.output_messages.0.message.role": "assistant"}
    told["llm.output_messages.0.message.content"] = ""
    return [
        _bee(id, 2, "backend.openai.chat.start", "LLM", at, number, **{"llm.model_name": "m"}),
        _bee(id + 1, 2, "backend.openai.chat.success", "LLM", at + 1, number, **told),
        _bee(id + 2, 2, "backend.openai.chat.finish", "LLM", at + 1.1, number),
    ]


def _ran(id, parent, at, name, given, result=None, thrown=None, number=1):
    told = {"tool.parameters": json.dumps(given)}
    ended = {"output.value": json.dumps({"result": result})} if thrown is None else {"exception.message": thrown}
    ended |= {} if thrown is None else {"exception.type": "ToolError", "error": thrown}
    how = "success" if thrown is None else "error"
    return [
        _bee(id, parent, f"tool.dynamic.{name}.start", "TOOL", at, number, **told),
        _bee(id + 1, parent, f"tool.dynamic.{name}.{how}", "TOOL", at + 0.5, number, **told, **ended),
        _bee(id + 2, parent, f"tool.dynamic.{name}.finish", "TOOL", at + 0.6, number),
    ]


def _called(run):
    return [(c["name"], c["arguments"], c["result"], c["status"], c["call_id"]) for c in run["tool_calls"]]


def test_beeai_for_javascript_tells_a_step_by_its_events_alone():
    asked = [("call_a1", "get_weather", {"city": "Oslo"}), ("call_b2", "broken", {"reason": "x"})]
    run = _of_agent(
        *_answered(3, 1, 10, *asked),
        *_ran(6, 2, 3, "getWeather", {"city": "Oslo"}, result="sunny"),
        *_ran(9, 2, 3, "broken", {"reason": "x"}, thrown="no luck"),
        *_answered(12, 5, 20, ("call_c3", "final_answer", {"response": "It is sunny."}), number=2),
        *_ran(15, 2, 7, "finalAnswer", {"response": "It is sunny."}, result="Message has been sent"),
    )
    assert _called(run) == [
        ("get_weather", {"city": "Oslo"}, "sunny", "ok", "call_a1"),
        ("broken", {"reason": "x"}, None, "error", "call_b2"),
    ]
    assert [(c["input_tokens"], c["status"]) for c in run["llm_calls"]] == [(10, "ok"), (20, "ok")]
    assert (run["input"], run["output"], run["boundaries"]) == ("weather?", "It is sunny.", ["tool_failure"])


def test_what_an_agent_of_beeai_tells_of_a_tool_has_its_name_and_every_try():
    given = {"tool.name": "flaky", "tool.parameters": json.dumps({"n": 1})}
    run = _of_agent(
        _bee(3, 2, "agent.react.toolStart", "TOOL", 1, **given),
        *_ran(4, 3, 1, "flaky", {"n": 1}, thrown="not yet"),
        *_ran(7, 3, 2, "flaky", {"n": 1}, result="at last", number=2),
        _bee(10, 2, "agent.react.toolSuccess", "TOOL", 4, **given),
    )
    assert _called(run) == [("flaky", {"n": 1}, "at last", "ok", None)]


def test_a_tool_of_beeai_that_is_tried_again_ends_as_its_last_try_did():
    given = {"n": 1}
    again = {"tool.parameters": json.dumps(given), "exception.type": "ToolError", "exception.message": "not yet"}
    run = _of_agent(
        *_answered(3, 1, 10, ("call_a1", "flaky", given)),
        *_ran(6, 2, 3, "flaky", given, thrown="not yet")[:2],
        _bee(9, 2, "tool.dynamic.flaky.retry", "TOOL", 4, error="not yet", **again),
        *_ran(10, 2, 4, "flaky", given, result="at last", number=2),
    )
    assert _called(run) == [("flaky", given, "at last", "ok", "call_a1")]
    assert run["boundaries"] == []


def test_a_model_that_gave_no_answer_but_what_was_thrown_failed_whatever_the_status():
    thrown = {"exception.type": "ChatModelError", "exception.message": "no answer"}
    run = _of_agent(
        _bee(3, 2, "backend.openai.chat.start", "LLM", 1),
        _bee(4, 2, "backend.openai.chat.error", "LLM", 2, **thrown),
        _bee(5, 2, "backend.openai.chat.finish", "LLM", 2.1),
    )
    assert [c["status"] for c in run["llm_calls"]] == ["error"]


def _handled(id, parent, at, name, given, **more):
    told = {"tool": name, "parameters": json.dumps(given, indent=2)}
    return span(id, parent, "Toolkit.handle", at=at, attributes=told, **({"status": 1} | more))


def test_effect_runs_the_tools_in_the_models_span_and_tells_not_how_they_went():
    (run,) = runs(
        span(1, None, "agent", took=20),
        chat(2, 1, at=1, took=4.1, status=1),
        _handled(3, 2, 4, "weather", {"city": "Oslo"}),
        _handled(4, 2, 4, "weather", {"city": "Rome"}),
        chat(5, 1, at=12, status=1),
    )
    assert _called(run) == [
        ("weather", {"city": "Oslo"}, None, "unknown", None),
        ("weather", {"city": "Rome"}, None, "unknown", None),
    ]
    assert len(run["llm_calls"]) == 2


def test_whether_a_tool_of_effect_handed_over_is_not_told():
    (run,) = runs(
        span(1, None, "agent", took=20),
        chat(2, 1, at=1, took=4.1, status=1),
        _handled(3, 2, 4, "ask_clerk", {"task": "count"}),
        chat(4, 3, at=4, took=0.5, status=1),
        chat(5, 1, at=12, status=1),
    )
    assert [(d["to"], d["status"]) for d in run["delegations"]] == [("clerk", "unknown")]


def test_a_model_that_answered_did_not_fail_with_the_tool_in_its_span():
    def statuses(said, told_by):
        thrown = [("exception", {"exception.type": "Bad", "exception.message": said})]
        (run,) = runs(
            span(1, None, "agent", took=20, error=said),
            chat(2, 1, at=1, took=4.1, error=said, events=thrown),
            _handled(3, 2, 4, "ghost", {}, status=None, error=told_by, events=thrown),
        )
        return [c["status"] for c in run["llm_calls"]], [c["status"] for c in run["tool_calls"]], run["status"]

    assert statuses("no such tool", "no such tool") == (["ok"], ["error"], "error")
    assert statuses("no answer", "no such tool") == (["error"], ["error"], "error")


def _asked_of_ax(id, at, tokens):
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    used = {"gen_ai.usage.input_tokens": tokens, "gen_ai.usage.output_tokens": 2}
    return span(id, 1, "AI Chat Request", at=at, attributes=told, events=[("gen_ai.usage", used)])


def _run_of_ax(id, at, name, events=()):
    told = {"tool.name": name, "tool.mode": "native", "function.id": f"call_{id}", "session.id": ""}
    return span(id, 1, f"Tool: {name}", at=at, attributes=told, events=events)


def test_ax_tells_tokens_by_an_event_and_of_a_tool_its_name_and_call():
    (run,) = runs(
        span(1, None, "AxGen", took=20, attributes={"signature_name": "s"}),
        _asked_of_ax(2, 1, 10),
        _run_of_ax(3, 3, "weather"),
        _asked_of_ax(4, 5, 20),
    )
    assert _called(run) == [("weather", None, None, "ok", "call_3")]
    assert [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [(10, 2), (20, 2)]


def test_what_a_tool_threw_is_not_the_frames_failure_if_a_model_was_asked_after_that():
    def ended(*after):
        thrown = [("exception", {"exception.type": "ValidationError", "exception.message": "no such function"})]
        (run,) = runs(
            span(1, None, "AxGen", took=20, attributes={"signature_name": "s"}, events=thrown),
            _asked_of_ax(2, 1, 10),
            _run_of_ax(3, 3, "ghost", thrown),
            *after,
        )
        return run["status"], [c["status"] for c in run["tool_calls"]]

    assert ended(_asked_of_ax(4, 5, 20)) == ("ok", ["error"])
    assert ended() == ("error", ["error"])


def test_flue_has_a_key_of_its_own_for_what_is_no_object():
    """@flue/opentelemetry 2.1 and its tracing for Cloudflare, which tells of what was broken off."""
    (run,) = runs(
        agent(1, "triage", took=20),
        chat(2, 1, [("call_a1", "weather", {"city": "Oslo"}), ("call_b2", "wait", {})], "weather?", at=1),
        tool(3, 1, "weather", "call_a1", at=3, attributes={"flue.tool.call.result": "sunny"}),
        tool(4, 1, "wait", "call_b2", at=3, attributes={"flue.canceled": "true"}),
    )
    assert _called(run) == [
        ("weather", {"city": "Oslo"}, "sunny", "ok", "call_a1"),
        ("wait", {}, None, "unknown", "call_b2"),
    ]


def test_beeais_frame_bears_what_failed_in_an_agent_that_a_tool_called():
    why = "AgentError: The Agent has encountered an error."
    below = _bee(20, 3, "agent.toolCalling.run.error", "AGENT", 6, error=why)
    events = [*_answered(5, 1, 9, ("c1", "ask", {"task": "look"})), *_ran(3, 2, 4, "ask", {"task": "look"}, "-"), below]
    well = _bee(30, 1, "agent.toolCalling.success", "AGENT", 12)
    main = {"openinference.span.kind": "AGENT", "beeai.version": "0.1.13", "input.value": "weather?"}
    main["output.value"] = json.dumps({"role": "assistant", "text": "It is sunny."})
    for last, status in ((well, "ok"), (_bee(30, 1, "agent.toolCalling.run.error", "AGENT", 12, error=why), "error")):
        root = span(1, None, "beeai-framework-main", took=20, scope=_BEE, status=2, attributes=main) | {"error": why}
        started = _bee(2, 1, "agent.toolCalling.start", "AGENT", 0.1)
        (run,) = runs(root, started, *events, *_answered(8, 10, 9), last)
        assert run["status"] == status
