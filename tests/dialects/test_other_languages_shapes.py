"""Kits of other languages whose spans nobody recorded, written as their sources or documents say."""

import pytest

from tests.runs.requests import runs, span

pytestmark = pytest.mark.full


def test_neuron_for_rust_tells_each_step_by_two_spans_without_a_length():
    """neuron-otel's hook: what is about to be done, then what was."""
    system = {"gen_ai.system": "neuron"}

    def model(id, at, why):
        told = {"gen_ai.response.model": "m-1", "gen_ai.response.stop_reason": why}
        told |= {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}
        asked = system | {"gen_ai.request.model": "m", "gen_ai.request.messages": 3}
        return [
            span(id, 1, "gen_ai.chat", at=at, took=0, attributes=asked),
            span(id + 1, 1, "gen_ai.chat", at=at + 1, took=0, attributes=system | told),
        ]

    look = {"gen_ai.tool.name": "look"}
    (run,) = runs(
        span(1, None, "handle", took=20),
        *model(2, 1, "ToolUse"),
        span(4, 1, "gen_ai.execute_tool", at=3, took=0, attributes=system | look),
        span(5, 1, "gen_ai.execute_tool", at=4, took=0, attributes=system | look | {"gen_ai.tool.is_error": True}),
        *model(6, 5, "EndTurn"),
    )
    assert [(c["response_model"], c["input_tokens"], c["output_tokens"]) for c in run["llm_calls"]] == [
        ("m-1", 9, 2)
    ] * 2
    assert run["tool_calls"] is None


def test_a_kit_for_ruby_names_a_tool_after_the_step_in_langfuses_words():
    """Chatwoot's agents, by their published names of spans."""
    model = {"langfuse.observation.type": "generation", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9}
    ran = {"langfuse.observation.type": "tool", "langfuse.observation.input": '{"q":1}'}
    (run,) = runs(
        span(1, None, "agents.run", took=20, attributes={"langfuse.observation.type": "agent", "agent.name": "triage"}),
        span(2, 1, "agents.llm_call", at=1, attributes=model | {"langfuse.observation.input": "go"}),
        span(3, 1, "agents.tool.look", at=3, attributes=ran | {"langfuse.observation.output": "cold"}),
        span(5, 1, "agents.llm_call", at=5, attributes=model | {"langfuse.observation.output": "done"}),
    )
    told = [(c["name"], c["arguments"], c["result"]) for c in run["tool_calls"]]
    assert (told, run["output"]) == ([("look", {"q": 1}, "cold")], "done")
