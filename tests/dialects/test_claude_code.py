"""Claude Code, whose spans tell what ran and whose log records tell with what, in the shapes of 2.1."""

import json

import pytest

from tests.runs.requests import events, runs, span


def _step(id, parent, step, at=0, took=1, **told):
    told = {"session.id": "s"} | told
    scope = "com.anthropic.claude_code.tracing"
    return span(id, parent, f"claude_code.{step}", at=at, took=took, scope=scope, attributes=told)


def _asked(id, parent, at, reason="tool_use", took=3, **more):
    told = {"model": "m", "gen_ai.request.model": "m", "stop_reason": reason, "success": True}
    return _step(id, parent, "llm_request", at, took, input_tokens=10, output_tokens=5, **told, **more)


def _ran(id, parent, at, call, name="Bash", success=True, took=2, **more):
    """The tool's span and the one of its work."""
    told = {"tool_use_id": call, "gen_ai.tool.call.id": call}
    failed = {} if success else {"error": "Shell command failed"}
    work = _step(id + 1, id, "tool.execution", at, took, success=success, **told, **failed)
    return [_step(id, parent, "tool", at, took, tool_name=name, **told, **more), work | {"status": 0 if success else 2}]


def _result(of, at, call, given, size=None, **more):
    """The record of a tool's end, which is written to the span of the request."""
    text = given if isinstance(given, str) else json.dumps(given, separators=(",", ":"))
    told = {"event.name": "tool_result", "tool_name": "Bash", "tool_use_id": call, "tool_input": text}
    told["tool_input_size_bytes"] = str(len(text.encode()) if size is None else size)
    return of, "claude_code.tool_result", at, told | more


def _answer(of, at, text):
    told = {"event.name": "assistant_response", "response": text, "response_length": len(text)}
    return of, "claude_code.assistant_response", at, told


def _turn(*records, last="end_turn", more=()):
    """A request: two tools, asked for together with some words, and an answer."""
    return runs(
        _step(1, None, "interaction", took=30, user_prompt="look"),
        _asked(2, 1, 1),
        *_ran(10, 1, 3, "toolu_a"),
        *_ran(20, 1, 3, "toolu_b", success=False),
        _asked(3, 1, 10, last),
        *more,
        logs=[events(*records, scope="com.anthropic.claude_code.events")],
    )


def _given(run):
    return {c["call_id"]: c["arguments"] for c in run["tool_calls"]}


def test_a_record_tells_what_the_call_was_given_that_it_names():
    (run,) = _turn(
        _result(1, 5, "toolu_a", {"command": "echo é"}),
        _result(1, 5, "toolu_b", {"command": "exit 3"}, error_type="ShellError"),
    )
    assert _given(run) == {"toolu_a": {"command": "echo é"}, "toolu_b": {"command": "exit 3"}}
    assert [(c["status"], c["error_type"], c["turn"]) for c in run["tool_calls"]] == [
        ("ok", None, 0),
        ("error", "ShellError", 0),
    ]


def test_of_what_was_cut_in_a_record_nothing_is_known():
    (run,) = _turn(_result(1, 5, "toolu_a", {"command": "echo xxx…[3005 chars]"}, size=3040))
    assert _given(run) == {"toolu_a": None, "toolu_b": None}
    assert "arguments not reported" in run["incomplete"]


def test_what_was_answered_last_is_the_output():
    said = [_answer(1, 4, "Let me look."), _answer(1, 13, "All done.")]
    (run,) = _turn(*said)
    assert (run["output"], len(run["llm_calls"])) == ("All done.", 2)
    (run,) = _turn(*said[::-1])
    assert run["output"] == "All done."


@pytest.mark.parametrize("last", ["tool_use", "end_turn"])
def test_what_was_said_before_the_last_call_is_no_output(last):
    (run,) = _turn(_answer(1, 4, "Let me look."), last=last)
    assert run["output"] is None


def test_an_answer_while_two_models_were_asked_is_of_neither():
    (run,) = _turn(_answer(1, 12, "Perhaps a title."), more=[_asked(4, 1, 11, "end_turn")])
    assert run["output"] is None


def test_a_redacted_answer_is_none():
    (run,) = _turn(_answer(1, 4, "<REDACTED>"), _answer(1, 13, "<REDACTED>"))
    assert run["output"] is None


def test_a_tool_of_an_agent_was_asked_for_by_that_agent_while_it_was_told():
    (run,) = runs(
        _step(1, None, "interaction", took=40, user_prompt="delegate"),
        _asked(2, 1, 1),
        *_ran(10, 1, 4, "toolu_task", "Agent", took=20, subagent_type="scout"),
        _asked(30, 11, 5, took=5),
        *_ran(40, 11, 9, "toolu_sub", took=3),
        _asked(31, 11, 14, "end_turn"),
        _asked(3, 1, 30, "end_turn"),
    )
    assert run["path"] == [["?->scout"], ["scout/Bash"]]
    assert [(c["agent"], c["turn"]) for c in run["tool_calls"]] == [("scout", 1)]


def test_tools_of_two_agents_at_once_were_asked_for_by_their_own():
    """Each begins while the answer that asks for it is told, and the other's, too."""
    (run,) = runs(
        _step(1, None, "interaction", took=40, user_prompt="delegate"),
        _asked(2, 1, 1, took=6),
        *_ran(10, 1, 3, "toolu_1", "Agent", took=30, subagent_type="scout"),
        *_ran(20, 1, 5.5, "toolu_2", "Agent", took=20, subagent_type="clerk"),
        _asked(30, 11, 5, took=6),
        _asked(40, 21, 6, took=8),
        *_ran(50, 11, 9, "toolu_s", took=3),
        *_ran(60, 21, 10, "toolu_c", took=3),
        _asked(31, 11, 20, "end_turn"),
        _asked(41, 21, 16, "end_turn"),
        _asked(3, 1, 36, "end_turn"),
    )
    assert [(c["agent"], c["turn"]) for c in run["tool_calls"]] == [("scout", 1), ("clerk", 2)]
    assert run["path"] == [["?->clerk", "?->scout"], ["scout/Bash"], ["clerk/Bash"]]


def test_of_two_tellings_of_a_call_the_one_beside_the_models_says_who_asked():
    """OpenInference 0.1 for the Agent SDK around it: its spans of tools stand beside the whole request."""
    told = {"openinference.span.kind": "TOOL", "tool.name": "Bash"}
    around = {"openinference.span.kind": "AGENT", "session.id": "s", "input.value": "look"}
    scope = "openinference.instrumentation.claude_agent_sdk"

    def also(id, at, call):
        return span(id, 9, "Bash", at=at, took=2, scope=scope, status=1, attributes=told | {"tool_call.id": call})

    (run,) = runs(
        span(9, None, "ClaudeAgentSDK.query", took=40, scope=scope, attributes=around),
        _step(1, 9, "interaction", took=30, user_prompt="look"),
        _asked(2, 1, 1),
        also(7, 3, "toolu_a"),
        *_ran(10, 1, 3.5, "toolu_a", took=1),
        _asked(3, 1, 10),
        also(8, 12, "toolu_b"),
        *_ran(20, 1, 12.5, "toolu_b", took=1),
        _asked(4, 1, 18, "end_turn"),
    )
    assert [(c["call_id"], c["turn"]) for c in run["tool_calls"]] == [("toolu_a", 0), ("toolu_b", 1)]


def test_an_agent_that_may_not_be_called_was_asked_for_alone():
    (run,) = runs(
        _step(1, None, "interaction", took=40, user_prompt="delegate"),
        _asked(2, 1, 1),
        _ran(10, 1, 4, "toolu_task", "Agent", subagent_type="scout")[0],
        _step(11, 10, "tool.blocked_on_user", at=4, decision="reject", source="user_reject"),
        _asked(3, 1, 10, "end_turn"),
    )
    assert [(d["to"], d["status"]) for d in run["delegations"]] == [("scout", "requested")]


def test_detailed_spans_tell_arguments_the_answer_and_what_was_offered():
    offered = json.dumps([{"name": "Bash", "hash": "1"}, {"name": "Read", "hash": "2"}])
    (run,) = runs(
        _step(1, None, "interaction", took=30, user_prompt="look"),
        _asked(2, 1, 1, tools=offered, **{"response.model_output": "Let me look.", "response.has_tool_call": True}),
        *_ran(10, 1, 3, "toolu_a", tool_input='[TOOL INPUT: Bash]\n{"command":"echo"}'),
        _asked(3, 1, 10, "end_turn", tools=offered, **{"response.model_output": "All done."}),
    )
    assert (_given(run), run["output"]) == ({"toolu_a": {"command": "echo"}}, "All done.")
    assert (run["known_tools"], run["known_tools_source"]) == (["Bash", "Read"], "offered")


@pytest.mark.parametrize("said", ['{"question": "why?", "id": "7"}', '["one", "two"]'])
def test_an_object_that_the_user_said_is_the_prompt(said):
    (run,) = runs(
        _step(1, None, "interaction", took=9, user_prompt=said, user_prompt_length=len(said)),
        _asked(2, 1, 1, "end_turn"),
    )
    assert run["input"] == said


@pytest.mark.parametrize(("prompt", "length"), [("long " * 20, 140), ("long 🌧️", 8)])
def test_a_prompt_that_was_cut_is_shorter_than_it_is_said_to_be(prompt, length):
    (run,) = runs(
        _step(1, None, "interaction", took=9, user_prompt=prompt, user_prompt_length=length),
        _asked(2, 1, 1, "end_turn"),
    )
    assert run["input"] == (prompt if length == 8 else None)


def _of_mcp(id, parent, at, call, gave, **more):
    told = {"gen_ai.tool.name": "look", "anthropic.mcp.server.name": "web"}
    tool, work = _ran(id, parent, at, call, name="mcp__web__look", **told, **more)
    return [tool | {"events": [("tool.output", {"output": gave})] if gave is not None else []}, work]


def test_a_tool_of_a_server_gave_what_its_event_tells():
    (run,) = runs(
        _step(1, None, "interaction", took=30, user_prompt="look"),
        _asked(2, 1, 1),
        *_of_mcp(10, 1, 4, "toolu_a", "cold"),
        _asked(3, 1, 10, "end_turn"),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("look", "ok", "cold")]


@pytest.mark.parametrize("gave", ["cold", None])
def test_how_a_tool_went_whose_work_is_lost_its_output_says(gave):
    (run,) = runs(
        _step(1, None, "interaction", took=30, user_prompt="look"),
        _asked(2, 1, 1),
        _of_mcp(10, 1, 4, "toolu_a", gave)[0],
        _asked(3, 1, 10, "end_turn"),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["ok" if gave else "unknown"]


def test_work_whose_tool_is_lost_has_no_name_and_is_not_the_tool_in_it():
    (run,) = runs(
        _step(1, None, "interaction", took=40, user_prompt="look"),
        _asked(2, 1, 1),
        _ran(10, 1, 4, "toolu_task", "Agent", took=10)[1] | {"parent": 99},
        _asked(3, 11, 5),
        *_ran(20, 11, 6, "toolu_a"),  # which began before the answer was whole
        _asked(4, 11, 10, "end_turn"),
        _asked(5, 1, 20, "end_turn"),
    )
    assert [(c["name"], c["call_id"]) for c in run["tool_calls"]] == [("Bash", "toolu_a")]


def test_a_tool_called_agent_in_which_a_model_was_asked_is_one_whoever_it_was():
    (run,) = runs(
        _step(1, None, "interaction", took=40, user_prompt="look"),
        _asked(2, 1, 1),
        *_ran(10, 1, 4, "toolu_task", "Agent", took=10),
        _asked(3, 11, 5, "end_turn"),
        _asked(4, 1, 20, "end_turn"),
    )
    assert run["tool_calls"] == []
    assert [(d["to"], d["tool"]) for d in run["delegations"]] == [(None, "Agent")]


@pytest.mark.parametrize("reason", ["tool_use", None])
def test_a_run_that_was_stopped_after_an_agent_that_it_called_did_not_end_well(reason):
    lost = {"dropped": 0 if reason else 9}
    first = _asked(2, 1, 1, reason or "") | lost
    first["attributes"] = {k: v for k, v in first["attributes"].items() if v != ""}
    (run,) = runs(
        _step(1, None, "interaction", took=40, user_prompt="look"),
        first,
        *_ran(10, 1, 4, "toolu_task", "Agent", took=10, subagent_type="scout"),
        _asked(3, 11, 5, "end_turn"),
    )
    assert (run["status"], "outcome not visible" in run["incomplete"]) == ("unknown", True)


@pytest.mark.parametrize(("name", "source"), [("api_request", "sdk"), ("api_error", "sdk"), ("api_request", "title")])
def test_a_record_of_a_model_that_no_span_tells_of_is_of_a_step_that_is_lost(name, source):
    told = {"event.name": name, "query_source": source, "output_tokens": "77"}
    more = [events((1, f"claude_code.{name}", 9, told), scope="com.anthropic.claude_code.events")]
    (run,) = runs(
        _step(1, None, "interaction", took=30, user_prompt="look"),
        _asked(2, 1, 1),
        *_ran(10, 1, 4, "toolu_a"),
        _asked(3, 1, 10, "end_turn"),
        logs=more,
    )
    assert ("missing step" in run["incomplete"]) == (source == "sdk")


def test_a_tool_beside_an_agent_that_was_called_is_none_of_its_where_the_frame_is_lost():
    (run,) = runs(
        _asked(2, 99, 1) | {"took": 1},
        *_ran(10, 99, 4, "toolu_task", "Agent", took=10, subagent_type="scout"),
        _asked(3, 11, 5, took=1),
        *_ran(20, 11, 7, "toolu_a"),
        _asked(4, 11, 10, took=1),
        *_ran(30, 99, 15, "toolu_b"),
    )
    assert {c["call_id"]: (c["agent"], c["turn"]) for c in run["tool_calls"]} == {
        "toolu_a": ("scout", 1),
        "toolu_b": (None, 0),
    }


def test_a_tool_is_not_called_as_the_kit_is_where_its_name_was_dropped():
    (run,) = runs(
        _step(1, None, "interaction", took=9, user_prompt="look"),
        _asked(2, 1, 1),
        _step(10, 1, "tool", 3, 2) | {"dropped": 6},
        _step(11, 10, "tool.execution", 3, 2, success=True),
        _asked(3, 1, 6, "end_turn", took=2),
    )
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [(None, "ok")]


def test_a_model_that_failed_below_what_is_lost_is_of_an_agent_that_a_tool_called():
    failed = _asked(6, 99, 10, took=1, agent_id="a1", error="down")
    told = {key: value for key, value in failed["attributes"].items() if key != "stop_reason"}
    (run,) = runs(
        _step(1, None, "interaction", took=30, user_prompt="look"),
        _asked(2, 1, 1),
        _step(4, 1, "tool", 4, 1, tool_name="Agent", tool_use_id="toolu_a", subagent_type="writer"),
        _asked(5, 99, 4, agent_id="a1"),
        _asked(3, 1, 6, "end_turn"),
        failed | {"attributes": told | {"success": False, "status_code": "500"}, "error": "down"},
    )
    assert (run["status"], "error" in run["boundaries"]) == ("unknown", True)
