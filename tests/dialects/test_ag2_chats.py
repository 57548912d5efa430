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


def _called(*ids):
    asked = [{"id": id, "function": {"arguments": '{"city": "Oslo"}', "name": "look"}} for id in ids]
    return json.dumps({"content": None, "role": "assistant", "tool_calls": asked})


_CAME = (
    '{"role": "tool", "tool_responses": [{"tool_call_id": "c1", "role": "tool", "content": "mild"}], "content": "mild"}'
)
_ASKED = {"input.value": '[{"content": "Oslo?", "role": "user", "name": "user"}]'}


def _spoken(id, parent, name, output=None, **more):
    told = _reply(id, parent, name, output, **more)
    return told | {"attributes": _ASKED | told["attributes"]}


def _looked(id, parent, call_id):
    told = {"openinference.span.kind": "TOOL", "tool.name": "look", "tool_call.id": call_id, "agent.name": "user"}
    told |= {"tool_call.function.arguments": '{"city": "Oslo"}'}
    told["output.value"] = json.dumps([True, {"name": "look", "role": "function", "content": "mild"}])
    return span(id, parent, "look", at=3, attributes=told, scope=SCOPE)


@pytest.mark.parametrize(("known", "whose"), [("c1", "planner"), ("c9", None)])
def test_who_runs_what_another_asked_for_does_no_work_where_no_model_is_told_either(known, whose):
    (run,) = runs(
        _chat(1, None, "user", "planner", "Oslo?", "Sunny.", took=9),
        _spoken(2, 1, "planner", _called(known), at=1),
        _spoken(3, 1, "user", _CAME, at=3),
        _looked(4, 3, "c1"),
        _spoken(5, 1, "planner", "Sunny.", at=5),
        _spoken(6, 1, "user", at=7),
    )
    assert [(c["agent"], c["status"]) for c in run["tool_calls"]] == [(whose, "ok")]
    assert (run["agents"], run["output"]) == (["planner"], "Sunny.")


def test_where_the_last_reply_failed_nothing_before_it_is_the_answer():
    (run,) = runs(
        _chat(1, None, "user", "planner", "Oslo?", took=9, status=2),
        _spoken(2, 1, "planner", json.dumps({**json.loads(_called("c1")), "content": "Let me see."}), at=1),
        _spoken(3, 1, "user", _CAME, at=3),
        _looked(4, 3, "c1"),
        _spoken(5, 1, "planner", at=5, status=2),
    )
    assert (run["status"], run["output"], run["agents"]) == ("error", None, ["planner"])


def test_who_only_lets_others_speak_is_no_agent_where_no_model_is_told():
    (run,) = runs(
        _chat(1, None, "user", "boss", "Oslo?", took=9, status=2),
        _spoken(2, 1, "boss", at=1, took=8, status=2),
        _spoken(3, 2, "planner", at=2, took=6, status=2),
    )
    assert (run["agents"], run["status"]) == (["planner"], "error")


OWN = "opentelemetry.instrumentation.ag2"


def _by_itself(id, parent, name, kind="agent", **more):
    """As AG2 tells it by itself; who has no model names no provider."""
    told = {"ag2.span.type": kind, "gen_ai.operation.name": {"agent": "invoke_agent"}.get(kind, kind)}
    told["gen_ai.agent.name"] = name
    told |= {"gen_ai.input.messages": given} if (given := more.pop("given")) is not None else {}
    told |= {"gen_ai.output.messages": said} if (said := more.pop("said", None)) is not None else {}
    return span(id, parent, f"{told['gen_ai.operation.name']} {name}", attributes=told, scope=OWN, **more)


@pytest.mark.parametrize("kept", [12, 4, 3, 2])
def test_a_chat_as_ag2_tells_it_by_itself_is_the_work_of_who_answers(kept):
    given = '[{"role": "user", "parts": [{"type": "text", "content": "Oslo?"}]}]'
    part = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"city": "Oslo"}}
    answer = '[{"role": "assistant", "parts": [{"type": "text", "content": "Sunny."}], "finish_reason": "stop"}]'
    called = json.dumps([{"role": "assistant", "parts": [part]}])
    came = '[{"role": "tool", "parts": [{"type": "text", "content": "mild"}]}]'
    (run,) = runs(
        kept_last(_by_itself(1, None, "user", "conversation", given=given, said=answer, took=9), kept),
        _by_itself(2, 1, "planner", given=given, said=called, at=1),
        _by_itself(3, 1, "user", given=given, said=came, at=3),
        tool(4, 3, "look", "c1", "mild", at=3) | {"scope": OWN},
        _by_itself(5, 1, "planner", given=given, said=answer, at=5),
        _by_itself(6, 1, "user", given=given, at=7),
    )
    assert [(c["agent"], c["result"]) for c in run["tool_calls"]] == [("planner", "mild")]
    assert (run["agents"], run["delegations"], run["output"]) == (["planner"], [], "Sunny.")


def test_what_tools_gave_is_nobodys_answer_though_their_spans_are_lost():
    given = '[{"role": "user", "parts": [{"type": "text", "content": "Oslo?"}]}]'
    answer = '[{"role": "assistant", "parts": [{"type": "text", "content": "Sunny."}]}]'
    came = '[{"role": "tool", "parts": [{"type": "text", "content": "mild"}]}]'
    (run,) = runs(
        _by_itself(1, None, "user", "conversation", given=given, took=9),
        _by_itself(2, 1, "user", given=given, said=came, at=3),
        _by_itself(3, 1, "planner", given=given, said=answer, at=5),
    )
    assert (run["agents"], run["output"]) == (["planner"], "Sunny.")


def test_a_tool_whose_frame_is_lost_is_of_nobody_known_and_words_beside_a_request_are_no_answer():
    (run,) = runs(
        _chat(1, None, "user", "planner", "Oslo?", took=9),
        _spoken(2, 1, "planner", json.dumps({**json.loads(_called("c1")), "content": "Let me see."}), at=1),
        _looked(4, 99, "c1"),
    )
    assert [c["agent"] for r in runs(_looked(4, 99, "c1")) for c in r["tool_calls"]] == [None]
    assert run["output"] is None


@pytest.mark.parametrize(("said", "whose"), [(_called("c1"), "writer"), (_called("c1")[:40], None)])
def test_what_is_run_in_a_chat_within_an_agent_is_of_who_asked_for_it_or_of_nobody_known(said, whose):
    (run,) = runs(
        _chat(1, None, "user", "planner", "Oslo?", "Sunny.", took=9),
        _spoken(2, 1, "planner", "Sunny.", took=8),
        _chat(3, 2, "planner", "writer", "What of Oslo?", "Sunny.", at=1, took=6),
        _spoken(4, 3, "writer", said, at=1),
        _spoken(5, 3, "planner", _CAME, at=3),
        _looked(6, 5, "c1"),
        _spoken(7, 3, "writer", "Sunny.", at=5),
    )
    assert [c["agent"] for c in run["tool_calls"]] == [whose]


@pytest.mark.parametrize("again", [False, True])
def test_whoever_runs_the_tools_of_a_group_does_no_work_though_its_members_are_not_told_what_was_said(again):
    """A model chooses who speaks; under both instrumentations each reply is told twice."""
    part = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"city": "Oslo"}}
    called = json.dumps([{"role": "assistant", "parts": [part]}])
    came = '[{"role": "tool", "parts": [{"type": "text", "content": "mild"}]}]'
    inner = [_spoken(6, 5, "runner", _CAME, at=5, took=2)] if again else []
    (run,) = runs(
        _by_itself(1, None, "chat_manager", given='[{"role": "user", "parts": []}]', took=9),
        chat(2, 1, "planner", "Who is next?", at=0) | {"scope": OWN},
        _by_itself(3, 1, "planner", given=None, said=called, at=2),
        chat(4, 3, [("c1", "look", {"city": "Oslo"})], "Oslo?", at=2) | {"scope": OWN},
        _by_itself(5, 1, "runner", given=None, said=came, at=5, took=3),
        *inner,
        tool(7, 6 if again else 5, "look", "c1", "mild", at=5) | {"scope": OWN},
    )
    assert [(c["agent"], c["result"]) for c in run["tool_calls"]] == [("planner", "mild")]
    assert "runner" not in run["agents"] + [d["to"] for d in run["delegations"]]


def test_who_was_chosen_to_speak_is_no_answer():
    (run,) = runs(
        _chat(1, None, "user", "chat_manager", "Oslo?", "", took=9),
        _spoken(2, 1, "chat_manager", took=8),
        _chat(3, 2, "checking_agent", "speaker_selection_agent", "Who is next?", "[AGENT SELECTED]planner", at=1),
        _spoken(4, 2, "planner", _called("c1"), at=3),
    )
    assert run["output"] is None


def test_what_is_left_of_a_group_does_not_make_agents_of_who_chooses_and_who_runs_tools():
    """The span of who leads the group has not come, nor that of the tool."""
    came = '[{"role": "tool", "parts": [{"type": "text", "content": "mild"}]}]'
    chosen = chat(2, 9, "planner", "Who is next?", at=0) | {"scope": OWN}
    chosen["attributes"]["gen_ai.agent.name"] = "speaker_selection_agent"
    (run,) = runs(
        _by_itself(1, None, "user", "conversation", given='[{"role": "user", "parts": []}]', took=9),
        chosen,
        _by_itself(3, 9, "planner", given=None, at=2),
        chat(4, 3, [("c1", "look", {"city": "Oslo"})], "Oslo?", at=2) | {"scope": OWN},
        _by_itself(5, 9, "runner", given=None, said=came, at=5, took=3),
    )
    assert (run["agents"], [c["agent"] for c in run["llm_calls"]]) == (["planner"], [None, "planner"])
