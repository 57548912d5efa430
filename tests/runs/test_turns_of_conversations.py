"""Turns of a conversation, under which a kit lays all that a model is asked."""

from tests.runs.requests import agent, chat, runs, tool


def test_a_model_asked_under_a_turn_while_another_agent_is_at_work_may_be_that_ones():
    """Weave's conversations lay all that a model is asked under the turn."""
    scope = {"scope": "weave.conversation"}
    asked = tool(3, 1, "ask_writer", "c1", "Owls fly.", at=3, took=10)
    (run,) = runs(
        agent(1, "planner", took=20, **scope),
        chat(2, 1, [("c1", "ask_writer", {"task": "Owls"})], at=1) | scope,
        asked | scope,
        agent(4, "writer", 3, at=4, took=8, **scope),
        chat(5, 1, [("c2", "look", {"q": "owls"})], at=5) | scope,
        tool(6, 4, "look", "c2", "found", at=7) | scope,
        chat(7, 1, "Owls fly.", at=9) | scope,
        chat(8, 1, "Here it is: Owls fly.", at=15) | scope,
    )
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", None, None, "planner"]
    assert [(c["name"], c["agent"]) for c in run["tool_calls"]] == [("look", "writer")]
