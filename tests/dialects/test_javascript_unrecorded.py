"""What kits and instrumentations for JavaScript write that no capture of theirs holds."""

import json

import pytest

from tests.dialects.test_unrecorded_kits import called_with, jsons, of_kind, words
from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full


def test_a_call_that_the_ai_sdk_was_denied_did_not_run():
    denied = {"type": "tool_call_response", "id": "c2", "response": {"denied": True, "reason": "not today"}}
    asked = {"type": "tool_call", "id": "c2", "name": "remove", "arguments": {"path": "x"}}
    history = [words("user", "clean up"), {"role": "assistant", "parts": [asked]}, {"role": "tool", "parts": [denied]}]
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {}), ("c2", "remove", {"path": "x"})], "clean up", at=1),
        tool(3, 1, "look", "c1", "y", at=3),
        chat(4, 1, "not done", history, at=5),
    )
    assert called_with(run) == [("look", "a", "ok", "c1"), ("remove", "a", "requested", "c2")]


def test_a_loop_of_the_ai_sdk_in_a_tool_is_no_agent_unless_it_has_a_name():
    def loop(scope, told):
        (run,) = runs(
            agent(1, "a", took=20),
            chat(2, 1, [("c1", "sum_up", {"of": "x"})], "go", at=1),
            tool(3, 1, "sum_up", "c1", "y", at=3, took=5),
            span(4, 3, "ai.generateText", at=3.5, took=4, scope=scope, attributes=told),
            chat(5, 4, "y", "sum up x", at=4),
            chat(6, 1, "done", at=10),
        )
        return [c["name"] for c in run["tool_calls"]], [d["to"] for d in run["delegations"] or ()]

    own = {"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "m"}
    assert loop("gen_ai", own) == (["sum_up"], [])
    assert loop("gen_ai", own | {"gen_ai.agent.name": "helper"}) == ([], ["helper"])
    assert loop("ai", of_kind("AGENT", **{"ai.operationId": "ai.generateText"})) == (["sum_up"], [])


def test_what_the_ai_sdk_wraps_around_a_result_tells_an_error():
    call = {"id": "c1", "function.name": "look", "function.arguments": "{}"}
    asked = {f"llm.output_messages.0.message.tool_calls.0.tool_call.{k}": v for k, v in call.items()}
    answer = {"role": "tool", "tool_call_id": "c1", "content": jsons({"type": "error-text", "value": "no such city"})}
    told = {f"llm.input_messages.1.message.{k}": v for k, v in answer.items()}
    told["llm.input_messages.0.message.role"] = "user"
    (run,) = runs(
        agent(1, "a", took=9),
        span(2, 1, "doGenerate", at=1, attributes=of_kind("LLM", **asked)),
        span(3, 1, "doGenerate", at=3, attributes=of_kind("LLM", **told)),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("look", "error", "no such city")]


def test_voltagent_stamps_the_agent_on_every_span_and_its_kind_on_some():
    def volt(id, parent, name, kind, at, took=1, **told):
        told = {"entity.type": "agent", "entity.name": "planner"} | ({"span.type": kind} if kind else {}) | told
        return span(id, parent, name, at=at, took=took, attributes=told)

    model = {"llm.model": "m", "llm.usage.prompt_tokens": 60}
    writer = {"subagent.name": "writer"}
    both = {
        "tool.name": "delegate_task",
        "tool.call.id": "c2",
        "input": jsons({"targetAgents": ["writer", "editor"]}),
    }
    (run,) = runs(
        volt(1, None, "generateText", None, 0, 20, input="weather?", output="done"),
        volt(2, 1, "llm:generateText", "llm", 1, 18, **model),
        volt(3, 1, "tool.execution:w", "tool", 3, **{"tool.name": "w", "tool.call.id": "c1", "input": jsons({"x": 1})}),
        volt(4, 1, "tool.execution:delegate_task", "tool", 5, 7, **both),
        volt(5, 4, "subagent:writer", None, 5, 4, **writer),
        volt(6, 5, "llm:generateText", "llm", 6, **writer, **model),
        volt(7, 4, "subagent:editor", None, 5, 6, **{"subagent.name": "editor"}),
        volt(8, 1, "memory.write", "memory", 15),
    )
    assert [(c["name"], c["agent"], c["arguments"]) for c in run["tool_calls"]] == [("w", "planner", {"x": 1})]
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [
        ("planner", "editor", "delegate_task"),
        ("planner", "writer", "delegate_task"),
    ]
    assert (run["input"], run["output"], run["llm_calls"]) == ("weather?", "done", None)


def test_traceloop_for_javascript_keeps_parts_of_messages_as_text():
    def step(id, name, at, **told):
        return span(id, 1, name, at=at, scope="ai", attributes={"ai.operationId": name} | told)

    calls = [{"type": "tool-call", "toolCallId": i, "toolName": n, "args": {}} for i, n in (("c1", "a"), ("c2", "b"))]
    given = [
        {"type": "tool-result", "toolCallId": "c1", "toolName": "a", "result": "x"},
        {"type": "tool-result", "toolCallId": "c2", "toolName": "b", "result": "y", "isError": True},
    ]
    history = [words("user", "go"), words("assistant", jsons(calls)), words("tool", jsons(given))]
    asked = [{"type": "tool_call", "tool_call": {"name": c["toolName"], "arguments": "{}"}} for c in calls]
    own = {"traceloop.entity.input": jsons({"x": 1}), "traceloop.entity.output": jsons("x")}
    (run,) = runs(
        agent(1, "bot", took=20),
        step(2, "ai.generateText.doGenerate", 1, **{"gen_ai.output.messages": [{"role": "assistant", "parts": asked}]}),
        step(3, "ai.toolCall", 3, **{"ai.toolCall.name": "a", "ai.toolCall.id": "c1"}, **own),
        step(4, "ai.toolCall", 3, **{"ai.toolCall.name": "b", "ai.toolCall.id": "c2"}),
        step(5, "ai.generateText.doGenerate", 6, **{"gen_ai.input.messages": history}),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("a", "ok", "x"), ("b", "error", "y")]


def test_mastras_steps_hold_their_tools_and_its_generation_the_tokens():
    def step(id, parent, kind, at, took, operation=None, **told):
        told = {"mastra.span.type": kind, "gen_ai.operation.name": operation or kind} | told
        return span(id, parent, kind, at=at, took=took, attributes=told)

    def generation(*steps):
        sums = {"gen_ai.usage.input_tokens": 30, "gen_ai.request.model": "m"}
        return runs(
            step(1, None, "agent_run", 0, 30, "invoke_agent", **{"gen_ai.agent.name": "a"}),
            step(2, 1, "model_generation", 1, 28, "chat", **sums),
            *steps,
        )

    asked = {"text": "", "toolCalls": [{"toolCallId": "c1", "toolName": "look", "args": {"x": 1}}]}
    (run,) = generation(
        step(3, 2, "model_step", 2, 9, **{"mastra.model_step.output": jsons(asked)}),
        step(4, 3, "tool_call", 4, 2, "execute_tool", **{"gen_ai.tool.name": "look"}),
        step(5, 2, "model_step", 12, 3, **{"mastra.model_step.output": jsons({"text": "done", "toolCalls": []})}),
    )
    assert called_with(run) == [("look", "a", "ok", "c1")]
    assert [c["input_tokens"] for c in run["llm_calls"]] == [None, None]
    assert run["output"] == "done"
    (run,) = generation(step(3, 2, "model_step", 2, 9))
    assert [(c["request_model"], c["input_tokens"]) for c in run["llm_calls"]] == [("m", 30)]


def test_openai_agents_for_javascript_name_tools_that_nobody_has():
    over = {"tool.name": "handoff_to_writer", "input.value": jsons({"from_agent": "triage", "to_agent": "writer"})}
    (run,) = runs(
        span(1, None, "Agent workflow", took=30, attributes=of_kind("AGENT")),
        span(2, 1, "triage", at=1, took=9, attributes=of_kind("AGENT", **{"graph.node.id": "triage"})),
        span(3, 2, "mcp_tools", at=1, attributes=of_kind("TOOL", **{"output.value": jsons(["look"])})),
        chat(4, 2, [("c1", "transfer_to_writer", {})], "go", at=3),
        span(5, 2, "handoff to writer", at=5, attributes=of_kind("TOOL", **over)),
        span(6, 1, "writer", at=11, took=9, attributes=of_kind("AGENT", **{"graph.node.id": "writer"})),
        chat(7, 6, "done", "go", at=12),
    )
    assert run["tool_calls"] == []
    assert [(d["from"], d["to"], d["tool"], d["status"]) for d in run["delegations"]] == [
        ("triage", "writer", "transfer_to_writer", "ok")
    ]


_TRACELOOP_JS = "@traceloop/instrumentation-"


def _responses(id, at, items, answer):
    said = {"role": "assistant", "finish_reason": "stop", "parts": [{"type": "text", "content": answer}]}
    told = {
        "gen_ai.output.messages": jsons([said]),
        "gen_ai.input.messages": jsons([words("user", jsons(items))]),
    }
    told |= {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 3}
    return span(id, 1, "chat m", at=at, kind=3, scope=f"{_TRACELOOP_JS}openai", attributes=told)


def test_the_items_that_traceloop_for_javascript_tells_as_a_text_are_messages():
    asked = [{"role": "user", "content": "go"}]
    calls = [
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"city":"Oslo"}'},
        {"type": "function_call", "call_id": "c2", "name": "book", "arguments": '{"city":"Rome"}'},
    ]
    back = [{"type": "function_call_output", "call_id": c["call_id"], "output": "fine"} for c in calls]
    (run,) = runs(
        span(1, None, "travel.workflow", took=9, attributes={"traceloop.span.kind": "workflow"}),
        _responses(2, 1, asked, ""),
        _responses(3, 3, [*asked, *calls, *back], "done"),
    )
    assert [(c["name"], c["arguments"]["city"], c["status"], c["turn"]) for c in run["tool_calls"]] == [
        ("look", "Oslo", "ok", 0),
        ("book", "Rome", "ok", 0),
    ]
    assert (run["input"], run["output"]) == ("go", "done")


def test_a_model_that_answered_and_whose_text_is_empty_asked_for_what_is_not_told():
    (run,) = runs(
        span(1, None, "travel.workflow", took=9, attributes={"traceloop.span.kind": "workflow"}),
        _responses(2, 1, [{"role": "user", "content": "go"}], ""),
    )
    assert (run["tool_calls"], run["output"]) == (None, None)


def test_a_tool_of_langchain_js_has_the_name_that_its_message_tells_not_its_class():
    def ran(id, at, given, output=None, **more):
        told = {"gen_ai.operation.name": "execute_tool", "traceloop.span.kind": "task"}
        told |= {"traceloop.entity.name": "DynamicStructuredTool", "traceloop.entity.input": jsons({"args": [given]})}
        if output is not None:
            kwargs = {"status": "success", "content": output, "tool_call_id": "c1", "name": "look"}
            message = {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "ToolMessage"]}
            told["traceloop.entity.output"] = json.dumps(message | {"kwargs": kwargs}, separators=(",", ":"))
        scope = f"{_TRACELOOP_JS}langchain"
        return span(id, 1, "execute_tool DynamicStructuredTool", at=at, scope=scope, attributes=told, **more)

    (run,) = runs(
        span(1, None, "app", took=20),
        chat(2, 1, "", "go", at=1),
        ran(3, 3, '{"city":"Oslo"}', "cold"),
        chat(4, 1, "", "go", at=5),
        ran(5, 7, '{"x":1}', error="boom"),
    )
    assert [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("look", {"city": "Oslo"}, "ok", "cold"),
        (None, {"x": 1}, "error", None),
    ]


def test_a_step_of_the_ai_sdks_loop_is_no_call_whatever_openinference_calls_it():
    def seen(id, parent, name, operation, kind, at, error=None, **told):
        told = {"gen_ai.operation.name": operation, "openinference.span.kind": kind} | told
        return span(id, parent, name, at=at, scope="gen_ai", attributes=told, error=error)

    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}]}
    tool_keys = {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"}
    (run,) = runs(
        span(1, None, "app", took=9),
        seen(2, 1, "step 1", "agent_step", "LLM", 1, error="boom"),
        seen(3, 2, "chat m", "chat", "LLM", 1, **{"gen_ai.output.messages": jsons([asked])}),
        seen(4, 2, "execute_tool look", "execute_tool", "TOOL", 3, error="boom", **tool_keys),
    )
    assert [c["status"] for c in run["llm_calls"]] == ["ok"]
    assert called_with(run) == [("look", None, "error", "c1")]


def test_spans_of_whole_milliseconds_that_begin_at_once_are_in_the_order_of_what_was_said():
    first, second = ("c1", "look", {"city": "Oslo"}), ("c2", "look", {"city": "Rome"})
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}]}
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "3"}]}
    (run,) = runs(
        span(1, None, "app", took=9),
        chat(3, 1, [second], [words("user", "go"), asked, back], took=0.00008),
        tool(4, 1, "look", "c1", "3", took=0.00004),
        chat(5, 1, [first], "go", took=0.0001),
        tool(6, 1, "look", "c2", "9", at=0.001),
    )
    assert [(c["call_id"], c["turn"]) for c in run["tool_calls"]] == [("c1", 0), ("c2", 1)]


def test_a_tool_that_begins_in_the_millisecond_in_which_a_model_ended_was_asked_for_by_that_one():
    (run,) = runs(
        span(1, None, "app", took=9),
        chat(2, 1, took=0.5),
        tool(3, 1, "look", took=0.001, at=1),
        chat(4, 1, at=2, took=0.0056),
        tool(5, 1, "book", at=2.005, took=0.001),
    )
    assert [(c["name"], c["turn"]) for c in run["tool_calls"]] == [("look", 0), ("book", 1)]
    (run,) = runs(span(1, None, "app", took=9), chat(2, 1, took=0.0001), tool(3, 1, "look", took=0.0001))
    assert [c["turn"] for c in run["tool_calls"]] == [None]  # either may have been first


def test_an_object_that_the_ai_sdk_was_answered_is_a_text():
    told = {"ai.response.object": '{"city":"O\\"slo"}', "ai.prompt": jsons({"prompt": "where?"})}
    (run,) = runs(
        span(1, None, "ai.generateObject", took=9, attributes=told | {"ai.operationId": "ai.generateObject"}),
        span(2, 1, "ai.generateObject.doGenerate", attributes={"ai.operationId": "ai.generateObject.doGenerate"}),
    )
    assert (run["input"], run["output"]) == ("where?", '{"city":"O\\"slo"}')


@pytest.mark.parametrize("text", ['{"city":"O\\"slo"}', '[\n  "a"\n]', "{not json"])
def test_a_text_of_the_ai_sdks_that_reads_like_an_object_is_the_answer(text):
    """generateText with an output after a schema (AI SDK 6): no message, and no state of a graph."""
    told = {"ai.response.text": text, "ai.prompt": jsons({"prompt": "where?"}), "ai.response.finishReason": "stop"}
    (run,) = runs(
        span(1, None, "ai.generateText", took=9, attributes=told | {"ai.operationId": "ai.generateText"}),
        span(2, 1, "x", attributes=told | {"ai.operationId": "ai.generateText.doGenerate"}),
    )
    assert (run["input"], run["output"], run["boundaries_unknown"]) == ("where?", text, [])


def test_an_answer_after_a_schema_of_genkits_is_its_text():
    answer = {"message": {"role": "model", "content": [{"data": {"city": "Oslo"}}]}, "finishReason": "stop"}
    asked = {"messages": [{"role": "user", "content": [{"text": "where?"}]}]}
    told = {"genkit:input": jsons(asked), "genkit:output": jsons(answer)}
    (run,) = runs(
        span(1, None, "generate", took=9, attributes=told | {"genkit:type": "util"}),
        span(2, 1, "m", attributes=told | {"genkit:type": "action", "genkit:metadata:subtype": "model"}),
    )
    assert (run["input"], json.loads(run["output"])) == ("where?", {"city": "Oslo"})
