"""Runs of JavaScript kits, two agents deep, some of them at once, in which something fails."""

import pytest

from tests.dialects.test_tanstack import _APP, _GO, _loop, _said, _step, _tool
from tests.runs.requests import agent, chat, runs, span, tool

_LOOP = {"scope": "gen_ai"}  # the AI SDK 7
_USED = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2}


def _why(*reasons, **more):
    return {"gen_ai.response.finish_reasons": list(reasons)} | more


def _asks(name, call):
    return [(call, name, {})]


@pytest.mark.parametrize("why", ["tool-calls", None])
def test_a_loop_that_says_why_it_ended_did_not_break_at_a_tool_that_threw(why):
    """It met a limit of steps; the answer that it puts out holds what all of its steps asked for."""
    (run,) = runs(
        agent(1, "planner", took=9, attributes=_why(why, **_USED) if why else {}, **_LOOP),
        chat(2, 1, _asks("look", "c1"), "go", at=1, attributes=_why("tool-calls"), **_LOOP),
        tool(3, 1, "look", "c1", at=3, error="boom", **_LOOP),
    )
    assert (run["status"] == "ok") == (why is not None)
    assert ("error" in run["boundaries"]) == (why is None and run["status"] == "error")


@pytest.mark.parametrize(
    ("ended", "told", "lost"),
    [
        (_why("tool-calls"), [], True),
        ({}, [], True),
        ({}, [chat(8, 4, error="server failed", at=9, **_LOOP)], False),
        (_why("tool-calls", **_USED), [], False),
    ],
)
def test_a_loop_below_a_tool_that_counts_nothing_broke_in_a_step_of_which_nobody_tells(ended, told, lost):
    """Langfuse's integration of the AI SDK 7."""
    (run,) = runs(
        agent(1, "planner", took=20, attributes=_why("stop", **_USED), **_LOOP),
        chat(2, 1, _asks("ask_writer", "c1"), "go", at=1, **_LOOP),
        tool(3, 1, "ask_writer", "c1", at=3, took=9, error="server failed", **_LOOP),
        agent(4, "writer", 3, at=4, took=7, attributes=ended, **_LOOP),
        chat(5, 4, _asks("look", "c2"), "write", at=5, **_LOOP),
        tool(6, 4, "look", "c2", "fine", at=7, **_LOOP),
        *told,
        chat(7, 1, "Done.", "go", at=14, **_LOOP),
    )
    assert (run["status"], run["output"]) == ("ok", "Done.")
    assert ("missing step" in run["incomplete"]) == lost
    assert ("error" in run["boundaries_unknown"], "error" in run["boundaries"]) == (lost, bool(told))


def _events(heard, answer, *back):
    told = [(f"gen_ai.{m['role']}.message", {"content": m["content"]}) for m in heard]
    came = [("gen_ai.tool.message", {"content": text, "tool_call_id": call}) for call, text in back]
    return {"events": [*told, ("gen_ai.choice", {"content": answer}), *came]}


def test_what_came_back_for_an_answer_is_no_part_of_what_its_model_was_told():
    """TanStack AI tells both by events of one span, and leaves empty results out of the next input."""
    first = [*_GO, *_said("assistant", "Well."), *_said("tool", "null")]
    then = [*first, *_said("assistant", "And?"), *_said("tool", "null")]
    (run,) = runs(
        _APP,
        _loop(2, 1, 18, "go", "All done.", 4),
        _step(3, 2, 0, 1, 3, _GO, "Well.", "tool_calls", **_events(_GO, "Well.", ("call_4", "null"))),
        _tool(4, 3, "count", 2, 0.5, {"e": 1}, "null"),
        _step(5, 2, 1, 5, 3, first, "And?", "tool_calls", **_events(first, "And?", ("call_6", ""), ("call_7", "null"))),
        _tool(6, 5, "look", 6, 0.5, {"x": 1}, ""),
        _tool(7, 5, "look", 7, 0.5, {"x": 1}, "null"),
        _step(8, 2, 2, 9, 3, then, "So?", "tool_calls", **_events(then, "So?", ("call_9", ""))),
        _tool(9, 8, "count", 10, 0.5, {"e": 2}, ""),
        _step(10, 2, 3, 13, 3, [*then, *_said("assistant", "So?")], "All done."),
    )
    assert [c["result"] for c in run["tool_calls"] if c["name"] == "look"] == [None, None]


def test_events_are_believed_where_the_attribute_beside_them_is_cut():
    said = [("gen_ai.user.message", {"content": "go on"})]
    said += [("gen_ai.assistant.message", {"tool_calls": [{"id": "c1", "function": {"name": "look"}}]})]
    said += [("gen_ai.tool.message", {"content": "seen", "id": "c1"})]
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "look", {})], "go on", at=1),
        chat(3, 1, "done", [{"role": "user", "parts": [{"type": "text", "content": "go"}]}], at=4, events=said),
    )
    assert [(c["name"], c["result"]) for c in run["tool_calls"]] == [("look", "seen")]


def _volt(id, parent, name, at, took=1, **more):
    told = {"entity.type": "agent", "entity.name": "planner"} | more.pop("attributes", {})
    return span(id, parent, name, at=at, took=took, scope="@voltagent/core", attributes=told, **more)


def test_a_name_tells_what_a_span_of_voltagents_is_whose_type_was_dropped():
    asked = {"input": "go", "agent.state": "completed", "ai.response.finish_reason": "stop", "output": "done"}
    (run,) = runs(
        _volt(1, None, "planner", 0, 9, attributes=asked),
        _volt(2, 1, "tool.execution:look", 2, error="boom", dropped=9),
        _volt(3, 1, "memory.write", 4, error="full", dropped=9),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "error")]
    assert run["boundaries"] == ["tool_failure"]


def _frame(id, parent, name, kind, at, took, **told):
    told = {"traceloop.span.kind": kind, "traceloop.entity.name": name} | told
    return span(id, parent, f"{name}.{kind}", at=at, took=took, scope="@traceloop/node-server-sdk", attributes=told)


def test_what_ran_in_a_function_that_is_not_told_may_have_failed_as_that_threw():
    """Traceloop for JavaScript never ends the span of one that threw."""
    told = [
        _frame(1, None, "main", "workflow", 0, 20),
        chat(2, 1, _asks("look", "c1"), "go", at=1),
        _frame(3, 1, "look", "tool", 3, 9),
        chat(5, 4, _asks("dig", "c2"), "dig", at=4, scope="@traceloop/instrumentation-openai"),
        chat(6, 1, "Done.", "go", at=14),
    ]
    whole, part = runs(*told[:3], told[-1]), runs(*told)
    assert [{"error", "rate_limit"} <= set(run["boundaries_unknown"]) for run in (*whole, *part)] == [False, True]


def test_a_way_to_an_agent_is_one_whoever_took_it():
    """Another agent took it in vain, and neither has a span of the tool."""
    back = [
        {"role": "user", "parts": [{"type": "text", "content": "find"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c2", "name": "ask_writer", "arguments": {}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c2", "response": "Error: failed"}]},
    ]
    (run,) = runs(
        agent(1, "planner", took=40),
        chat(2, 1, _asks("ask_finder", "c1"), "go", at=1),
        tool(3, 1, "ask_finder", "c1", "found", at=3, took=10),
        agent(4, "finder", 3, at=4, took=8),
        chat(5, 4, _asks("ask_writer", "c2"), "find", at=5),
        chat(6, 4, "found", back, at=8),
        chat(7, 1, _asks("ask_writer", "c3"), "go", at=15),
        agent(8, "writer", 1, at=17, took=5),
        chat(9, 8, "written", "write", at=18),
        chat(10, 1, "Done.", "go", at=25),
    )
    assert run["tool_calls"] == []
    ways = [(d["from"], d["to"], d["tool"]) for d in run["delegations"]]
    assert ways.count(("finder", "writer", "ask_writer")) == ways.count(("planner", "writer", "ask_writer")) == 1


def test_an_agent_that_failed_below_a_tool_of_a_run_without_model_calls_broke_no_run():
    """OpenLIT 1.15, of OpenAI's agents for JavaScript."""
    (run,) = runs(
        agent(1, "planner", took=9, status=1),
        tool(2, 1, "ask_writer", result="An error occurred", at=1, took=5, error="Error running tool (non-fatal)"),
        agent(3, "writer", 2, at=2, took=3, error="Error in agent run"),
    )
    assert (run["status"], run["boundaries"]) == ("ok", [])
    assert "error" in run["boundaries_unknown"]


def test_who_asked_for_a_tool_that_nobody_gave_it_did_not_call_the_agent_that_another_calls_by_it():
    """ADK for JavaScript: the span of the tool around the agent's work tells who did."""
    (run,) = runs(
        agent(1, "planner", took=40),
        chat(2, 1, _asks("finder", "c1"), "go", at=1),
        tool(3, 1, "finder", "c1", "found", at=3, took=10),
        agent(4, "finder", 3, at=4, took=8),
        chat(5, 4, [("c2", "writer", {}), ("c4", "look", {})], "find", at=5),
        tool(11, 4, "look", "c4", "fine", at=7),
        chat(6, 4, "found", at=9),
        chat(7, 1, _asks("writer", "c3"), "go", at=15),
        tool(8, 1, "writer", "c3", "written", at=17, took=6),
        agent(9, "writer", 8, at=18, took=4),
        chat(10, 9, "written", "write", at=19),
        chat(12, 1, "Done.", "go", at=25),
    )
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("planner", "finder"), ("planner", "writer")]
    assert [(c["name"], c["status"]) for c in run["tool_calls"] if c["call_id"] == "c2"] != [("writer", "ok")]


def test_a_loop_that_ends_two_milliseconds_after_its_tool_is_its_work():
    """Both begin at whole milliseconds, each in a trace of its own (TanStack AI without a span around it)."""

    def digs(late):
        loop = _loop(6, 3.1, 5, "dig here", "Dug.", 1, parent=None, trace=2)
        loop["attributes"] |= {"gen_ai.response.finish_reasons": ["stop"], "tanstack.ai.iterations": 1}
        return runs(
            _loop(2, 1, 14, "go", "All done.", 2),
            _step(3, 2, 0, 1, 9, _GO, "Let me see.", "tool_calls"),
            _tool(4, 3, "ask_digger", 3, 5.1 - late, {"task": "dig here"}, "Dug."),
            _step(10, 2, 1, 10.5, 4, [*_GO, *_said("tool", "Dug.")], "All done."),
            loop,
            _step(7, 6, 0, 3.2, 4.9, _said("user", "dig here"), "Dug.", trace=2),
        )

    assert [len(digs(late)) for late in (0.0015, 0.5)] == [1, 2]


def test_an_agent_that_failed_and_of_which_nothing_is_seen_may_have_asked_a_model():
    """Traceloop for JavaScript tells of no model call that failed."""
    (run,) = runs(
        span(1, None, "main", took=40),
        chat(2, 1, _asks("ask_writer", "c1"), "go", at=1),
        tool(3, 1, "ask_writer", "c1", at=3, error="boom"),
        chat(4, 1, _asks("ask_writer", "c2"), at=5),
        tool(5, 1, "ask_writer", "c2", "written", at=7, took=6),
        agent(6, "writer", 5, at=8, took=4),
        chat(7, 6, "written", "write", at=9),
        chat(8, 1, "Done.", "go", at=15),
    )
    assert [d["status"] for d in run["delegations"]] == ["error", "ok"]
    assert {"error", "timeout", "rate_limit"} <= set(run["boundaries_unknown"])
    assert "missing step" in run["incomplete"]


def test_a_tool_of_whose_result_llm_sdks_agents_tell_nothing_may_have_failed():
    """It says so in its result; llm-sdk's agents, for JavaScript and Go, tell no content and no reason to end."""
    (run,) = runs(
        agent(1, "planner", took=9, scope="@hoangvvo/llm-agent"),
        chat(2, 1, at=1, scope="@hoangvvo/llm-sdk"),
        tool(3, 1, "look", "c1", at=3, scope="@hoangvvo/llm-agent"),
        chat(4, 1, at=5, scope="@hoangvvo/llm-sdk"),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "unknown")]


@pytest.mark.parametrize(("why", "hidden"), [("no such tool", True), ("Max turns (1) exceeded", False), (None, False)])
def test_what_a_call_of_no_words_asked_for_may_not_have_run_where_its_agent_failed(why, hidden):
    (run,) = runs(
        agent(1, "planner", took=9, error=why),
        chat(2, 1, at=1),
        tool(3, 1, "look", "c1", at=3, error=why),
    )
    assert ("tool calls not visible" in run["incomplete"]) == hidden
