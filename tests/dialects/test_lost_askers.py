"""Model calls that have not come, and what shows that they were made."""

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

_SHOWN = [
    {"role": "user", "parts": [{"type": "text", "content": "Go."}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_Lost7", "name": "fly", "arguments": {"to": 1}}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_Lost7", "response": "no such tool"}]},
]


def _run(asked=(), shown=_SHOWN, root=None):
    more = {"gen_ai__input__messages": root} if root else {}
    (run,) = runs(
        agent(1, "planner", took=9, **more),
        *([chat(2, 1, list(asked), "Go.", at=1)] if asked else []),
        chat(4, 1, "Well.", shown, at=3),
    )
    return "missing step" in run["incomplete"]


def test_an_answer_that_a_model_was_shown_and_none_is_seen_to_have_given_is_lost():
    assert _run()
    assert not _run([("call_Lost7", "fly", {"to": 1})])


def test_what_is_asked_for_by_another_id_is_the_same_request():
    assert not _run([("call_Other1", "fly", {"to": 1})])
    assert _run([("call_Other1", "fly", {"to": 2})])


def test_an_answer_told_in_part_came():
    """OpenLIT tells the first item of an answer alone."""
    alone = {"type": "tool_call", "id": "call_First1", "name": "look", "arguments": {}}
    both = [_SHOWN[0], {"role": "assistant", "parts": [alone]}, *_SHOWN[1:]]
    assert not _run([("call_First1", "look", {})], both)


def test_an_answer_before_the_users_last_words_is_another_runs():
    assert not _run(shown=[*_SHOWN, {"role": "user", "parts": [{"type": "text", "content": "Go on."}]}])


def test_a_run_that_begins_with_an_answer_lost_none():
    assert not _run(root=_SHOWN)


def test_a_hand_off_that_a_kit_makes_up_was_no_models():
    shown = [*_SHOWN[:1], {"role": "assistant", "parts": [dict(_SHOWN[1]["parts"][0], name="transfer_back_to_chief")]}]
    assert not _run(shown=shown)


@pytest.mark.parametrize("lost", [2, 4])
def test_a_tool_that_nobody_is_seen_to_have_asked_for_was_asked_for_by_what_is_lost(lost):
    spans = [
        agent(1, "planner", took=9),
        chat(2, 1, [(None, "look", {"at": 1})], at=1),
        tool(3, 1, "look", result="found", at=2),
        chat(4, 1, [(None, "book", {"it": 2})], at=3),
        tool(5, 1, "book", result="booked", at=4),
        chat(6, 1, "Well.", at=5),
    ]
    whole, part = runs(*spans), runs(*(s for s in spans if s["id"] != lost))
    assert ["missing step" in run["incomplete"] for run in (*whole, *part)] == [False, True]


def test_a_tool_that_no_model_is_offered_is_run_by_the_kit():
    offered = {"gen_ai.tool.definitions": [{"type": "function", "name": "look"}]}
    spans = [
        agent(1, "planner", took=9),
        tool(2, 1, "load_memory", result="none", at=1),
        chat(3, 1, [("call_Aa1", "look", {})], at=2, attributes=offered),
        tool(4, 1, "look", "call_Aa1", "found", at=3),
        chat(5, 1, "Well.", at=4, attributes=offered),
    ]
    (run,) = runs(*spans)
    assert "missing step" not in run["incomplete"]
    spans[1]["attributes"]["gen_ai.tool.name"] = "look"
    (run,) = runs(*spans)
    assert "missing step" in run["incomplete"]


def test_how_the_tools_of_a_lost_answer_went_is_not_known():
    (run,) = runs(agent(1, "planner", took=9), chat(4, 1, "Well.", _SHOWN, at=3))
    assert {"tool_failure", "tool_recovery", "repeated_call"} <= set(run["boundaries_unknown"])


def test_what_is_laid_around_a_call_is_not_what_a_run_began_with():
    """LiteLLM lays the messages that it sends on the span around."""
    asked = {"type": "tool_call", "id": "call_Kept1", "name": "look", "arguments": {}}
    shown = [*_SHOWN, {"role": "assistant", "parts": [asked]}]
    assert _run([("call_Kept1", "look", {})], shown, root=shown)


def test_a_call_like_one_that_came_is_another_where_ids_are_told_alike():
    asked = {"type": "tool_call", "id": "call_Kept1", "name": "fly", "arguments": {"to": 1}}
    assert _run([("call_Kept1", "fly", {"to": 1})], [*_SHOWN, {"role": "assistant", "parts": [asked]}])


def test_how_a_run_went_whose_last_tool_failed_and_was_asked_for_by_what_is_lost_is_not_known():
    spans = [
        agent(1, "planner", took=9),
        chat(2, 1, [("call_Aa1", "look", {"at": 1})], "Go.", at=1),
        tool(3, 1, "look", "call_Aa1", "found", at=2),
        tool(4, 1, "look", "call_Aa2", at=3, error="out of range"),
    ]
    (run,) = runs(*spans)
    assert run["status"] == "unknown"


def _unanswered(**last):
    return runs(
        agent(1, "planner", took=9.5),
        chat(2, 1, [("call_Aa1", "look", {"at": 1})], "Go.", at=1),
        tool(3, 1, "look", "call_Aa1", "found", at=2),
        chat(4, 1, [("call_Aa2", "look", {"at": 2})], at=3),
        tool(5, 1, "look", "call_Aa2", "found", **last),
    )


def test_no_limit_is_seen_where_an_agent_had_time_to_ask_again():
    (run,) = _unanswered(at=4)
    assert "max_steps" in run["boundaries_unknown"] and "max_steps" not in run["boundaries"]
    (run,) = _unanswered(at=8)
    assert "max_steps" in run["boundaries"]


def test_what_a_tool_gave_is_no_answer_of_the_step_that_holds_it():
    """smolagents: the model that sums up at a limit is lost."""
    step = {"openinference.span.kind": "CHAIN", "output.value": "order A: sent"}
    (run,) = runs(
        agent(1, "planner", took=9),
        span(2, 1, "Step 1", at=1, took=4, attributes=step),
        chat(3, 2, [("call_Aa1", "look", {})], "Go.", at=1),
        tool(4, 2, "look", "call_Aa1", "order A: sent", at=3),
        span(5, 1, "Step 2", at=6, took=2, attributes=step | {"output.value": "order B: sent"}),
        chat(6, 5, [("call_Aa2", "look", {})], at=6),
        tool(7, 5, "look", "call_Aa2", "order B: sent", at=7),
    )
    assert run["output"] is None


def test_what_a_sub_agent_was_asked_and_answered_is_not_the_runs_where_its_callers_model_is_lost():
    spans = [
        span(1, None, "handle", took=9),
        chat(2, 1, [("call_Aa1", "delegate_to_clerk", {"task": "find B"})], "Have the clerk find B.", at=1),
        span(3, 1, "sub", at=2, took=4),
        chat(4, 3, "B is sent.", "find B", at=3),
    ]
    (run,) = runs(*spans)
    assert run["output"] is None
    shown = [
        {"role": "user", "parts": [{"type": "text", "content": "Have the clerk find B."}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "tool_call", "id": "call_Aa1", "name": "delegate_to_clerk", "arguments": {"task": "find B"}}
            ],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_Aa1", "response": "B is sent."}]},
    ]
    (run,) = runs(spans[0], *spans[2:], chat(5, 1, "The clerk says: sent.", shown, at=7))
    assert run["input"] is None and run["output"] == "The clerk says: sent." and "missing step" in run["incomplete"]


def test_what_stands_in_the_frame_of_dspys_prompts_is_neither_asked_nor_answered():
    framed = "[[ ## question ## ]]\nWhere is B?\n\nRespond with the fields."
    (run,) = runs(chat(2, None, "[[ ## answer ## ]]\nSent.\n\n[[ ## completed ## ]]", framed))
    assert (run["input"], run["output"]) == (None, None) and "input not reported" in run["incomplete"]


def test_what_an_agent_that_failed_put_out_is_an_error_where_no_model_is_seen_to_have_said_it():
    told = {"openinference.span.kind": "AGENT", "output.value": "server failed"}
    (run,) = runs(span(1, None, "planner.run", attributes=told, error="run status: error"))
    assert run["output"] is None


@pytest.mark.parametrize(("offered", "status"), [("look", "unknown"), ("other", "requested")])
def test_a_tool_that_a_run_had_may_have_thrown_where_it_failed_next_and_no_span_tells_of_the_tool(offered, status):
    told = {"gen_ai.tool.definitions": [{"type": "function", "name": offered}]}
    (run,) = runs(
        agent(1, "planner", took=9, error="ValueError: no order"),
        chat(2, 1, [("call_Aa1", "look", {"at": 1})], "Go.", at=1, attributes=told),
        tool(3, 1, "look", "call_Aa1", "found", at=2),
        chat(4, 1, [("call_Aa2", "look", {"at": 2})], at=3, attributes=told),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["ok", status]
