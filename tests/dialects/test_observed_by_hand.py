"""Loops that a program writes itself, whose functions the SDKs for JavaScript of Langfuse (5.11) and Laminar (0.8)
observe, without a word on what sort they are."""

import json

from tests.runs.requests import chat, runs, span, tool

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


def test_what_a_function_of_no_type_put_out_that_laminar_observes_is_more_than_its_model_said():
    """The last call of a model is lost."""
    told = {"lmnr.span.input": '["go"]', "lmnr.span.output": '"All done."', "lmnr.span.path": ["main"]}
    (run,) = runs(
        span(1, None, "main", took=20, scope="lmnr.tracer", attributes=told),
        chat(2, 1, [("c1", "look", {"x": 1})], "go", at=1, took=5),
        tool(3, 1, "look", "c1", "saw 1", at=6),
        chat(4, 1, [("c2", "look", {"x": 2})], "go", at=8, took=9),
        tool(5, 1, "look", "c2", "saw 2", at=17),
    )
    assert run["output"] == "All done."
    assert "max_steps" not in run["boundaries"]


def test_a_stream_that_broke_in_a_call_which_is_lost_ended_in_no_good_way():
    """Of the AI SDK 6 by Laminar's own tracer: the loop says no more than that it ended for another reason."""
    ours = {"scope": "lmnr.tracer"}
    used = {"ai.usage.inputTokens": 9, "ai.usage.outputTokens": 3, "ai.response.finishReason": "tool-calls"}
    (run,) = runs(
        span(1, None, "ai.streamText", took=9, attributes=_ai("ai.streamText") | _other(), **ours),
        span(2, 1, "ai.streamText.doStream", at=1, attributes=_ai("ai.streamText.doStream") | used | _wants(), **ours),
        span(3, 1, "ai.toolCall", at=3, attributes=_ai("ai.toolCall") | _ran(), **ours),
    )
    assert run["status"] == "unknown"


def _ai(operation):
    return {"ai.operationId": operation, "ai.model.id": "m", "ai.telemetry.functionId": "planner"}


def _other():
    return {"ai.prompt": '{"prompt":"go"}', "ai.response.finishReason": "other", "ai.response.text": ""}


def _wants():
    call = {"toolCallId": "c1", "toolName": "look", "input": {}}
    return {"ai.response.toolCalls": json.dumps([call]), "gen_ai.request.model": "m"}


def _ran():
    told = {"ai.toolCall.name": "look", "ai.toolCall.id": "c1"}
    return told | {"ai.toolCall.args": "{}", "ai.toolCall.result": '"saw"'}


def test_a_loop_that_threw_for_too_many_steps_met_its_limit():
    look = ("c1", "look", {"x": 1})
    (run,) = runs(
        _seen(1, None, "main", "go", error="too many steps", took=9),
        _said(2, 1, [_user("go")], asks=[look], at=1),
        _seen(3, 1, "look", {"x": 1}, "saw 1", at=3),
    )
    assert (run["status"], run["boundaries"]) == ("error", ["max_steps"])


def test_a_function_ran_what_an_earlier_call_asked_for_where_the_newest_asked_for_other_values():
    """Nothing is lost of two functions at work at once."""
    one, seven = ("c1", "look", {"x": 1}), ("c2", "look", {"x": 7})
    both = [("w", "ask_writer", {"task": "w"}), ("e", "ask_editor", {"task": "e"})]
    (run,) = runs(
        _seen(1, None, "main", "go", "Done.", took=40),
        _said(2, 1, [_user("go")], asks=both, at=1),
        _seen(3, 1, "writer", "w", "Wrote.", at=3, took=20),
        _seen(4, 1, "editor", "e", "Edited.", at=3, took=20),
        _said(5, 3, [_user("w")], asks=[one], at=4, took=3),
        _said(6, 4, [_user("e")], asks=[seven], at=5, took=3),
        _seen(7, 3, "look", {"x": 1}, "saw 1", at=9),
        _seen(8, 4, "look", {"x": 7}, "saw 7", at=10),
        _said(9, 3, [_user("w"), _asked(one), _heard("c1", "saw 1")], "Wrote.", at=12),
        _said(10, 4, [_user("e"), _asked(seven), _heard("c2", "saw 7")], "Edited.", at=14),
    )
    looked = [
        (c["arguments"], c["status"], c["result"], c["evidence"]) for c in run["tool_calls"] if c["name"] == "look"
    ]
    told = ["span", "message"]
    assert sorted(looked, key=str) == [({"x": 1}, "ok", "saw 1", told), ({"x": 7}, "ok", "saw 7", told)]
