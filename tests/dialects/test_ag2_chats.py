"""Chats of AG2 0.14 as OpenInference 0.1.12 tells them: each is told as an agent, whoever began it."""

import json

import pytest

from tests.runs.requests import chat, runs, span

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
