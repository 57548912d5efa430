"""Chats of AG2 0.14: as OpenInference 0.1.12 tells them, each as an agent, whoever began it; as OpenLIT 1.45 does, each
message as if a model had been asked; and under MLflow 3.17."""

import json

import pytest

from tests.dialects.limits import kept_last
from tests.runs.requests import agent, chat, runs, span, tool

SCOPE = "openinference.instrumentation.ag2"


def _chat(id, parent, sender, recipient, message, output=None, **more):
    told = {"openinference.span.kind": "AGENT", "agent.name": sender, "ag2.recipient.name": recipient}
    told["input.value"] = json.dumps({"message": message, "sender": sender, "recipient": recipient})
    told |= {} if output is None else {"output.value": output}
    return span(id, parent, f"{sender}.initiate_chat", attributes=told, scope=SCOPE, **more)


def _reply(id, parent, name, output=None, **more):
    told = {"openinference.span.kind": "AGENT", "agent.name": name}
    told |= {} if output is None else {"output.value": output}
    return span(id, parent, f"{name}.generate_reply", attributes=told, scope=SCOPE, **more)


def _told(run):
    return run["agents"], [(d["from"], d["to"], d["form"]) for d in run["delegations"]], run["input"], run["output"]


@pytest.mark.parametrize(("status", "said"), [(1, "Sunny."), (2, None)])
def test_who_begins_a_chat_stands_for_the_user(status, said):
    begun = _chat(1, None, "user", "planner", "Oslo?", said, took=9, status=status)
    asked = chat(3, 2, said or [], "Oslo?", at=1, took=2, status=status)
    (run,) = runs(begun, _reply(2, 1, "planner", said, took=4, status=status), asked)
    assert _told(run) == (["planner"], [], "Oslo?", said)


def test_what_an_agent_asks_another_in_a_chat_of_the_two_is_a_delegation():
    (run,) = runs(
        _chat(1, None, "user", "planner", "Oslo?", "Sunny.", took=9),
        _reply(2, 1, "planner", "Sunny.", took=8),
        _chat(3, 2, "planner", "writer", "What of Oslo?", "Sunny.", at=1, took=6),
        _reply(4, 3, "writer", "Sunny.", at=1, took=5),
        chat(5, 4, "Sunny.", "What of Oslo?", at=2),
    )
    assert _told(run) == (["planner", "writer"], [("planner", "writer", "nested")], "Oslo?", "Sunny.")


def test_a_group_that_speaks_in_turn_is_led_by_nobody_and_its_last_answer_is_the_runs():
    (run,) = runs(
        _chat(1, None, "user", "chat_manager", "Oslo?", "Oslo?", took=9),
        _reply(2, 1, "chat_manager", took=8),
        _reply(3, 2, "planner", "I look.", at=1, took=2),
        chat(4, 3, "I look.", "Oslo?", at=1),
        _reply(5, 2, "writer", "Sunny.", at=4, took=2),
        chat(6, 5, "Sunny.", "Oslo?", at=4),
    )
    assert _told(run) == (["planner", "writer"], [], "Oslo?", "Sunny.")


def test_a_group_whose_speakers_a_model_chooses_leads_them_itself():
    (run,) = runs(
        _chat(1, None, "user", "chat_manager", "Oslo?", "Oslo?", took=9),
        _reply(2, 1, "chat_manager", took=8),
        _chat(3, 2, "checking_agent", "speaker_selection_agent", "Who is next?", "writer", at=1, took=3),
        _reply(4, 3, "speaker_selection_agent", "writer", at=1, took=2),
        chat(5, 4, "writer", "Who is next?", at=1),
        _reply(6, 3, "checking_agent", at=3.5, took=0.5),
        _reply(7, 2, "writer", "Sunny.", at=5, took=2),
        chat(8, 7, "Sunny.", "Oslo?", at=5),
    )
    assert _told(run) == (["chat_manager", "writer"], [("chat_manager", "writer", "nested")], "Oslo?", "Sunny.")
    assert [call["agent"] for call in run["llm_calls"]] == ["chat_manager", "writer"]


def test_who_asks_no_model_runs_tools_for_who_does():
    """As MLflow tells it, without the ids of calls."""
    asked = [("c1", "look", {"city": "Oslo"}), ("c2", "look", {"city": "Rome"})]
    (run,) = runs(
        span(1, None, "initiate_chat", took=9),
        agent(2, "planner", parent=1, took=2),
        chat(3, 2, asked, "Where?", took=1),
        agent(4, "user", parent=1, at=3, took=3),
        tool(5, 4, "look", None, "sunny", at=3, gen_ai__tool__call__arguments='{"city": "Oslo"}'),
        tool(6, 4, "look", None, "cold", at=5, gen_ai__tool__call__arguments='{"city": "Rome"}'),
        agent(7, "planner", parent=1, at=7, took=2),
        chat(8, 7, "Oslo.", "Where?", at=7),
    )
    told = [(c["agent"], c["call_id"], c["result"], c["status"], c["evidence"]) for c in run["tool_calls"]]
    assert told == [
        ("planner", "c1", "sunny", "ok", ["span", "message"]),
        ("planner", "c2", "cold", "ok", ["span", "message"]),
    ]
    assert (run["agents"], run["delegations"]) == (["planner"], [])


def _message(id, parent, name, kind, **more):
    """A message as OpenLIT tells it; a failure without attributes."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.agent.message_type": kind, "gen_ai.agent.name": name}
    told |= {"gen_ai.request.model": "unknown", "gen_ai.response.model": "unknown"}
    told |= {"gen_ai.usage.input_tokens": 15} if kind == "generate_reply" else {}
    told |= {"gen_ai.output.messages": "planner"} if kind == "send" else {"gen_ai.input.messages": "user"}
    kept = {} if more.get("status") == 2 else told
    return span(id, parent, f"execute_task {name}", attributes=kept, scope="openlit.instrumentation.ag2", **more)


def test_a_message_is_no_call_of_a_model():
    (run,) = runs(
        _message(1, None, "user", "send", took=9),
        _message(2, 1, "planner", "receive", took=9),
        _message(3, 2, "planner", "generate_reply", took=4),
        chat(4, 3, "Sunny.", "Oslo?", at=1),
        _message(5, 2, "planner", "send", at=5),
        _message(6, 5, "user", "receive", at=5),
    )
    assert _told(run) == (["planner"], [], "Oslo?", "Sunny.")
    (call,) = run["llm_calls"]
    assert (call["agent"], call["request_model"], call["input_tokens"]) == ("planner", "model-a", 10)


@pytest.mark.parametrize("kept", [6, 5, 4, 3])
def test_a_message_of_which_an_sdk_dropped_something_is_no_call_of_a_model_either(kept):
    reply = kept_last(_message(3, 2, "planner", "generate_reply", took=4), kept)
    sent = _message(1, None, "user", "send", took=9), _message(2, 1, "planner", "receive", took=9)
    (run,) = runs(*sent, reply, chat(4, 3, "Sunny.", "Oslo?", at=1))
    assert [(call["request_model"], call["input_tokens"]) for call in run["llm_calls"]] == [("model-a", 10)]


def test_a_message_that_failed_is_no_agent():
    failed = {"status": 2, "took": 5}
    (run,) = runs(
        _message(1, None, "user", "send", **failed),
        _message(2, 1, "planner", "receive", **failed),
        _message(3, 2, "planner", "generate_reply", **failed),
        chat(4, 3, [], "Oslo?", at=1, status=2),
    )
    assert (run["agents"], run["delegations"], run["input"]) == ([], None, "Oslo?")
    assert (run["status"], run["incomplete"]) == ("error", ["delegations not visible", "no agent name"])


def test_an_agent_that_asks_another_hands_over_and_who_leads_a_group_does_not():
    group = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.agent.name": "GroupChat_2_agents"}
    group["gen_ai.groupchat.participants"] = "planner,writer"
    (run,) = runs(
        _message(1, None, "user", "send", took=19),
        _message(2, 1, "chat_manager", "receive", took=19),
        _message(3, 2, "chat_manager", "generate_reply", took=18),
        span(
            4, 3, "invoke_workflow GroupChat_2_agents", attributes=group, scope="openlit.instrumentation.ag2", took=18
        ),
        _message(5, 4, "planner", "generate_reply", at=1, took=7),
        chat(6, 5, "I look.", "Oslo?", at=1),
        _message(7, 5, "planner", "send", at=3, took=4),
        _message(8, 7, "writer", "receive", at=3, took=4),
        _message(9, 8, "writer", "generate_reply", at=4, took=2),
        chat(10, 9, "Sunny.", "What of Oslo?", at=4),
    )
    assert run["agents"] == ["planner", "writer"]
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("planner", "writer", "nested")]
