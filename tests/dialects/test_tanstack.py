"""TanStack AI's own spans: loops beside the tools that ran them, numbered steps, answers without what they ask for."""

import json

import pytest

from tests.runs.requests import runs, span


def _said(role, *texts):
    return [{"role": role, "content": text} for text in texts]


def _loop(id, at, took, asked, answer=None, steps=1, parent=1, why="stop", **more):
    told = {"gen_ai.system": "openai-chat", "gen_ai.request.model": "m"}
    if asked is not None:
        told |= {f"langfuse.{what}.input": _said("user", asked) for what in ("observation", "trace")}
    if answer is not None:
        told |= {f"langfuse.{what}.output": _said("assistant", answer) for what in ("observation", "trace")}
    if not more:
        told |= {"gen_ai.response.finish_reasons": [why], "tanstack.ai.iterations": steps}
    return span(id, parent, "chat m", at=at, took=took, kind=3, attributes=told, **more)


def _step(id, loop, number, at, took, heard, answer=None, why="stop", **more):
    told = {"gen_ai.system": "openai-chat", "gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    told |= {"tanstack.ai.iteration": number, "gen_ai.usage.input_tokens": 10 + id, "gen_ai.usage.output_tokens": 2}
    told |= {"gen_ai.response.finish_reasons": [why], "gen_ai.input.messages": heard}
    told |= {"gen_ai.output.messages": _said("assistant", answer)} if answer is not None else {}
    return span(id, loop, f"chat m #{number}", at=at, took=took, kind=3, attributes=told, **more)


def _tool(id, step, name, at, took, given, gave=None, **more):
    told = {"gen_ai.tool.name": name, "gen_ai.tool.call.id": f"call_{id}", "gen_ai.tool.type": "function"}
    told |= {"gen_ai.input.messages": _said("tool", json.dumps(given))}
    told |= {"tanstack.ai.tool.outcome": "error" if "error" in more else "success"}
    told |= {"gen_ai.output.messages": _said("tool", gave)} if gave is not None else {}
    return span(id, step, f"execute_tool {name}", at=at, took=took, attributes=told, **more)


_APP = span(1, None, "POST /ask", took=20)
_GO, _DIG = _said("user", "go"), _said("user", "dig here")
_CALLER = [
    _loop(2, 1, 14, "go", "All done.", 2),
    _step(3, 2, 0, 1, 9, _GO, "Let me see.", "tool_calls"),
    _tool(4, 3, "ask_digger", 3, 5, {"task": "dig here"}, "Dug."),
    _tool(5, 3, "look", 8.5, 1, {"x": 1}, "fine"),
]
_CALLED = [
    _loop(6, 3.1, 4.8, "dig here", "Dug.", 2),
    _step(7, 6, 0, 3.2, 2, _DIG, None, "tool_calls"),
    _tool(8, 7, "dig", 4, 1, {"y": 2}, "earth"),
    _step(9, 6, 1, 5.3, 2.4, [*_DIG, *_said("tool", "earth")], "Dug."),
]
_END = _step(10, 2, 1, 10.5, 4, [*_GO, *_said("assistant", "Let me see."), *_said("tool", "Dug.", "fine")], "All done.")


def _of(run, *keys):
    return [tuple(c[key] for key in keys) for c in run["tool_calls"]]


def test_a_loop_that_ran_in_the_time_of_a_tool_beside_it_is_the_tools_work():
    (run,) = runs(_APP, *_CALLER, *_CALLED, _END)
    assert (run["input"], run["output"], run["status"]) == ("go", "All done.", "ok")
    assert _of(run, "name", "status", "turn") == [("look", "ok", 0), ("dig", "ok", 1)]
    assert [(d["tool"], d["form"]) for d in run["delegations"]] == [("ask_digger", "tool")]


def test_a_loop_that_was_asked_and_answered_something_else_is_none_of_the_tools():
    other = [_loop(6, 3.1, 2, "something else", "Else."), _step(7, 6, 0, 3.2, 1, _said("user", "something else"))]
    (run,) = runs(_APP, *_CALLER, *other, _END)
    assert [c[0] for c in _of(run, "name")] == ["ask_digger", "look"]


@pytest.mark.parametrize("lost", [2, 3, 6, 7, 9])
def test_a_lost_span_leaves_no_word_of_the_called_for_one_of_the_callers(lost):
    (run,) = runs(*(s for s in [_APP, *_CALLER, *_CALLED, _END] if s["id"] != lost))
    assert run["input"] in ("go", None)
    assert run["output"] in ("All done.", None)
    assert {"missing step", "missing parent"} & set(run["incomplete"]) or lost == 6  # whose step tells all that it does
    assert "ask_digger" not in [name for (name,) in _of(run, "name")]


@pytest.mark.parametrize("failed", [False, True])
def test_a_limit_stops_a_loop_after_its_tool_without_a_word(failed):
    caller = [_loop(2, 1, 8, "go", "Let me see.", why="tool_calls"), *_CALLER[1:3]]
    called = _CALLED
    if failed:
        caller[2] = _tool(4, 3, "ask_digger", 3, 5, {"task": "dig here"}, error="500")
        called = [_loop(6, 3.1, 3, "dig here", error="500"), _step(7, 6, 0, 3.2, 2, _DIG, None, "", error="500")]
    (run,) = runs(_APP, *caller, *called)
    assert run["output"] in (None, "Let me see.")
    assert run["status"] == ("unknown" if failed else "ok")
    assert failed or "max_steps" in run["boundaries_unknown"]


def test_what_failed_was_asked_what_its_loop_says_not_what_the_loop_that_a_tool_ran_was():
    broken = _step(10, 2, 1, 10.5, 1, [*_GO, *_said("assistant", "x")], None, "", error="429 Rate limit")
    caller = [_loop(2, 1, 11, "go", error="429 Rate limit"), *_CALLER[1:]]
    (run,) = runs(_APP | {"error": "429 Rate limit"}, *caller, *_CALLED, broken)
    assert (run["input"], run["status"]) == ("go", "error")


@pytest.mark.parametrize("lost", [False, True])
def test_what_came_of_more_tools_than_ran_says_that_one_is_not_told(lost):
    ran = [_tool(4, 3, "look", 3, 1, {"x": 1}, "fine"), _tool(5, 3, "dig", 5, 1, {"y": 1}, "earth")]
    came = ["fine", "earth"] if lost else ["fine", "earth", '{"error":"Unknown tool: fly"}']
    after = _step(6, 2, 1, 8, 2, [*_GO, *_said("assistant", "Let me see."), *_said("tool", *came)], "Done.")
    first = _step(3, 2, 0, 1, 6, _GO, "Let me see.", "tool_calls")
    (run,) = runs(_APP, _loop(2, 1, 9, "go", "Done.", 2), first, *ran[: 1 if lost else 2], after)
    assert "tool calls not visible" in run["incomplete"]
    (run,) = runs(_APP, _loop(2, 1, 9, "go", "Done.", 2), first, *ran, after)
    assert ("tool calls not visible" in run["incomplete"]) is not lost


def test_an_object_that_a_user_writes_is_what_an_event_says_in_so_many_letters():
    asked = '{"question": "help", "ref": 3}'
    events = [("gen_ai.user.message", {"content": "before"}), ("gen_ai.assistant.message", {"content": '{"n": 3}'})]
    events += [("gen_ai.user.message", {"content": asked}), ("gen_ai.choice", {"content": '{"answer": 4}'})]
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.finish_reasons": ["stop"]}
    (run,) = runs(_APP, span(2, 1, "chat m", at=1, kind=3, events=events, attributes=told))
    assert (run["input"], run["output"]) == (asked, '{"answer": 4}')


def test_without_a_span_around_them_each_loop_has_a_trace_and_is_one_run_with_its_callers():
    caller = [s | ({"parent": None} if s["id"] == 2 else {}) for s in [*_CALLER, _END]]
    called = [s | {"trace": 2} | ({"parent": None} if s["id"] == 6 else {}) for s in _CALLED]
    (run,) = runs(*caller, *called)
    assert (run["input"], run["output"], len(run["llm_calls"])) == ("go", "All done.", 4)
    assert _of(run, "name", "turn") == [("look", 0), ("dig", 1)]
    other = [_loop(6, 3.1, 2, "else", "Else.", parent=None), _step(7, 6, 0, 3.2, 1, _said("user", "else"))]
    assert len(runs(*caller, *(s | {"trace": 2} for s in other))) == 2
