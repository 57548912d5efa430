"""Loops that a program writes itself, whose functions Langfuse's SDK for JavaScript (5.11) observes, without a word on
what sort they are."""

import json

from tests.runs.requests import runs, span

_SDK = "langfuse-sdk"


def _seen(id, parent, name, given=None, gave=None, sort="span", error=None, **more):
    told = {"langfuse.observation.type": sort}
    told |= {"langfuse.observation.input": _text(given)} if given is not None else {}
    told |= {"langfuse.observation.level": "ERROR", "langfuse.observation.status_message": error} if error else {}
    gave = {"error": f"Error: {error}"} if error and sort == "span" else gave
    told |= {"langfuse.observation.output": _text(gave)} if gave is not None else {}
    return span(id, parent, name, scope=_SDK, attributes=told, **more)


def _text(value):
    return value if isinstance(value, str) else json.dumps(value)


def _said(id, parent, heard, says=None, asks=(), **more):
    calls = [_call(*one) for one in asks]
    gave = {"role": "assistant", "content": says} | ({"tool_calls": calls} if calls else {})
    gave = None if says is None and not calls else gave
    return _seen(id, parent, "OpenAI.chat", {"messages": heard}, gave, "generation", **more)


def _call(id, name, given):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}


def _user(text):
    return {"role": "user", "content": text}


def _asked(*calls):
    return {"role": "assistant", "content": None, "tool_calls": [_call(*one) for one in calls]}


def _heard(id, text):
    return {"role": "tool", "tool_call_id": id, "content": text}


def test_a_function_that_was_given_other_values_is_not_what_a_model_asked_for():
    """Two functions at work at once, of which one's first call of a model is lost."""
    look = ("c2", "look", {"x": 7})
    (run,) = runs(
        _seen(1, None, "main", "go", "Done.", took=30),
        _said(2, 1, [_user("go")], asks=[("w", "ask_writer", {"task": "w"}), ("e", "ask_editor", {"task": "e"})], at=1),
        _seen(3, 1, "writer", "w", "Wrote.", at=3, took=20),
        _seen(4, 1, "editor", "e", "Edited.", at=3, took=20),
        _said(5, 4, [_user("e")], asks=[look], at=4, took=9),
        _seen(6, 3, "look", {"x": 1}, "saw 1", at=8),
        _said(7, 3, [_user("w"), _asked(("c1", "look", {"x": 1})), _heard("c1", "saw 1")], "Wrote.", at=10, took=9),
        _seen(8, 4, "look", {"x": 7}, "saw 7", at=14),
        _said(9, 4, [_user("e"), _asked(look), _heard("c2", "saw 7")], "Edited.", at=16),
    )
    (seven,) = [c for c in run["tool_calls"] if c["arguments"] == {"x": 7}]
    assert seven["result"] in ("saw 7", None)


def test_a_function_that_has_lost_its_parent_ran_the_tool_that_it_is_named_as():
    (run,) = runs(
        _said(2, 9, [_user("go")], asks=[("c1", "boom", {"x": 1})]),
        _seen(3, 9, "boom", {"x": 1}, error="no such file", at=2),
        _said(4, 9, [_user("go"), _asked(("c1", "boom", {"x": 1})), _heard("c1", "Error")], "Well.", at=4),
    )
    assert [(c["name"], c["status"], c["evidence"]) for c in run["tool_calls"]] == [
        ("boom", "error", ["span", "message"])
    ]
    assert "error" not in run["boundaries"]


def test_what_failed_in_a_function_whose_caller_went_on_ends_no_run():
    """The caller's next call of a model is lost."""
    heard = [_user("w"), _asked(("c1", "look", {})), _heard("c1", "fine")]
    (run,) = runs(
        _seen(1, None, "main", "go", "Done all the same.", took=30),
        _said(2, 1, [_user("go")], asks=[("w", "ask_writer", {"task": "w"})], at=1),
        _seen(3, 1, "ask_writer", {"task": "w"}, error="500 server failed", at=3, took=9),
        _said(4, 3, [_user("w")], asks=[("c1", "look", {})], at=4),
        _said(5, 3, heard, error="500 server failed", at=7),
    )
    assert run["status"] == "unknown"


def test_what_a_function_gave_in_a_run_that_was_called_off_is_no_answer():
    """The call of a model that asked for it is lost."""
    heard = [_user("go"), _asked(("c1", "look", {"x": 1})), _heard("c1", "saw 1")]
    (run,) = runs(
        _seen(1, None, "main", "go", error="Request was aborted.", took=9),
        _seen(2, 1, "look", {"x": 1}, "saw 1", at=2),
        _said(3, 1, heard, error="Error: Request was aborted.", at=3),
    )
    assert run["output"] is None
