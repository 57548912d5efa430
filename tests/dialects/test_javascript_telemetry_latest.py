"""What instrumentations of the newest kits for JavaScript leave out of an answer, and where else it is told."""

import json

import pytest

from tests.runs.requests import runs, span

pytestmark = pytest.mark.full

_SCOPE = "@traceloop/instrumentation-langchain"


def _calls(*asked):
    return [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for id, name, given in asked
    ]


def _step(id, at, took, text, *asked, used=(9, 2)):
    """A step of LangChain 1.5 for JavaScript under Traceloop 0.27, and the model call that it made, beside it below the
    span of the program's."""
    tokens = {"promptTokens": used[0], "completionTokens": used[1], "totalTokens": sum(used)}
    kwargs = {"content": text, "additional_kwargs": {"tool_calls": _calls(*asked)}}
    kwargs |= {"response_metadata": {"tokenUsage": tokens}, "name": "planner", "type": "ai"}
    message = {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "AIMessage"], "kwargs": kwargs}
    put = {"output": [{"lg_name": "Command", "update": {"messages": [message]}, "goto": []}]}
    frame = {"traceloop.span.kind": "workflow", "gen_ai.operation.name": "workflow"}
    frame |= {"traceloop.entity.output": json.dumps(put, separators=(",", ":"))}
    why = "tool_call" if asked else "stop"
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.finish_reasons": [why]}
    told |= {"gen_ai.input.messages": [_said("user", "go")], "gen_ai.usage.input_tokens": used[0]}
    told |= {"gen_ai.output.messages": [_said("assistant", text) | {"finish_reason": why}]}
    told |= {"gen_ai.usage.output_tokens": used[1]}
    return [
        span(id, 1, "workflow RunnableSequence", 1, at, took, status=1, scope=_SCOPE, attributes=frame),
        span(id + 1, 1, "chat m", 1, at + 0.1, took - 0.2, status=1, scope=_SCOPE, attributes=told),
    ]


def _said(role, text):
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _threw(id, at, given):
    thrown = [("exception", {"exception.type": "Error", "exception.message": "hotel is full"})]
    told = {"gen_ai.operation.name": "execute_tool", "traceloop.span.kind": "task"}
    told |= {"traceloop.entity.name": "DynamicStructuredTool", "traceloop.entity.input": {"args": [json.dumps(given)]}}
    more = {"error": "hotel is full", "events": thrown, "scope": _SCOPE, "attributes": told}
    return span(id, 1, "execute_tool DynamicStructuredTool", 1, at, 0.1, **more)


_ROOT = span(1, None, "POST /chat", took=9, scope="app")


def _told(run):
    return [(c["name"], c["status"], c["arguments"], c["call_id"], c["turn"]) for c in run["tool_calls"]]


def test_what_an_answer_leaves_out_of_what_it_asks_for_stands_in_the_step_beside_it():
    """So a tool that threw has the name that was asked for, and one that nobody ran is told at all."""
    booked, looked = {"city": "Bonn"}, {"city": "Oslo"}
    (run,) = runs(
        _ROOT,
        *_step(2, 1, 1, "Both.", ("call_Bx7aaQ", "book", booked), ("call_Lx7bbQ", "look", looked)),
        _threw(4, 3, booked),
        _threw(5, 3.2, booked),
        *_step(6, 4, 1, "Done."),
    )
    first, second = _told(run)
    assert first == ("book", "error", booked, "call_Bx7aaQ", 0)
    assert (second[0], second[2:]) == ("look", (looked, "call_Lx7bbQ", 0))
    assert second[1] in ("requested", "unknown")


def test_of_steps_at_one_time_the_one_that_counts_the_same_tokens_tells_of_a_call():
    one, two = {"city": "Bonn"}, {"city": "Oslo"}
    (run,) = runs(
        _ROOT,
        *_step(2, 1, 1, "", ("call_Bx7aaQ", "book", one), used=(11, 3)),
        *_step(4, 0.95, 1.3, "", ("call_Lx7bbQ", "look", two), used=(12, 4)),
    )
    assert sorted((t[0], t[3], t[4]) for t in _told(run)) == [("book", "call_Bx7aaQ", 1), ("look", "call_Lx7bbQ", 0)]


def _body(at, prompt, completion, *asked, text=None):
    message = {"role": "assistant", "content": text, **({"tool_calls": _calls(*asked)} if asked else {})}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if asked else "stop"}
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    told = {"id": f"chatcmpl-6QIjoexy{at}", "model": "m-2026-01-01", "choices": [choice], "usage": usage}
    return json.dumps(told, separators=(",", ":"))


def test_what_one_step_of_mastras_used_stands_in_the_body_that_its_bridge_keeps():
    """Mastra 1.71 by its bridge to OpenTelemetry 1.5, which counts tokens of all steps together."""
    given = {"city": "Oslo"}
    generation = {"mastra.span.type": "model_generation", "gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    generation |= {"gen_ai.usage.input_tokens": 205, "gen_ai.usage.output_tokens": 23}
    generation |= {"gen_ai.input.messages": [_said("user", "go")], "gen_ai.output.messages": [_said("assistant", "21")]}
    generation |= {"gen_ai.response.finish_reasons": '["stop"]'}

    def step(id, at, body, text, *asked):
        called = [{"toolCallId": i, "toolName": n, "args": a} for i, n, a in asked]
        told = {"mastra.span.type": "model_step", "gen_ai.operation.name": "model_step"}
        told |= {"mastra.model_step.input": json.dumps([{"role": "user", "content": "go"}])}
        told |= {"mastra.model_step.output": json.dumps({"text": text, "toolCalls": called})}
        told |= {"mastra.metadata.body": body, "mastra.metadata.modelMetadata": '{"modelId":"m"}'}
        return span(id, 2, "model_step planner", at=at, took=2, scope="@mastra/otel-bridge", attributes=told)

    agent = {"mastra.span.type": "agent_run", "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner"}
    agent |= {"mastra.agent_run.input": "go", "mastra.agent_run.output": '{"text":"21","files":[]}'}
    ran = {"mastra.span.type": "tool_call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    ran |= {"gen_ai.tool.call.id": "call_d7MMHmKy", "gen_ai.tool.call.arguments": given}
    (run,) = runs(
        span(1, None, "invoke_agent planner", took=9, scope="@mastra/otel-bridge", attributes=agent),
        span(2, 1, "chat m", at=1, took=7, scope="@mastra/otel-bridge", attributes=generation),
        step(3, 1, _body(1, 101, 11, ("call_d7MMHmKy", "look", given)), "", ("call_d7MMHmKy", "look", given)),
        span(4, 3, "execute_tool look", at=2, took=0.5, scope="@mastra/otel-bridge", attributes=ran),
        step(5, 4, _body(2, 104, 12, text="21"), "21"),
    )
    told = [(c["input_tokens"], c["output_tokens"], c["response_model"]) for c in run["llm_calls"]]
    assert told == [(101, 11, "m-2026-01-01"), (104, 12, "m-2026-01-01")]
    assert [(c["name"], c["status"], c["turn"]) for c in run["tool_calls"]] == [("look", "ok", 0)]


def test_a_span_that_is_called_a_models_and_tells_nothing_else_is_none():
    """OpenInference's converter of GenAI spans 0.3 calls all spans a model's that it does not know: a program's own,
    requests over HTTP, and steps of the AI SDK 7."""
    bare = {"openinference.span.kind": "LLM"}
    asked = json.dumps([_said("user", "go")])
    said = json.dumps([_said("assistant", "Done.")])
    told = bare | {"llm.model_name": "m", "input.value": asked, "output.value": said, "llm.token_count.prompt": 9}
    (run,) = runs(
        span(1, None, "POST /chat", took=9, scope="app", attributes=bare),
        span(2, 1, "step 1", at=1, took=7, scope="gen_ai", attributes=bare),
        span(3, 2, "chat m", at=2, took=3, scope="gen_ai", attributes=told),
        span(4, 3, "POST", at=3, scope="@opentelemetry/instrumentation-http", attributes=bare),
        span(5, None, "GET /health", trace=2, scope="app", attributes=bare),
    )
    assert (run["input"], run["output"], [c["input_tokens"] for c in run["llm_calls"]]) == ("go", "Done.", [9])
    by_hand = bare | {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "go"}
    (run,) = runs(span(1, None, "ask", scope="app", attributes=by_hand))
    assert (run["input"], len(run["llm_calls"])) == ("go", 1)
