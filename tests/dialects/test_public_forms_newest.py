"""Forms of the newest conventions, and of what programs in public repositories add to them by hand."""

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full


def _workflow(id, parent=None, name="trip", took=30, **told):
    told = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.agent.name": name} | told
    return span(id, parent, f"invoke_workflow {name}", took=took, attributes=told)


def test_a_workflow_that_bears_its_name_as_an_agents_is_none():
    (run,) = runs(
        _workflow(1),
        agent(2, "scout", 1, at=1, took=8),
        chat(3, 2, "found", "find it", at=2),
        span(4, 1, "invoke_agent", at=10, took=8, gen_ai__operation__name="invoke_agent"),
        chat(5, 4, "all done", "found", at=11),
    )
    assert run["agents"] == ["scout"]
    assert [call["agent"] for call in run["llm_calls"]] == ["scout", None]
    (run,) = runs(_workflow(1), chat(2, 1, at=1), tool(3, 1, "look", at=3), chat(4, 1, at=5))
    assert (run["agents"], [call["agent"] for call in run["tool_calls"]]) == ([], [None])


def _live(id, trace, at, answer):
    told = {"gen_ai.operation.name": "realtime_inference", "gen_ai.live_session.id": "s1"}
    return chat(id, None, answer, trace=trace, at=at, attributes=told)


def test_what_is_generated_in_one_live_session_is_one_run_where_each_span_has_a_trace_of_its_own():
    (run,) = runs(
        _live(1, 1, 0, [("c1", "look", {})]), tool(2, None, "look", "c1", "fine", trace=2, at=2), _live(3, 3, 4, "good")
    )
    assert (run["conversation_id"], run["output"], len(run["llm_calls"])) == ("s1", "good", 2)


@pytest.mark.parametrize(("target", "calls"), [("human", ["escalate"]), ("agent", []), ("workflow", []), (None, [])])
def test_what_a_tool_hands_over_to_may_be_a_human(target, calls):
    told = {"gen_ai.transfer.mode": "pass_control", "gen_ai.transfer.target.name": "desk"}
    told |= {} if target is None else {"gen_ai.transfer.target.type": target}
    (run,) = runs(
        agent(1, "boss", took=9),
        chat(2, 1, [("c1", "escalate", {})], at=1),
        tool(3, 1, "escalate", "c1", at=3, attributes=told),
    )
    assert [call["name"] for call in run["tool_calls"]] == calls
    assert [d["to"] for d in run["delegations"]] == ([] if calls else ["desk"])


_LONG = "one two three four five " * 100


@pytest.mark.parametrize(
    "told",
    [
        _LONG[:500] + "...",
        _LONG[:499] + "…",
        _LONG[:600] + "... [truncated]",
        _LONG[:621] + "...(truncated 200 chars)",
        _LONG[:777] + "\n[output truncated]",
        _LONG[:777] + "[... 1234 more characters]",
        _LONG[:777] + "...truncated",
        _LONG[:500],
        _LONG[:501],
        _LONG[:1000],
    ],
)
def test_what_a_program_cut_is_not_told_as_the_result(told):
    asked, last = chat(2, 1, [("c1", "look", {})], at=1), chat(4, 1, at=6)
    (run,) = runs(agent(1, "a", took=9), asked, tool(3, 1, "look", "c1", told, at=3), last)
    assert [(call["status"], call["result"]) for call in run["tool_calls"]] == [("ok", None)]
    assert "truncated values" in run["incomplete"]


@pytest.mark.parametrize(
    "told", ["Please wait...", _LONG[:777], _LONG[:413] + "...", "a list of [12 items]", "x" * 499]
)
def test_what_merely_looks_like_it_is_the_result(told):
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {})], at=1),
        tool(3, 1, "look", "c1", told, at=3),
        chat(4, 1, at=6),
    )
    assert [call["result"] for call in run["tool_calls"]] == [told]


def test_what_the_model_was_told_is_the_result_where_a_program_cut_it_in_the_tools_span():
    call = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}
    gave = {"type": "tool_call_response", "id": "c1", "response": _LONG}
    told = [{"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [gave]}]
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {})], "go", at=1),
        tool(3, 1, "look", "c1", _LONG[:500] + "...", at=3),
        chat(4, 1, "done", [{"role": "user", "parts": [{"type": "text", "content": "go"}]}, *told], at=6),
    )
    assert [call["result"] for call in run["tool_calls"]] == [_LONG]


def test_what_a_program_cut_is_neither_asked_nor_answered():
    asked, said = _LONG[:500] + "...", _LONG[:300] + "... [truncated]"
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, said, asked, at=1))
    assert (run["input"], run["output"]) == (None, None)
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, "Well, let me see...", "Tell me what comes next...", at=1))
    assert (run["input"], run["output"]) == ("Tell me what comes next...", "Well, let me see...")


@pytest.mark.parametrize(
    ("key", "told", "status"),
    [
        ("acme.tool.status", "failed", "error"),
        ("acme.tool.status", "success", "ok"),
        ("acme.tool.status", "pending", "unknown"),
        ("acme.tool.success", False, "error"),
        ("acme.tool.success", True, "ok"),
        ("acme.tool.is_error", True, "error"),
        ("acme.tool.is_error", False, "ok"),
        ("acme.tool.outcome", "blocked", "requested"),
        ("acme.tool.denied", True, "unknown"),
        ("acme.tool.denied", False, "ok"),
        ("is_error", True, "error"),
        ("is_error", False, "ok"),
        ("outcome", "failed", "error"),
        ("status", "error", "error"),
        ("status", "200", "ok"),
    ],
)
def test_how_a_tool_went_may_stand_under_a_vendors_own_name_or_a_bare_one(key, told, status):
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {})], at=1),
        tool(3, 1, "look", "c1", at=3, attributes={key: told}),
        chat(4, 1, at=6),
    )
    assert [call["status"] for call in run["tool_calls"]] == [status]


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("TASK_STATE_COMPLETED", "ok"),
        ("TASK_STATE_FAILED", "error"),
        ("TASK_STATE_REJECTED", "error"),
        ("TASK_STATE_INPUT_REQUIRED", "unknown"),
        ("TASK_STATE_WORKING", "unknown"),
    ],
)
def test_an_agent_that_was_sent_a_message_came_to_what_the_state_of_its_task_says(state, status):
    told = {"a2a.method.name": "SendMessage", "gen_ai.agent.name": "helper", "a2a.task.state": state}
    (run,) = runs(
        agent(1, "boss", took=20),
        chat(2, 1, [("c1", "ask_helper", {})], "go", at=1),
        tool(3, 1, "ask_helper", "c1", at=3, took=9),
        span(4, 3, "SendMessage", at=4, took=7, kind=3, attributes=told),
        chat(5, 1, "done", at=14),
    )
    assert [(d["to"], d["status"]) for d in run["delegations"]] == [("helper", status)]


_KIT = {"scope": "opentelemetry.instrumentation.some_kit"}


def test_what_a_program_notes_of_a_tool_once_it_is_done_is_no_further_call():
    noted = {"gen_ai.tool.name": "look", "gen_ai.tool.input": "{'at': 1}", "gen_ai.tool.output": "fine"}
    (run,) = runs(
        agent(1, "a", took=20),
        chat(2, 1, at=1),
        tool(3, 1, "look", "c1", at=3, **_KIT),
        span(4, 1, "tool_call.look", at=4.002, took=0, attributes=noted),
        tool(5, 1, "look", "c2", "well", at=6, **_KIT),
        span(6, 1, "tool_call.look", at=7.002, took=0, attributes=noted),
        chat(7, 1, at=9),
    )
    assert [(c["call_id"], c["arguments"], c["result"]) for c in run["tool_calls"]] == [
        ("c1", {"at": 1}, "fine"),
        ("c2", None, "well"),
        (None, {"at": 1}, "fine"),
    ]


def test_of_several_answers_to_choose_from_nobody_knows_which_one_was_taken():
    said = [{"role": "assistant", "parts": [{"type": "text", "content": x}], "finish_reason": "stop"} for x in "ab"]
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, None, "go", at=1, gen_ai__output__messages=said))
    assert (run["status"], run["output"]) == ("ok", None)
    (run,) = runs(
        agent(1, "a", took=9, gen_ai__output__messages=said[:1]),
        chat(2, 1, None, "go", at=1, gen_ai__output__messages=said),
    )
    assert run["output"] == "a"


def test_what_came_of_the_only_tool_that_a_provider_ran_is_known_without_an_id():
    ran = {"type": "server_tool_call", "name": "search", "server_tool_call": {"type": "search", "query": "x"}}
    came = {"type": "server_tool_call_response", "server_tool_call_response": {"type": "search", "results": ["y"]}}
    said = [{"role": "assistant", "parts": [ran, came, {"type": "text", "content": "y"}], "finish_reason": "stop"}]
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, None, "go", at=1, gen_ai__output__messages=said))
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ("search", "ok", {"type": "search", "results": ["y"]})
    ]
    assert run["output"] == "y"
