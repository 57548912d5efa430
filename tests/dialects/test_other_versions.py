"""Shapes that older and newer versions of frameworks and instrumentations send than those that the captures hold."""

import json

import pytest

from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, frames, request, runs, span, tool


def _run(*spans):
    found = frames([("traces", request(spans))])
    assert with_shortcut(*found)[0].equals(without(*found))
    (run,) = runs(*spans)
    return run


_OI = "openinference.instrumentation.openai_agents"


def _generation(id, at, asked, answer=None):
    """OpenInference for OpenAI's Agents SDK 0.3 by chat completions: an error is told by nothing at all."""
    told = {"openinference.span.kind": "LLM", "llm.model_name": "gpt-4o", "input.value": json.dumps(asked)}
    if answer is not None:
        told |= {"output.value": json.dumps([answer]), "llm.token_count.prompt": 10, "llm.token_count.completion": 2}
    return span(id, 2, "generation", at=at, status=1, scope=_OI, attributes=told)


def test_a_call_of_which_no_answer_is_told_beside_others_may_have_failed():
    frame = {"openinference.span.kind": "AGENT"}
    asked = [{"role": "user", "content": "go"}]
    request_ = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    answer = {"role": "assistant", "content": None, "tool_calls": [request_]}
    back = {"role": "tool", "tool_call_id": "c1", "content": "seen"}
    told = {"openinference.span.kind": "TOOL", "tool.name": "look", "input.value": "{}", "output.value": "seen"}
    run = _run(
        span(1, None, "Agent workflow", took=20, status=1, scope=_OI, attributes=frame),
        span(
            2,
            1,
            "planner",
            took=20,
            status=1,
            scope=_OI,
            attributes=frame | {"graph.node.id": "planner", "llm.system": "o"},
        ),
        _generation(3, 1, asked, answer),
        span(4, 2, "look", at=3, status=1, scope=_OI, attributes=told),
        _generation(5, 5, [*asked, answer, back]),
    )
    assert [c["status"] for c in run["llm_calls"]] == ["ok", "unknown"]
    assert run["status"] == "unknown"
    assert "error" in run["boundaries_unknown"]


@pytest.mark.parametrize("content", [True, False])
def test_a_call_without_an_answer_is_unheard_by_the_conventions_too(content):
    silent = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "model-a"}
    run = _run(
        agent(1, "a", took=20),
        chat(2, 1, [("c1", "look", {})] if content else None, "go" if content else None, at=1),
        tool(3, 1, "look", "c1", "seen" if content else None, at=3),
        span(4, 1, "chat model-a", at=5, kind=3, attributes=silent),
    )
    assert [c["status"] for c in run["llm_calls"]] == ["ok", "unknown"]
    assert run["status"] == "unknown"


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


def test_no_answer_of_openais_agents_is_known_where_none_is_told():
    """Traceloop 0.47, chat completions: each call ends well, whatever came of it."""
    asked = {"gen_ai.operation.name": "chat", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "go"}
    run = _run(
        _of_agents(1, None, "Agent Workflow", took=9, traceloop__span__kind="workflow"),
        _of_agents(2, 1, "planner.agent", took=9, traceloop__span__kind="agent", gen_ai__agent__name="planner"),
        _of_agents(3, 2, "openai.response", at=1, llm__request__type="chat", **asked),
    )
    assert (run["status"], [c["status"] for c in run["llm_calls"]]) == ("unknown", ["unknown"])


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


def _decorated(id, parent, name, kind, at=0.0, took=1.0, stamp=None, **told):
    told |= {"traceloop.span.kind": kind, "traceloop.entity.name": name}
    told |= {"gen_ai.agent.name": stamp} if stamp else {}
    return span(id, parent, f"{name}.{kind}", at=at, took=took, scope="traceloop.tracer", attributes=told)


def _anthropic(id, parent, at, prompt, answer):
    """Traceloop of Anthropic's client, 0.33 to 0.47: flat messages, those of history as parts in JSON."""
    told = {"gen_ai.request.model": "claude", "llm.request.type": "completion", "gen_ai.usage.prompt_tokens": 5}
    for place, (role, content) in enumerate(prompt):
        told |= {f"gen_ai.prompt.{place}.role": role}
        told |= {f"gen_ai.prompt.{place}.content": content if isinstance(content, str) else json.dumps(content)}
    told |= {"gen_ai.completion.0.role": "assistant"}
    if isinstance(answer, str):
        told |= {"gen_ai.completion.0.content": answer, "gen_ai.completion.0.finish_reason": "end_turn"}
    else:
        call, name, arguments = answer
        first = "gen_ai.completion.0.tool_calls.0"
        told |= {f"{first}.id": call, f"{first}.name": name, f"{first}.arguments": json.dumps(arguments)}
        told |= {"gen_ai.completion.0.finish_reason": "tool_use"}
    scope = "opentelemetry.instrumentation.anthropic"
    return span(id, parent, "anthropic.chat", at=at, status=1, kind=3, scope=scope, attributes=told)


def test_a_step_that_never_came_may_have_been_a_tool():
    """Traceloop's SDK 0.33 without content: what follows a decorated tool that raised lies below a span that has not
    come."""
    run = _run(
        _decorated(1, None, "planner", "agent", took=20),
        chat(2, 1, at=1),
        chat(3, 9, at=5),
        _decorated(4, 9, "look", "tool", at=7),
        chat(5, 9, at=9),
    )
    assert "missing step" in run["incomplete"]
    assert {"tool_failure", "tool_recovery"} <= set(run["boundaries_unknown"])


def test_a_run_that_broke_after_its_tools_had_answered_may_have_asked_a_model_once_more():
    """Traceloop 0.44 tells of no call of Anthropic's that failed: only the agent's error is there."""
    error = ("exception", {"exception.type": "anthropic.InternalServerError", "exception.message": "broken"})
    given = {"traceloop.entity.output": '"seen"'}
    run = _run(
        _decorated(1, None, "planner", "agent", took=9) | {"error": "broken", "events": [error]},
        _anthropic(2, 1, 1, [("user", "go")], ("c1", "look", {})),
        _decorated(3, 1, "look", "tool", at=3, **given),
    )
    assert run["status"] == "error"
    assert "what came last is not visible" in run["incomplete"]


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


def test_where_a_graph_goes_next_is_no_answer():
    """LangGraph under Traceloop 0.36, asynchronous: of a run that failed only the steps that ended well have come."""
    (run,) = runs(
        _chain(2, 1, "agent", "task", at=1, took=3, output={"outputs": {"messages": []}}),
        _completion(3, 2, 1, ("c1", "look")),
        _chain(4, 2, "should_continue", "task", at=3, output={"outputs": "tools"}),
        _chain(5, 1, "tools", "task", at=5),
        _chain(6, 5, "look", "tool", at=5.5, took=0.1, output={"output": _message("ToolMessage", "seen")}),
    )
    assert (run["output"], run["status"]) == (None, "unknown")
