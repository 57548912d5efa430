"""Instrumentations that no capture holds yet, by spans written as theirs are documented."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full


def _json(value):
    return json.dumps(value)


def _called(run):
    return [(c["name"], c["agent"], c["status"], c["call_id"]) for c in run["tool_calls"]]


def test_litellm_tells_embeddings_from_calls_of_a_model():
    told = {"gen_ai.request.model": "e", "llm.request.type": "aembedding", "gen_ai.usage.prompt_tokens": 5}
    raw = {"llm.openai.model": "e", "llm.openai.data": "[[0.1]]", "llm.openai.usage": "{'prompt_tokens': 5}"}
    (run,) = runs(
        agent(1, "a", took=9),
        span(2, 1, "litellm_request", at=1, took=2, attributes=told),
        span(3, 2, "raw_gen_ai_request", at=1, attributes=raw),
        span(4, 1, "litellm_request", at=4, attributes=told),
        chat(5, 1, "done", at=6),
    )
    assert [c["request_model"] for c in run["llm_calls"]] == ["model-a"]


def test_gemini_cli_calls_an_agent_by_a_tool():
    def cli(id, parent, operation, name="gemini-cli", **more):
        told = {"gen_ai.operation.name": operation, "gen_ai.agent.name": name, "gen_ai.conversation.id": "s"}
        return span(id, parent, operation, attributes=told | more.pop("told", {}), **more)

    def call(id, parent, name, call_id, **more):
        told = {"gen_ai.tool.name": name, "gen_ai.tool.call_id": call_id}
        return cli(id, parent, "tool_call", told=told, **more)

    answers = [
        [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]
        for part in ({"functionCall": {"name": "scout", "args": {"for": "x"}}}, {"text": "found"}, {"text": "done"})
    ]
    told = [{"gen_ai.request.model": "m", "gen_ai.output.messages": answer} for answer in answers]
    (run,) = runs(
        cli(1, None, "user_prompt", took=30, told={"gen_ai.input.messages": _json("look for x")}),
        cli(2, 1, "llm_call", at=1, told=told[0]),
        cli(3, 1, "schedule_tool_calls", at=3, took=9),
        call(4, 3, "scout", "c1", at=3.5, took=8),
        cli(5, 4, "agent_call", "scout", at=4, took=7),
        cli(6, 5, "schedule_tool_calls", at=5, took=2),
        call(7, 6, "grep", "c2", at=5),
        cli(8, 5, "llm_call", at=8, told=told[1]),
        cli(9, 1, "llm_call", at=14, told=told[2]),
    )
    assert run["agents"] == ["gemini-cli", "scout"]
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("gemini-cli", "scout", "scout")]
    assert _called(run) == [("grep", "scout", "ok", "c2")]
    assert [c["agent"] for c in run["llm_calls"]] == ["gemini-cli", "scout", "gemini-cli"]
    assert (run["input"], run["output"]) == ("look for x", "done")


def test_rig_streams_and_knows_no_name():
    told = {"gen_ai.operation.name": "chat_streaming", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3}
    (run,) = runs(
        agent(1, "Unnamed Agent", took=9),
        span(2, 1, "chat_streaming", at=1, attributes=told),
        tool(3, 1, "add", "c1", "3", at=3),
        span(4, 1, "chat_streaming", at=5, attributes=told),
    )
    assert (run["agents"], len(run["llm_calls"])) == ([], 2)
    assert _called(run) == [("add", None, "ok", "c1")]


def test_an_operation_nobody_has_heard_of_is_a_call_of_a_model_if_a_provider_answered():
    told = {"gen_ai.request.model": "m", "gen_ai.response.id": "r", "gen_ai.usage.input_tokens": 3}
    (run,) = runs(
        agent(1, "a", took=9),
        span(2, 1, "x", at=1, attributes=told | {"gen_ai.operation.name": "converse"}),
        span(3, 1, "y", at=3, attributes=told | {"gen_ai.operation.name": "create_embedding"}),
    )
    assert len(run["llm_calls"]) == 1


def _claude(id, parent, step, **more):
    return span(id, parent, f"claude_code.{step}", attributes={"session.id": "s"} | more.pop("told", {}), **more)


def test_claude_code_waits_for_leave_before_it_runs_a_tool():
    model = {"model": "m", "input_tokens": 3, "output_tokens": 5, "success": True}
    ran, refused, failed = ({"tool_name": n, "tool_use_id": n.lower()} for n in ("Read", "Bash", "Grep"))
    (run,) = runs(
        _claude(1, None, "interaction", took=30, told={"user_prompt": "clean up"}),
        _claude(2, 1, "llm_request", at=1, told=model | {"stop_reason": "tool_use"}),
        _claude(3, 1, "tool", at=3, took=3, told=ran),
        _claude(4, 3, "tool.blocked_on_user", at=3, told={"decision": "accept"}),
        _claude(5, 3, "tool.execution", at=4, told={"success": True}),
        _claude(6, 1, "tool", at=7, told=refused),
        _claude(7, 6, "tool.blocked_on_user", at=7, told={"decision": "reject"}),
        _claude(8, 1, "tool", at=9, took=2, told=failed),
        _claude(9, 8, "tool.execution", at=9, told={"success": False, "error": "no such file"}),
        _claude(10, 1, "llm_request", at=12, told=model | {"success": False, "status_code": 529}),
        _claude(11, 1, "llm_request", at=14, told=model | {"stop_reason": "end_turn"}),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [
        ("Bash", "requested"),
        ("Grep", "error"),
        ("Read", "ok"),
    ]
    assert [(c["input_tokens"], c["status"]) for c in run["llm_calls"]] == [(3, "ok"), (3, "error"), (3, "ok")]
    assert (run["input"], run["status"], run["conversation_id"]) == ("clean up", "ok", "s")


def test_claude_code_names_the_agent_of_a_task():
    model = {"model": "m", "input_tokens": 3, "output_tokens": 5}
    (run,) = runs(
        _claude(1, None, "interaction", took=30),
        _claude(2, 1, "llm_request", at=1, told=model | {"stop_reason": "tool_use"}),
        _claude(3, 1, "tool", at=3, took=9, told={"tool_name": "Task", "subagent_type": "Explore"}),
        _claude(4, 3, "tool.execution", at=3, took=9, told={"success": True}),
        _claude(5, 4, "llm_request", at=4, told=model),
        _claude(6, 4, "tool", at=6, took=2, told={"tool_name": "Read"}),
        _claude(7, 6, "tool.execution", at=6, told={"success": True}),
        _claude(8, 1, "llm_request", at=14, told=model | {"stop_reason": "end_turn"}),
    )
    assert [(d["to"], d["tool"], d["status"]) for d in run["delegations"]] == [("Explore", "Task", "ok")]
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("Read", "ok")]
    assert len(run["llm_calls"]) == 3


def test_what_an_attribute_calls_no_success_is_none():
    (run,) = runs(
        agent(1, "a", took=9),
        tool(2, 1, "t", "c1", at=1, attributes={"success": False}),
        tool(3, 1, "u", "c2", at=3, attributes={"tool.result_status": "error"}),
        tool(4, 1, "v", "c3", at=5, attributes={"success": True}),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["error", "error", "ok"]


def test_dify_says_what_a_span_is_in_a_key_of_its_own():
    def node(id, kind, at, **told):
        return span(id, 1 if id > 1 else None, kind, at=at, attributes={"gen_ai.span.kind": kind} | told["told"])

    model = {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3, "gen_ai.completion": "look it up"}
    asked = {"tool.name": "look_up", "input.value": _json({"for": "x"}), "output.value": "found"}
    (run,) = runs(
        node(1, "CHAIN", 0, told={"input.value": _json({"query": "where is x?"})}),
        node(2, "LLM", 1, told=model),
        node(3, "TOOL", 3, told=asked),
        node(4, "RETRIEVER", 5, told={}),
        node(5, "TASK", 7, told={}),
    )
    assert [(c["name"], c["arguments"], c["result"]) for c in run["tool_calls"]] == [("look_up", {"for": "x"}, "found")]
    assert (run["input"], len(run["llm_calls"])) == ("where is x?", 1)


def test_quarkus_names_its_tools_by_spans_alone():
    told = {"gen_ai.request.model": "m", "gen_ai.response.id": "r", "gen_ai.usage.prompt_tokens": 3}
    (run,) = runs(
        span(1, None, "langchain4j.aiservices.Poet.write", took=9),
        span(2, 1, "completion m", at=1, kind=3, attributes=told),
        span(3, 1, "langchain4j.tools.send", at=3),
    )
    assert _called(run) == [("send", None, "unknown", None)]
    assert len(run["llm_calls"]) == 1


def _adk(id, parent, name, **told):
    more = {key: told.pop(key) for key in ("at", "took") if key in told}
    return span(id, parent, name, attributes=told.pop("told", {}), scope="gcp.vertex.agent", **more)


def test_google_adk_without_content_or_ids():
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.id": "<not specified>",
    }
    empty = {"gcp.vertex.agent.tool_call_args": "{}", "gcp.vertex.agent.tool_response": "{}"}
    (run,) = runs(
        _adk(1, None, "invocation", took=20),
        _adk(2, 1, "invoke_agent a", took=19, told={"gen_ai.agent.name": "a"}),
        _adk(3, 2, "call_llm", at=1, told={"gen_ai.request.model": "m", "gcp.vertex.agent.llm_response": "{}"}),
        _adk(4, 2, "execute_tool look", at=3, told=tool | empty),
        _adk(5, 2, "execute_tool look", at=3.1, told=tool | empty),
        _adk(6, 2, "call_llm", at=6, told={"gen_ai.request.model": "m", "gcp.vertex.agent.llm_response": "{}"}),
    )
    assert _called(run) == [("look", "a", "ok", None)] * 2
    assert {(c["arguments"], c["result"]) for c in run["tool_calls"]} == {(None, None)}
    given = {"gcp.vertex.agent.tool_call_args": "{}", "gcp.vertex.agent.tool_response": _json({"result": "x"})}
    (run,) = runs(agent(1, "a", took=9), _adk(2, 1, "execute_tool look", at=1, told=tool | given))
    assert [(c["arguments"], c["result"]) for c in run["tool_calls"]] == [({}, {"result": "x"})]
    java = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool_call.id": "c1"}
    (run,) = runs(agent(1, "a", took=9), _adk(2, 1, "execute_tool [look]", at=1, told=java))
    assert _called(run) == [("look", "a", "ok", "c1")]


@pytest.mark.parametrize("names", [["look"], ["look", "count"], ["look", "look"]])
def test_eino_holds_tools_in_a_span_like_a_tools(names):
    def told(operation):
        return {"gen_ai.operation.name": operation}

    (run,) = runs(
        span(1, None, "graph", took=20, attributes=told("invoke_agent")),
        span(2, 1, "ChatModel", at=1, attributes=told("chat")),
        span(3, 1, "ToolsNode", at=3, took=3, attributes=told("execute_tool")),
        *(span(10 + i, 3, name, at=4, attributes=told("execute_tool")) for i, name in enumerate(names)),
        span(4, 1, "ChatModel", at=8, attributes=told("chat")),
    )
    assert [c["name"] for c in run["tool_calls"]] == sorted(names)


def test_langchain4j_under_openinference_says_of_a_request_only_that_it_started():
    told = {
        "openinference.span.kind": "AGENT",
        "input.value": "Execution Started",
        "output.value": "Execution Completed",
    }
    (run,) = runs(span(1, None, "AiService.start", took=9, attributes=told), chat(2, 1, "hello", "hi", at=1))
    assert (run["input"], run["output"]) == ("hi", "hello")


@pytest.mark.parametrize(
    "scope", ["opentelemetry.instrumentation.google_genai", "opentelemetry-instrumentation-ruby_llm"]
)
def test_a_span_of_a_model_that_goes_on_after_its_tools_holds_several_calls(scope):
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 30}
    (run,) = runs(
        agent(1, "a", took=10), span(2, 1, "chat m", took=9, attributes=told, scope=scope), tool(3, 2, "add", at=2)
    )
    assert (run["llm_calls"], "model calls share a span" in run["incomplete"]) == (None, True)
    assert _called(run) == [("add", "a", "ok", None)]
    (run,) = runs(agent(1, "a", took=10), span(2, 1, "chat m", took=3.1, attributes=told), tool(3, 2, "add", at=2))
    assert len(run["llm_calls"]) == 1
    step = span(2, 1, "chat m", took=4, attributes=told), tool(3, 2, "add", at=2)
    (run,) = runs(agent(1, "a", took=10), *step, span(4, 1, "chat m", at=5, attributes=told))
    assert len(run["llm_calls"]) == 2


def test_microsofts_chat_client_answers_with_a_whole_loop():
    answer = [
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 1}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "3"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "It is 3."}], "finish_reason": "stop"},
    ]
    told = {"gen_ai.output.messages": answer, "gen_ai.usage.input_tokens": 50}
    whole = chat(2, 1, None, "1 + 2?", at=1, took=7, attributes=told)
    for inside in [], [tool(3, 2, "add", "c1", "3", at=3)], [tool(3, 1, "add", "c1", "3", at=3)]:
        (run,) = runs(agent(1, "a", took=9), whole, *inside)
        assert _called(run) == [("add", "a", "ok", "c1")]
        assert (run["llm_calls"], run["output"], run["boundaries"]) == (None, "It is 3.", [])
        assert [c["result"] for c in run["tool_calls"]] == ["3"]


def test_cloudflares_gateway_keeps_messages_in_keys_of_its_own():
    asked, answer = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}
    told = {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 5, "gen_ai.prompt_json": {"messages": [asked]}}
    (run,) = runs(span(1, None, "m", attributes=told | {"gen_ai.completion_json": {"choices": [{"message": answer}]}}))
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("hi", "hello", 1)


def test_temporal_sends_the_spans_of_a_workflow_again_when_it_is_replayed():
    def attempt(id, at, answers):
        steps = [
            chat(id + 1, id, [("c1", "look", {"x": 1})], "go on", at=at + 0.1, took=0.3),
            tool(id + 2, id, "look", "c1", "y", at=at + 0.6, took=0.3),
            chat(id + 3, id, "done", "go on", at=at + 1.5, took=0.3),
        ]
        for step, answer in zip(steps, ["r1", None, "r2"], strict=True):
            step["attributes"] |= {"gen_ai.response.id": answers[answer]} if answer in answers else {}
        return [agent(id, "a", parent=2, at=at, took=3), *steps[: 3 if "r2" in answers else 2]]

    frame = span(1, None, "StartWorkflow:W", kind=3, took=30), span(2, 1, "RunWorkflow:W", kind=2, took=29)
    first = {"r1": "x1"}
    (run,) = runs(*frame, *attempt(10, 1, first), *attempt(20, 10, first | {"r2": "x2"}))
    assert _called(run) == [("look", "a", "ok", "c1")]
    assert (len(run["llm_calls"]), run["output"]) == (2, "done")
    found = runs(*frame, *attempt(10, 1, first), *attempt(20, 10, {"r1": "x3", "r2": "x4"}))
    assert sum(len(run["llm_calls"]) for run in found) == 3


def test_filling_in_haystacks_prompt_is_no_call_of_a_model():
    def step(id, kind, name, at, **told):
        told = {"openinference.span.kind": kind} | told.get("told", {})
        scope = "openinference.instrumentation.haystack"
        return span(id, 1 if id > 1 else None, name, at=at, took=9 if id == 1 else 1, attributes=told, scope=scope)

    (run,) = runs(
        step(1, "CHAIN", "Pipeline.run", 0),
        step(2, "LLM", "PromptBuilder.run", 1, told={"output.value": _json({"prompt": "Where is x?"})}),
        step(
            3, "LLM", "OpenAIGenerator.run", 3, told={"llm.model_name": "m", "output.value": _json({"replies": ["y"]})}
        ),
    )
    assert [c["response_model"] for c in run["llm_calls"]] == ["m"]
