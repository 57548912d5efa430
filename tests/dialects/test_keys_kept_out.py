"""Spans of which a collector on the way keeps some keys out: those of the conventions, or a kit's own."""

from __future__ import annotations

import json

import pytest

from tests.runs.requests import agent, chat, runs, span


def _called(run):
    return [(c["name"], c["arguments"], c["status"]) for c in run["tool_calls"] or []]


def test_pydantic_ai_says_which_tool_ran_in_words_too():
    told = {"tool_arguments": '{"x": 1}', "tool_response": "seen", "logfire.msg": "running tool: look"}
    asked = {"model_request_parameters": '{"function_tools": []}'}
    (run,) = runs(
        span(1, None, "agent run", took=9, scope="pydantic-ai", attributes={"agent_name": "a", "model_name": "m"}),
        span(2, 1, "chat m", scope="pydantic-ai", attributes=asked),
        span(3, 1, "running tools", at=2, took=2, scope="pydantic-ai", attributes={"logfire.msg": "running 1 tool"}),
        span(4, 3, "running tool", at=2, scope="pydantic-ai", attributes=told),
        span(5, 1, "chat m", at=5, scope="pydantic-ai", attributes=asked),
    )
    assert _called(run) == [("look", {"x": 1}, "ok")]


@pytest.mark.parametrize(
    ("left", "status"),
    [
        ({"gcp.vertex.agent.event_id": "e1"}, "unknown"),
        ({"gen_ai.tool.description": "looks"}, "unknown"),
        ({}, "error"),
    ],
)
def test_a_tool_of_adk_of_which_some_key_is_left_is_none_that_threw(left, status):
    """For JavaScript, the span of one that threw has no key at all."""
    scope = "gcp.vertex.agent"
    (run,) = runs(
        span(1, None, "invoke_agent a", took=9, scope=scope),
        span(2, 1, "call_llm", scope=scope, attributes={"gcp.vertex.agent.llm_request": "{}"}),
        span(3, 1, "execute_tool look", at=2, scope=scope, attributes=left),
    )
    assert _called(run) == [("look", None, status)]


@pytest.mark.parametrize(("result", "status"), [({"gcp.vertex.agent.tool_response": "{}"}, "ok"), ({}, "unknown")])
def test_what_came_of_an_early_adks_tool_stands_in_one_key_alone(result, status):
    """Which is there whether content is captured or not."""
    scope = {"scope": "gcp.vertex.agent", "version": "1.5.0"}
    ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": "adk-1"}
    (run,) = runs(
        span(1, None, "agent_run [a]", took=9, **scope),
        span(2, 1, "call_llm", attributes={"gcp.vertex.agent.llm_request": "{}", "gen_ai.request.model": "m"}, **scope),
        span(3, 1, "execute_tool look", at=2, attributes=ran | result, **scope),
        span(4, 1, "call_llm", at=4, attributes={"gcp.vertex.agent.llm_request": "{}"}, **scope),
    )
    assert _called(run) == [("look", None, status)]


@pytest.mark.parametrize("named", [True, False])
def test_the_class_of_a_tool_is_not_its_name(named):
    scope, asked = "openinference.instrumentation.smolagents", "llm.output_messages.0.message"
    call = f"{asked}.tool_calls.0.tool_call"
    told = {f"{asked}.role": "assistant", f"{call}.id": "call_aZ81kQ0zT4", f"{call}.function.name": "look"}
    told |= {f"{call}.function.arguments": '{"x": 1}', "llm.model_name": "m", "llm.token_count.prompt": 5}
    ran = {"openinference.span.kind": "TOOL", "input.value": '{"args": [], "kwargs": {"x": 1}}'}
    (run,) = runs(
        agent(1, "a", took=9, scope=scope, attributes={"openinference.span.kind": "AGENT"}),
        span(2, 1, "Model.generate", scope=scope, attributes={"openinference.span.kind": "LLM", **told}),
        span(
            3,
            1,
            "SimpleTool",
            at=2,
            scope=scope,
            attributes={**ran, "output.value": "seen", **({"tool.name": "look"} if named else {})},
        ),
    )
    assert _called(run) == [("look", {"x": 1}, "ok")]


def test_what_a_function_is_called_by_is_no_tool():
    """The AI SDK's span of a tool bears the name of the function that its telemetry was given."""
    ran = {"ai.operationId": "ai.toolCall", "operation.name": "ai.toolCall concierge", "ai.toolCall.id": "call_aZ"}
    (run,) = runs(
        span(1, None, "ai.generateText concierge", took=9, scope="ai"),
        span(2, 1, "ai.generateText.doGenerate concierge", scope="ai", attributes={"ai.model.id": "m"}),
        span(3, 1, "ai.toolCall concierge", at=2, scope="ai", attributes=ran),
        span(4, 1, "ai.generateText.doGenerate concierge", at=4, scope="ai", attributes={"ai.model.id": "m"}),
    )
    assert [name for name, *_ in _called(run)] == [None]


@pytest.mark.parametrize("left", [{}, {"traceloop.span.kind": "tool"}])
def test_what_a_tool_gave_is_read_where_the_conventions_alone_say_that_it_is_one(left):
    """LangChain's message tells there that the tool failed."""
    scope = "opentelemetry.instrumentation.langchain"
    message = {"content": "no such x", "type": "tool", "name": "look", "tool_call_id": "call_aZ", "status": "error"}
    gave = {"output": {"lc": 1, "id": ["langchain", "schema", "messages", "ToolMessage"], "kwargs": message}}
    ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "traceloop.entity.name": "look"}
    (run,) = runs(
        agent(1, "a", took=9, scope=scope),
        chat(2, 1, [("call_aZ", "look", {"x": 1})], "go", scope=scope),
        span(3, 1, "execute_tool look", at=2, scope=scope, attributes=ran | left | {_GAVE: json.dumps(gave)}),
        chat(4, 1, "none", "go", at=4, scope=scope),
    )
    assert _called(run) == [("look", {"x": 1}, "error")]


_GAVE = "traceloop.entity.output"
