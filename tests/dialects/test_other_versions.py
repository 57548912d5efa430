"""Shapes that older and newer versions of frameworks and instrumentations send than those that the captures hold."""

import json

import pytest

from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import frames, request, runs, span


def _run(*spans):
    found = frames([("traces", request(spans))])
    assert with_shortcut(*found)[0].equals(without(*found))
    (run,) = runs(*spans)
    return run


def _of_agents(id, parent, name, at=0.0, took=1.0, **told):
    told = {key.replace("__", "."): value for key, value in told.items()}
    return span(
        id,
        parent,
        name,
        at=at,
        took=took,
        status=1,
        scope="opentelemetry.instrumentation.openai_agents",
        version="0.47.5",
        attributes=told,
    )


def test_the_model_that_answered_may_stand_where_the_one_that_was_asked_for_does():
    """Traceloop 0.47 of OpenAI's Agents SDK: `gen_ai.request.model` is the response's."""
    told = {
        "gen_ai.operation.name": "response",
        "gen_ai.request.model": "gpt-4o-2024-08-06",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "go",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "done",
        "gen_ai.usage.prompt_tokens": 5,
    }
    run = _run(
        _of_agents(1, None, "planner.agent", took=9, traceloop__span__kind="agent", gen_ai__agent__name="planner"),
        _of_agents(2, 1, "openai.response", at=1, llm__request__type="response", **told),
    )
    (call,) = run["llm_calls"]
    assert (call["request_model"], call["response_model"]) == (None, "gpt-4o-2024-08-06")


_LANGCHAIN = "opentelemetry.instrumentation.langchain"


def _chain(id, parent, name, kind, at=0.0, took=1.0, version="0.36.1", **told):
    told = {f"traceloop.entity.{key}": json.dumps(value) for key, value in told.items()}
    told |= {"traceloop.span.kind": kind, "traceloop.entity.name": name}
    return span(id, parent, f"{name}.{kind}", at=at, took=took, scope=_LANGCHAIN, version=version, attributes=told)


def _message(kind, content, **more):
    path = ["langchain", "schema", "messages", kind]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {"content": content} | more}


def _completion(id, parent, at, answer, version="0.36.1"):
    """Traceloop of LangChain before 0.38: who answers is `unknown`, and what is said is JSON."""
    told = {"llm.request.type": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.usage.prompt_tokens": 5}
    told |= {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "go", "gen_ai.completion.0.role": "unknown"}
    if isinstance(answer, str):
        told |= {"gen_ai.completion.0.content": json.dumps(answer)}
    else:
        first = "gen_ai.completion.0.tool_calls.0"
        told |= {"gen_ai.completion.0.content": '""', f"{first}.id": answer[0], f"{first}.name": answer[1]}
        told |= {f"{first}.arguments": "{}"}
    return span(id, parent, "ChatOpenAI.chat", at=at, scope=_LANGCHAIN, version=version, attributes=told)


@pytest.mark.parametrize("content", [True, False])
def test_a_tool_that_ended_without_a_result_where_no_error_is_ever_told_may_have_failed(content):
    """Traceloop of LangChain before 0.38.7."""
    shown = {"output": {"output": _message("ToolMessage", "seen", tool_call_id="c1")}} if content else {}

    def graph(version):
        return (
            _chain(1, None, "planner", "workflow", took=30, version=version),
            _completion(2, 1, 1, ("c1", "look"), version=version),
            _chain(3, 1, "look", "tool", at=3, version=version, **shown),
            _completion(4, 1, 5, ("c2", "fail"), version=version),
            _chain(5, 1, "fail", "tool", at=7, version=version),
            _completion(6, 1, 9, "done", version=version),
        )

    old = {c["name"]: c["status"] for c in _run(*graph("0.36.1"))["tool_calls"]}
    assert old == {"look": "ok" if content else "unknown", "fail": "unknown"}
    new = {c["name"]: c["status"] for c in _run(*graph("0.38.7"))["tool_calls"]}
    assert new == {"look": "ok", "fail": "ok"}
