"""Platforms and their kits for JavaScript, run against a model of ours: what they make of programs traced by hand."""

import pytest

from tests.runs.requests import chat, runs, span, tool

pytestmark = pytest.mark.full

_GIVEN = {"task": "weather sub task"}


def _said(text, *more):
    return [{"role": "user", "parts": [{"type": "text", "content": text}]}, *more]


def _asks(call):
    asked = {"type": "tool_call", "id": call, "name": "ask_worker", "arguments": _GIVEN}
    return {"role": "assistant", "parts": [asked]}


def _brings(call, result):
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": result}]}


def _of_boss(trace, call, at=0.0, text="sub please"):
    """An agent that nothing is around: each call of its model is a trace."""
    first = chat(1, None, [(call, "ask_worker", _GIVEN)], _said(text), trace=trace, at=at)
    history = _said(text, _asks(call), _brings(call, "It is 21."))
    return [first, chat(1, None, "Boss done.", history, trace=trace + 1, at=at + 8)]


def _of_tool(trace, at):
    """The tool alone is observed (Langfuse 4.6 and 5.11), and holds what it asked a model."""
    given = {"gen_ai.tool.call.arguments": _GIVEN}
    held = tool(1, None, "ask_worker", result="It is 21.", trace=trace, at=at, took=4, attributes=given)
    return [held, chat(2, 1, "It is 21.", _said("weather sub task"), trace=trace, at=at + 1)]


def test_a_tool_that_holds_an_agents_work_in_a_trace_of_its_own_is_of_the_run_that_asked_for_it():
    (run,) = runs(*_of_boss(1, "call_a7Tz9q"), *_of_tool(3, 2))
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("sub please", "Boss done.", 3)
    assert [(d["from"], d["to"], d["status"]) for d in run["delegations"]] == [(None, "worker", "ok")]


@pytest.mark.parametrize(
    "others", [_of_boss(5, "call_b8Uz1k", text="another"), _of_boss(5, "call_b8Uz1k", at=2.5, text="later")]
)
def test_whoever_of_two_asked_for_such_a_tool_is_told_where_time_tells_it(others):
    found = runs(*_of_boss(1, "call_a7Tz9q"), *_of_tool(3, 2), *others)
    counts = sorted(len(r["llm_calls"]) for r in found)
    assert counts == ([1, 2, 2] if others[0]["at"] == 0 else [2, 3])


def _of(id, parent, name, at=0.0, took=0.1, **told):
    """Spans of LiveKit's agents 1.9 for JavaScript by their own tracing."""
    attributes = {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, name, at=at, took=took, scope="livekit-agents", attributes=attributes)


def _moves(id, at, name, agent):
    return _of(id, 1, name, at, 0.02, lk__agent_label=agent)


def _turn(id, at, agent, *said, asked=None, took=0.5, calls=()):
    answer = [{"type": "tool_call", "id": i, "name": n, "arguments": {}} for i, n in calls]
    answer += [{"type": "text", "content": text} for text in said]
    reason = "tool_call" if calls else "stop"
    out = [{"role": "assistant", "parts": answer, "finish_reason": reason}]
    heard = [{"role": "user", "parts": [{"type": "text", "content": asked or "go"}]}]
    told = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": agent}
    told |= {"lk__pii__user_input": asked} if asked else {}
    chatted = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "m", "gen_ai__input__messages": heard}
    chatted |= {"gen_ai__output__messages": out, "gen_ai__response__finish_reasons": [reason]}
    named = {"gen_ai__operation__name": "execute_tool", "lk__function_tool__is_error": "false"}
    ran = [
        _of(
            id + 3 + n,
            id,
            "function_tool",
            at + 0.3,
            lk__function_tool__name=tool,
            gen_ai__tool__name=tool,
            gen_ai__tool__call__id=i,
            gen_ai__tool__call__result='"over"',
            **named,
        )
        for n, (i, tool) in enumerate(calls)
    ]
    return [_of(id, 1, "agent_turn", at, took, **told), _of(id + 1, id, "llm_request", at + 0.05, 0.2, **chatted), *ran]


_SESSION = _of(1, None, "agent_session", 0, 60)
_PLANNER = _of(2, 1, "start_agent_activity", 0.1, lk__agent_label="planner")


@pytest.mark.parametrize("answers", [True, False])
def test_a_tool_after_which_one_agent_leaves_and_another_comes_hands_over(answers):
    calls = [("call_J7P4XiJI", "to_bob")]
    last = _turn(20, 1.49, "planner", "Handing over.") if answers else []
    moves = [_moves(30, 1.495, "drain_agent_activity", "planner"), _moves(31, 2.1, "start_agent_activity", "bob")]
    found = runs(
        _SESSION,
        _PLANNER,
        *_turn(10, 1, "planner", asked="hand over", calls=calls),
        *last,
        *moves,
        *_turn(40, 2.2, "bob", "Bob here."),
        *_turn(50, 5, "bob", "Fine.", asked="plain after"),
        _moves(60, 6, "drain_agent_activity", "bob"),
    )
    told = [[(d["from"], d["to"], d["form"], d["tool"], d["status"]) for d in r["delegations"]] for r in found]
    assert told == [[("planner", "bob", "handoff", "to_bob", "ok")], []]
    assert [(r["input"], r["output"], r["tool_calls"]) for r in found] == [
        ("hand over", "Bob here.", []),
        ("plain after", "Fine.", []),
    ]


def test_an_agent_that_comes_as_the_program_likes_was_handed_nothing():
    found = runs(
        _SESSION,
        _PLANNER,
        *_turn(10, 1, "planner", asked="weather", calls=[("call_BCz0hQZH", "look")]),
        *_turn(20, 1.49, "planner", "Sunny."),
        _moves(30, 2.2, "drain_agent_activity", "planner"),
        _moves(31, 2.3, "start_agent_activity", "bob"),
        *_turn(40, 4, "bob", "Fine.", asked="plain"),
    )
    assert [(r["delegations"], [c["name"] for c in r["tool_calls"]]) for r in found] == [([], ["look"]), ([], [])]


def test_what_is_said_at_one_go_is_one_request_though_its_turns_lie_apart():
    """A busy machine begins the turn after a tool once that of the tool is over."""
    first = _turn(10, 1, "planner", asked="weather", calls=[("call_BCz0hQZH", "look")])
    second = _turn(20, 1.7, "planner", "Sunny.")
    for turn in (first[0], second[0]):
        turn["attributes"]["lk.speech_id"] = "speech_43d7a545-b6c"
    (run,) = runs(_SESSION, _PLANNER, *first, *second)
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("weather", "Sunny.", 2)


def test_the_only_tool_of_a_turn_whose_answer_is_hidden_handed_over():
    first = _turn(10, 1, "planner", asked="hand over", calls=[("call_J7P4XiJI", "to_bob")])
    del first[1]["attributes"]["gen_ai.output.messages"]
    moves = [_moves(30, 1.495, "drain_agent_activity", "planner"), _moves(31, 2.1, "start_agent_activity", "bob")]
    (run,) = runs(_SESSION, _PLANNER, *first, *moves, *_turn(40, 2.2, "bob", "Bob here."))
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("planner", "bob", "to_bob")]
    assert run["tool_calls"] in ([], None)


@pytest.mark.parametrize(
    ("failed", "thrown", "status", "output", "boundaries"),
    [
        ("false", None, "ok", "It is 21.", []),
        ("true", "Reached maximum number of turns (2)", "error", None, ["max_steps"]),
        ("true", "API Error: 400 no", "error", None, ["error"]),
    ],
)
def test_langsmith_tells_of_claudes_agent_sdk_for_javascript_by_a_conversation_alone(
    failed, thrown, status, output, boundaries
):
    """LangSmith 0.12 for JavaScript in its mode for OpenTelemetry: no turn and no tool has a span."""
    told = {"langsmith.span.kind": "chain", "gen_ai.operation.name": "chain", "langsmith.metadata.is_error": failed}
    told |= {"langsmith.metadata.ls_integration": "claude-agent-sdk-js", "langsmith.metadata.session_id": "60a413d0"}
    told |= {"gen_ai.prompt": {"messages": [{"content": "weather please", "role": "user"}], "options": {}}}
    said = {"content": [{"type": "text", "text": "It is 21."}], "role": "assistant", "model": "m"}
    told |= {"gen_ai.completion": {"output": {"messages": [said]}}}
    message = f"Error: Claude Code returned an error result: {thrown}"
    events = [("exception", {"exception.type": "Error", "exception.message": message})] if thrown else []
    (run,) = runs(span(1, None, "claude.conversation", scope="langsmith", status=1, attributes=told, events=events))
    assert (run["input"], run["status"], run["output"]) == ("weather please", status, output)
    assert (run["llm_calls"], run["tool_calls"], run["boundaries"]) == (None, None, boundaries)


def _judged(id, parent, name, kind, at=0.0, took=1.0, **told):
    """Spans of Judgeval 1.2 for JavaScript."""
    attributes = {"judgment.span_kind": kind} | {f"judgment.{key.replace('__', '.')}": v for key, v in told.items()}
    return span(id, parent, name, at=at, took=took, scope="judgeval", attributes=attributes)


_CALL = {"id": "call_UAyVRJcX", "type": "function", "function": {"name": "look", "arguments": '{"city":"Oslo"}'}}
_SOON = {"role": "assistant", "content": None, "tool_calls": [_CALL]}


def _judged_model(id, parent, said, answer, why, at):
    asked = {"model": "gpt-4.1-mini", "messages": said, "tools": [{"type": "function", "function": {"name": "look"}}]}
    came = {"id": f"chatcmpl-moXPfYoW{at}", "object": "chat.completion", "model": "gpt-4.1-mini-2026-01-01"}
    came |= {"choices": [{"index": 0, "message": answer, "finish_reason": why}]}
    told = {"input": asked, "output": came, "llm__model": "gpt-4.1-mini-2026-01-01", "usage__output_tokens": 2}
    usage = {"prompt_tokens": 9, "completion_tokens": 2}
    return _judged(id, parent, "OPENAI_API_CALL", "llm", at, usage__metadata=usage, **told)


@pytest.mark.parametrize("alone", [False, True])
def test_judgeval_for_javascript_tells_what_was_asked_and_answered_by_keys_of_its_own(alone):
    """Its functions are told by their parameters; where nothing is traced around a loop, each step has a trace."""
    user = {"role": "user", "content": "weather please"}
    end = {"role": "assistant", "content": "It is 21."}
    back = {"role": "tool", "tool_call_id": _CALL["id"], "content": "21"}
    steps = [
        _judged_model(2, 1, [user], _SOON, "tool_calls", 1),
        _judged(3, 1, "look", "tool", 3, input={"a": {"city": "Oslo"}}, output="21"),
        _judged_model(4, 1, [user, _SOON, back], end, "stop", 5),
    ]
    agent = _judged(1, None, "planner", "agent", 0, 9, input={"sys": "You plan.", "p": "x"}, output="It is 21.")
    if alone:
        (run,) = runs(*(step | {"parent": None, "trace": step["id"]} for step in steps))
    else:
        (run,) = runs(agent, *steps)
    assert (run["input"], run["output"], run["status"]) == ("weather please", "It is 21.", "ok")
    models = [(c["request_model"], c["response_model"], c["input_tokens"]) for c in run["llm_calls"]]
    assert models == [("gpt-4.1-mini", "gpt-4.1-mini-2026-01-01", 9)] * 2
    called = [(c["name"], c["arguments"], c["result"], c["status"], c["call_id"]) for c in run["tool_calls"]]
    assert called == [("look", {"city": "Oslo"}, "21", "ok", _CALL["id"])]
