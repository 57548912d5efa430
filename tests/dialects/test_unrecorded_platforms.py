"""Platforms and distributions whose spans were not recorded: written by hand as they tell them."""

import pytest

from tests.dialects.test_unrecorded_kits import called_with, jsons, of_kind, words
from tests.runs.requests import agent, chat, records, runs, span, tool

pytestmark = pytest.mark.full


def test_laminar_tells_handoffs_and_lists_of_tools_as_if_they_were_tools():
    def step(id, parent, name, kind, at, took=1, type="DEFAULT", **told):
        told = {"lmnr.span.type": type, "openai.agents.span.type": kind} | told.get("told", {})
        return span(id, parent, name, at=at, took=took, attributes=told)

    def answer(call_id, name, given):
        call = {"type": "function_call", "call_id": call_id, "name": name, "arguments": given}
        return {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 5, "gen_ai.output.messages": jsons([call])}

    found = {"lmnr.span.input": jsons({"city": "Oslo"}), "lmnr.span.output": "3"}
    over = {"openai.agents.handoff.from": "triage", "openai.agents.handoff.to": "writer"}
    (run,) = runs(
        span(1, None, "Agent workflow", took=30, attributes={"lmnr.span.type": "DEFAULT"}),
        step(2, 1, "triage", "agent", 1, 9, told={"openai.agents.agent.name": "triage"}),
        step(3, 2, "agents.mcp_tools", "mcp_tools", 1, type="TOOL"),
        step(4, 2, "agents.response", "response", 2, type="LLM", told=answer("c1", "weather", jsons({"city": "Oslo"}))),
        step(5, 2, "weather", "function", 4, type="TOOL", told=found),
        step(6, 2, "agents.response", "response", 6, type="LLM", told=answer("c2", "transfer_to_writer", "{}")),
        step(7, 2, "agents.handoff", "handoff", 8, type="TOOL", told=over),
        step(8, 1, "writer", "agent", 11, 5, told={"openai.agents.agent.name": "writer"}),
        step(9, 8, "agents.response", "response", 12, type="LLM", told={"gen_ai.request.model": "m"}),
    )
    assert called_with(run) == [("weather", "triage", "ok", "c1")]
    assert [(d["from"], d["to"], d["tool"], d["status"]) for d in run["delegations"]] == [
        ("triage", "writer", "transfer_to_writer", "ok")
    ]
    assert [c["agent"] for c in run["llm_calls"]] == ["triage", "triage", "writer"]


def test_langfuse_tells_a_failure_by_a_level():
    def seen(id, parent, name, kind, at, **told):
        told = {"langfuse.observation.type": kind} | told
        return span(id, parent, name, at=at, took=9 if parent is None else 1, attributes=told)

    failed = {"langfuse.observation.level": "ERROR", "langfuse.observation.status_message": "no such city"}
    (run,) = runs(
        seen(1, None, "helper", "agent", 0),
        seen(2, 1, "call", "generation", 1, **failed),
        seen(3, 1, "call", "generation", 3),
        seen(4, 1, "weather", "tool", 5, **failed),
    )
    assert [c["status"] for c in run["llm_calls"]] == ["error", "ok"]
    assert called_with(run) == [("weather", "helper", "error", None)]


def test_awss_distribution_moves_messages_into_the_bodies_of_log_records():
    def told(role, *blocks, key="content", **more):
        return {"role": role, "content": {key: jsons(blocks)} | more}

    def body(of, asked, answer):
        return of, {"input": {"messages": asked}, "output": {"messages": [answer]}}

    use = {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {"city": "Oslo"}}}
    failed = {"toolResult": {"toolUseId": "t1", "status": "error", "content": [{"text": "no such city"}]}}
    ask = told("user", {"text": "weather?"})
    first = told("assistant", use, key="message", finish_reason="tool_use")
    last = told("assistant", {"text": "sorry"}, key="message", finish_reason="end_turn")
    history = [ask, told("assistant", use), told("tool", failed)]
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, at=1),
        tool(3, 1, "weather", "t1", at=3),
        chat(4, 1, at=5),
        logs=[records([body(2, [ask], first), body(4, history, last)])],
    )
    assert (run["input"], run["output"]) == ("weather?", "sorry")
    assert [c["finish_reason"] for c in run["llm_calls"]] == ["tool_use", "end_turn"]
    (call,) = run["tool_calls"]
    assert (call["arguments"], call["result"], call["status"]) == ({"city": "Oslo"}, "no such city", "error")


def test_what_a_judge_does_is_no_work_of_an_agent():
    judged = of_kind("EVALUATOR", **{"input.value": "is it true?"})
    assert runs(span(1, None, "Hallucination", took=5, attributes=judged), chat(2, 1, "yes", "judge", at=1)) == []
    (run,) = runs(
        agent(1, "a", took=20),
        chat(2, 1, "hello", "hi", at=1),
        span(3, 1, "correctness", at=5, took=5, attributes={"langfuse.observation.type": "evaluator"}),
        chat(4, 3, "5 of 5", "judge", at=6),
    )
    assert (len(run["llm_calls"]), run["output"]) == (1, "hello")


def test_trulens_says_what_a_span_is_in_a_key_of_its_own():
    def told(id, parent, kind, at, took=1, **more):
        keys = {f"ai.observability.{key}": value for key, value in more.pop("keys", {}).items()}
        return span(id, parent, kind, at=at, took=took, attributes={"ai.observability.span_type": kind} | keys)

    asked = {"record_root.input": "weather?", "record_root.output": "3"}
    model = {"cost.model": "m", "cost.num_prompt_tokens": 5, "cost.num_completion_tokens": 2}
    remote = {"mcp.tool_name": "look", "mcp.input_arguments": jsons({"x": 1}), "mcp.output_is_error": True}
    (run,) = runs(
        told(1, None, "record_root", 0, 20, keys=asked),
        told(2, 1, "generation", 1, keys=model),
        told(3, 1, "tool", 3, keys={"call.function": "app.App.weather", "call.return": "3"}),
        told(4, 1, "mcp", 5, keys=remote),
        told(5, 1, "generation", 7, keys=model),
    )
    assert [(c["name"], c["status"], c["arguments"]) for c in run["tool_calls"]] == [
        ("look", "error", {"x": 1}),
        ("weather", "ok", None),
    ]
    assert [c["input_tokens"] for c in run["llm_calls"]] == [5, 5]
    assert (run["input"], run["output"]) == ("weather?", "3")


def test_trulens_tells_a_model_of_langgraph_by_a_node_and_a_tool_by_what_it_was_given():
    """trulens-apps-langgraph 2.16 of langchain 1.x: any tool's span is named as the first of the agent's tools."""

    def told(id, parent, kind, name, at, took=1.0, error=None, **more):
        keys = {f"ai.observability.{key}": value for key, value in more.pop("keys").items()}
        keys["ai.observability.span_type"] = kind
        return span(id, parent, name, at=at, took=took, error=error, scope="trulens", attributes=keys | more)

    config = {"call.kwargs.config": "{'metadata': {'lc_agent_name': 'planner', 'langgraph_node': 'model'}}"}

    def model(id, at, finish, error=None):
        about = f"{{'model_name': 'm-2', 'id': 'r{id}', 'finish_reason': '{finish}'}}"
        used = "{'input_tokens': 12, 'output_tokens': 5}"
        said = f"AIMessage(content='', response_metadata={about}, usage_metadata={used})"
        keys = config | {"graph_node.node_name": "model_node"} | ({} if error else {"call.return": jsons([said])})
        return told(id, 2, "graph_node", "model_node", at, error=error, keys=keys)

    ran = "langgraph.prebuilt.tool_node.ToolNode.invoke"
    given = [{"name": "get_time", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}]
    back = {"mcp.tool_name": "get_time", "mcp.output_is_error": False, "graph_node.output_state": "noon"}
    back |= {"mcp.input_arguments": repr((given, {})), "call.return": "{'messages': [ToolMessage(content='noon')]}"}
    tool_keys = config | back | {"call.function": ran, "call.kwargs.input": jsons(given)}
    root = {"record_root.input": "go", "record_root.output": "done"}
    (run,) = runs(
        told(1, None, "record_root", "CompiledStateGraph.invoke", 0, 20, keys=root),
        told(2, 1, "graph_node", "graph", 0, 19, keys={}),
        model(3, 1, "tool_calls"),
        told(4, 2, "tool", "get_weather", 3, keys=tool_keys, **{"gen_ai.tool.name": ran}),
        model(5, 5, "stop"),
    )
    assert [(c["agent"], c["response_model"], c["input_tokens"], c["finish_reason"]) for c in run["llm_calls"]] == [
        ("planner", "m-2", 12, "tool_calls"),
        ("planner", "m-2", 12, "stop"),
    ]
    (call,) = run["tool_calls"]
    assert (call["name"], call["arguments"], call["result"], call["call_id"]) == (
        "get_time",
        {"city": "Oslo"},
        "noon",
        "c1",
    )
    assert (run["input"], run["output"], run["agents"], call["turn"]) == ("go", "done", ["planner"], 0)
    (run,) = runs(
        told(1, None, "record_root", "CompiledStateGraph.invoke", 0, 20, error="bad", keys={"record_root.input": "go"}),
        told(2, 1, "graph_node", "graph", 0, 19, error="bad", keys={}),
        model(3, 1, "", error="bad"),
    )
    assert (run["status"], run["boundaries"], [c["status"] for c in run["llm_calls"]]) == (
        "error",
        ["error"],
        ["error"],
    )


def test_a_session_of_livekit_holds_a_request_for_each_turn_with_words_of_the_user():
    scope, asked = "livekit-agents", {"lk.pii.user_input": "Refund"}

    def turn(id, name, at, told=None):
        return agent(id, name, 1, at=at, took=3, scope=scope, attributes={"gen_ai.agent.name": name} | (told or {}))

    def operation(one):
        return one | {"name": "agent_turn", "attributes": {"gen_ai.operation.name": "invoke_agent"} | one["attributes"]}

    session = span(1, None, "agent_session", took=60, scope=scope, gen_ai__operation__name="invoke_workflow")
    sent = [
        operation(turn(2, "triage", 2, asked)),
        chat(3, 2, [("c1", "transfer_to_billing", {})], "Refund", at=2.1, took=0.5, scope=scope),
        tool(4, 2, "transfer_to_billing", "c1", "Transferring", at=3, scope=scope),
        operation(turn(5, "billing", 6)),
        chat(6, 5, "Refunded.", "Refund", at=6.5, scope=scope),
        operation(turn(7, "billing", 20, {"lk.pii.user_input": "Thanks"})),
        chat(8, 7, "Welcome.", "Thanks", at=21, scope=scope),
    ]
    ended, lasting = runs(session, *sent), runs(*sent)
    for found in (ended, lasting):
        assert [(r["input"], r["output"], r["agents"]) for r in found] == [
            ("Refund", "Refunded.", ["billing", "triage"]),
            ("Thanks", "Welcome.", ["billing"]),
        ]
        assert [(d["from"], d["to"]) for d in found[0]["delegations"]] == [("triage", "billing")]
        assert found[0]["end_unix_nano"] < found[1]["start_unix_nano"]
    assert [r["run_id"] for r in lasting] == [r["run_id"] for r in ended]
    assert ["missing parent" in r["incomplete"] for r in (*ended, *lasting)] == [False, False, True, True]


def test_a_function_that_livekit_does_not_know_did_not_run():
    asked = {"type": "tool_call", "id": "c1", "name": "pay", "arguments": {}}
    said = {"type": "tool_call_response", "id": "c1", "response": "Unknown function: pay - available tools: look"}
    history = [words("user", "pay"), {"role": "assistant", "parts": [asked]}, {"role": "tool", "parts": [said]}]
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "pay", {})], "pay", at=1),
        chat(3, 1, "There is no such tool.", history, at=4),
    )
    assert [(c["name"], c["status"], c["error_kind"]) for c in run["tool_calls"]] == [("pay", "requested", None)]
