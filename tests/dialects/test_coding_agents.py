"""Agents that code, by spans as their own exporters write them."""

import json

import pytest

from otelcov.runs.content.exchanges import event_inputs
from tests.runs.requests import agent, chat, records, runs, span, tool

pytestmark = pytest.mark.full

_json = json.dumps
_LONG, _SHORT = "look__look_17_0", "look_17_0"  # the id of a call by Gemini CLI, and as it tells its model
_ASKED = {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"at": "x"}, "id": _LONG}}]}


def _gemini(id, operation, parent=None, trace=1, at=0, took=1, **told):
    told = {"gen_ai.operation.name": operation, "gen_ai.agent.name": "gemini-cli", "gen_ai.conversation.id": "c"} | told
    told = {key: value if isinstance(value, str) else _json(value) for key, value in told.items()}
    return span(id, parent, operation, trace=trace, at=at, took=took, status=1, scope="gemini-cli", attributes=told)


def _model(id, trace, at, given, answer=None, **more):
    told = {"gen_ai.request.model": "gemini", "gen_ai.prompt.name": "p", "gen_ai.input.messages": given}
    told |= {"gen_ai.output.messages": [answer]} if answer else {}
    return _gemini(id, "llm_call", trace=trace, at=at, **told) | more


def _ran(id, parent, trace, at, tool, call, args, back, took=1, status="success"):
    asked = {"callId": call, "name": tool, "args": args}
    parts = [{"functionResponse": {"id": call, "name": tool, "response": back}}]
    told = {"gen_ai.tool.name": tool, "gen_ai.tool.call_id": call, "gen_ai.input.messages": asked}
    told["gen_ai.output.messages"] = {"status": status, "request": asked, "response": {"responseParts": parts}}
    return _gemini(id, "tool_call", parent, trace, at, took, **told)


def _said(text, role="user"):
    return {"role": role, "parts": [{"text": text}]}


def _back(id, name, back):
    return [
        {"role": "model", "parts": [{"functionCall": {"name": name, "args": {"at": "x"}, "id": id}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": name, "response": back, "id": id}}]},
    ]


@pytest.mark.parametrize("failed", [False, True])
def test_gemini_cli_opens_a_trace_for_each_step_of_a_request(failed):
    context = "<session_context>\nToday is Monday.\n</session_context>\n"
    question = _said(f"{context}look at x")
    back = {"error": "no x"} if failed else {"output": "an x"}
    (run,) = runs(
        _model(1, 1, 0, [question], _ASKED),
        _gemini(2, "schedule_tool_calls", trace=2, at=2, took=3),
        _ran(3, 2, 2, 3, "look", _LONG, {"at": "x"}, back, status="error" if failed else "success"),
        _model(4, 3, 6, [question, *_back(_SHORT, "look", back)], _said("seen", "model")),
    )
    assert (run["input"], run["output"], len(run["trace_ids"])) == ("look at x", "seen", 3)
    ((call),) = run["tool_calls"]
    assert (call["status"], call["arguments"], call["turn"]) == ("error" if failed else "ok", {"at": "x"}, 0)
    assert call["result"] == (back if failed else "an x")
    assert len(run["llm_calls"]) == 2


def test_gemini_cli_answers_after_a_tool_whose_name_reads_like_that_of_an_agent():
    """Gemini CLI 0.61: `run_shell_command` might run an agent; its id is shorter in history than in the answer."""
    name, question = "run_shell_command", _said("read it")
    long, short = f"{name}__{name}_17_0", f"{name}_17_0"
    asked = {"role": "model", "parts": [{"functionCall": {"name": name, "args": {"at": "x"}, "id": long}}]}
    (run,) = runs(
        _model(1, 1, 0, [question], asked),
        _gemini(2, "schedule_tool_calls", trace=2, at=2, took=3),
        _ran(3, 2, 2, 3, name, long, {"at": "x"}, {"output": "an x"}),
        _model(4, 3, 6, [question, *_back(short, name, {"output": "an x"})], _said("read", "model")),
    )
    assert (run["status"], run["output"], [c["name"] for c in run["tool_calls"]]) == ("ok", "read", [name])


def test_an_agent_that_gemini_cli_calls_bears_its_own_name_on_the_tools_arguments_alone():
    question, given = _said("go"), {"agent_name": "scout", "prompt": "find"}
    asked = {"role": "model", "parts": [{"functionCall": {"name": "invoke_agent", "args": given, "id": "i1"}}]}
    (run,) = runs(
        _model(1, 1, 0, [question], asked),
        _gemini(2, "schedule_tool_calls", trace=2, at=2, took=7),
        _ran(3, 2, 2, 3, "invoke_agent", "i1", given, {"output": "found"}, took=5),
        _gemini(4, "agent_call", 3, trace=2, at=3, took=5, **{"gen_ai.input.messages": given}),
        _model(5, 2, 4, [_said("find")], _said("found", "model"), parent=4),
        _model(6, 3, 10, [question, asked, _back("i1", "invoke_agent", {"output": "found"})[1]], _said("ok", "model")),
    )
    assert [c["agent"] for c in run["llm_calls"]] == ["gemini-cli", "scout", "gemini-cli"]
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("gemini-cli", "scout", "tool")]
    assert (run["tool_calls"], run["agents"], run["output"]) == ([], ["gemini-cli", "scout"], "ok")


def test_what_failed_and_is_asked_again_word_for_word_is_one_request():
    def asked(words, conversation, wait):
        told = {"gen_ai.conversation.id": conversation} if conversation else {}
        first = chat(1, None, None, words[0], error="503", attributes=told)
        return runs(first, chat(2, None, "hi", words[1], trace=2, at=wait, attributes=told))

    (run,) = asked(("hello", "hello"), "c", 9)
    assert [c["status"] for c in run["llm_calls"]] == ["error", "ok"]
    assert run["output"] == "hi"
    assert len(asked(("hello", "bye"), "c", 9)) == 2
    assert len(asked(("hello", "hello"), None, 9)) == 2
    assert len(asked(("hello", "hello"), "c", 300)) == 2


def test_the_name_of_a_prompt_is_no_message():
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.prompt.name": "greeting"}
    told["gen_ai.completion.0.content"] = "hello"
    beside = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "hi"}
    messages = {"gen_ai.input.messages": _json([{"role": "user", "parts": [{"type": "text", "content": "hi"}]}])}
    for given in (beside, messages):
        (run,) = runs(span(1, None, "chat m", attributes=told | given))
        assert (run["input"], run["output"]) == ("hi", "hello")


def test_what_a_record_of_a_request_and_one_of_its_answer_both_tell_was_said_once():
    asked = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}
    given = [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "system", "parts": [asked]},  # what the model said, by Gemini CLI's word
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "response": "seen"}]},
    ]
    name = "gen_ai.client.inference.operation.details"
    told = {"gen_ai.input.messages": _json(given)}
    found = event_inputs([(name, told), (name, told | {"gen_ai.output.messages": "[]"})])
    assert [(x.role, len(x.requests), len(x.results)) for x in found] == [
        ("user", 0, 0),
        ("assistant", 1, 0),
        ("user", 0, 1),
    ]


@pytest.mark.parametrize(
    "odd", [7, [], {}, "x", None, [7], {"callId": 7}, {"status": [], "response": {"responseParts": 7}}]
)
def test_odd_records_of_calls_break_nothing(odd):
    told = {"gen_ai.tool.call_id": "x", "gen_ai.input.messages": odd, "gen_ai.output.messages": odd}
    (run,) = runs(_gemini(1, "tool_call", **told | {"gen_ai.tool.name": "look"}))
    assert [c["name"] for c in run["tool_calls"]] == ["look"]
    runs(_gemini(1, "schedule_tool_calls"), _gemini(2, "tool_call", 1, **told), logs=[records([(2, odd)])])


def test_a_tool_that_was_denied_did_not_run():
    given = {"gen_ai.tool.call.result": "No leave without somebody to ask."}
    for reason, status in (("denied", "requested"), ("ToolError", "error")):
        told = given | {"error.type": reason}
        (run,) = runs(
            agent(1, "a", took=9),
            chat(2, 1, [("c1", "rm", {})], "<current_datetime>now</current_datetime>\n\nclean up", at=1),
            tool(3, 1, "rm", "c1", error="no", at=3, attributes=told),
            chat(4, 1, "done", at=5),
        )
        assert [c["status"] for c in run["tool_calls"]] == [status]
        assert run["input"] == "clean up"


def test_qwen_code_tells_its_model_alone_that_leave_was_declined():
    words = 'Qwen Code requires permission to use "rm", but that permission was declined. Matching rule: none.'
    said = [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "rm", "arguments": {}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": words}]},
    ]
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, [("c1", "rm", {})], "go", at=1), chat(3, 1, "no", said, at=3))
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("rm", "requested")]


def test_a_tool_of_opencode_puts_out_a_part_of_what_its_span_tells():
    def sdk(id, parent, operation, at, took=1, **told):
        told = {"ai.operationId": f"ai.{operation}", "ai.telemetry.functionId": "session.llm"} | told
        return span(id, parent, f"ai.{operation}", at=at, took=took, scope="opencode", attributes=told)

    asked = [{"type": "tool-call", "toolCallId": "c1", "toolName": "read", "input": {"at": "x"}}]
    given = {"title": "x", "output": "1: alpha", "metadata": {"lines": 1}}
    ran = {"ai.toolCall.name": "read", "ai.toolCall.id": "c1", "ai.toolCall.result": _json(given)}
    back = [
        {"type": "tool-result", "toolCallId": "c1", "toolName": "read", "output": {"type": "text", "value": "1: alpha"}}
    ]
    before = [{"role": "user", "content": "look"}]
    after = [*before, {"role": "assistant", "content": asked}, {"role": "tool", "content": back}]
    (run,) = runs(
        sdk(1, None, "streamText", 0, 5),
        sdk(
            2,
            1,
            "streamText.doStream",
            1,
            **{"ai.prompt.messages": _json(before), "ai.response.toolCalls": _json(asked)},
        ),
        sdk(3, 1, "toolCall", 3, **ran),
        sdk(4, None, "streamText", 6, 5),
        sdk(5, 4, "streamText.doStream", 7, **{"ai.prompt.messages": _json(after), "ai.response.text": "alpha"}),
    )
    assert [(c["name"], c["result"]) for c in run["tool_calls"]] == [("read", "1: alpha")]
    assert run["agents"] == []


def _claude(id, parent, step, at=0, took=1, **told):
    told = {"session.id": "s"} | told
    scope = "com.anthropic.claude_code.tracing"
    return span(id, parent, f"claude_code.{step}", at=at, took=took, scope=scope, attributes=told)


def _claudes_turn(*reasons):
    """Each tool begins while the answer that asks for it is still being told."""
    spans = [_claude(1, None, "interaction", took=40, user_prompt="count")]
    for n, reason in enumerate(reasons):
        spans.append(_claude(10 + n, 1, "llm_request", at=10 * n + 1, took=3, stop_reason=reason, model="m"))
        if reason == "tool_use":
            more = {"tool_name": "Bash", "tool_use_id": f"toolu_{n}"}
            spans.append(_claude(20 + n, 1, "tool", at=10 * n + 3, took=4, **more))
            spans.append(_claude(30 + n, 20 + n, "tool.execution", at=10 * n + 3, took=4, success=True))
    return spans


def test_a_tool_that_claude_code_began_while_it_was_asked_for_is_of_that_answer():
    (run,) = runs(*_claudes_turn("tool_use", "tool_use", "end_turn"))
    assert [(c["call_id"], c["turn"]) for c in run["tool_calls"]] == [("toolu_0", 0), ("toolu_1", 1)]
    assert run["status"] == "ok"


def test_claude_code_that_stopped_with_tools_asked_for_may_have_reached_its_limit():
    (run,) = runs(*_claudes_turn("tool_use", "tool_use"))
    assert run["status"] == "unknown"
    assert "outcome not visible" in run["incomplete"]
    assert "max_steps" in run["boundaries_unknown"]


def test_what_an_agent_in_the_background_brings_is_no_users_question():
    notice = "<task-notification>\n<task-id>a5</task-id>\n<status>completed</status>\n</task-notification>"
    (run,) = runs(_claude(1, None, "interaction", took=9, user_prompt=notice), _claude(2, 1, "llm_request", at=1))
    assert run["input"] is None
    assert "input not reported" in run["incomplete"]


def test_gemini_cli_puts_a_tools_name_before_the_id_that_its_model_gave_a_call():
    long, short = "mcp_look__call_Xr81Qp", "call_Xr81Qp"
    call = {"name": "mcp_look", "args": {"at": "x"}}
    asked = {"role": "model", "parts": [{"functionCall": call | {"id": long}}]}
    question = _said("look at x")
    spans = [
        _model(1, 1, 0, [question], asked),
        _gemini(2, "schedule_tool_calls", trace=2, at=2, took=3),
        _ran(3, 2, 2, 3, "mcp_look", long, {"at": "x"}, {"output": "an x"}),
        _model(4, 3, 6, [question, *_back(short, "mcp_look", {"output": "an x"})], _said("seen", "model")),
    ]
    (run,) = runs(*spans)
    assert ([c["status"] for c in run["tool_calls"]], len(run["llm_calls"])) == (["ok"], 2)
    spans[0]["attributes"]["gen_ai.output.messages"] = _json([asked])[:40]  # as where values are cut
    (run,) = runs(*spans)
    ((one),) = run["tool_calls"]
    assert (one["status"], one["result"], len(run["trace_ids"])) == ("ok", "an x", 3)


@pytest.mark.parametrize(("status", "found"), [("error", "error"), ("success", "ok"), ("cancelled", "unknown")])
def test_a_record_of_gemini_cli_that_is_cut_off_tells_how_the_call_went(status, found):
    one = _ran(3, 2, 2, 3, "look", _LONG, {"at": "x"}, {"output": "an x"}, status=status)
    told = one["attributes"]["gen_ai.output.messages"]
    one["attributes"]["gen_ai.output.messages"] = told[:60]
    (run,) = runs(
        _model(1, 2, 0, [_said("look at x")], _ASKED), _gemini(2, "schedule_tool_calls", trace=2, took=5), one
    )
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [(found, None)]


def test_what_gemini_cli_says_of_a_loop_is_no_users_question():
    words = "System: Potential loop detected. Details: it says the same."
    (run,) = runs(_model(1, 1, 0, [_said("look at x"), _said("x x x", "model"), _said(words)], _said("seen", "model")))
    assert run["input"] != words


def test_a_turn_of_qwen_code_that_was_cancelled_went_nobody_knows_how():
    told = {"qwen-code.turn_status": "cancelled"}
    spans = [
        agent(1, "qwen-code", scope="qwen-code", took=9),
        chat(2, 1, [("call_1", "look", {})], "look", at=1, scope="qwen-code"),
        tool(3, 1, "look", "call_1", "an x", at=2, scope="qwen-code"),
    ]
    (before,), _ = runs(*spans), spans[0]["attributes"].update(told)
    (run,) = runs(*spans)
    assert (before["status"], run["status"]) == ("ok", "unknown")
    assert {"error", "max_steps"} <= set(run["boundaries_unknown"])
