"""Tracers for Python in their newest versions, by what they told of runs against a model of ours."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

_OPENAI, _ANTHROPIC = "traceai_openai", "traceai_anthropic"
_OSLO, _GRAND = {"city": "Oslo"}, {"hotel": "Grand"}


def _flat(prefix, messages):
    """Messages as traceAI spreads them: `gen_ai.input.messages.0.message.role`."""
    told = {}
    for n, message in enumerate(messages):
        for key, value in message.items():
            if key != "calls":
                told[f"{prefix}.{n}.message.{key}"] = value
        for k, (id, name, given) in enumerate(message.get("calls", ())):
            call = f"{prefix}.{n}.message.tool_calls.{k}.tool_call"
            told |= {f"{call}.id": id} if id else {}
            told |= {f"{call}.function.name": name, f"{call}.function.arguments": json.dumps(given)}
    return told


def _traced(id, asked, answer, at=0, scope=_OPENAI, parent=None, **more):
    """A model call by traceAI 0.1.10, whose `input.value` is the first message alone."""
    told = {"gen_ai.span.kind": "LLM", "input.value": asked[0]["content"], "gen_ai.usage.input_tokens": 10}
    told |= {"gen_ai.request.parameters": json.dumps({"model": "m"}), "gen_ai.request.model": "m-2026-01-15"}
    told |= {"gen_ai.usage.output_tokens": 3, "output.value": answer.get("content", "Function: look({})")}
    told |= _flat("gen_ai.input.messages", asked) | _flat("gen_ai.output.messages", [{"role": "assistant"} | answer])
    told |= more.pop("attributes", {})
    kept = {key: value for key, value in told.items() if value is not None}
    return span(id, parent, "ChatCompletion", trace=id, at=at, scope=scope, status=1, attributes=kept, **more)


def _called(run):
    return [(c["name"], c["arguments"], c["result"], c["status"], c["call_id"]) for c in run["tool_calls"]]


_ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "plan my trip"}]
_WISH = {"role": "assistant", "calls": [("c1", "weather", _OSLO), ("c2", "hotel", _GRAND)]}


def test_future_agis_messages_are_spread_over_keys_of_the_conventions():
    back = [
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: none left"},
    ]
    schema = json.dumps({"type": "function", "function": {"name": "weather", "parameters": {}}})
    offered = {"gen_ai.tool.definitions.0.tool.json_schema": schema}
    (run,) = runs(
        _traced(1, _ASKED, _WISH, attributes=offered),
        _traced(2, [*_ASKED, _WISH, *back], {"content": "It rains."}, at=2),
    )
    assert (run["input"], run["output"], run["known_tools"]) == ("plan my trip", "It rains.", ["weather"])
    assert _called(run) == [
        ("weather", _OSLO, "rain", "ok", "c1"),
        ("hotel", _GRAND, "Error: none left", "error", "c2"),
    ]


def test_a_users_message_that_holds_one_of_several_results_has_lost_the_others():
    kept = {"role": "user", "tool_call_id": "c2", "content": "none left"}
    (run,) = runs(
        _traced(1, _ASKED[1:], _WISH, scope=_ANTHROPIC),
        _traced(2, [*_ASKED[1:], _WISH, kept], {"content": "It rains."}, at=2, scope=_ANTHROPIC),
    )
    assert _called(run) == [("weather", _OSLO, None, "unknown", "c1"), ("hotel", _GRAND, "none left", "ok", "c2")]


def test_future_agi_names_the_model_that_answered_in_the_place_of_the_one_asked_for():
    def models(scope, answer="It rains.", **told):
        (run,) = runs(_traced(1, _ASKED, {"content": answer}, scope=scope, attributes=told))
        (call,) = run["llm_calls"]
        return call["request_model"], call["response_model"]

    asked, alike = {"gen_ai.request.model": "m"}, json.dumps({"model": "m", "stream": True})
    assert models(_OPENAI) == ("m", "m-2026-01-15")
    assert models(_OPENAI, **asked) == ("m", "m")
    assert models("traceai_litellm", **asked, **{"gen_ai.request.parameters": alike}) == ("m", None)
    of_answer = json.dumps({"id": "resp_1", "model": "m-2026-01-15", "tool_choice": "auto"})
    assert models("traceai_openai_agents", **{"gen_ai.request.parameters": of_answer}) == (None, "m-2026-01-15")
    whole = json.dumps({"generations": [[{"message": {"response_metadata": {"model_name": "m-2026-01-15"}}}]]})
    assert models("traceai_langchain", **asked, **{"output.value": whole}) == ("m", "m-2026-01-15")


def test_tools_that_future_agi_tells_among_the_parameters_of_a_request_were_offered():
    offered = json.dumps({"model": "m", "tools": [{"type": "function", "function": {"name": "weather"}}]})
    (run,) = runs(_traced(1, _ASKED, {"content": "Hi."}, attributes={"gen_ai.request.parameters": offered}))
    assert run["known_tools"] == ["weather"]


def test_what_future_agi_tells_of_an_agent_of_pydantic_ai_is_no_model_call():
    told = {"pydantic_ai.span_kind": "agent_run", "pydantic_ai.agent.name": "planner", "gen_ai.request.model": "m"}
    told |= {"gen_ai.system": "openai", "gen_ai.usage.input_tokens": 21, "gen_ai.usage.output_tokens": 7}
    told |= {"pydantic_ai.run.prompt": "weather?", "pydantic_ai.run.result": "It rains."}
    (run,) = runs(span(1, None, "pydantic_ai.agent.run", kind=3, status=1, attributes=told))
    assert (run["input"], run["output"], run["status"]) == ("weather?", "It rains.", "ok")
    assert (run["agents"], run["llm_calls"]) == (["planner"], None)


def test_what_future_agi_puts_around_the_arguments_of_smolagents_is_none():
    def step(id, parent, kind, given, at=0, took=9, **told):
        told = {"gen_ai.span.kind": kind, "input.value": json.dumps(given)} | told
        return span(id, parent, "SimpleTool", at=at, took=took, scope="traceai_smolagents", status=1, attributes=told)

    named = {"gen_ai.tool.name": "weather", "output.value": "rain"}
    given = {"args": {}, "city": "Oslo", "sanitize_inputs_outputs": True}
    (run,) = runs(
        step(1, None, "AGENT", {"args": ["weather?"], "max_steps": 2}, **{"output.value": "It rains."}),
        step(2, 1, "TOOL", given, at=1, took=1, **named),
        step(3, 1, "TOOL", {"args": ["Rome"], "sanitize_inputs_outputs": True}, at=3, took=1, **named),
    )
    assert (run["input"], run["output"]) == ("weather?", "It rains.")
    assert [c["arguments"] for c in run["tool_calls"]] == [_OSLO, None]


_TRACEAI = "traceai_claude_agent_sdk._instrumentor"


def _claude(id, parent, kind, at=0, took=1, **told):
    """A span of traceai-claude-agent-sdk 0.1.0, whose counts are none."""
    told = {f"claude_agent.{key}": value for key, value in told.items()}
    output = told.pop("claude_agent.output", None)
    told |= {"claude_agent.span_kind": kind, "gen_ai.usage.input_tokens": 0, "gen_ai.usage.output_tokens": 0}
    told |= {"output": json.dumps(output)} if output is not None else {}
    name = f"claude_agent.{kind}"
    return span(id, parent, name, at=at, took=took, scope=_TRACEAI, status=1, attributes=told)


def _use(name, id, given, **more):
    return {"tool.name": name, "tool.use_id": id, "tool.input": json.dumps(given)} | more


def test_future_agi_tells_claudes_agents_by_keys_of_its_own():
    answer = {"role": "assistant", "content": "It rains."}
    text = json.dumps([{"type": "text", "text": "rain"}])
    done = {"tool.output": text, "tool.is_error": False}
    task = _use("Task", "t1", {"prompt": "weather?", "subagent_type": "worker"}, **{"subagent.type": "worker"})
    (run,) = runs(
        _claude(1, None, "conversation", took=20, prompt="weather?", session_id="s1", is_error=False, output=answer),
        _claude(2, 1, "assistant_turn", at=1, model="m", **{"message.content": "[Tool: weather]"}),
        _claude(3, 1, "tool_execution", at=2, **_use("weather", "t2", _OSLO, **done)),
        _claude(4, 1, "subagent", at=4, took=9, **task, **done),
    )
    assert (run["input"], run["output"], run["conversation_id"]) == ("weather?", "It rains.", "s1")
    assert _called(run) == [("weather", _OSLO, "rain", "ok", "t2")]
    assert [(d["to"], d["tool"]) for d in run["delegations"]] == [("worker", "Task")]
    assert run["llm_calls"] is None


def test_a_run_of_claudes_agent_that_went_wrong_is_called_well_by_its_status_alone():
    said = {"role": "assistant", "content": "API Error: 500 Internal server error"}
    root = _claude(1, None, "conversation", took=20, prompt="weather?", is_error=True, output=said)
    (run,) = runs(root)
    assert (run["status"], run["output"], run["boundaries"]) == ("error", None, ["error"])


def test_a_run_that_went_wrong_after_a_tool_may_have_reached_a_limit():
    given = {"role": "user", "content": "[Tool Result: rain]"}
    (run,) = runs(
        _claude(1, None, "conversation", took=20, prompt="weather?", is_error=True, output=given),
        _claude(2, 1, "tool_execution", at=2, **_use("weather", "t2", _OSLO, **{"tool.output": "rain"})),
    )
    assert (run["status"], run["output"], run["boundaries"]) == ("error", None, [])
    assert {"error", "max_steps"} <= set(run["boundaries_unknown"])


_INSTRUMENTATION = "opentelemetry.instrumentation"
_OTEL = f"{_INSTRUMENTATION}.claude_agent_sdk"


def _said(role, *parts):
    return {"role": role, "parts": [{"type": "text", "content": p} if isinstance(p, str) else p for p in parts]}


def _back(id, text):
    return {"type": "tool_call_response", "id": id, "response": [{"type": "text", "text": text}]}


def _invoked(asked, answered, finish="end_turn", **told):
    """An agent by otel-instrumentation-claude-agent-sdk 0.0.6."""
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.response.finish_reasons": [finish]} | told
    told |= {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps(answered)}
    return span(1, None, "invoke_agent", kind=3, took=20, scope=_OTEL, attributes=told)


def _executed(id, name, call, given, result, at=1):
    told = {"gen_ai.tool.call.arguments": json.dumps(given), "gen_ai.tool.call.result": result}
    return tool(id, 1, name, call, at=at, scope=_OTEL, attributes=told)


def test_an_agent_tells_why_it_ended_by_its_finish_reason():
    asked = [_said("user", "weather?"), _said("user", _back("t1", "rain"))]
    wish = [_said("assistant", {"type": "tool_call", "id": "t1", "name": "weather", "arguments": _OSLO})]
    ran = _executed(2, "weather", "t1", _OSLO, "rain")
    (run,) = runs(_invoked(asked, wish, "error_max_turns"), ran)
    assert (run["status"], run["boundaries"]) == ("error", ["max_steps"])
    (run,) = runs(_invoked(asked, wish, "error_during_execution"), ran)
    assert (run["status"], run["boundaries"]) == ("error", ["error"])


def test_an_answer_of_claude_code_that_no_model_gave_is_none():
    told = {"gen_ai.request.model": "m", "gen_ai.response.model": "<synthetic>"}
    (run,) = runs(_invoked([_said("user", "weather?")], [_said("assistant", "API Error: 500 overloaded")], **told))
    assert (run["status"], run["output"], run["boundaries"]) == ("error", None, ["error"])


def test_what_an_agent_gave_another_to_do_is_not_what_the_user_asked():
    asked = [_said("user", "What about Oslo?"), _said("user", "Look at the weather.")]
    asked += [_said("user", _back("t2", "rain")), _said("user", _back("t1", "Rain."))]
    task = {"prompt": "Look at the weather.", "subagent_type": "worker"}
    (run,) = runs(
        _invoked(asked, [_said("assistant", "It rains.")]),
        _executed(2, "Task", "t1", task, "Rain."),
        _executed(3, "weather", "t2", _OSLO, "rain", at=2),
    )
    assert (run["input"], run["output"]) == ("What about Oslo?", "It rains.")
    assert [d["to"] for d in run["delegations"]] == ["worker"]


def test_what_a_user_said_last_and_a_tool_was_given_too_was_said():
    asked = [_said("user", "What about the weather?"), _said("user", "Oslo")]
    (run,) = runs(_invoked(asked, [_said("assistant", "Rain.")]), _executed(2, "weather", "t1", _OSLO, "rain"))
    assert run["input"] == "Oslo"


def test_regular_traces_tell_no_other_input_where_several_speak():
    asked = [_said("user", "What about Oslo?"), _said("user", "Look at the weather.")]
    whole = {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": [_said("assistant", "Rain.")]}
    given = {"gen_ai.tool.call.arguments": json.dumps({"request": "Look at the weather."})}
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "rain"}]}
    (run,) = runs(
        agent(1, "boss", took=20, attributes=whole),
        chat(2, 1, [("c1", "ask_worker", {"request": "Look at the weather."})], asked=asked, at=1),
        tool(3, 1, "ask_worker", "c1", "rain", at=3, took=6, attributes=given),
        agent(4, "worker", 3, at=4, took=4),
        chat(5, 4, "rain", asked="Look at the weather.", at=5),
        chat(6, 1, "Rain.", asked=[*asked, back], at=12),
    )
    assert run["input"] == "What about Oslo?"


def test_parts_of_a_result_that_python_printed_are_its_text():
    asked = [_said("user", "weather?")]
    (run,) = runs(
        _invoked(asked, [_said("assistant", "Rain.")]),
        _executed(2, "weather", "t1", _OSLO, "[{'type': 'text', 'text': \"rain's in Oslo\"}]"),
        _executed(3, "look", "t2", {}, "[{'type': 'image', 'data': 'x'}]", at=3),
    )
    assert [c["result"] for c in run["tool_calls"]] == ["rain's in Oslo", "[{'type': 'image', 'data': 'x'}]"]


def test_what_the_conventions_hold_whole_beside_openinferences_keys_is_believed():
    """Agent Framework 1.23 by openinference-instrumentation-agent-framework 0.1.13, which joins results."""
    kept = {"role": "tool", "tool_call_id": "c2", "content": "rain Error: none left"}
    wish = [{"type": "tool_call", "id": i, "name": n, "arguments": json.dumps(g)} for i, n, g in _WISH["calls"]]
    back = [("c1", "rain"), ("c2", "Error: none left")]
    whole = [_said("user", "plan my trip"), {"role": "assistant", "parts": wish}]
    whole += [{"role": "tool", "parts": [{"type": "tool_call_response", "id": i, "response": r} for i, r in back]}]
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "input.value": json.dumps({"messages": [kept]})}
    first = _flat("llm.output_messages", [_WISH]) | _flat("llm.input_messages", _ASKED[1:])
    then = _flat("llm.input_messages", [*_ASKED[1:], _WISH, kept]) | {"gen_ai.input.messages": json.dumps(whole)}
    then |= _flat("llm.output_messages", [{"role": "assistant", "content": "It rains."}])
    (run,) = runs(
        agent(1, "planner", took=20),
        span(2, 1, "chat m", at=1, attributes=told | first),
        span(3, 1, "chat m", at=9, attributes=told | then),
    )
    assert [(c["call_id"], c["result"]) for c in run["tool_calls"]] == back


def test_a_task_that_openinferences_processor_calls_a_tool_is_none():
    """OpenLLMetry 0.53 under openinference-instrumentation-openllmetry 0.1.23."""

    def step(id, parent, name, tool, at, took):
        told = {"openinference.span.kind": "TOOL", "tool.name": tool, "input.value": "{}", "output.value": "x"}
        return span(id, parent, name, at=at, took=took, scope=f"{_INSTRUMENTATION}.langchain", attributes=told)

    (run,) = runs(
        agent(1, "planner", took=30),
        step(2, 1, "execute_task tools", "tools", 1, 9),
        step(3, 2, "execute_tool weather", "weather", 2, 1),
        step(4, 1, "plan.task", "plan", 12, 5),
        step(5, 4, "close.task", "close.task", 13, 1),
    )
    assert [c["name"] for c in run["tool_calls"]] == ["weather", "close.task"]


def test_a_reason_that_openinferences_processor_makes_up_is_none():
    def reason(name, **told):
        told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.finish_reason": "stop"} | told
        told |= _flat("llm.input_messages", _ASKED[1:]) | _flat("llm.output_messages", [{"role": "assistant"}])
        (run,) = runs(span(1, None, name, scope=f"{_INSTRUMENTATION}.openai.v1", attributes=told))
        return run["llm_calls"][0]["finish_reason"]

    assert reason("openai.chat") == "stop"
    assert reason("openai.chat", **{"error.type": "InternalServerError"}) is None
    assert reason("openai.response") is None
    assert reason("openai.response", **{"gen_ai.response.finish_reasons": ["stop"]}) == "stop"


def _autogens(*more):
    """An agent of autogen-agentchat 0.7.5 by openinference-instrumentation-autogen-agentchat 0.1.22, with two tools."""

    def step(id, name, kind, took=1, **told):
        scope, told = "openinference.instrumentation.autogen_agentchat", {"openinference.span.kind": kind} | told
        parent = 1 if id > 1 else None
        return span(id, parent, name, at=3 * id, took=took, scope=scope, status=1, attributes=told)

    def ran(id, name, given, result):
        told = {"tool.name": name, "input.value": json.dumps(given), "output.value": result}
        return step(id, f"planner.{name}", "TOOL", **told)

    asked = _flat("llm.input_messages", _ASKED[1:]) | _flat("llm.output_messages", [_WISH])
    (run,) = runs(
        step(
            1, "planner.on_messages_stream", "AGENT", took=40, **{"graph.node.id": "planner", "output.value": "Rain."}
        ),
        step(2, "create", "LLM", **asked),
        ran(3, "weather", _OSLO, "rain"),
        ran(4, "hotel", _GRAND, "none left"),
        *(step(5 + n, "create", "LLM", **told) for n, told in enumerate(more)),
    )
    return run


def test_a_result_that_a_model_was_told_is_an_error_was_one_whatever_its_span_says():
    back = [("weather", "rain", "c1", False), ("hotel", "none left", "c2", True)]
    keys = ("name", "content", "call_id", "is_error")
    texts = [json.dumps(dict(zip(keys, one, strict=True))) for one in back]
    told = _flat("llm.input_messages", [*_ASKED[1:], _WISH, {"role": "function"}])
    told |= {f"llm.input_messages.2.function.{k}": text for k, text in enumerate(texts)}
    run = _autogens(told | _flat("llm.output_messages", [{"role": "assistant", "content": "Rain."}]))
    assert _called(run) == [("weather", _OSLO, "rain", "ok", "c1"), ("hotel", _GRAND, "none left", "error", "c2")]
    assert run["boundaries"] == ["tool_failure"]


def test_whether_a_tool_of_autogen_failed_of_which_no_model_heard_is_not_told():
    run = _autogens()
    assert [(c["result"], c["status"]) for c in run["tool_calls"]] == [("rain", "unknown"), ("none left", "unknown")]
    assert "tool_failure" in run["boundaries_unknown"]


def _specified(id, parent, name, kind, *events, **told):
    """A span of openinference-instrumentation-agentspec 0.1.15, whose agents have no status."""
    at, took = (0, 20) if parent is None else (id, 1)
    told = {"openinference.span.kind": kind} | told
    return span(id, parent, name, at=at, took=took, scope="", attributes=told, events=events)


def test_agent_spec_tells_what_a_tool_gave_by_the_names_of_its_outputs():
    def ran(id, name, given, result):
        told = {"tool.name": name, "input.value": json.dumps(given), "output.value": json.dumps(result)}
        response = ("ToolExecutionResponse", {"type": "ToolExecutionResponse"})
        return _specified(id, 1, f"ToolExecution[{name}]", "TOOL", response, **told)

    root = _specified(1, None, "AgentExecution[planner]", "AGENT", **{"agent.name": "planner"})
    (run,) = runs(
        root,
        ran(2, "weather", _OSLO, {"sky": "rain"}),
        ran(3, "hotel", _GRAND, {"booked": None}),
        ran(4, "look", {}, {"from": "Oslo", "to": "Rome"}),
    )
    assert [(c["result"], c["status"]) for c in run["tool_calls"]] == [
        ("rain", "ok"),
        (None, "unknown"),
        ({"from": "Oslo", "to": "Rome"}, "ok"),
    ]


def test_what_was_raised_in_a_run_of_agent_spec_is_an_event_of_its_own():
    raised = {"exception_type": "RateLimitError", "exception_message": "Error code: 429"}
    event = ("ExceptionRaised", raised)
    (run,) = runs(_specified(1, None, "AgentExecution[planner]", "AGENT", event, **{"agent.name": "planner"}))
    assert (run["status"], run["boundaries"]) == ("error", ["error"])


def test_a_turn_that_openinference_tells_of_codex_is_no_model_call_nor_is_its_number_a_name():
    """openinference-instrumentation-codex 0.5.2, of sessions that Codex kept."""

    def step(id, parent, name, kind, took=1, **told):
        told = {"openinference.span.kind": kind} | told
        scope = "openinference.instrumentation.codex.session_jsonl"
        return span(id, parent, f"codex.{name}", at=id, took=took, scope=scope, status=1, attributes=told)

    def ran(id, call, **told):
        given = {"tool.name": "shell", "tool.id": call, "tool.parameters": json.dumps({"command": [call]})}
        result = step(id + 1, id, "tool.function_result", "TOOL", 0, **{"tool.id": call}, **told)
        return step(id, 1, "tool.function_call", "TOOL", 1.5, **given) | {"status": 0}, result

    asked = {"input.value": "list the files", "output.value": "There is a.txt.", "graph.node.id": "turn:t1"}
    (run,) = runs(
        step(1, None, "turn", "LLM", 20, **asked, **{"llm.token_count.prompt": 20, "session.id": "s1"}),
        *ran(2, "c1", **{"output.value": json.dumps({"output": "a.txt", "metadata": {"exit_code": 0}})}),
        *ran(5, "c2", **{"output.value": json.dumps({"output": "boom", "metadata": {"exit_code": 1}})}),
        *ran(8, "c3", **{"output.value": "Exit code: 2\nOutput:\nboom"}),
        *ran(11, "c4"),
    )
    assert (run["input"], run["output"], run["conversation_id"]) == ("list the files", "There is a.txt.", "s1")
    assert (run["agents"], run["llm_calls"]) == ([], None)
    assert [(c["call_id"], c["status"]) for c in run["tool_calls"]] == [
        ("c1", "ok"),
        ("c2", "error"),
        ("c3", "error"),
        ("c4", "unknown"),
    ]
