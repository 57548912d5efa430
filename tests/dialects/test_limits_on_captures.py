"""What the limits of an exporter leave of runs that are told well without them."""

from __future__ import annotations

import json

import pytest

from tests.runs.requests import agent, chat, runs, span

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


@pytest.mark.parametrize("last", [{"input": [{"role": "user", "blocks": []}], "current_agent_name": "planner"}, {}])
def test_what_a_step_of_llama_indexs_hands_on_is_no_answer(last):
    """LlamaIndex under OpenLLMetry 0.40, which told of no answer of its models, or a process that was killed."""
    scope = {"scope": "opentelemetry.instrumentation.llamaindex"}

    def step(id, parent, kind, name, at, **told):
        told = {f"traceloop.entity.{key}": value for key, value in told.items()}
        named = {"traceloop.span.kind": kind, "traceloop.entity.name": name}
        return span(id, parent, name, at=at, took=9 if kind == "workflow" else 1, attributes=named | told, **scope)

    ran = '{"tool_name":"look","tool_kwargs":{"x":1},"tool_id":"call_aZ81kQ0zT4","tool_output":{"is_error":false}}'
    (run,) = runs(
        step(1, None, "workflow", "AgentWorkflow.workflow", 0),
        step(2, 1, "task", "setup_agent.task", 1, output=json.dumps(json.dumps(last, separators=(",", ":")))),
        step(3, 1, "task", "call_tool.task", 3, output=json.dumps(ran)),
        step(4, 1, "task", "parse_agent_output.task", 5, output=json.dumps(json.dumps(last, separators=(",", ":")))),
    )
    assert run["output"] is None


def test_an_answer_of_line_breaks_alone_is_none():
    """Bedrock under OpenInference 0.1.31, which writes a line break between calls that it does not tell; the process
    was killed before it asked again."""
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": 4}
    told |= {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "go"}
    told |= {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "\n\n"}
    told |= {"llm.token_count.completion": 16, "output.value": "\n\n"}
    (run,) = runs(span(1, 99, "bedrock.converse", scope="openinference.instrumentation.bedrock", attributes=told))
    assert (run["output"], run["status"]) == (None, "unknown")
