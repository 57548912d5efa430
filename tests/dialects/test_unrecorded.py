"""Instrumentations that no capture holds yet, by spans written as theirs are documented."""

import json

from tests.runs.requests import agent, chat, runs, span, tool


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
