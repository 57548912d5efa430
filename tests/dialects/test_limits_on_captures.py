"""What the limits of an exporter leave of runs that are told well without them."""

from __future__ import annotations

from tests.runs.requests import agent, chat, runs

CREWAI = "opentelemetry.instrumentation.crewai.instrumentation"


def test_what_an_agent_of_crewais_asks_again_in_its_text_does_not_run():
    """CrewAI refuses the tool that it used last with the same arguments; a limit on values cut the history in which it
    says so."""
    acts = 'Thought: look\nAction: look\nAction Input: {"city": "Oslo"}'
    asked = '[{"role": "system", "parts": [{"type": "text", "content": "You ONLY have access to the following to'

    def said(id, text, at):
        return chat(id, 1, text, at=at, scope=CREWAI, attributes={"gen_ai.input.messages": asked})

    (run,) = runs(
        agent(1, "planner", took=20, scope=CREWAI),
        said(2, acts, 1),
        said(3, acts, 3),
        said(4, "Thought: I now know the final answer\nFinal Answer: sunny", 5),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "unknown"), ("look", "requested")]
