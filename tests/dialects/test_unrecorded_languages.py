"""Instrumentations of other languages, by spans written as their code writes them: .NET, Java, Go and Rust."""

import base64
import json

import pytest

from tests.runs.requests import agent, chat, runs, span

pytestmark = pytest.mark.full


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

    def model(id, at, messages, choice, finish):
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
            model(2, 1, [asked], answer, "tool_calls"),
            *executed,
            model(4, 5, [asked, answer, result], {"role": "assistant", "content": "3"}, "stop"),
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


def _said(role, *parts, **more):
    return {"role": role, "parts": list(parts)} | more


def test_a_handoff_by_number_goes_to_the_agent_that_works_next():
    over = {"type": "tool_call", "id": "h1", "name": "handoff_to_2", "arguments": {}}
    (run,) = runs(
        span(1, None, "workflow_invoke", took=20),
        agent(2, "triage", 1, at=1, took=4),
        chat(3, 2, [("h1", over["name"], {})], "6 x 7?", at=2),
        agent(4, "math", 1, at=6, took=4),
        chat(5, 4, "42", "6 x 7?", at=7),
    )
    assert run["tool_calls"] == []
    assert [(d["from"], d["to"], d["tool"], d["status"]) for d in run["delegations"]] == [
        ("triage", "math", "handoff_to_2", "ok")
    ]


def test_what_a_provider_runs_is_told_in_an_object_of_its_own():
    ran = {"type": "server_tool_call", "id": "s1", "name": "code_interpreter"}
    brought = {"type": "server_tool_call_response", "id": "s1"}
    asked = {"type": "server_tool_call", "id": "s2", "name": "delete"}
    answer = _said(
        "assistant",
        ran | {"server_tool_call": {"type": "code_interpreter", "code": "1 + 1"}},
        brought
        | {"server_tool_call_response": {"type": "code_interpreter", "output": [{"type": "text", "text": "2"}]}},
        asked | {"server_tool_call": {"type": "mcp_approval_request", "arguments": {"path": "x"}, "server_name": "s"}},
    )
    told = {"gen_ai.output.messages": _json([answer])}
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, None, "1 + 1?", at=1, attributes=told))
    assert _given(run) == [("code_interpreter", {"code": "1 + 1"}, "2"), ("delete", {"path": "x"}, None)]
    assert [c["status"] for c in run["tool_calls"]] == ["ok", "unknown"]


def test_embabel_tells_of_every_model_call_three_times():
    def step(id, parent, name, operation, at, took=1, told=None, **more):
        told = {"gen_ai.operation.name": operation} | (told or {})
        return span(id, parent, name, at=at, took=took, attributes=told, scope="org.springframework.boot", **more)

    model = {"gen_ai.request.model": "m"}
    used = model | {"gen_ai.usage.input_tokens": "5", "gen_ai.usage.output_tokens": "2"}
    part = {"embabel.agent.name": "finder", "embabel.interaction.id": "i"}
    tool = {"gen_ai.tool.name": "look", "embabel.tool.name": "look", "gen_ai.tool.call.arguments": _json({"for": "x"})}
    failed = {"embabel.tool.status": "error", "embabel.tool.error.type": "IOException"}
    (run,) = runs(
        step(1, None, "agent finder", "agent", 0, 30, {"embabel.agent.name": "finder", "gen_ai.conversation.id": "s"}),
        step(2, 1, "embabel.planning", "planning", 1),
        step(3, 1, "action find", "execute_action", 2, 20, {"embabel.agent.name": "finder"}),
        step(4, 3, "chat m", "chat", 3, 15, model | part),
        step(5, 4, "tool-loop", "tool_loop", 3, 15, part),
        step(6, 5, "chat m", "chat", 4, told=used),
        step(7, 5, "embabel.llm.invocation", "chat", 5.1, 0, used | {"embabel.interaction.id": "i"}),
        step(8, 5, "embabel.tool", "execute_tool", 7, 0, tool | failed, error="no disk"),
        step(9, 5, "chat m", "chat", 9, told=used),
        step(10, 5, "embabel.llm.invocation", "chat", 10.1, 0, used | {"embabel.interaction.id": "i"}),
    )
    assert (run["agents"], len(run["llm_calls"])) == (["finder"], 2)
    assert _called(run) == [("look", "finder", "error", None)]
    assert [c["error_type"] for c in run["tool_calls"]] == ["IOException"]


def test_prompt_flow_says_what_a_span_is_where_it_names_itself():
    def step(id, parent, name, kind, at, took=1, **told):
        told = {"framework": "promptflow", "span_type": kind} | told
        return span(id, parent, name, at=at, took=took, status=1, attributes=told, scope="promptflow")

    call = _function("c1", "weather", _json({"city": "Oslo"}))
    asked = [{"role": "user", "content": "weather?"}]
    answer = {"role": "assistant", "content": None, "tool_calls": [call]}
    later = [*asked, answer, {"role": "tool", "tool_call_id": "c1", "content": "3"}]

    def model(id, at, messages, said):
        inputs = {"model": "m", "messages": messages, "tools": [{"type": "function", "function": {"name": "weather"}}]}
        told = {"inputs": _json(inputs), "llm.generated_message": _json(said), "llm.response.model": "m-1"}
        used = {"llm.usage.prompt_tokens": 9, "llm.usage.completion_tokens": 3}
        return step(id, 2, "openai_chat", "LLM", at, **told, **used)

    (run,) = runs(
        step(1, None, "flow", "Flow", 0, 20, inputs=_json({"question": "weather?"}), output=_json({"answer": "3"})),
        step(2, 1, "talk", "Function", 1, 15),
        model(3, 2, asked, answer),
        step(4, 2, "weather", "Function", 4),
        model(5, 6, later, {"role": "assistant", "content": "3"}),
    )
    assert _called(run) == [("weather", None, "ok", "c1")]
    assert _given(run) == [("weather", {"city": "Oslo"}, "3")]
    assert [(c["request_model"], c["response_model"], c["input_tokens"]) for c in run["llm_calls"]] == [
        ("m", "m-1", 9)
    ] * 2
    assert (run["input"], run["known_tools"]) == ("weather?", ["weather"])


@pytest.mark.parametrize("answers", [["r3", "r3", "r3"], [None, None, None]])
def test_a_call_of_spring_ai_that_streams_lasts_until_the_last_of_its_followers_ends(answers):
    def step(id, parent, name, at, took, told, **more):
        return span(id, parent, name, at=at, took=took, attributes=told, scope="org.springframework.boot", **more)

    def model(id, parent, at, took, answer):
        used = {"gen_ai.usage.input_tokens": "30", "gen_ai.usage.output_tokens": "9"}
        told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.finish_reasons": "STOP"}
        return step(id, parent, "chat m", at, took, told | used | ({"gen_ai.response.id": answer} if answer else {}))

    def tool(id, parent, name, at):
        return step(id, parent, f"tool_call {name}", at, 1, {"spring.ai.tool.definition.name": name})

    (run,) = runs(
        step(1, None, "spring_ai chat_client", 0, 30, {"spring.ai.kind": "chat_client"}),
        model(2, 1, 1, 25, answers[0]),
        tool(3, 2, "look", 3),
        model(4, 2, 5, 20, answers[1]),
        tool(5, 4, "count", 8),
        model(6, 4, 10, 14, answers[2]),
    )
    assert [(c["name"], c["turn"]) for c in run["tool_calls"]] == [("look", 0), ("count", 1)]
    assert [c["finish_reason"] for c in run["llm_calls"]] == [None, None, "STOP"]
    assert {c["input_tokens"] for c in run["llm_calls"][:2]} == {None}


def test_openai_for_php_names_what_was_called():
    def call(id, at, resource, **told):
        told = {"openai.resource": resource, "openai.model": "m"} | told
        return span(id, 1, f"openai {resource}", at=at, attributes=told, scope="io.opentelemetry.contrib.php.openai")

    used = {"openai.usage.prompt_tokens": 5, "openai.usage.completion_tokens": 2}
    (run,) = runs(
        span(1, None, "POST /ask", took=9),
        call(2, 1, "embeddings/create", **{"openai.usage.prompt_tokens": 3}),
        call(3, 3, "chat/create", **used),
        call(4, 5, "models/list"),
    )
    assert [(c["request_model"], c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [("m", 5, 2)]
