"""Kits for JavaScript, by spans as their own exporters write them."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

_json = json.dumps


def _volt(id, parent, name, at, took=1, **told):
    told = {"entity.type": "agent", "entity.name": "helper"} | told
    return span(id, parent, name, at=at, took=took, scope="@voltagent/core", attributes=told)


def test_what_a_tool_of_voltagent_takes_is_not_what_it_was_given():
    takes = {"def": {"type": "object", "shape": {"city": {"type": "string"}}}, "type": "object"}
    told = {"span.type": "tool", "tool.name": "weather", "tool.call.id": "c1", "tool.parameters": json.dumps(takes)}
    told |= {"input": json.dumps({"city": "Oslo"}), "output": "sunny"}
    (run,) = runs(
        _volt(1, None, "helper", 0, 9, input="weather?", output="sunny"),
        _volt(2, 1, "tool.execution:weather", 1, **told),
    )
    assert [(c["name"], c["arguments"], c["result"]) for c in run["tool_calls"]] == [
        ("weather", {"city": "Oslo"}, "sunny")
    ]


def test_a_finish_reason_can_be_all_that_tells_of_a_failure():
    def ended(reason):
        told = {"gen_ai.response.finish_reasons": json.dumps([reason])}
        answered = chat(2, 1, "", "go", at=1)
        (run,) = runs(agent(1, "a", took=9), answered | {"attributes": answered["attributes"] | told})
        return [c["status"] for c in run["llm_calls"]]

    assert ended("error") == ["error"]
    assert ended("stop") == ["ok"]


def _step(id, at, given, answer):
    told = {"mastra.model_step.input": json.dumps(given), "mastra.model_step.output": json.dumps(answer)}
    told = {"mastra.span.type": "model_step", "gen_ai.operation.name": "agent_step"} | told
    return span(id, 1, "agent_step a", at=at, attributes=told)


def test_the_name_of_a_result_is_no_result():
    asked = [
        {"toolCallId": "c1", "toolName": "look", "args": {}},
        {"toolCallId": "c2", "toolName": "ghost", "args": {}},
    ]
    before = [{"role": "user", "content": "go"}]
    after = [
        *before,
        {"role": "assistant", "content": "[tool: look][tool: ghost]"},
        {"role": "tool", "content": "[tool-result: look][tool-result: ghost]"},
    ]
    (run,) = runs(
        agent(1, "a", took=9),
        _step(2, 1, before, {"text": "", "toolCalls": asked}),
        tool(3, 1, "look", "c1", "found", at=3),
        _step(4, 5, after, {"text": "done", "toolCalls": []}),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("look", "ok", "found"),
        ("ghost", "unknown", None),
    ]


def test_langfuse_counts_parts_of_tokens_beside_the_rest():
    def counted(usage, limit=None):
        usage = json.dumps(usage)[:limit]
        told = {"langfuse.observation.type": "generation", "langfuse.observation.usage_details": usage}
        (run,) = runs(span(1, None, "ChatOpenAI", attributes=told))
        return [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]]

    parts = {"input_cache_read": 3, "output_reasoning": 2}
    assert counted({"input": 100, "output": 5, "total": 110} | parts) == [(103, 7)]
    assert counted({"input": 103, "output": 7, "total": 110} | parts) == [(103, 7)]
    assert counted({"input": 103, "output": 7}) == [(103, 7)]
    assert counted({"input": 100, "output": 5, "total": 110} | parts, 64) == [(None, None)]  # cut off
    assert counted({"input": 100, "output": 5, "total": 105, "input_modality": 3}, 50) == [(100, 5)]


def test_traceloop_says_stop_of_an_answer_whose_calls_it_does_not_tell():
    def answered(text, scope):
        parts = [{"type": "text", "content": text}]
        said = [{"role": "assistant", "finish_reason": "stop", "parts": parts}]
        told = {"gen_ai.operation.name": "chat", "gen_ai.usage.output_tokens": 7}
        told |= {"gen_ai.output.messages": json.dumps(said), "gen_ai.response.finish_reasons": json.dumps(["stop"])}
        (run,) = runs(agent(1, "a", took=3), span(2, 1, "chat m", scope=scope, attributes=told))
        return run["tool_calls"]

    scope = "@traceloop/instrumentation-openai"
    assert answered("", scope) is None
    assert answered("done", scope) == []
    assert answered("", "another") == []


@pytest.mark.parametrize("inner", [None, "helper"])
def test_a_function_that_the_ai_sdk_was_told_the_name_of_is_the_agent(inner):
    def sdk(id, parent, operation, of, at, took=1, **told):
        name = {"ai.telemetry.functionId": of} if of else {}
        told = {"ai.operationId": f"ai.{operation}"} | name | told
        return span(id, parent, f"ai.{operation}", at=at, took=took, scope="ai", attributes=told)

    call = {"ai.toolCall.name": "sum_up", "ai.toolCall.id": "call_x9", "ai.toolCall.result": "y"}
    (run,) = runs(
        sdk(1, None, "generateText", "planner", 0, 20),
        sdk(2, 1, "generateText.doGenerate", "planner", 1),
        sdk(3, 1, "toolCall", "planner", 3, 5, **call),
        sdk(4, 3, "generateText", inner, 4, 3),
        sdk(5, 4, "generateText.doGenerate", inner, 5),
        sdk(6, 1, "generateText.doGenerate", "planner", 10),
    )
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", inner or "planner", "planner"]
    assert [(d["from"], d["to"]) for d in run["delegations"]] == ([("planner", inner)] if inner else [])


def test_a_swarm_of_strands_hands_over_by_a_structured_answer():
    def turn(id, name, at, said):
        given = {"id": f"call_{name}7Qz", "role": "tool", "content": _json(said)}
        told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "strands_structured_output"}
        told["gen_ai.tool.call.id"] = given["id"]
        events = [("gen_ai.tool.message", given), ("gen_ai.choice", {"message": _json([{"json": said}])})]
        return [
            agent(id, name, 1, at=at, took=4),
            chat(id + 1, id, [(given["id"], "strands_structured_output", said)], "Refund", at=at + 1),
            span(id + 2, id, "execute_tool strands_structured_output", at=at + 3, attributes=told, events=events),
        ]

    swarm = {"gen_ai.operation.name": "invoke_swarm", "gen_ai.agent.name": "swarm"}
    (run,) = runs(
        span(1, None, "invoke_swarm swarm", took=20, attributes=swarm),
        *turn(2, "triage", 1, {"agentId": "billing", "message": "Refund please"}),
        *turn(6, "billing", 8, {"message": "Refunded."}),
    )
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("triage", "billing", "handoff")]
    assert (run["agents"], run["tool_calls"], run["boundaries"]) == (["billing", "triage"], [], [])


def test_a_model_call_of_which_nothing_is_told_may_have_failed():
    def seen(**last):
        (run,) = runs(
            agent(1, "planner", took=9),
            chat(2, 1, [("call_a8", "look", {})], "Oslo?", at=1),
            tool(3, 1, "look", "call_a8", "12", at=3),
            span(4, 1, "call_llm", at=5, scope="gcp.vertex.agent", attributes=last),
        )
        unknown = "error" in run["boundaries_unknown"]
        return run["status"], [c["status"] for c in run["llm_calls"]], unknown, run["boundaries"]

    assert seen() == ("unknown", ["ok", "unknown"], True, [])
    assert seen(**{"gen_ai.request.model": "gemini"}) == ("ok", ["ok", "ok"], False, [])


def test_a_model_span_of_voltagent_lists_tools_by_name_and_its_way_to_other_agents_is_none_of_them():
    asked = {"span.type": "llm", "llm.operation": "generateText"}
    (run,) = runs(
        _volt(1, None, "helper", 0, took=9, input="?"),
        _volt(2, 1, "llm:generateText", 1, **asked | {"llm.tools": "search,delegate_task,book"}),
    )
    assert run["known_tools"] == ["book", "search"]


def test_the_conversation_of_a_delegate_is_not_the_runs():
    asked = {"span.type": "tool", "tool.name": "delegate_task", "input": "{}", "output": "done"}
    (run,) = runs(
        _volt(1, None, "helper", 0, took=9, input="?"),
        _volt(2, 1, "tool.execution:delegate_task", 1, took=5, **asked),
        _volt(3, 2, "subagent:worker", 2, **{"entity.name": "worker", "conversation.id": "its own"}),
    )
    assert (run["agents"], run["conversation_id"]) == (["helper", "worker"], None)


def _langsmith(id, parent, kind, at, took=1, **told):
    given = {"langsmith.span.kind": kind, "gen_ai.operation.name": {"tool": "execute_tool", "llm": "chat"}.get(kind)}
    return span(id, parent, kind, at=at, took=took, scope="langsmith", attributes=given | told)


@pytest.mark.parametrize(
    ("written", "result"),
    [
        ({"outputs": "3 degrees"}, "3 degrees"),
        ({"outputs": [3, 4]}, [3, 4]),
        ({"outputs": 3}, "3"),
        ({"outputs": "3", "unit": "C"}, {"outputs": "3", "unit": "C"}),
    ],
)
def test_langsmith_frames_what_a_function_in_javascript_gave_that_is_no_object(written, result):
    told = {"gen_ai.tool.name": "weather", "gen_ai.prompt": '{"city":"Oslo"}'}
    completion = json.dumps(written, separators=(",", ":"))
    (run,) = runs(
        _langsmith(1, None, "chain", 0, took=9),
        _langsmith(2, 1, "tool", 1, **told | {"gen_ai.completion": completion}),
    )
    assert [c["result"] for c in run["tool_calls"]] == [result]


def test_langsmith_hides_content_as_empty_objects_and_keeps_the_tokens_in_a_key_of_its_own():
    hidden = {"gen_ai.prompt": "{}", "gen_ai.completion": "{}"}
    usage = {"langsmith.usage_metadata": '{"input_tokens":10,"output_tokens":5,"input_token_details":{}}'}
    (run,) = runs(
        _langsmith(1, None, "chain", 0, took=9, **hidden),
        _langsmith(2, 1, "llm", 1, **hidden | usage | {"gen_ai.request.model": "m"}),
        _langsmith(3, 1, "tool", 3, **hidden | {"gen_ai.tool.name": "weather"}),
    )
    assert [(c["arguments"], c["result"]) for c in run["tool_calls"]] == [(None, None)]
    assert "arguments not reported" in run["incomplete"]
    assert [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [(10, 5)]


def test_langsmith_keeps_a_clients_whole_request_with_the_tools_it_offers():
    request = {"messages": [{"role": "user", "content": "?"}]}
    offered = [{"type": "function", "function": {"name": "weather", "parameters": {}}}]
    prompt = json.dumps(request | {"tools": offered}, separators=(",", ":"))
    (run,) = runs(
        _langsmith(1, None, "chain", 0, took=9),
        _langsmith(2, 1, "llm", 1, **{"gen_ai.request.model": "m", "gen_ai.prompt": prompt}),
    )
    assert run["known_tools"] == ["weather"]


@pytest.mark.parametrize(
    ("reason", "boundary"), [("error_max_budget_usd", "cost_limit"), ("error_max_turns", "max_steps")]
)
def test_what_ended_a_run_of_claudes_agent_sdk_is_not_its_answer(reason, boundary):
    told = {"openinference.span.kind": "AGENT", "input.value": "?", "output.mime_type": "application/json"}
    told |= {"output.value": '["Reached a limit"]', "session.id": "s"}
    scope = "@arizeai/openinference-instrumentation-claude-agent-sdk"
    (run,) = runs(span(1, None, "ClaudeAgent.query", error=f"Result error: {reason}", scope=scope, attributes=told))
    assert (run["status"], run["output"], run["boundaries"]) == ("error", None, [boundary])


def test_an_agent_called_as_a_tool_is_found_by_the_input_that_brings_its_answer():
    def call(id, at, given, answer=""):
        told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 2}
        said = [{"role": "assistant", "finish_reason": "stop", "parts": [{"type": "text", "content": answer}]}]
        told |= {"gen_ai.input.messages": _json(given), "gen_ai.output.messages": _json(said)}
        return span(id, None, "chat m", trace=id, at=at, scope="@traceloop/instrumentation-openai", attributes=told)

    def user(text):
        return {"role": "user", "parts": [{"type": "text", "content": text}]}

    def used(id, name, arguments, result):
        asked = {"type": "tool_call", "id": id, "name": name, "arguments": arguments}
        back = {"type": "tool_call_response", "id": id, "response": result}
        return [{"role": "assistant", "parts": [asked]}, {"role": "tool", "parts": [back]}]

    look = used("c2", "weather", {"city": "Rome"}, "sunny")
    (run,) = runs(
        call(1, 0, [user("How is Rome?")]),
        call(2, 2, [user("look at Rome")]),
        call(3, 4, [user("look at Rome"), *look], "Rome is sunny."),
        call(
            4,
            6,
            [user("How is Rome?"), *used("c1", "ask_worker", {"input": "look at Rome"}, "Rome is sunny.")],
            "Sunny.",
        ),
    )
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("How is Rome?", "Sunny.", 4)


def test_a_single_result_that_openinference_for_bedrock_leaves_out_stands_in_the_raw_request():
    def call(id, at, request, **flat):
        told = {"openinference.span.kind": "LLM", "input.value": _json({"messages": request})} | flat
        return span(id, None, "bedrock.converse", trace=id, at=at, attributes=told)

    def said(role, *parts):
        return {"role": role, "content": list(parts)}

    question = said("user", {"text": "Oslo?"})
    asked = said("assistant", {"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Oslo"}}})
    back = said("user", {"toolResult": {"toolUseId": "c1", "content": [{"text": "sunny"}], "status": "success"}})
    of, to, name = "llm.input_messages", "llm.output_messages.0.message", "tool_calls.0.tool_call"
    first = {f"{of}.0.message.role": "user", f"{of}.0.message.content": "Oslo?"}
    answer = {f"{to}.role": "assistant", f"{to}.{name}.id": "c1", f"{to}.{name}.function.name": "weather"}
    then = first | {f"{of}.1.message.role": "assistant", f"{of}.1.message.{name}.id": "c1"}
    then |= {f"{of}.1.message.{name}.function.name": "weather", f"{of}.2.message.role": "user"}
    then |= {f"{of}.2.message.tool_call_id": "c1", f"{to}.role": "assistant", f"{to}.content": "Sunny."}
    (run,) = runs(call(1, 0, [question], **first | answer), call(2, 3, [question, asked, back], **then))
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("weather", "ok", "sunny")]


def test_sentry_tells_an_answers_text_and_its_calls_apart():
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 2}
    asked = [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}]
    offered = [{"type": "function", "function": {"name": "weather", "parameters": {}}}]
    given = [{"role": "user", "content": "Oslo?"}]
    after = [
        *given,
        {"role": "assistant", "content": "", "tool_calls": asked},
        {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
    ]
    first = {"gen_ai.response.text": '[""]', "gen_ai.response.tool_calls": _json(asked)}
    first |= {"gen_ai.input.messages": _json(given), "gen_ai.request.available_tools": _json(offered)}
    second = {"gen_ai.response.text": _json(["Sunny."]), "gen_ai.input.messages": _json(after)}
    (run,) = runs(
        span(1, None, "GET /", took=9),
        span(2, 1, "chat m", at=1, attributes=told | first),
        span(3, 1, "chat m", at=3, attributes=told | second),
    )
    assert [(c["name"], c["arguments"], c["result"]) for c in run["tool_calls"]] == [
        ("weather", {"city": "Oslo"}, "sunny")
    ]
    assert (run["output"], run["known_tools"]) == ("Sunny.", ["weather"])


@pytest.mark.parametrize(("scope", "status"), [("@traceloop/instrumentation-anthropic", "unknown"), ("another", "ok")])
def test_where_the_flag_of_a_failed_tool_is_lost_its_status_is_unknown(scope, status):
    said = [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}]},
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "response": "it exploded"}]},
    ]
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {})], "go", at=1, scope=scope),
        chat(3, 1, "sorry", said, at=3, scope=scope),
    )
    assert [c["status"] for c in run["tool_calls"]] == [status]


def test_openinference_for_the_ai_sdk_keeps_the_model_that_was_asked_beside_the_one_that_answered():
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m-2026", "ai.response.model": "m-2026"}
    asked = {"openinference.span.kind": "TOOL", "tool.name": "look", "ai.toolCall.args": _json('{"city": ')}
    (run,) = runs(
        span(1, None, "ai.generateText", took=9, attributes={"openinference.span.kind": "CHAIN"}),
        span(2, 1, "doGenerate", at=1, attributes=told | {"ai.model.id": "m"}),
        span(3, 1, "toolCall", at=3, attributes=asked),
    )
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [("m", "m-2026")]
    assert [(c["arguments"], c["arguments_text"]) for c in run["tool_calls"]] == [(None, '{"city": ')]


@pytest.mark.parametrize(
    ("told", "timeout"),
    [
        ({"error": {"name": "AI_APICallError", "message": "Request timed out"}}, True),
        ({"error": 5}, False),
        ([], False),
    ],
)
def test_mastra_for_arize_calls_each_piece_of_a_stream_a_models_call_and_one_may_be_an_error(told, timeout):
    def piece(id, parent, name, kind="LLM", at=0.0, took=1.0, **more):
        attributes = {"openinference.span.kind": kind} | more
        return span(id, parent, name, at=at, took=took, status=1, scope="@mastra/otel", attributes=attributes)

    asked = {"text": "", "toolCalls": [{"toolCallId": "call_1", "toolName": "look", "args": {"city": "Oslo"}}]}
    (run,) = runs(
        piece(1, None, "agent.planner", "AGENT", took=9, **{"input.value": "Oslo?"}),
        piece(2, 1, "chat model-a", at=1, took=7),
        piece(3, 2, "step: 0", at=1, **{"output.value": asked}),
        piece(4, 3, "chunk: 'tool-call'", at=1.1, took=0, **{"output.value": {"toolName": "look"}}),
        piece(5, 3, "tool.execute look", "TOOL", at=1.2, took=0.1, **{"tool.name": "look", "output.value": "12"}),
        piece(6, 2, "step: 1", at=3, **{"output.value": {"text": "", "toolCalls": []}}),
        piece(7, 6, "chunk: 'error'", at=3.1, took=0, **{"output.value": told}),
    )
    assert [c["status"] for c in run["llm_calls"]] == ["ok", "error"]
    assert [(c["name"], c["status"], c["agent"]) for c in run["tool_calls"]] == [("look", "ok", "planner")]
    assert (run["status"], "error" in run["boundaries"], "timeout" in run["boundaries"]) == ("error", True, timeout)


def test_the_ai_sdks_tools_stand_in_its_own_keys_where_openinference_tells_the_model_alone():
    offered = {"type": "function", "name": "look", "inputSchema": {"type": "object"}}
    for key, value in (("gen_ai.tool.definitions", [offered]), ("ai.prompt.tools", [_json(offered)])):
        told = {"openinference.span.kind": "LLM", "llm.invocation_parameters": _json({"model": "m"}), key: _json(value)}
        (run,) = runs(span(1, None, "chat m", attributes=told))
        assert (run["known_tools"], run["known_tools_source"]) == (["look"], "offered")


def test_what_a_delegate_did_inside_the_call_that_asked_for_it_comes_after_the_delegation():
    def sdk(id, parent, operation, of, at, took=1, **told):
        told = {"ai.operationId": f"ai.{operation}", "ai.telemetry.functionId": of} | told
        return span(id, parent, f"ai.{operation}", at=at, took=took, scope="ai", attributes=told)

    def asks(id, name):
        return {"ai.response.toolCalls": _json([{"toolCallId": id, "toolName": name, "input": {}}])}

    def call(id, name):
        return {"ai.toolCall.name": name, "ai.toolCall.id": id, "ai.toolCall.result": "y"}

    (run,) = runs(
        sdk(1, None, "generateText", "boss", 0, 30),
        sdk(2, 1, "generateText.doGenerate", "boss", 1, 20, **asks("c1", "ask_worker")),
        sdk(3, 2, "toolCall", "boss", 3, 15, **call("c1", "ask_worker")),
        sdk(4, 3, "generateText", "worker", 4, 12),
        sdk(5, 4, "generateText.doGenerate", "worker", 5, 5, **asks("c2", "look")),
        sdk(6, 5, "toolCall", "worker", 7, 2, **call("c2", "look")),
        sdk(7, 1, "generateText.doGenerate", "boss", 25),
    )
    assert run["path"] == [["boss->worker"], ["worker/look"]]


def _streamed(id, parent, name, at, took, answer, given):
    """A span of LangSmith's with what came of a stream; `answer` as (id, message)."""
    response, message = answer
    told = {"gen_ai.request.model": "m", "gen_ai.response.id": response, "gen_ai.usage.input_tokens": 10}
    told["gen_ai.prompt"] = _json({"model": "m", "messages": given})
    told["gen_ai.completion"] = _json({"id": response, "choices": [{"index": 0, "message": message}]})
    made = _langsmith(id, parent, "llm", at, took, **told)
    return made | {"name": name}


def test_what_came_of_a_stream_is_written_over_the_span_of_who_reads_it():
    question = {"role": "user", "content": "go"}
    function = {"name": "look", "arguments": '{"city":"Oslo"}'}
    asks = {"role": "assistant", "content": "", "tool_calls": [{"id": "call_a8Zx", "function": function}]}
    said = {"role": "assistant", "content": "Sorry."}
    failed = _langsmith(3, 1, "tool", 3, **{"gen_ai.tool.name": "look", "gen_ai.prompt": '{"city":"Oslo"}'})
    failed |= {"name": "look", "error": "no such city"}
    (run,) = runs(
        _streamed(1, None, "planner", 0, 9, ("chatcmpl-2b", said), [question]),
        _streamed(2, 1, "ChatOpenAI", 1, 1, ("chatcmpl-1a", asks), [question]),
        failed,
    )
    assert [(c["name"], c["status"], c["turn"]) for c in run["tool_calls"]] == [("look", "error", 0)]
    assert (run["status"], run["llm_calls"], run["boundaries"]) == ("ok", None, ["tool_failure"])
    (run,) = runs(
        _streamed(1, None, "planner", 0, 9, ("chatcmpl-3c", said), [question]),
        _streamed(2, 1, "ChatOpenAI", 1, 1, ("chatcmpl-1a", asks), [question]),
        _streamed(4, 1, "ChatOpenAI", 5, 1, ("chatcmpl-2b", said), [question]),
    )
    assert run["llm_calls"] is None
    (run,) = runs(_streamed(1, None, "planner", 0, 2, ("chatcmpl-1a", asks), [question]), failed)
    assert [(c["name"], c["turn"]) for c in run["tool_calls"]] == [("look", 0)]
    assert run["llm_calls"] is None
    assert "model calls share a span" in run["incomplete"]


def _laminar(id, parent, name, at, took=1, type="DEFAULT", **told):
    error = told.pop("error", None)
    made = span(id, parent, name, at=at, took=took, scope="lmnr.tracer", attributes={"lmnr.span.type": type} | told)
    return made | {"error": error}


def _made_of(name, *handoffs):
    return {"lmnr.span.input": f'{{"name":"{name}","handoffs":{_json(handoffs)},"tools":[],"output_type":"text"}}'}


def _responded(id, parent, at, *items):
    told = {"gen_ai.request.model": "m", "gen_ai.response.id": f"resp_{id}"}
    said = {"id": f"resp_{id}", "object": "response", "output": items}
    return _laminar(id, parent, "agents.response", at, type="LLM", **told | {"gen_ai.output.messages": _json(said)})


def _wants(name, given="{}"):
    return {"type": "function_call", "call_id": f"call_{name}7Qz", "name": name, "arguments": given}


def test_laminar_for_javascript_tells_an_agent_by_what_it_is_made_of_and_a_handoff_by_its_ends():
    over = {"openai.agents.handoff.from": "boss", "openai.agents.handoff.to": "worker"}
    text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Sunny."}]}
    (run,) = runs(
        _laminar(1, None, "Agent workflow", 0, 30),
        _laminar(2, 1, "boss", 1, 5, **_made_of("boss", "worker")),
        _laminar(3, 2, "agents.turn", 1, 4),
        _responded(4, 3, 2, _wants("transfer_to_worker")),
        _laminar(5, 3, "agents.handoff", 4, 0, "TOOL", **over),
        _laminar(6, 3, "worker", 6, 9, **_made_of("worker")),
        _laminar(7, 6, "agents.turn", 6, 8),
        _responded(8, 7, 7, text),
    )
    assert (run["tool_calls"], run["agents"]) == ([], ["boss", "worker"])
    assert [(d["from"], d["to"], d["form"], d["tool"]) for d in run["delegations"]] == [
        ("boss", "worker", "handoff", "transfer_to_worker")
    ]


@pytest.mark.parametrize("ran", [True, False])
def test_an_agent_that_failed_without_a_reason_after_its_tools_may_have_reached_its_limit(ran):
    given = {"lmnr.span.input": "{}", "lmnr.span.output": '"found"'}
    looked = [_laminar(4, 2, "look", 4, type="TOOL", **given)] if ran else []
    (run,) = runs(
        _laminar(1, None, "Agent workflow", 0, 30),
        _laminar(2, 1, "planner", 1, 9, error="Error in agent run", **_made_of("planner")),
        _responded(3, 2, 2, _wants("look")),
        *looked,
    )
    assert run["status"] == "error"
    assert ("error" in run["boundaries"]) is not ran
    assert {"error", "max_steps"} <= {*run["boundaries"], *run["boundaries_unknown"]}
