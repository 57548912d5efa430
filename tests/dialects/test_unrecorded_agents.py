"""Agents and kits that no capture holds yet, which tell what failed, or who they are, in ways of their own."""

import json

import pytest

from tests.runs.requests import agent, chat, events, runs, span, tool

pytestmark = pytest.mark.full


def called(run):
    return [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]]


def words(role, text, **more):
    return {"role": role, "parts": [{"type": "text", "content": text}]} | more


MODEL = {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 3}


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({"gen_ai.tool.call.outcome": "success"}, "ok"),
        ({"gen_ai.tool.call.outcome": "error"}, "error"),
        ({"gen_ai.tool.call.outcome": "denied"}, "error"),
        ({"gen_ai.tool.call.outcome": "skipped"}, "requested"),
        ({"gen_ai.tool.result.is_error": True}, "error"),
        ({"openclaw.outcome": "blocked"}, "requested"),
        ({"pi.gen_ai.tool.status": "skipped", "error.type": "tool_skipped"}, "requested"),
        ({"pi.gen_ai.tool.status": "timeout"}, "error"),
        ({"gen_ai.tool.status": "cancelled"}, "unknown"),
        ({"gen_ai.tool.is_success": False}, "error"),
        ({"gen_ai.tool.call.ok": "false", "gen_ai.tool.call.error": "no such city"}, "error"),
        ({"gen_ai.tool.error": "no such city"}, "error"),
        ({"gen_ai.tool.call.error": False}, "ok"),
        ({"gen_ai.tool.error.type": "ValueError", "tool.status": "failed"}, "error"),
    ],
)
def test_a_tool_went_as_its_outcome_says(told, status):
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, [("c", "look", {})]), tool(3, 1, "look", "c", attributes=told))
    assert [c["status"] for c in run["tool_calls"]] == [status]


def test_latitude_tells_a_result_by_its_value():
    told = {"gen_ai.operation.name": "tool", "gen_ai.tool.name": "look", "gen_ai.tool.result.value": "3 degrees"}
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, [("c", "look", {})]), span(3, 1, "look", at=2, attributes=told))
    assert called(run) == [("look", "ok", "3 degrees")]


def openclaw(id, parent, name, at, took=1, **told):
    return span(id, parent, f"openclaw.{name}", at=at, took=took, scope="openclaw", attributes=told.pop("told", {}))


def test_what_a_turn_of_openclaw_used_is_no_model_call():
    used = MODEL | {"gen_ai.operation.name": "chat"}
    (run,) = runs(
        openclaw(1, None, "message.processed", 0, 20),
        openclaw(2, 1, "run", 1, 15, told={"openclaw.agent": "ops"}),
        openclaw(3, 2, "model.call", 2, told=used),
        openclaw(4, 2, "tool.execution", 4, told={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "exec"}),
        openclaw(5, 2, "model.call", 6, told=used),
        openclaw(6, 1, "model.usage", 2, 10, told=used),
    )
    assert len(run["llm_calls"]) == 2
    assert run["agents"] == ["ops"]
    assert [(c["name"], c["agent"]) for c in run["tool_calls"]] == [("exec", "ops")]


def test_a_turn_that_openclaw_leaves_to_another_program_is_no_model_call():
    turn = MODEL | {"gen_ai.operation.name": "invoke_agent", "openclaw.model_call.observation_unit": "turn"}
    (run,) = runs(
        openclaw(1, None, "run", 0, 20, told={"openclaw.agent": "ops"}),
        openclaw(2, 1, "model.call", 1, 15, told=turn),
        openclaw(3, 1, "tool.execution", 4, told={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "Bash"}),
    )
    assert run["llm_calls"] is None
    assert run["agents"] == ["ops"]


def test_words_in_angle_brackets_are_no_names_and_no_ids():
    told = {
        "gen_ai.agent.name": "<unknown_agent_name>",
        "session.id": "<unknown_session_id>",
        "gen_ai.response.model": "<unknown_model>",
        "gen_ai.response.finish_reason": "<no_finish_reason_provided>",
    }
    answer = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "weather?",
        "gen_ai.completion.0.role": "model",
        "gen_ai.completion.0.tool_calls.0.id": "<unknown_function_call_id>",
        "gen_ai.completion.0.tool_calls.0.function.name": "look",
        "gen_ai.completion.0.tool_calls.0.function.arguments": "{}",
    }
    (run,) = runs(
        span(1, None, "invocation", took=20, attributes={"gen_ai.span.kind": "workflow"} | told),
        chat(2, 1, at=1, attributes=told | answer),
        tool(3, 1, "look", result="rain", at=3, attributes=told),
    )
    assert run["agents"] == []
    assert run["conversation_id"] is None
    (call,) = run["llm_calls"]
    assert (call["response_model"], call["finish_reason"]) == (None, None)
    assert [(c["name"], c["call_id"]) for c in run["tool_calls"]] == [("look", None)]
    mail = {"session.id": "<20261123.7@mail.example>"}  # an id of a message, as mail has it
    (run,) = runs(agent(1, "helper", took=9, attributes=mail), chat(2, 1, at=1, attributes=told))
    assert run["conversation_id"] == mail["session.id"]


def koog(id, parent, operation, at, took, **told):
    attributes = {"gen_ai.operation.name": operation} | told.pop("told", {})
    return span(id, parent, f"{operation} x", at=at, took=took, kind=3, scope="ai.koog", attributes=attributes)


def test_an_agent_that_is_made_once_and_invoked_twice_ran_twice():
    (first, second) = runs(
        koog(1, None, "create_agent", 0, 60),
        koog(2, 1, "invoke_agent", 0, 20, told={"gen_ai.conversation.id": "r1"}),
        chat(3, 2, "it rains", "weather?", at=1, scope="ai.koog"),
        koog(4, 1, "invoke_agent", 30, 20, told={"gen_ai.conversation.id": "r2"}),
        chat(5, 4, "sun", "and now?", at=31, scope="ai.koog"),
    )
    assert [(r["conversation_id"], r["output"], len(r["llm_calls"])) for r in (first, second)] == [
        ("r1", "it rains", 1),
        ("r2", "sun", 1),
    ]


def test_hidden_content_is_not_told():
    hidden = "HIDDEN:non-empty"
    told = {"gen_ai.input.messages": hidden, "gen_ai.output.messages": hidden}
    given = {"gen_ai.tool.call.arguments": hidden, "gen_ai.tool.call.result": hidden}
    (run,) = runs(
        koog(1, None, "invoke_agent", 0, 20, told=told),
        chat(2, 1, at=1, attributes=told),
        tool(3, 1, "look", "c", at=3, attributes=given),
    )
    assert (run["input"], run["output"]) == (None, None)
    assert [(c["arguments"], c["result"]) for c in run["tool_calls"]] == [(None, None)]


def pipecat(id, parent, name, at, took=1, told=None):
    return span(id, parent, name, at=at, took=took, scope="pipecat", attributes=told or {})


def turns(conversation):
    model = MODEL | {"gen_ai.operation.name": "chat"}
    asked = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "weather?"}]
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"city": "Oslo"}'}}
    ran = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c1", "content": "rain"}]
    later = [*asked, *ran, {"role": "assistant", "content": "it rains"}, {"role": "user", "content": "thanks"}]
    return [
        pipecat(2, conversation, "turn", 1, 15, {"turn.number": 1, "conversation.id": "k"}),
        pipecat(3, 2, "stt", 1, told={"gen_ai.operation.name": "stt", "gen_ai.request.model": "ears"}),
        pipecat(4, 2, "llm", 3, told=model | {"input": json.dumps(asked)}),
        pipecat(5, 2, "llm", 6, told=model | {"input": json.dumps([*asked, *ran]), "output": "it rains"}),
        pipecat(6, conversation, "turn", 20, 15, {"turn.number": 2, "conversation.id": "k"}),
        pipecat(7, 6, "llm", 22, told=model | {"input": json.dumps(later), "output": "bye"}),
        pipecat(8, conversation, "turn", 40, 1, {"turn.number": 3, "conversation.id": "k"}),
    ]


@pytest.mark.parametrize("over", [True, False])
def test_each_turn_of_a_spoken_conversation_is_a_run(over):
    whole = pipecat(1, None, "conversation", 0, 60, {"conversation.id": "k"})
    first, second = runs(*([whole] if over else []), *turns(1))
    assert [(r["conversation_id"], r["output"], len(r["llm_calls"])) for r in (first, second)] == [
        ("k", "it rains", 2),
        ("k", "bye", 1),
    ]
    assert called(first) == [("look", "ok", "rain")]
    assert called(second) == []


def agentscope(id, parent, name, at, took=1, **told):
    return span(id, parent, name, at=at, took=took, scope="agentscope", status=1, attributes=told["told"])


@pytest.mark.parametrize(("text", "status"), [("Error: no such city", "unknown"), ("3 degrees", "ok")])
def test_agentscope_ends_every_tool_well_and_every_answer_with_stop(text, status):
    call = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"city": "Oslo"}}
    asks = [{"role": "assistant", "parts": [call], "finish_reason": "stop"}]
    says = [words("assistant", "cold", finish_reason="stop")]
    block = {"content": [{"type": "text", "text": text}], "metadata": None, "stream": False, "is_last": True}
    ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"}
    ended = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["stop"]}
    who = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Friday"}
    (run,) = runs(
        agentscope(1, None, "invoke_agent Friday", 0, 20, told=who),
        agentscope(2, 1, "chat m", 1, told=MODEL | ended | {"gen_ai.output.messages": asks}),
        agentscope(
            3,
            1,
            "execute_tool look",
            3,
            told=ran | {"gen_ai.tool.call.result": json.dumps(block | {"is_interrupted": False, "id": "z"})},
        ),
        agentscope(4, 1, "chat m", 5, told=MODEL | ended | {"gen_ai.output.messages": says}),
    )
    assert called(run) == [("look", status, text)]
    assert [c["finish_reason"] for c in run["llm_calls"]] == [None, None]
    assert "length" in run["boundaries_unknown"]


@pytest.mark.parametrize("failed", [None, "boom"])
@pytest.mark.parametrize("told", [True, False])
def test_a_span_of_several_calls_is_each_of_them_and_says_nothing_of_any(told, failed):
    calls = [("c1", "look", {"city": "Oslo"}), ("c2", "add", {"a": 1})]
    joined = {"gen_ai.tool.call.id": "c2", "gen_ai.tool.call.count": 2, "gen_ai.tool.call.arguments": '{"a": 1}'}
    (run,) = runs(
        agent(1, "a", took=20),
        chat(2, 1, calls if told else None, at=1),
        tool(3, 1, "look, add", at=3, took=4, error=failed, attributes=joined),
        chat(4, 1, "done", at=8),
    )
    arguments = {"look": {"city": "Oslo"}, "add": {"a": 1}} if told else {"look": None, "add": None}
    assert {c["name"]: c["arguments"] for c in run["tool_calls"]} == arguments
    assert {(c["status"], c["result"]) for c in run["tool_calls"]} == {("unknown", None)}


def test_what_later_input_says_of_several_calls_in_one_span_is_told_of_each():
    calls = [("c1", "look", {}), ("c2", "add", {})]
    back = [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": "rain"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c2", "result": "3"}]},
    ]
    asked = [{"role": "assistant", "parts": [{"type": "tool_call", "id": i, "name": n} for i, n, _ in calls]}]
    (run,) = runs(
        agent(1, "a", took=20),
        chat(2, 1, calls, "go", at=1),
        tool(3, 1, "look, add", "c1, c2", at=3, took=4),
        chat(4, 1, "done", [words("user", "go"), *asked, *back], at=8),
    )
    assert sorted(called(run)) == [("add", "ok", "3"), ("look", "ok", "rain")]
    assert sorted(c["call_id"] for c in run["tool_calls"]) == ["c1", "c2"]


@pytest.mark.parametrize(("said", "status"), [("denied", "requested"), ("timeout", "error")])
def test_a_tool_of_which_no_more_is_said_than_that_it_was_denied_did_not_run(said, status):
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, [("c", "rm", {})], at=1), tool(3, 1, "rm", "c", at=2, error=said))
    assert [c["status"] for c in run["tool_calls"]] == [status]


def test_values_with_letters_left_out_are_not_told():
    given = {"gen_ai.tool.call.arguments": json.dumps({"text": "to be or [12 chars omitted]"})}
    (run,) = runs(
        agent(1, "a", took=9), chat(2, 1, at=1), tool(3, 1, "say", "c", "not [7 chars omitted]", attributes=given)
    )
    assert [(c["arguments"], c["result"]) for c in run["tool_calls"]] == [(None, None)]


def test_a_handoff_of_oh_my_pi_tells_both_agents_by_its_own_keys():
    told = {"pi.gen_ai.handoff.from_agent.name": "main", "pi.gen_ai.handoff.to_agent.name": "planner"}
    (run,) = runs(
        agent(1, "main", took=20),
        chat(2, 1, "go on", at=1),
        span(3, 1, "handoff", at=3, took=0, attributes={"gen_ai.operation.name": "handoff"} | told),
    )
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("main", "planner", "handoff")]


def eve(id, parent, name, at, took=1, **told):
    ids = {"agent.run.id": "r", "gen_ai.conversation.id": "k", "operation.name": name}
    attributes = ids | told.pop("told", {})
    return span(id, parent, name, at=at, took=took, scope="eve", attributes=attributes, **told)


def action(id, call, name, kind="tool-call", outcome="completed", took=3, **told):
    said = {"agent.action.call_id": call, "agent.action.name": name, "agent.action.kind": kind}
    return eve(id, 2, "agent.action", 3, took, told=said | {"agent.action.outcome": outcome} | told.pop("told", {}))


def test_what_an_agent_of_eve_does_is_told_by_actions():
    called = {"agent.invocation.role": "caller", "gen_ai.agent.name": "researcher"}
    ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1"}
    model = MODEL | {"gen_ai.operation.name": "chat", "gen_ai.agent.name": "support"}
    who = {"gen_ai.operation.name": "invoke_agent"}
    (run,) = runs(
        eve(1, None, "invoke_agent support", 0, 40, told=who | {"gen_ai.agent.name": "support"}),
        eve(2, 1, "agent.step", 0.5, 20, told={"agent.name": "support"}),
        eve(3, 2, "chat m", 1, told=model | {"gen_ai.response.finish_reasons": ["tool-calls"]}),
        action(4, "c1", "look"),
        eve(5, 4, "execute_tool look", 3.1, told=ran),
        action(6, "c2", "researcher", "subagent-call", took=10, told=called),
        action(7, "c3", "rm", outcome="rejected"),
        eve(8, 7, "agent.approval", 3.1, 2, told={"agent.action.call_id": "c3", "agent.action.name": "rm"}),
        action(9, "c4", "wait", outcome="cancelled"),
        eve(10, 1, "agent.step", 21, 5, told={"agent.name": "support"}),
        eve(11, 10, "chat m", 22, told=model | {"gen_ai.response.finish_reasons": ["stop"]}),
        eve(
            20,
            None,
            "invoke_agent researcher",
            4,
            8,
            told=who | {"gen_ai.agent.name": "researcher"},
            trace=2,
            links=[(1, 6)],
        ),
        eve(21, 20, "chat m", 5, told=MODEL | {"gen_ai.operation.name": "chat"}, trace=2),
    )
    assert sorted((c["name"], c["agent"], c["status"], c["call_id"]) for c in run["tool_calls"]) == [
        ("look", "support", "ok", "c1"),
        ("rm", "support", "requested", "c3"),
        ("wait", "support", "unknown", "c4"),
    ]
    assert [(d["from"], d["to"], d["form"], d["tool"]) for d in run["delegations"]] == [
        ("support", "researcher", "tool", "researcher")
    ]
    assert [c["agent"] for c in run["llm_calls"]] == ["support", "researcher", "support"]


def test_what_is_done_again_from_a_journal_was_done_once():
    again = {"ai.replay": True}
    (run,) = runs(
        agent(1, "a", took=20, scope="ai"),
        chat(2, 1, [("c1", "look", {})], "go", at=1, attributes=again, scope="ai"),
        tool(3, 1, "look", "c1", "rain", at=3, attributes=again, scope="ai"),
        chat(4, 1, "done", at=5, scope="ai"),
    )
    assert (len(run["llm_calls"]), run["tool_calls"]) == (1, [])


def neurolink(id, parent, name, at, took, told=None):
    scope = "neurolink.generation"
    return span(id, parent, f"neurolink.{name}", at=at, took=took, scope=scope, attributes=told or {})


@pytest.mark.parametrize(("tools", "told"), [(2, None), (0, 1)])
def test_a_span_of_a_loop_that_may_call_tools_is_no_model_call(tools, told):
    loop = MODEL | {"gen_ai.system": "openai", "neurolink.tool_count": tools, "gen_ai.response.finish_reason": "stop"}
    (run,) = runs(
        neurolink(1, None, "generate", 0, 20),
        neurolink(2, 1, "executeGeneration", 1, 18, loop),
        *([neurolink(3, 2, "tool.execute", 5, 1, {"tool.name": "look"})] if tools else []),
        *([neurolink(4, 3, "tool.registry.execute", 5, 1, {"tool.name": "look"})] if tools else []),
    )
    assert (run["llm_calls"] and len(run["llm_calls"])) == told
    assert [c["name"] for c in run["tool_calls"] or []] == (["look"] if tools else [])


def codex(id, parent, name, at, took=1, told=None):
    # Each span tells the thread of the operating system, too.
    return span(id, parent, name, at=at, took=took, scope="codex_exec", attributes={"thread.id": 2} | (told or {}))


@pytest.mark.parametrize("calls", [True, False])
def test_codex_tells_a_turn_by_its_own_functions_and_never_what_failed(calls):
    used = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 3}
    request = [
        codex(4, 3, "run_sampling_request", 1, 8, {"model": "m"}),
        codex(5, 4, "receiving_stream", 2, 6),
        codex(6, 5, "handle_responses", 2),
        codex(7, 5, "handle_responses", 4, told=used),
        codex(8, 5, "handle_tool_call_with_source", 5, 2),
        codex(9, 8, "exec_command", 5, 2, {"tool_name": "exec_command", "call_id": "c1"}),
    ]
    (run,) = runs(
        codex(1, None, "turn/start", 0, 20),
        codex(2, 1, "session_task.turn", 0, 20, {"model": "m"}),
        codex(3, 2, "run_turn", 0, 20),
        *(request if calls else request[:4]),
        codex(10, 3, "handle_responses", 12, told=used),
    )
    assert [(c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [(10, 3), (10, 3)]
    assert [(c["name"], c["call_id"], c["status"]) for c in run["tool_calls"] or []] == (
        [("exec_command", "c1", "unknown")] if calls else []
    )
    assert (run["status"], run["conversation_id"]) == ("unknown", None)
    assert set(run["boundaries_unknown"]) >= {"error", "timeout", "rate_limit"}


def test_codex_runs_a_tool_while_the_answer_that_asked_for_it_still_streams():
    """Codex 0.169: usage stands on the last span of a stream, beside the tools that it asked for."""
    used = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 3}

    def streamed(id, at, *calls):
        yield codex(id, 2, "receiving_stream", at, 8)
        for place, call in enumerate(calls, 1):
            yield codex(id + place, id, "exec_command", at + place, 5, {"tool_name": "exec_command", "call_id": call})
        yield codex(id + 9, id, "handle_responses", at + 6.5, 0.5, used)

    spans = (*streamed(10, 1, "c1", "c2"), *streamed(30, 11, "c3"), *streamed(50, 21))
    (run,) = runs(codex(1, None, "session_task.turn", 0, 40), codex(2, 1, "run_turn", 0, 40), *spans)
    assert [(c["call_id"], c["turn"]) for c in run["tool_calls"]] == [("c1", 0), ("c2", 0), ("c3", 1)]


@pytest.mark.parametrize(("success", "status"), [("true", "ok"), ("false", "error"), (None, "unknown")])
def test_an_event_of_codex_tells_how_a_tool_went(success, status):
    """Codex 0.169: the event is named by its place in the program, and bears its own name as an attribute."""
    told = {"event.name": "codex.tool_result", "tool_name": "exec_command", "call_id": "c1", "success": success}
    done = [("event otel/src/tool_result.rs:54", told)] if success else []
    (run,) = runs(
        codex(1, None, "session_task.turn", 0, 40),
        codex(2, 1, "receiving_stream", 1, 8),
        codex(3, 2, "exec_command", 2, 5, {"tool_name": "exec_command", "call_id": "c1"}),
        codex(4, 3, "dispatch_tool_call_with_state", 3, 3) | {"events": done},
        codex(5, 2, "handle_responses", 8, 0.5, {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 3}),
    )
    assert [(c["name"], c["call_id"], c["status"]) for c in run["tool_calls"]] == [("exec_command", "c1", status)]
    assert (run["boundaries"] == ["tool_failure"]) == (status == "error")


@pytest.mark.parametrize(("whose", "name"), [("mcp__t", "mcp__tlook"), ("functions", "look")])
def test_a_tool_of_codex_is_one_whoever_else_names_it_and_whatever_it_belongs_to(whose, name):
    """Codex 0.171: who watches over what is done has a span that names the tool, and the event parts a tool of a
    server's from its name."""
    told = {"event.name": "codex.tool_result", "tool_name": "look", "tool_namespace": whose, "call_id": "c1"}
    call = {"tool_name": name, "call_id": "c1"}
    (run,) = runs(
        codex(1, None, "session_task.turn", 0, 40),
        codex(2, 1, "receiving_stream", 1, 8),
        codex(3, 2, name, 2, 5, call),
        codex(4, 3, "dispatch_tool_call_with_state", 3, 3)
        | {"events": [("event otel/src/tool_result.rs:54", told | {"success": "true"})]},
        codex(6, 4, "guardian_scoring_observation", 3, 1, call),
        codex(5, 2, "handle_responses", 8, 0.5, {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 3}),
    )
    assert [(c["name"], c["call_id"], c["status"]) for c in run["tool_calls"]] == [(name, "c1", "ok")]


def test_log_records_of_codex_tell_what_its_tools_were_given_and_brought():
    """Codex 0.169: they are named by their place in the program, too; that of the prompt stands on a step before."""
    done = {"event.name": "codex.tool_result", "tool_name": "exec_command", "success": "true"}
    whole = done | {"call_id": "c1", "arguments": '{"cmd": "ls"}', "output": "a file", "output_truncated": False}
    cut = done | {"call_id": "c2", "arguments": '{"cmd": "cat"}', "output": "a f", "output_truncated": True}
    records = [
        (6, "event otel/src/events.rs:1", 0.5, {"event.name": "codex.user_prompt", "prompt": "list them"}),
        (4, "event otel/src/tool_result.rs:54", 6, whole),
        (4, "event otel/src/tool_result.rs:54", 7, cut),
    ]
    (run,) = runs(
        codex(1, None, "session_task.turn", 0, 40),
        codex(6, 1, "run_hooks_and_record_inputs", 0, 1),
        codex(7, 1, "run_sampling_request", 1, 9, {"model": "m"}),
        codex(2, 7, "receiving_stream", 1, 8),
        codex(3, 2, "exec_command", 2, 5, {"tool_name": "exec_command", "call_id": "c1"}),
        codex(8, 2, "exec_command", 2, 5, {"tool_name": "exec_command", "call_id": "c2"}),
        codex(4, 3, "dispatch_tool_call_with_state", 3, 3),
        codex(5, 2, "handle_responses", 8, 0.5, {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 3}),
        logs=[events(*records, scope="codex_otel.log_only", named=True)],
    )
    assert [(c["arguments"], c["result"], c["status"]) for c in run["tool_calls"]] == [
        ({"cmd": "ls"}, "a file", "ok"),
        ({"cmd": "cat"}, None, "ok"),
    ]
    assert (run["input"], run["llm_calls"][0]["request_model"]) == ("list them", "m")


def test_a_handoff_to_who_is_named_by_a_number_may_have_gone_unseen():
    offered = {"gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "handoff_to_1"}])}
    asked = {"gen_ai.response.finish_reasons": ["tool_calls"]}
    (run,) = runs(
        span(1, None, "POST /runs", kind=2, took=30),
        agent(2, "triage", 1, at=1, took=5, attributes=offered),
        chat(3, 2, at=1.5, attributes=offered | asked),
        agent(4, "booking", 1, at=8, took=9),
        chat(5, 4, at=9, attributes={"gen_ai.response.finish_reasons": ["stop"]}),
    )
    assert run["delegations"] is None


@pytest.mark.parametrize("called", ["agent_run", "agent.run", "agent.invoke", "invoke_agent_internal"])
def test_an_agents_run_by_another_word_is_an_agents_and_no_model_call(called):
    told = MODEL | {"gen_ai.agent.name": "guide", "gen_ai.system": "openai"}
    (run,) = runs(
        span(1, None, "run", took=20, attributes=told | {"gen_ai.operation.name": called}),
        chat(2, 1, [("c", "look", {})], "go", at=1, attributes={"gen_ai.operation.name": "chat_completion"}),
        tool(3, 1, "look", "c", "rain", at=3, attributes={"gen_ai.operation.name": "tool_execution"}),
        chat(4, 1, "it rains", at=5, attributes={"gen_ai.operation.name": "chat_completion"}),
    )
    assert run["agents"] == ["guide"]
    assert [c["agent"] for c in run["llm_calls"]] == ["guide", "guide"]
    assert [(c["name"], c["agent"], c["result"]) for c in run["tool_calls"]] == [("look", "guide", "rain")]


@pytest.mark.parametrize(("went", "status"), [("success", "ok"), ("error", "error")])
def test_tanstack_tells_a_tool_by_messages_and_a_loop_like_a_model_call(went, status):
    def said(content):
        return json.dumps([{"role": "tool", "content": content}])

    ran = {"gen_ai.tool.name": "look", "gen_ai.tool.call.id": "c1", "tanstack.ai.tool.outcome": went}
    told = {"gen_ai.input.messages": said('{"city": "Oslo"}'), "gen_ai.output.messages": said("3 degrees")}
    (run,) = runs(
        span(1, None, "chat m", took=20, attributes=MODEL | {"gen_ai.system": "x", "tanstack.ai.iterations": 2}),
        chat(2, 1, asked="weather?", at=1, took=3, attributes={"gen_ai.response.finish_reasons": ["tool_calls"]}),
        span(3, 2, "execute_tool look", at=3, attributes=ran | told),
        chat(4, 1, "cold", at=5),
    )
    assert len(run["llm_calls"]) == 2
    assert [(c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ({"city": "Oslo"}, status, "3 degrees")
    ]
