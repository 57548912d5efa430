"""What OpenTelemetry's conventions for GenAI name beside agents, model calls and tools."""

import pytest

from tests.runs.requests import agent, chat, runs, span, tool


@pytest.mark.parametrize("operation", ["search_memory", "upsert_memory"])
def test_what_a_memory_asks_a_model_is_not_the_users_request(operation):
    (run,) = runs(
        agent(1, "planner", took=9),
        span(2, 1, f"{operation} notes", at=1, took=2, gen_ai__operation__name=operation),
        chat(3, 2, "{}", "Which facts are in this?", at=1.5),
        chat(4, 1, "Cold.", "Oslo?", at=4),
    )
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("Oslo?", "Cold.", 2)


def _message(id, parent, at, took, kind, **told):
    return span(id, parent, "SendMessage", at=at, took=took, kind=kind, a2a__method__name="SendMessage", **told)


@pytest.mark.parametrize("inner", ["an agent of its own", "a model call", "nothing"])
@pytest.mark.parametrize("named", ["both sides", "the server's side"])
def test_a_message_to_an_agent_of_another_service_is_a_delegation(inner, named):
    name = {"gen_ai__agent__name": "weather"}
    last = {"an agent of its own": [agent(6, "weather", 5, at=3.4, took=0.4)], "a model call": [], "nothing": []}[inner]
    below = [*last, chat(7, 6 if last else 5, "Cold.", "Oslo", at=3.5, took=0.1)] if inner != "nothing" else []
    (run,) = runs(
        agent(1, "host", took=9),
        chat(2, 1, [("call_7Gq2", "send_message", {"task": "Oslo"})], "Oslo?", at=1),
        tool(3, 1, "send_message", "call_7Gq2", "Cold.", at=3),
        _message(4, 3, 3.1, 0.8, 3, **name if named == "both sides" else {}),
        _message(5, 4, 3.2, 0.7, 2, **name),
        *below,
        chat(8, 1, "It is cold.", at=5),
    )
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("host", "weather", "send_message")]
    assert run["tool_calls"] == []
    assert [c["agent"] for c in run["llm_calls"]] == ["host", *(["weather"] if below else []), "host"]
