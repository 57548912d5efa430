"""Kits for JavaScript and their instrumentations, as each was run against a model of ours or its source writes."""

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

_ASK = [("call_p9Xw2Lr", "send_money", {"to": "Ann"})]


def _cloudflare(id, parent, operation, name, **told):
    """Spans of Cloudflare's Agents SDK 0.32 around the AI SDK 6."""
    return span(
        id,
        parent,
        name,
        attributes={"cloudflare.agents.operation.name": operation, "gen_ai.agent.name": "planner"}
        | {key.replace("__", "."): value for key, value in told.items() if "__" in key},
        **{key: value for key, value in told.items() if "__" not in key},
    )


def _leave(id, parent, name, operation="tool.approval", **told):
    named = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "send_money"}
    return _cloudflare(id, parent, operation, name, **named, gen_ai__tool__call__id="call_p9Xw2Lr", **told)


@pytest.mark.parametrize("state", ["requested", "denied"])
@pytest.mark.parametrize("asked", [_ASK, None])
def test_a_span_that_cloudflare_makes_for_a_mark_of_leave_is_no_tool_that_ran(state, asked):
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, asked, "Pay Ann.", at=1),
        _leave(3, 1, "execute_tool send_money", at=3, took=0.001),
        _leave(4, 3, "tool_approval send_money", at=3, took=0, cloudflare__agents__tool__approval__state=state),
    )
    assert [(c["name"], c["status"], c["call_id"]) for c in run["tool_calls"]] == [
        ("send_money", "requested", "call_p9Xw2Lr")
    ]


def test_a_tool_that_cloudflare_marks_as_approved_ran():
    (run,) = runs(
        agent(1, "planner", took=9),
        _leave(3, 1, "execute_tool send_money", "tool.execute", at=3, gen_ai__tool__call__result="sent"),
        _leave(4, 3, "tool_approval send_money", at=3, took=0, cloudflare__agents__tool__approval__state="approved"),
        chat(5, 1, "Done.", at=5),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("send_money", "ok", "sent")]


@pytest.mark.parametrize("mark", ["canceled", "span.truncated"])
def test_what_cloudflare_called_off_or_outlived_its_request_did_not_end_well(mark):
    undone = {f"cloudflare.agents.{mark}": True}
    chats = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"} | undone
    (run,) = runs(
        agent(1, "planner", took=9, attributes=undone),
        span(2, 1, "chat m", at=1, attributes=chats),
        tool(3, 1, "lookup", "call_a7Tz", at=3, attributes=undone),
    )
    assert run["status"] == "unknown"
    assert [c["status"] for c in run["llm_calls"]] == ["unknown"]
    assert [c["status"] for c in run["tool_calls"]] == ["unknown"]


def test_cloudflare_tells_why_an_answer_ended_by_a_key_of_its_own():
    why = {"cloudflare.agents.response.finish_reason": "length"}
    (run,) = runs(agent(1, "planner", took=9), chat(2, 1, at=1, attributes=why))
    assert run["boundaries"] == ["length"]


def _laminar(id, parent, name, type, **told):
    """Spans of Laminar's telemetry (0.8.46) of the AI SDK 7."""
    return span(
        id,
        parent,
        name,
        scope="lmnr.tracer",
        status=1,
        attributes={"lmnr.span.type": type} | told.pop("attributes"),
        **told,
    )


def _answered(*parts):
    return [{"role": "assistant", "content": list(parts)}]


_SAID = {"type": "text", "text": "Fine."}
_USER = [{"role": "user", "content": [{"type": "text", "text": "weather?"}]}]


def _model(id, at, asked, answer, why):
    return _laminar(
        id,
        1,
        "ai.llm openai.chat:m",
        "LLM",
        at=at,
        attributes={
            "ai.model.id": "m",
            "gen_ai.response.model": "m-2026-01-01",
            "gen_ai.input.messages": asked,
            "gen_ai.output.messages": answer,
            "ai.response.finishReason": why,
            "gen_ai.usage.input_tokens": 10,
            "gen_ai.usage.output_tokens": 2,
        },
    )


def test_what_laminar_puts_in_a_prompts_place_is_no_prompt_and_its_function_is_the_agent():
    loop = {"ai.operation": "ai.generateText", "ai.prompt": "_", "ai.functionId": "planner", "lmnr.span.input": _USER}
    loop |= {"lmnr.span.output": _answered(_SAID), "ai.response.finishReason": "stop"}
    (run,) = runs(
        _laminar(1, None, "ai.generateText planner", "DEFAULT", took=9, attributes=loop),
        _model(2, 1, _USER, _answered(_SAID), "stop"),
    )
    assert (run["input"], run["output"], run["agents"]) == ("weather?", "Fine.", ["planner"])
    assert [c["agent"] for c in run["llm_calls"]] == ["planner"]


def test_an_embedding_that_laminar_calls_a_models_call_is_none():
    told = {"ai.operation": "ai.embed", "ai.model.id": "text-embedding-3-small", "lmnr.span.input": "x"}
    assert runs(_laminar(1, None, "ai.embed docs", "LLM", attributes=told)) == []


@pytest.mark.parametrize("prefix", ["", "AI_InvalidToolInputError: "])
def test_a_tool_that_the_ai_sdk_could_not_give_what_was_asked_for_did_not_run(prefix):
    call = {"type": "tool-call", "toolCallId": "call_Xk29b", "toolName": "get_weather"}
    said = f"{prefix}Invalid input for tool get_weather: Type validation failed: Value: {{}}."
    back = call | {"type": "tool-result", "output": {"type": "error-text", "value": said}}
    history = [*_USER, *_answered(call | {"input": {"town": 1}}), {"role": "tool", "content": [back]}]
    (run,) = runs(
        _laminar(1, None, "ai.generateText planner", "DEFAULT", took=9, attributes={"ai.operation": "ai.generateText"}),
        _model(2, 1, _USER, _answered(call | {"input": {"town": 1}, "invalid": True}), "tool-calls"),
        _model(3, 3, history, _answered(_SAID), "stop"),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("get_weather", "requested")]
    assert run["boundaries"] == [] and "tool_failure" not in run["boundaries_unknown"]


_TANSTACK = "@arizeai/openinference-tanstack-ai"


def _tanstack(id, parent, name, kind, **told):
    """OpenInference's middleware (0.2.13) for TanStack AI 0.58."""
    return span(id, parent, name, scope=_TANSTACK, status=1, **told) | {
        "attributes": {"openinference.span.kind": kind} | told.pop("attributes", {})
    }


def _tanstack_model(id, at, why, *messages):
    told = {"llm.model_name": "m", "llm.token_count.prompt": 9, "tanstack.ai.finish_reason": why}
    for family, at_most in (("input", -1), ("output", None)):
        some = messages[:at_most] if family == "input" else messages[-1:]
        for i, (role, text, *rest) in enumerate(some):
            key = f"llm.{family}_messages.{i}.message"
            told |= {f"{key}.role": role} | ({f"{key}.content": text} if text else {})
            for at_call, call in enumerate(rest):
                if isinstance(call, str):
                    told |= {f"{key}.tool_call_id": call}
                else:
                    begin = f"{key}.tool_calls.{at_call}.tool_call"
                    told |= {f"{begin}.id": call[0], f"{begin}.function.name": call[1]}
                    told |= {f"{begin}.function.arguments": call[2]}
    return _tanstack(id, 1, "ai.llm 1", "LLM", at=at, attributes=told)


def test_tanstack_says_why_an_answer_ended_where_openinference_does_not():
    (run,) = runs(
        _tanstack(1, None, "ai.chat", "AGENT", took=9, attributes={"output.value": "cut sh"}),
        _tanstack_model(2, 1, "length", ("user", "Tell me."), ("assistant", "cut sh")),
    )
    assert run["boundaries"] == ["length"]
    assert [c["finish_reason"] for c in run["llm_calls"]] == ["length"]


def test_a_tool_that_tanstack_could_not_give_what_was_asked_for_did_not_run():
    asks = ("assistant", None, ("call_Lm4s", "get_weather", '{"town":1}'))
    said = '{"error":"Input validation failed for tool get_weather: Validation failed: Invalid input"}'
    user = ("user", "weather?")
    (run,) = runs(
        _tanstack(1, None, "ai.chat", "AGENT", took=9),
        _tanstack_model(2, 1, "tool_calls", user, asks),
        _tanstack_model(3, 3, "stop", user, asks, ("tool", said, "call_Lm4s"), ("assistant", "Fixed.")),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("get_weather", "requested")]
    assert run["boundaries"] == []


def test_words_alone_of_an_answer_that_asks_for_tools_do_not_make_its_span_one_of_several():
    """TanStack AI's own spans leave out what an answer with words asks for, and hold the tools."""
    why = {"gen_ai.response.finish_reasons": ["tool_calls"]}
    ran = {"gen_ai.tool.name": "look", "tanstack.ai.tool.outcome": "error"}
    ran |= {"gen_ai.output.messages": [{"role": "tool", "content": "null"}]}
    (run,) = runs(
        span(1, None, "chat m", took=20, attributes={"tanstack.ai.iterations": 2, "gen_ai.request.model": "m"}),
        chat(2, 1, "Let me look.", "weather?", at=1, took=5, attributes=why),
        span(3, 2, "execute_tool look", at=5, took=0.1, error="kaput", attributes=ran),
        chat(4, 1, "Cold.", at=7),
    )
    assert len(run["llm_calls"]) == 2
    assert [(c["status"], c["result"], c["turn"]) for c in run["tool_calls"]] == [("error", None, 0)]
    assert "model calls share a span" not in run["incomplete"]


def _lone(trace, at, name, scope="@traceloop/instrumentation-langchain", took=1, **told):
    return span(1, None, name, trace=trace, at=at, took=took, scope=scope, attributes=told)


def _words(role, text, **more):
    return {"role": role, "parts": [{"type": "text", "content": text}]} | more


_MUTE = _words("assistant", "")


def _asks_on(trace, at, said, *, answer=None):
    """Traceloop 0.27 of LangChain for JavaScript: each step has a trace of its own, and no answer says what it asks
    for."""
    out = _words("assistant", answer or "", finish_reason="stop" if answer else "tool_call")
    told = {"gen_ai.input.messages": said, "gen_ai.output.messages": [out], "gen_ai.request.model": "gpt-4.1-mini"}
    reasons = {"gen_ai.response.finish_reasons": [out["finish_reason"]], "gen_ai.operation.name": "chat"}
    return _lone(trace, at, "chat gpt-4.1-mini", **told | reasons)


def _ran(trace, at, result, id):
    message = {"status": "success", "content": result, "tool_call_id": id, "name": "look", "type": "tool"}
    put = {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "ToolMessage"], "kwargs": message}
    told = {"gen_ai.operation.name": "execute_tool", "traceloop.span.kind": "task", "traceloop.entity.output": put}
    return _lone(trace, at, "execute_tool DynamicStructuredTool", **told)


def test_a_supervisors_work_goes_on_in_another_agent_and_comes_back():
    user, boss, math = _words("user", "sum"), _words("system", "You supervise."), _words("system", "You do maths.")
    there = _words("tool", "Successfully transferred to math")
    back = [_words("assistant", "3"), _MUTE, _words("tool", "Successfully transferred back to supervisor")]
    found = runs(
        _asks_on(1, 1, [boss, user]),
        _ran(2, 3, "Successfully transferred to math", "call_aK1"),
        _asks_on(3, 5, [math, user, _MUTE, there], answer="3"),
        _asks_on(4, 7, [boss, user, _MUTE, there, *back], answer="It is 3."),
    )
    assert [(r["output"], len(r["llm_calls"]), len(r["tool_calls"])) for r in found] == [("It is 3.", 3, 1)]


@pytest.mark.parametrize(("others", "shown"), [(0, [(2, 2)]), (1, [(2, 1), (1, None), (None, 1)])])
def test_the_last_tools_of_a_run_that_ended_with_them_ran_for_the_one_call_that_waits(others, shown):
    user = _words("user", "loop")
    found = runs(
        _asks_on(1, 1, [user]),
        _ran(2, 3, "21 in A", "call_aK1"),
        *(_asks_on(9, 4, [_words("user", "other")]) for _ in range(others)),
        _asks_on(3, 5, [user, _MUTE, _words("tool", "21 in A")]),
        _ran(4, 7, "21 in B", "call_bK1"),
    )
    counts = [tuple(None if r[k] is None else len(r[k]) for k in ("llm_calls", "tool_calls")) for r in found]
    assert sorted(map(str, counts)) == sorted(map(str, shown))


@pytest.mark.parametrize(
    ("said", "why", "status"),
    [("API Error: 500 overloaded", "stop_sequence", "error"), ("API Error: 500 is what I saw", "end_turn", "ok")],
)
def test_claude_codes_notice_that_it_got_no_answer_is_none(said, why, status):
    """OpenInference 0.3.1 of Claude's Agent SDK for JavaScript, whose results tell of an error beside it."""
    told = {"openinference.span.kind": "AGENT", "input.value": "hi", "output.value": said, "llm.finish_reason": why}
    scope = "@arizeai/openinference-instrumentation-claude-agent-sdk"
    (run,) = runs(span(1, None, "ClaudeAgent.query", took=5, scope=scope, attributes=told) | {"status": 1})
    assert (run["status"], run["output"]) == (status, None if status == "error" else said)
