"""Instrumentations of other languages, by spans written as their code writes them: .NET, Java, Go and Rust."""

import base64
import json

import pytest

from tests.runs.requests import agent, runs, span


def _json(value):
    return json.dumps(value)


def _called(run):
    return [(c["name"], c["agent"], c["status"], c["call_id"]) for c in run["tool_calls"]]


def _given(run):
    return [(c["name"], c["arguments"], c["result"]) for c in run["tool_calls"]]


def _function(call_id, name, arguments):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _kernel(role, content, calls=()):
    """An event of Semantic Kernel's: the whole message is its content."""
    said = {"role": role, "content": content} | ({"tool_calls": list(calls)} if calls else {})
    if role == "assistant":
        said = {"index": 0, "message": said, "tool_calls": list(calls), "finish_reason": "Stop"}
    name = "gen_ai.choice" if role == "assistant" else f"gen_ai.{role}.message"
    return name, {"gen_ai.event.content": _json(said), "gen_ai.system": "openai"}


def _completion(id, parent, events=(), **more):
    told = {"gen_ai.operation.name": "chat.completions", "gen_ai.request.model": "m"} | more.pop("told", {})
    scope = "Microsoft.SemanticKernel.Diagnostics"
    return span(id, parent, "chat.completions m", kind=3, attributes=told, scope=scope, events=events, **more)


@pytest.mark.parametrize("name", ["InvokePromptAsync_0123456789abcdef0123456789abcdef", "Plan"])
def test_semantic_kernel_for_net_tells_functions_by_names_and_messages_by_events(name):
    calls = [_function("c1", "weather", {"city": "Oslo"}), _function("c2", "time", {})]
    asked = _kernel("user", "weather?")
    functions = {"scope": "Microsoft.SemanticKernel"}
    (run,) = runs(
        span(1, None, name, took=20, **functions),
        _completion(2, 1, [asked, _kernel("assistant", None, calls)], at=1),
        span(3, 1, "weather", at=3, **functions),
        span(4, 1, "time", at=5, error="no clock", **functions),
        _completion(5, 1, [asked, _kernel("tool", "3"), _kernel("assistant", "It is 3.")], at=7),
    )
    assert _called(run) == [("weather", None, "ok", "c1"), ("time", None, "error", "c2")]
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("weather?", "It is 3.", 2)
    assert run["delegations"] is None


def test_a_count_below_zero_and_an_id_that_is_none_are_unknown():
    old = {"gen_ai.response.prompt_tokens": 5, "gen_ai.response.completion_tokens": -1, "gen_ai.response.id": "N/A"}
    other = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.id": "N/A"}
    finish = {"gen_ai.response.finish_reason": '["N/A"]'}
    (run,) = runs(
        agent(1, "a", took=9),
        _completion(2, 1, at=1, told=old | finish),
        span(3, 1, "chat m", at=3, attributes=other, scope="another"),
    )
    assert [(c["input_tokens"], c["output_tokens"], c["finish_reason"]) for c in run["llm_calls"]] == [
        (5, None, None),
        (None, None, None),
    ]


def test_early_adk_for_java_tells_a_call_and_its_result_by_two_spans():
    asked = {"role": "user", "parts": [{"text": "where is x?"}]}
    call = {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "look", "args": {"for": "x"}}}]}
    brought = {"functionResponse": {"id": "c1", "name": "look", "response": {"result": "here"}}}
    used = {"promptTokenCount": 11, "candidatesTokenCount": 4}

    def step(id, parent, name, **more):
        return span(id, parent, name, scope="gcp.vertex.agent", **more)

    def model(id, at, contents, answer):
        request = {"model": "m", "contents": contents}
        response = {"content": answer, "usageMetadata": used, "finishReason": "STOP"}
        told = {"adk.llm_request": _json(request), "adk.llm_response": _json(response), "adk.session_id": "s"}
        return step(id, 2, "call_llm", at=at, attributes=told | {"gen_ai.request.model": "m"})

    (run,) = runs(
        step(1, None, "invocation", took=20),
        step(2, 1, "agent_run [finder]", took=19),
        model(3, 1, [asked], call),
        step(4, 2, "tool_call [look]", at=3, attributes={"adk.tool_call_args": _json({"for": "x"})}),
        step(5, 2, "tool_response [look]", at=4, attributes={"adk.tool_response": _json({"id": "v"})}),
        model(
            6, 6, [asked, call, {"role": "user", "parts": [brought]}], {"role": "model", "parts": [{"text": "here"}]}
        ),
    )
    assert _called(run) == [("look", "finder", "ok", "c1")]
    assert _given(run) == [("look", {"for": "x"}, {"result": "here"})]
    assert [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [(11, 4)] * 2
    assert (run["conversation_id"], run["output"]) == ("s", "here")


def test_go_writes_bytes_in_base64_and_trpc_a_tools_result_as_an_answer():
    given = {"city": "Oslo"}
    call = _function("c1", "weather", base64.b64encode(_json(given).encode()).decode())
    answer = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "content": _json({"degrees": 3}), "tool_id": "c1", "tool_name": "weather"}
    asked = {"role": "user", "content": "weather?"}

    def chat(id, at, messages, choice, finish):
        told = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.input.messages": _json(messages),
            "gen_ai.output.messages": _json([{"index": 0, "message": choice, "finish_reason": finish}]),
        }
        return span(id, 1, "chat m", at=at, attributes=told, scope="trpc.agent.go")

    ran = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "weather",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.arguments": _json(given),
        "gen_ai.tool.call.result": _json(
            {"id": "r", "object": "tool.response", "choices": [{"index": 0, "message": result}]}
        ),
    }
    tools = [], [span(3, 1, "execute_tool weather", at=3, attributes=ran, scope="trpc.agent.go")]
    for executed in tools:
        (run,) = runs(
            agent(1, "a", took=9),
            chat(2, 1, [asked], answer, "tool_calls"),
            *executed,
            chat(4, 5, [asked, answer, result], {"role": "assistant", "content": "3"}, "stop"),
        )
        assert _given(run) == [("weather", given, {"degrees": 3})]
        assert _called(run) == [("weather", "a", "ok", "c1")]


def _eino(id, parent, kind, name, at, took=1, **told):
    told = {"gen_ai.span.kind": kind, "gen_ai.system": "eino"} | told.get("told", {})
    return span(id, parent, name, kind=3, at=at, took=took, attributes=told, scope="eino-ext/callbacks/apmplus")


def test_eino_tells_of_tools_as_if_they_were_models():
    call = _function("c1", "weather", _json({"city": "Oslo"}))
    answer = {
        "role": "assistant",
        "content": "",
        "tool_calls": [call],
        "response_meta": {"finish_reason": "tool_calls"},
    }
    asked = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "weather?"}
    said = {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "It is 3."}
    ran = {"gen_ai.prompt.0.content": _json(_json({"city": "Oslo"})), "gen_ai.completion.0.content": _json("3")}
    (run,) = runs(
        _eino(1, None, "workflow", "react", 0, 20),
        _eino(2, 1, "chatmodel", "ChatModel", 1, told=asked | {"gen_ai.completion.0.content": _json([answer])}),
        _eino(3, 1, "toolsnode", "Tools", 3, 2, told={"gen_ai.prompt.0.content": _json(answer)}),
        _eino(4, 3, "tool", "weather", 3.5, told=ran),
        _eino(5, 1, "chatmodel", "ChatModel", 7, told=asked | said),
    )
    assert _called(run) == [("weather", None, "ok", "c1")]
    assert _given(run) == [("weather", {"city": "Oslo"}, "3")]
    assert [c["finish_reason"] for c in run["llm_calls"]] == ["tool_calls", None]
    assert run["output"] == "It is 3."


def test_einos_node_of_tools_is_none_of_them_where_its_first_span_never_came():
    def step(id, parent, name, operation, at):
        return span(id, parent, name, at=at, attributes={"gen_ai.operation.name": operation}, scope="eino-ext/otel")

    (run,) = runs(
        step(3, 2, "ChatModel", "chat", 1),
        step(5, 4, "weather", "execute_tool", 3),
        step(6, 4, "Tools", "execute_tool", 4),
    )
    assert [c["name"] for c in run["tool_calls"]] == ["weather"]
