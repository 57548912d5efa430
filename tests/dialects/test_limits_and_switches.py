"""What kits tell where a limit cuts their values, or where a switch leaves content out."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span


def test_a_handoff_of_which_only_what_it_takes_is_told_is_no_tool():
    """LlamaIndex's workflow under OpenInference, with inputs and outputs hidden."""
    takes = {"properties": {"to_agent": {"type": "string"}, "reason": {"type": "string"}}, "type": "object"}
    hidden = {"input.value": "__REDACTED__", "output.value": "__REDACTED__"}
    oi = {"scope": "openinference.instrumentation.llama_index", "status": 1}

    def called(id, parent, name, takes, at):
        told = {"openinference.span.kind": "TOOL", "tool.name": name, "tool.parameters": json.dumps(takes)}
        return span(id, parent, "FunctionTool.acall", at=at, attributes=told | hidden, **oi)

    def asked(id, at):
        told = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.finish_reason": "tool_calls"}
        return span(id, 1, "astream_chat", at=at, attributes=told | hidden, **oi)

    (run,) = runs(
        span(1, None, "AgentWorkflow.run", took=20, attributes={"openinference.span.kind": "CHAIN"} | hidden, **oi),
        asked(2, 1),
        called(3, 1, "handoff", takes, 3),
        asked(4, 5),
        called(5, 1, "look", {"properties": {"q": {"type": "string"}}, "type": "object"}, 7),
        asked(6, 9),
    )
    assert [c["name"] for c in run["tool_calls"]] == ["look"]
    assert [(d["to"], d["form"], d["tool"]) for d in run["delegations"]] == [(None, "handoff", "handoff")]


def test_what_a_user_said_in_an_event_that_a_limit_cut_is_unknown():
    """Strands' events hold the parts of a message as JSON."""
    asked = json.dumps([{"text": "of Oslo, " * 40}])[:256]
    said = [("gen_ai.user.message", {"content": asked})]
    (run,) = runs(agent(1, "planner", took=9, events=said), chat(2, 1, "fine", at=1, events=said))
    assert (run["input"], run["output"]) == (None, "fine")
    assert "truncated values" in run["incomplete"]


@pytest.mark.parametrize("content", [True, False])
@pytest.mark.parametrize("later", [True, False])
def test_a_workflow_without_the_step_after_its_models_may_have_failed(later, content):
    """LlamaIndex's agents under Traceloop: the step that met a limit, and raised, never comes, the workflow's own span
    ends early, and of a stream it is not told what it asked for."""
    traceloop = {"scope": "opentelemetry.instrumentation.llamaindex"}

    def step(id, parent, kind, name, at, took, **more):
        told = {"traceloop.span.kind": kind, "traceloop.entity.name": name} | more
        return span(id, parent, name, at=at, took=took, attributes=told, **traceloop)

    model = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3}
    if content:
        model["gen_ai.input.messages"] = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
        model["gen_ai.output.messages"] = [{"role": "assistant", "parts": [], "finish_reason": ""}]
    (run,) = runs(
        step(1, None, "workflow", "FunctionAgent.workflow", 0, 3),
        step(2, 1, "task", "BaseWorkflowAgent.task", 1, 1),
        step(3, 1, "task", "BaseWorkflowAgent.task", 3, 3),
        step(4, 3, "task", "OpenAI.task", 3, 3, **model),
        *([step(5, 1, "task", "BaseWorkflowAgent.task", 7, 1)] if later else []),
    )
    assert run["status"] == ("ok" if later else "unknown")
    assert ("max_steps" in run["boundaries_unknown"]) or later
