"""Runs of which single spans were lost, though their frames came."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

LOST = 99  # a span that has not come


def _ended(reason):
    return {"attributes": {"gen_ai.response.finish_reasons": [reason]}}


def _whole_first(*spans):
    return sorted(runs(*spans), key=lambda r: ("missing parent" in r["incomplete"], r["start_unix_nano"]))


@pytest.mark.parametrize("words", [("Blue?", "And red?"), (None, None)])
def test_what_lost_its_parent_is_of_the_request_that_was_asked_so_where_two_were_at_work(words):
    """The AI SDK 7: two requests at once in a span of the program's, and a step of one was lost."""
    one, two = words
    first, then, *lost = _whole_first(
        span(1, name="job", took=12),
        *(agent(2, "planner", parent=1, took=8), chat(3, LOST, [("c1", "look", {})], one, at=1)),
        *(tool(4, LOST, "look", call="c1", result="yes", at=3), chat(5, 2, "It is.", one, at=5)),
        *(agent(6, "planner", parent=1, at=0.5, took=10), chat(7, 6, "That too.", two, at=4)),
    )
    if one is None:
        assert [len(r["llm_calls"]) for r in (first, then)] == [1, 1]
        assert ["missing parent" in r["incomplete"] for r in lost] == [True]
    else:
        assert (lost, [len(r["llm_calls"]) for r in (first, then)]) == ([], [2, 1])
        assert [(r["input"], r["output"]) for r in (first, then)] == [(one, "It is."), (two, "That too.")]


def test_a_request_whose_frame_is_lost_is_a_run_beside_others_in_a_span_of_the_programs():
    found = _whole_first(
        span(1, name="chat", took=20),
        *(chat(3, LOST, "It is.", "Blue?", at=1), agent(4, "planner", parent=1, at=5, took=3)),
        *(chat(5, 4, "That too.", "And red?", at=5), agent(6, "planner", parent=1, at=10, took=3)),
        chat(7, 6, "No.", "And green?", at=10),
    )
    assert [(r["input"], r["output"]) for r in found] == [
        ("And red?", "That too."),
        ("And green?", "No."),
        ("Blue?", "It is."),
    ]


@pytest.mark.parametrize(("reason", "status"), [("stop", "unknown"), (None, "error")])
def test_an_agent_that_says_it_ended_on_words_after_a_tool_that_threw_was_answered(reason, status):
    """The AI SDK 7, of which the span of the last model's call was lost."""
    (run,) = runs(
        agent(1, "planner", took=3.4, **(_ended(reason) if reason else {})),
        chat(2, 1, [("c1", "look", {})], "Where is it?"),
        tool(3, 1, "look", call="c1", at=2, took=1, error="no such place"),
    )
    assert (run["status"], "error" in run["boundaries"]) == (status, status == "error")
    assert ("missing step" in run["incomplete"]) == (reason == "stop")


@pytest.mark.parametrize("error", ["model is down", None])
def test_what_an_agent_said_that_a_tool_called_is_no_answer_nor_is_its_failure_the_runs(error):
    """The AI SDK 7: an agent in a tool, and the answer to that was lost."""
    (run,) = runs(
        agent(1, "planner", took=9, **_ended("stop")),
        *(chat(2, 1, [("c1", "ask", {"task": "write"})], "A poem!"), tool(3, 1, "ask", call="c1", at=2, took=4)),
        *(
            agent(4, "writer", parent=3, at=2, took=3),
            chat(5, 4, None if error else "Roses.", "write", at=3, error=error),
        ),
    )
    assert (run["status"], run["output"], run["agents"]) == ("unknown", None, ["planner", "writer"])


@pytest.mark.parametrize("lost", [0, 1, 2, 3, 4])
def test_a_model_call_that_was_lost_in_an_agent_or_beside_one_is_missed(lost):
    """What an agent gave was said by nobody, or a tool that called one was asked for by nobody."""
    asked = [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "ask", "arguments": {"q": "x"}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "It rains."}]},
    ]
    inner = [{"role": "user", "parts": [{"type": "text", "content": "x"}]}, _called_and_heard("c2"), _heard("c2")]
    calls = [
        chat(2, 1, [("c1", "ask", {"q": "x"})], "go", at=0.5, took=0.4),
        chat(5, 4, [("c2", "look", {})], "x", at=2, took=0.4),
        chat(7, 4, "It rains.", inner, at=4, took=0.4),
        chat(8, 1, "Take a coat.", asked, at=7),
    ]
    del calls[lost : lost + 1]
    (run,) = runs(
        agent(1, "planner", took=9, attributes={"gen_ai.output.messages": _said("Take a coat.")}),
        *(tool(3, 1, "ask", call="c1", result="It rains.", at=1, took=5), agent(4, "worker", parent=3, at=1, took=5)),
        tool(6, 4, "look", call="c2", result="yes", at=3, took=0.5),
        *calls,
    )
    assert ("missing step" in run["incomplete"]) == (lost < 4)
    assert [(d["from"], d["to"], d["status"]) for d in run["delegations"]] == [("planner", "worker", "ok")]


def test_what_was_asked_for_before_a_call_that_failed_may_have_run_where_that_one_tells_no_history():
    """Pydantic AI: neither the tool's span nor what a model was given that could not be asked has come."""
    (run,) = runs(
        agent(1, "planner", took=9, error="400"),
        *(chat(2, 1, [("c1", "look", {})], "go", at=0), tool(3, 1, "look", call="c1", result="yes", at=1)),
        chat(4, 1, [("c2", "none", {})], [*_heard_all("c1")], at=2),
        chat(6, 1, None, None, at=5, error="400"),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["ok", "unknown"]


def test_a_tool_whose_span_is_lost_may_hold_the_workflow_that_misses_its_parent():
    """Google's ADK, of an agent as a tool that failed: a frame of the kit's is around the agent."""
    (run,) = runs(
        agent(1, "planner", took=9, error="boom"),
        chat(2, 1, [("c1", "find", {})], "go", at=0),
        span(4, LOST, "invoke_workflow clerk", at=2, took=3, error="boom"),
        agent(5, "clerk", parent=4, at=2, took=3, error="boom"),
        *(chat(6, 5, [("c2", "look", {})], at=3), tool(7, 5, "look", call="c2", at=4, took=0.5, error="boom")),
    )
    assert {(c["name"], c["status"]) for c in run["tool_calls"]} == {("find", "unknown"), ("look", "error")}


def test_who_asked_for_a_tool_is_missed_in_a_run_whose_last_call_failed():
    (run,) = runs(
        agent(1, "planner", took=9, error="400"),
        tool(3, 1, "look", call="c1", result="yes", at=1),
        chat(4, 1, [("c2", "look", {})], [*_heard_all("c1")], at=2),
        tool(5, 1, "look", call="c2", result="yes", at=3),
        chat(6, 1, None, [*_heard_all("c1"), *_heard_all("c2")[1:]], at=5, error="400"),
    )
    assert "missing step" in run["incomplete"]


def _heard_all(id):
    return [{"role": "user", "parts": [{"type": "text", "content": "go"}]}, _called_and_heard(id), _heard(id)]


def _said(text):
    return json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": text}]}])


@pytest.mark.parametrize(("within", "status"), [(True, "unknown"), (False, "requested")])
def test_a_call_without_a_span_was_not_answered_from_memory_where_tools_run_in_the_models_span(within, status):
    """The AI SDK 7 by its older telemetry: a tool's span lies in that of the model; that of the second was lost."""
    back = [
        {"role": "user", "parts": [{"type": "text", "content": "Blue?"}]},
        *(_called_and_heard("c1"), _heard("c1"), _called_and_heard("c2"), _heard("c2")),
    ]
    look = {"gen_ai.tool.call.arguments": "{}"}
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "look", {})], "Blue?", took=3 if within else 1),
        tool(3, 2 if within else 1, "look", call="c1", result="yes", at=1, took=1.5, attributes=look),
        chat(4, 1, [("c2", "look", {})], back[:3], at=3, took=3),
        chat(5, 1, "It is.", back, at=6),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["ok", status]


def test_a_call_whose_span_is_lost_was_not_answered_from_memory_for_being_a_little_faster():
    back = [
        {"role": "user", "parts": [{"type": "text", "content": "Blue?"}]},
        *(_called_and_heard("c1"), _heard("c1"), _called_and_heard("c2"), _heard("c2")),
    ]
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "look", {})], "Blue?"),
        tool(3, 1, "look", call="c1", result="yes", at=1, took=0.002, attributes={"gen_ai.tool.call.arguments": "{}"}),
        chat(4, 1, [("c2", "look", {})], back[:3], at=3),
        chat(5, 1, "It is.", back, at=4.001),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["ok", "unknown"]


def test_a_call_whose_span_is_lost_was_not_answered_from_memory_by_a_clock_that_counts_milliseconds():
    """Spans of OpenTelemetry's for JavaScript begin at whole ones, and end between them."""
    back = [
        {"role": "user", "parts": [{"type": "text", "content": "Blue?"}]},
        *(_called_and_heard("c1"), _heard("c1"), _called_and_heard("c2"), _heard("c2")),
    ]
    look = {"gen_ai.tool.call.arguments": "{}"}
    (run,) = runs(
        agent(1, "planner", took=0.05),
        chat(2, 1, [("c1", "look", {})], "Blue?", took=0.0101),
        tool(3, 1, "look", call="c1", result="yes", at=0.011, took=0.0003, attributes=look),
        chat(4, 1, [("c2", "look", {})], back[:3], at=0.011, took=0.0101),
        chat(5, 1, "It is.", back, at=0.021),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["ok", "unknown"]


def _called_and_heard(id):
    return {"role": "assistant", "parts": [{"type": "tool_call", "id": id, "name": "look", "arguments": {}}]}


def _heard(id):
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": id, "response": "yes"}]}


@pytest.mark.parametrize(("dropped", "status"), [(0, "ok"), (3, "unknown")])
def test_a_stream_that_dropped_why_it_ended_may_have_been_called_off(dropped, status):
    """The AI SDK 7 by its older telemetry, at a limit of twelve attributes."""
    told = {"scope": "ai", "dropped": dropped}
    frame = {"ai.operationId": "ai.streamText", "ai.telemetry.functionId": "planner"}
    asked = {"ai.operationId": "ai.streamText.doStream", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3}
    (run,) = runs(
        span(1, name="ai.streamText", took=5, attributes=frame, **told),
        span(2, 1, "ai.streamText.doStream", took=4, attributes=asked, **told),
    )
    assert run["status"] == status


def test_what_was_said_before_an_answer_is_not_what_a_cycle_was_asked():
    """Strands 1.19 for JavaScript, a later turn of a conversation whose agent's span was lost: a cycle tells in events
    what was said before it."""
    before = [
        ("gen_ai.user.message", {"content": '[{"text":"Blue?"}]'}),
        ("gen_ai.assistant.message", {"content": '[{"text":"It is."}]'}),
    ]
    asked = [*before, ("gen_ai.user.message", {"content": '[{"text":"And red?"}]'})]
    said = [*asked, ("gen_ai.choice", {"finish_reason": "endTurn", "message": '[{"text":"That too."}]'})]
    cycle, model = ({"gen_ai.operation.name": name} for name in ("execute_event_loop_cycle", "chat"))
    (run,) = runs(
        span(1, LOST, "execute_agent_loop_cycle", took=3, attributes=cycle, events=before),
        span(2, 1, "chat", took=2, attributes=model, events=said),
    )
    assert (run["input"], run["output"]) == ("And red?", "That too.")


@pytest.mark.parametrize(("lost", "tokens"), [(False, 30), (True, None)])
def test_what_an_agent_used_is_no_calls_where_another_call_may_be_among_what_is_lost(lost, tokens):
    """Mastra 1.71, without content: what frames the steps counts them all, and one step was lost."""
    uncounted = {"attributes": {"gen_ai.usage.input_tokens": None, "gen_ai.usage.output_tokens": None}}
    told = {"attributes": {"gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 6}}
    (run,) = runs(
        agent(1, "planner", took=9, **told),
        *([tool(3, LOST, "look", at=2)] if lost else []),
        chat(4, 1, "It is.", at=4, **uncounted),
    )
    assert [c["input_tokens"] for c in run["llm_calls"]] == [tokens]


@pytest.mark.parametrize(
    ("result", "status"),
    [('{"error":true,"message":"Tool input vali', "error"), ('{"errors":0,"message":"Tool input vali', "ok")],
)
def test_an_object_that_begins_with_an_error_says_so_where_the_rest_was_cut(result, status):
    """Mastra 1.71 at a limit on the length of values: what a tool was given did not fit."""
    (run,) = runs(
        agent(1, "planner", took=9),
        *(chat(2, 1, [("c1", "look", {})], "Blue?"), tool(3, 1, "look", call="c1", result=result, at=2)),
        chat(4, 1, "No.", at=4),
    )
    assert [c["status"] for c in run["tool_calls"]] == [status]


@pytest.mark.parametrize("later", [True, False])
def test_a_run_whose_last_tool_was_called_off_may_have_been_called_off(later):
    """Mastra 1.71: what was called off while a tool ran ends as the model's request for it did, and well."""
    well = {"status": 1}
    (run,) = runs(
        agent(1, "planner", took=9, **well),
        chat(2, 1, [("c1", "look", {})], "Blue?", **well),
        tool(3, 1, "look", call="c1", at=2, error="This operation was aborted"),
        *([chat(4, 1, "It took too long.", at=4, **well)] if later else []),
    )
    assert (run["status"], run["tool_calls"][0]["status"]) == ("ok" if later else "unknown", "unknown")


def test_a_step_that_hands_on_what_it_was_given_is_no_answer():
    """LangChain 1.5 for JavaScript under OpenInference: called off in its tools, and the model's span was lost."""
    given = '{"messages":[{"role":"user","content":"Blue?"}]}'
    chain = {"openinference.span.kind": "CHAIN", "input.value": given}
    (run,) = runs(
        span(1, name="planner", took=6, error="Abort", attributes=chain | {"metadata": '{"lc_agent_name":"planner"}'}),
        span(2, 1, "__start__", attributes=chain | {"output.value": given}),
        tool(3, 1, "look", at=3, error="This operation was aborted"),
    )
    assert (run["input"], run["output"]) == ("Blue?", None)


def test_what_was_said_before_an_answer_is_not_what_a_cycle_was_asked_in_the_newest_words_either():
    asked = [{"role": "user", "parts": [{"type": "text", "content": "Blue?"}]}]
    before = [*asked, {"role": "assistant", "parts": [{"type": "text", "content": "It is."}]}]
    more = [*before, {"role": "user", "parts": [{"type": "text", "content": "And red?"}]}]
    told = [("gen_ai.client.inference.operation.details", {"gen_ai.input.messages": json.dumps(before)})]
    (run,) = runs(
        span(1, LOST, "execute_agent_loop_cycle", took=3, events=told),
        chat(2, 1, "That too.", more, took=2),
    )
    assert (run["input"], run["output"]) == ("And red?", "That too.")


@pytest.mark.parametrize(("first", "status"), [("look", "unknown"), ("nobodys", "requested")])
def test_what_was_asked_for_before_the_tool_in_which_an_agent_died_may_have_run(first, status):
    tools = [{"type": "function", "function": {"name": name}} for name in ("look", "save")]
    asked = [("c1", first, {"q": 1}), ("c2", "save", {"q": 2}), ("c3", "look", {"q": 3})]
    (run,) = runs(
        agent(1, "planner", took=9, error="broke"),
        chat(2, 1, asked, "go", at=1, attributes={"gen_ai.tool.definitions": tools}),
        tool(3, 1, "save", call="c2", at=3, took=1, error="broke"),
    )
    assert [c["status"] for c in run["tool_calls"]] == [status, "error", "requested"]


def test_what_another_agent_did_is_not_what_the_user_said_where_the_first_model_is_lost():
    """Google's ADK puts it in the user's name, between marks."""
    parts = (
        "For context: below is a transcript of what another agent did, quoted between <<<A>>> and <<<B>>>.",
        "[one] x",
    )
    told = [{"role": "user", "parts": [{"type": "text", "content": text} for text in parts]}]
    (run,) = runs(agent(1, "two", took=9), chat(2, 1, "done", told, at=1))
    assert run["input"] is None
