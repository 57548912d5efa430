"""Observers of Python programs that tell a part: requests without their names, failures without a word, frames left."""

import json

import pytest

from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import frames, request, runs, span

pytestmark = pytest.mark.full


def _either_way(*spans):
    """The runs, which must be the same by the shortcut."""
    sent = frames([("traces", request(spans))])
    assert with_shortcut(*sent)[0].equals(without(*sent))
    return runs(*spans)


_AGENTOPS = {"scope": "agentops"}


def _session(state, took=9):
    told = {"agentops.span.kind": "session", "operation.name": "a", "agentops.session.end_state": state}
    told["agentops.entity.input"] = '{"args": [], "kwargs": {"question": "go"}}'
    return span(1, None, "a.session", took=took, attributes=told, **_AGENTOPS)


def _asked(id, at, finish, *history):
    """An answer of which AgentOps 0.4.21 tells who gave it, and that it asked for tools, or its words."""
    told = {"gen_ai.request.type": "chat", "gen_ai.request.model": "m", "gen_ai.request.functions.0.name": "look"}
    told |= {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.finish_reason": finish}
    told |= {"gen_ai.completion.0.content": "done"} if finish == "stop" else {}
    for number, message in enumerate(({"role": "user", "content": "go"}, *history)):
        told |= {f"gen_ai.prompt.{number}.{key}": value for key, value in message.items()}
    return span(id, 1, "openai.chat.completion", at=at, attributes=told, scope="openai", status=1)


def _look(id, at, **more):
    told = {"agentops.span.kind": "tool", "operation.name": "look"}
    told["agentops.tool.input"] = '{"args": [], "kwargs": {"q": 1}}'
    return span(id, 1, "look.tool", at=at, attributes=told, **_AGENTOPS, **more)


_REQUEST = {f"tool_calls.0.{k}": v for k, v in {"id": "c1", "name": "look", "arguments": '{"q": 1}'}.items()}
_HISTORY = {"role": "assistant"} | _REQUEST, {"role": "tool", "content": "Error: no", "tool_call_id": "c1"}


def test_an_answer_that_only_says_that_it_asked_is_read_in_later_inputs():
    (run,) = _either_way(
        _session("Success"), _asked(2, 1, "tool_calls"), _look(3, 3, error="no"), _asked(4, 5, "stop", *_HISTORY)
    )
    (call,) = run["tool_calls"]
    assert (call["call_id"], call["result"], call["evidence"]) == ("c1", "Error: no", ["span", "message"])
    assert run["known_tools"] == ["look"]


@pytest.mark.parametrize(("state", "status"), [("Success", "ok"), ("Indeterminate", "error")])
def test_a_trace_that_was_not_ended_well_raised(state, status):
    """What it raised is not told: it may be a limit."""
    (run,) = _either_way(_session(state), _asked(2, 1, "tool_calls"), _look(3, 3))
    assert run["status"] == status
    assert (not {"error", "max_steps"} & set(run["boundaries"])) and run["output"] is None
    assert ({"error", "max_steps"} <= set(run["boundaries_unknown"])) is (status == "error")


_CLAUDE = {"scope": "com.anthropic.claude_code.tracing"}


def _claude(id, parent, name, at, took, **told):
    told = {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, f"claude_code.{name}", at=at, took=took, attributes=told, **_CLAUDE)


def test_a_tool_that_began_while_two_agents_were_answered_is_that_ones_whose_answer_asked():
    """Claude Code 2.1 runs agents in the background, and tools as soon as they are told."""
    (run,) = _either_way(
        _claude(1, None, "interaction", 0, 30, user_prompt="go"),
        _claude(2, 1, "llm_request", 1, 3, model="m", stop_reason="tool_use"),
        _claude(3, 1, "tool", 3, 2, tool_name="Agent", subagent_type="w", tool_use_id="c1"),
        _claude(4, 3, "tool.execution", 3.5, 1, tool_use_id="c1"),
        _claude(5, 4, "llm_request", 7, 8, model="m", stop_reason="end_turn"),
        _claude(6, 1, "llm_request", 6, 6, model="m", stop_reason="tool_use"),
        _claude(7, 1, "tool", 9, 4, tool_name="look", tool_use_id="c2"),
        _claude(8, 1, "llm_request", 16, 2, model="m", stop_reason="end_turn"),
    )
    assert [(c["name"], c["turn"]) for c in run["tool_calls"]] == [("look", 1)]
    assert run["path"] == [["?->w"], ["?/look"]]


def _langsmith(id, parent, kind, name, at, took, completion, raised=False, **told):
    told = {"langsmith.span.kind": kind, "gen_ai.completion": json.dumps(completion, separators=(",", ":"))} | told
    if kind == "tool":
        told |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    thrown = [("exception", {"exception.type": "Exception", "exception.message": "E('no')"})] if raised else ()
    return span(id, parent, name, at=at, took=took, attributes=told, events=thrown, scope="langsmith", status=1)


def _model(id, at, finish, message, *history):
    answer = {"choices": [{"finish_reason": finish, "message": {"role": "assistant"} | message}]}
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    told["gen_ai.prompt"] = json.dumps({"messages": [{"role": "user", "content": "go"}, *history]})
    return _langsmith(id, 1, "llm", "ChatOpenAI", at, 1, answer, **told)


_CALL = {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ask_w", "arguments": '{"q": 1}'}}]}


def _called(text, raised):
    brought = {"role": "assistant"} | _CALL, {"role": "tool", "tool_call_id": "c1", "content": text}
    return _either_way(
        _langsmith(1, None, "chain", "a", 0, 20, {"output": "done"}, **{"gen_ai.prompt": '{"question":"go"}'}),
        _model(2, 1, "tool_calls", {"content": None} | _CALL),
        _langsmith(3, 1, "tool", "ask_w", 3, 4, {"output": None}, raised, **{"gen_ai.prompt": '{"q":1}'}),
        _model(4, 9, "stop", {"content": "done"}, *brought),
    )


@pytest.mark.parametrize(("text", "raised"), [("Error: no", True), ("null", False)])
def test_the_null_of_a_function_that_raised_is_no_result(text, raised):
    """LangSmith 0.15 may write of a traced function that raised that it went well, beside what was thrown."""
    (run,) = _called(text, raised)
    made = run["tool_calls"] or run["delegations"]
    assert [d["status"] for d in made] == ["error" if raised else "ok"]


def _flat(id, at, trace, finish, answer, *history, system):
    told = {"openinference.span.kind": "LLM", "llm.model_name": "m"}
    told |= {f"llm.output_messages.0.message.{key}": value for key, value in answer.items()}
    for number, message in enumerate(({"role": "system", "content": system}, *history)):
        told |= {f"llm.input_messages.{number}.message.{key}": value for key, value in message.items()}
    return span(id, None, "ChatCompletion", trace, at=at, attributes=told, scope="openinference.instrumentation.openai")


_ASKS = {f"tool_calls.0.tool_call.{k}": v for k, v in {"id": "c1", "function.name": "ask_worker"}.items()}
_ASKS |= {"role": "assistant", "tool_calls.0.tool_call.function.arguments": '{"task": "find"}'}


@pytest.mark.parametrize(
    ("text", "status"), [("Tool execution failed: no", "error"), ("Error: no", "error"), ("found errors", "ok")]
)
def test_a_delegation_that_brought_nothing_but_an_error_failed(text, status):
    """CAMEL 0.2.90 under OpenInference's of OpenAI's client: nothing but the text tells of it."""
    asked = {"role": "user", "content": "go"}
    (run,) = _either_way(
        _flat(1, 0, 1, "tool_calls", _ASKS, asked, system="you are boss"),
        _flat(2, 2, 2, "stop", {"role": "assistant", "content": "x"}, {"role": "user", "content": "find"}, system="w"),
        _flat(
            3,
            4,
            3,
            "stop",
            {"role": "assistant", "content": "done"},
            asked,
            _ASKS,
            {"role": "tool", "tool_call_id": "c1", "content": text},
            system="you are boss",
        ),
    )
    assert [(d["to"], d["status"]) for d in run["delegations"]] == [("worker", status)]


def _function(id, parent, at, took, given, **more):
    told = {"lmnr.span.type": "DEFAULT", "lmnr.span.input": json.dumps({"question": given})}
    told |= {"lmnr.span.output": '"done"'} if "error" not in more else {}
    return span(id, parent, "helper", at=at, took=took, attributes=told, scope="lmnr.tracer", **more)


def _tool(id, parent, at):
    told = {"lmnr.span.type": "TOOL", "lmnr.span.input": '{"q": 1}', "lmnr.span.output": '"seen"'}
    return span(id, parent, "look", at=at, attributes=told, scope="lmnr.tracer")


@pytest.mark.parametrize(("again", "count"), [("more", 2), ("go", 1)])
def test_what_was_laid_under_a_function_that_raised_and_was_asked_something_else_is_a_run(again, count):
    """Laminar 0.7.16 leaves such a function the current one; what was given the same may have been tried again."""
    found = _either_way(
        _function(1, None, 0, 5, "go", error="max steps reached"),
        _tool(2, 1, 1),
        _function(3, 1, 10, 5, again),
        _tool(4, 3, 11),
    )
    assert [len(r["tool_calls"]) for r in found] == [1] * count if count > 1 else [2]
    assert [r["status"] for r in found][-1] == ("ok" if count > 1 else "error")


def test_an_agent_that_put_out_what_it_threw_answered_nothing_and_says_that_its_steps_were_up():
    """BeeAI 0.1.85 under OpenInference 0.1.30."""
    told = {"openinference.span.kind": "AGENT", "agent.name": "helper", "input.value": "go"}
    said = "Agent was not able to resolve the task in 3 iterations."
    told["output.value"] = f"AgentError(beeai_framework.agents.errors): {said}"
    thrown = [("exception", {"exception.type": "AgentError", "exception.message": said})]
    asks = {"openinference.span.kind": "LLM", "llm.model_name": "m"} | {
        f"llm.output_messages.0.message.{key}": value for key, value in _ASKS.items()
    }
    (run,) = _either_way(
        span(1, None, "helper", took=9, error="", events=thrown, attributes=told),
        span(2, 1, "OpenAIChatModel", at=1, attributes=asks),
        span(3, 1, "t", at=3, attributes={"openinference.span.kind": "TOOL", "tool.name": "ask_worker"}),
    )
    assert (run["status"], run["output"], run["boundaries"]) == ("error", None, ["max_steps"])


def _livekit(id, parent, name, at, took, **told):
    told = {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, name, at=at, took=took, attributes=told, scope="livekit-agents")


def _turn(id, parent, at, words):
    tool = {"lk__function_tool__name": "look", "lk__function_tool__id": f"c{id}"}
    return [
        _livekit(id, parent, "agent_turn", at, 4, lk__user_input=words),
        _livekit(id + 1, id, "function_tool", at + 1, 1, **tool),
    ]


def test_a_session_that_was_laid_under_the_one_before_has_its_own_requests():
    """LiveKit 1.8 for Python leaves a session that was closed the current one."""
    found = _either_way(
        _livekit(1, None, "agent_session", 0, 10),
        *_turn(2, 1, 1, "go"),
        _livekit(4, 1, "agent_session", 20, 20),
        *_turn(5, 4, 21, "and now?"),
        *_turn(7, 4, 31, "bye"),
    )
    assert [(r["input"], len(r["tool_calls"])) for r in found] == [("go", 1), ("and now?", 1), ("bye", 1)]
