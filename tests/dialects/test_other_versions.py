"""Shapes that older and newer versions of frameworks and instrumentations send than those that the captures hold."""

import json

import pytest

from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, frames, request, runs, span, tool

pytestmark = pytest.mark.full


def _run(*spans):
    found = frames([("traces", request(spans))])
    assert with_shortcut(*found)[0].equals(without(*found))
    (run,) = runs(*spans)
    return run


def _called(run):
    return [(c["name"], c["agent"], c["status"], c["result"], c["call_id"]) for c in run["tool_calls"]]


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


def test_an_agents_name_that_is_left_behind_is_not_that_of_who_goes_on():
    """Traceloop's SDK 0.55: after an inner agent has ended, its name is stamped on what the outer one does."""
    left = {"gen_ai.agent.name": "worker"}
    scope = "opentelemetry.instrumentation.openai.v1"
    run = _run(
        _decorated(1, None, "planner", "agent", took=20, stamp="planner"),
        chat(2, 1, [("c1", "ask_worker", {"task": "book"})], "go", at=1, scope=scope),
        _decorated(3, 1, "worker", "agent", at=3, took=4, stamp="worker"),
        chat(4, 3, "booked", "book", at=4, scope=scope, attributes=left),
        chat(5, 1, [("c2", "look", {})], "go", at=8, scope=scope, attributes=left),
        _decorated(6, 1, "look", "tool", at=10, stamp="worker", **{"traceloop.entity.output": '"seen"'}),
        chat(7, 1, "done", "go", at=12, scope=scope, attributes=left),
    )
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "worker", "planner", "planner"]
    assert [(c["name"], c["agent"]) for c in run["tool_calls"]] == [("look", "planner")]


def _anthropic(id, parent, at, prompt, answer):
    """Traceloop of Anthropic's client, 0.33 and 0.44: flat messages, those of history as parts in JSON."""
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


def _use(call, name, arguments):
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


def _result(call, text, **more):
    return {"type": "tool_result", "tool_use_id": call, "content": text} | more


def test_parts_that_were_written_as_json_into_flat_messages_are_calls_and_results():
    """0.33: a decorated tool that raises is told by no span at all; its result stands in what the model is told."""
    start = [("user", "go")]
    first = [*start, ("assistant", [_use("c1", "look", {"x": 1})]), ("user", [_result("c1", "no", is_error=True)])]
    run = _run(
        _decorated(1, None, "planner", "agent", took=20),
        _anthropic(2, 1, 1, start, ("c1", "look", {"x": 1})),
        _anthropic(3, 1, 5, first, ("c2", "look", {"x": 2})),
        _decorated(4, 1, "look", "tool", at=7, **{"traceloop.entity.output": '"seen"'}),
        _anthropic(
            5, 1, 9, [*first, ("assistant", [_use("c2", "look", {"x": 2})]), ("user", [_result("c2", "seen")])], "done"
        ),
    )
    assert _called(run) == [("look", "planner", "error", "no", "c1"), ("look", "planner", "ok", "seen", "c2")]
    assert "tool_failure" in run["boundaries"]


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


def test_what_a_user_wrote_in_json_stays_what_the_user_wrote():
    told = json.dumps([{"type": "text", "text": "hi", "of": "me"}])  # clients have no such part
    run = _run(_decorated(1, None, "planner", "agent", took=9), _anthropic(2, 1, 1, [("user", told)], "done"))
    assert run["input"] == told


@pytest.mark.parametrize("history", [True, False])
def test_of_an_answer_that_keeps_only_its_last_call_each_tool_has_its_own_arguments(history):
    """Traceloop 0.44 of a stream of Anthropic's: of parallel calls the last one alone is told."""
    given = [{"city": "Oslo"}, {"city": "Bergen"}]
    uses = [_use(f"c{n}", "look", g) for n, g in enumerate(given)]
    back = [_result(f"c{n}", f"seen {g['city']}") for n, g in enumerate(given)]
    later = [("user", "go"), ("assistant", uses), ("user", back)] if history else [("user", "go")]

    def ran(n):
        told = {
            "traceloop.entity.input": json.dumps({"args": [], "kwargs": given[n]}),
            "traceloop.entity.output": json.dumps(f"seen {given[n]['city']}"),
        }
        return _decorated(3 + n, 1, "look", "tool", at=3 + 2 * n, **told)

    run = _run(
        _decorated(1, None, "planner", "agent", took=20),
        _anthropic(2, 1, 1, [("user", "go")], ("c1", "look", given[1])),
        ran(0),
        ran(1),
        _anthropic(5, 1, 9, later, "done"),
    )
    told = sorted((c["arguments"]["city"], c["result"], c["call_id"]) for c in run["tool_calls"])
    assert told == [("Bergen", "seen Bergen", "c1"), ("Oslo", "seen Oslo", "c0" if history else None)]


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
    """Traceloop of LangChain 0.36: who answers is `unknown`, and what is said is JSON."""
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


def test_who_answers_by_an_unknown_role_is_the_model():
    (run,) = runs(_completion(1, None, 0, "all done"))
    assert run["output"] == "all done"
    run = _run(
        _chain(1, None, "planner", "workflow", took=30),
        _completion(2, 1, 1, ("c1", "look")),
        _chain(3, 1, "look", "tool", at=3, output={"output": _message("ToolMessage", "seen", tool_call_id="c1")}),
        _completion(4, 1, 5, "done"),
    )
    assert [(c["call_id"], c["evidence"]) for c in run["tool_calls"]] == [("c1", ["span", "message"])]


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


def test_a_result_that_names_its_call_is_no_other_calls():
    """smolagents 1.12 runs the first call of an answer alone, and writes the call's id into what came back."""
    told = {"openinference.span.kind": "AGENT", "input.value": '{"task": "go"}', "output.value": "done"}
    scope = "openinference.instrumentation.smolagents"

    def model(id, at, prompt, calls):
        out = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": 1}
        for place, (role, content) in enumerate(prompt):
            out |= {
                f"llm.input_messages.{place}.message.role": role,
                f"llm.input_messages.{place}.message.content": content,
            }
        out |= {"llm.output_messages.0.message.role": "assistant"}
        for place, (call, name, arguments) in enumerate(calls):
            first = f"llm.output_messages.0.message.tool_calls.{place}.tool_call"
            out |= {f"{first}.id": call, f"{first}.function.name": name, f"{first}.function.arguments": arguments}
        return span(id, 1, "OpenAIServerModel.__call__", at=at, status=1, scope=scope, attributes=out)

    ran = {"openinference.span.kind": "TOOL", "tool.name": "look", "output.value": "seen"}
    ran |= {"input.value": '{"args": [], "kwargs": {"x": 1}}'}
    asked = "Calling tools:\n[{'id': 'c1', 'type': 'function', 'function': {'name': 'look', 'arguments': {'x': 1}}}]"
    run = _run(
        span(1, None, "ToolCallingAgent.run", took=20, status=1, scope=scope, attributes=told),
        model(2, 1, [("user", "New task:\ngo")], [("c1", "look", '{"x": 1}'), ("c2", "watch", '{"x": 2}')]),
        span(3, 1, "SimpleTool", at=3, status=1, scope=scope, attributes=ran),
        model(
            4,
            5,
            [("user", "New task:\ngo"), ("tool-call", asked), ("tool-response", "Call id: c1\nObservation:\nseen")],
            [("c3", "final_answer", '{"answer": "done"}')],
        ),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("look", "ok", "seen"),
        ("watch", "requested", None),
    ]


def test_an_agent_that_another_manages_is_called_what_its_task_says():
    """smolagents 1.12: its span bears the class."""
    scope = "openinference.instrumentation.smolagents"
    task = "You're a helpful agent named 'worker'.\nYou have been submitted this task by your manager.\n---\nbook"
    kind = {"openinference.span.kind": "AGENT"}
    run = _run(
        span(
            1, None, "ToolCallingAgent.run", took=20, scope=scope, attributes=kind | {"input.value": '{"task": "go"}'}
        ),
        chat(2, 1, [("c1", "worker", {"task": "book"})], "go", at=1),
        span(
            3,
            1,
            "ToolCallingAgent.run",
            at=3,
            took=4,
            scope=scope,
            attributes=kind | {"input.value": json.dumps({"task": task})},
        ),
        chat(4, 3, "booked", "book", at=4),
        chat(5, 1, "done", "go", at=9),
    )
    assert [c["agent"] for c in run["llm_calls"]] == [None, "worker", None]
    assert [(d["to"], d["tool"]) for d in run["delegations"]] == [("worker", "worker")]
    assert run["tool_calls"] == []


@pytest.mark.parametrize("kind", ["tool", "span"])
def test_a_graph_within_a_graph_is_an_agent_of_its_own(kind):
    """LangGraph 0.6 under LangSmith 0.4 and Langfuse 3.3: a graph bears the name by which its answers are signed."""

    def node(id, parent, name, at, took, said, type="span"):
        out = {"messages": [{"content": said, "type": "ai", "name": name}]}
        told = {"langfuse.observation.type": type, "langfuse.observation.output": json.dumps(out)}
        return span(id, parent, name, at=at, took=took, scope="langfuse-sdk", attributes=told)

    def step(id, parent, at, name, said, calls=()):
        requests = [{"name": n, "args": a, "id": i, "type": "tool_call"} for i, n, a in calls]
        out = {"messages": [{"content": said, "type": "ai", "name": name, "tool_calls": requests}]}
        told = {"langfuse.observation.type": "span", "langfuse.observation.output": json.dumps(out)}
        return span(id, parent, "agent", at=at, scope="langfuse-sdk", attributes=told)

    def model(id, parent, at, said, calls=()):
        out = {"role": "assistant", "content": said}
        if calls:
            out["tool_calls"] = [{"name": n, "args": a, "id": i, "type": "tool_call"} for i, n, a in calls]
        told = {
            "langfuse.observation.type": "generation",
            "langfuse.observation.model.name": "gpt-4o",
            "langfuse.observation.input": json.dumps([{"role": "user", "content": "go"}]),
            "langfuse.observation.output": json.dumps(out),
        }
        return span(id, parent, "ChatOpenAI", at=at, took=0.5, scope="langfuse-sdk", attributes=told)

    asked = [("c1", "ask_worker", {"task": "book"})]
    run = _run(
        node(1, None, "planner", 0, 30, "all done"),
        step(2, 1, 1, "planner", "", asked),
        model(3, 2, 1.1, "", asked),
        node(4, 1, "ask_worker", 3, 10, "booked", kind),
        node(5, 4, "worker", 4, 8, "booked"),
        step(6, 5, 5, "worker", "booked"),
        model(7, 6, 5.1, "booked"),
        step(8, 1, 15, "planner", "all done"),
        model(9, 8, 15.1, "all done"),
    )
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "worker", "planner"]
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("planner", "worker")]
