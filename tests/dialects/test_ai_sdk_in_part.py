"""Loops of the AI SDK of which spans are lost, and what lies on their roots that is not theirs."""

import pytest

from tests.dialects.test_javascript_newest import agreed
from tests.runs.requests import agent, chat, runs, span, tool

_ASK = [("call_Wq81", "ask_writer", {"task": "Write."})]


def _loop(id, name, parent=None, said=None, **more):
    told = {"ai.operationId": "ai.generateText", "ai.telemetry.functionId": name} | (
        {"ai.response.text": said} if said else {}
    )
    return span(id, parent, "ai.generateText", scope="ai", attributes=told, **more)


def _model(id, parent, said=None, asked=None, **more):
    told = {"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "m", "ai.response.finishReason": "stop"}
    if asked:
        calls = [{"toolCallId": i, "toolName": n, "input": a} for i, n, a in asked]
        told |= {"ai.response.toolCalls": calls, "ai.response.finishReason": "tool-calls"}
    told |= {"ai.response.text": said} if said else {}
    told |= {"ai.prompt.messages": [{"role": "user", "content": "Go."}]}
    return span(id, parent, "ai.generateText.doGenerate", scope="ai", attributes=told, **more)


def _tool(id, parent, name, call, **more):
    told = {"ai.operationId": "ai.toolCall", "ai.toolCall.name": name, "ai.toolCall.id": call}
    return span(id, parent, "ai.toolCall", scope="ai", attributes=told | more.pop("attributes", {}), **more)


def _asked_another(*last):
    return [
        _loop(1, "planner", took=9),
        _model(2, 1, asked=_ASK, at=1),
        _tool(3, 1, "ask_writer", "call_Wq81", at=2, took=4, attributes={"ai.toolCall.result": '"A text."'}),
        _loop(4, "writer", 3, "A text.", at=3, took=2),
        _model(5, 4, "A text.", at=3),
        *last,
    ]


def test_a_limit_may_have_stopped_who_called_another_and_said_nothing_since():
    (run,) = runs(*_asked_another())
    assert run["output"] is None and "max_steps" in run["boundaries_unknown"]
    (run,) = runs(*_asked_another(_model(6, 1, "It says: A text.", at=7)))
    assert run["output"] == "It says: A text." and "max_steps" not in run["boundaries_unknown"]


@pytest.mark.parametrize("name", ["writer", None])
@pytest.mark.parametrize(("gave", "stopped"), [('""', True), ('"A text."', False)])
def test_a_limit_may_have_stopped_a_loop_in_a_tool_that_gave_no_words(name, gave, stopped):
    made = {"ai.toolCall.args": "{}", "ai.toolCall.result": '"cold"'}
    inner = {"ai.operationId": "ai.generateText"} | ({"ai.telemetry.functionId": name} if name else {})
    (run,) = agreed(
        _loop(1, "planner", took=9),
        _model(2, 1, asked=_ASK, at=1),
        _tool(3, 1, "ask_writer", "call_Wq81", at=2, took=4, attributes={"ai.toolCall.result": gave}),
        span(4, 3, "ai.generateText", scope="ai", at=3, took=3, attributes=inner),
        _model(5, 4, asked=[("call_Xr92", "look", {})], at=3),
        _tool(6, 4, "look", "call_Xr92", at=5, attributes=made),
        _model(7, 1, "Done.", at=7),
    )
    assert run["output"] == "Done." and ("max_steps" in run["boundaries_unknown"]) == stopped


def test_a_model_may_have_failed_unseen_in_a_loop_that_broke_in_a_tool_once_its_own_tools_had_gone_well():
    wrong = {"status": 2, "events": [("exception", {"exception.type": "APICallError", "exception.message": "down"})]}
    made = {"ai.toolCall.args": "{}", "ai.toolCall.result": '"cold"'}
    (run,) = agreed(
        _loop(1, "planner", took=9),
        _model(2, 1, asked=_ASK, at=1),
        _tool(3, 1, "ask_writer", "call_Wq81", at=2, took=4, **wrong),
        _loop(4, "writer", 3, at=3, took=3, **wrong),
        _model(5, 4, asked=[("call_Xr92", "look", {})], at=3),
        _tool(6, 4, "look", "call_Xr92", at=5, attributes=made),
        _model(7, 1, "Done.", at=7),
    )
    assert run["output"] == "Done." and {"error", "timeout", "rate_limit"} <= set(run["boundaries_unknown"])


def test_a_loop_without_a_models_call_has_lost_it():
    spans = _asked_another(_model(6, 1, "It says: A text.", at=7))
    whole, part = runs(*spans), runs(*(s for s in spans if s["id"] != 5))
    assert ["missing step" in run["incomplete"] for run in (*whole, *part)] == [False, True]


def test_a_step_without_a_models_call_has_lost_it():
    told = {"gen_ai.operation.name": "agent_step"}
    steps = [span(n, 1, f"step {n - 1}", scope="gen_ai", at=n, attributes=told) for n in (2, 3)]
    root = agent(1, "planner", took=9, scope="gen_ai")
    (run,) = runs(root, *steps, chat(4, 2, "Well.", "Go.", at=2, scope="gen_ai"))
    assert "missing step" in run["incomplete"]


def test_what_another_said_is_no_answer_where_all_of_the_callers_models_are_lost():
    (run,) = runs(*(s for s in _asked_another() if s["id"] != 2))
    assert run["output"] is None and "missing step" in run["incomplete"]
    assert "max_steps" in run["boundaries_unknown"]


@pytest.mark.parametrize("lost", [2, 3])
def test_how_a_run_went_is_unknown_where_a_called_one_failed_last_and_a_step_is_lost(lost):
    spans = _asked_another()[:3]
    spans[2]["error"] = "server failed"
    spans += [_loop(4, "writer", 3, at=3, took=2, error="server failed")]
    spans += [span(5, 4, "ai.generateText.doGenerate", scope="ai", at=3, error="server failed")]
    spans[-1]["attributes"] = {"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "m"}
    (run,) = runs(*(s for s in spans if s["id"] != lost))
    assert run["status"] == "unknown"


def test_a_request_that_a_model_was_shown_and_none_is_seen_to_have_made_is_a_lost_step():
    shown = [
        {"role": "user", "parts": [{"type": "text", "content": "Go."}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_Lost7", "name": "fly", "arguments": {}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_Lost7", "response": "no such tool"}]},
    ]
    asked = [("call_Kn1", "lookup", {})]
    (run,) = runs(
        agent(1, "planner", took=9, scope="gen_ai"),
        chat(2, 1, asked, shown, at=1, scope="gen_ai"),
        tool(3, 1, "lookup", "call_Kn1", "found", at=2, scope="gen_ai"),
        chat(4, 1, "Well.", at=3, scope="gen_ai"),
    )
    assert "missing step" in run["incomplete"]


def test_the_first_error_of_a_trace_on_its_root_is_a_tools():
    on_root = {"openinference.span.kind": "AGENT"}
    spans = _asked_another()[:3]
    spans[0] |= {"error": "server failed", "attributes": spans[0]["attributes"] | on_root}
    spans[2]["error"] = "server failed"
    (run,) = runs(*spans)
    assert run["status"] == "unknown" and run["boundaries"] == ["tool_failure"]


def _ended_at_tools(used, *more):
    """A loop whose own answer asked for tools, of which one asked another agent."""
    asked = [("call_L1", "lookup", {}), ("call_W2", "ask_writer", {"task": "Write."}), ("call_C3", "count", {})]
    end = {"gen_ai.response.finish_reasons": ["tool-calls"]} | ({"gen_ai.usage.input_tokens": 9} if used else {})
    usage = {"gen_ai.usage.input_tokens": 4}
    return [
        agent(1, "planner", took=12, scope="gen_ai", attributes=end),
        chat(2, 1, asked, "Go.", at=1, scope="gen_ai", attributes=usage),
        tool(7, 1, "count", "call_C3", "3", at=2, scope="gen_ai"),
        tool(4, 1, "ask_writer", "call_W2", "A text.", at=2, took=4, scope="gen_ai"),
        agent(5, "writer", 4, output="A text.", at=3, took=2, scope="gen_ai"),
        chat(6, 5, "A text.", "Write.", at=3, scope="gen_ai", attributes=usage),
        *more,
    ]


def test_a_loop_that_ended_at_tools_and_says_not_what_it_used_broke_off_in_a_step_untold():
    looked = tool(3, 1, "lookup", "call_L1", "found", at=2, scope="gen_ai")
    whole, broke, lost = [r for used in (True, False) for r in runs(*_ended_at_tools(used, looked))] + runs(
        *_ended_at_tools(False)
    )
    assert whole["status"] == "ok" and "what came last is not visible" not in whole["incomplete"]
    for run in (broke, lost):
        assert run["status"] == "unknown" and "what came last is not visible" in run["incomplete"]
        assert {"error", "rate_limit", "timeout"} <= set(run["boundaries_unknown"])
    assert [c["status"] for c in lost["tool_calls"]] == ["unknown", "ok"]


def test_a_loop_puts_out_what_a_tool_brought_whose_span_is_lost():
    back = {"type": "tool_call_response", "id": "call_L1", "response": "found {it}"}
    end = {"gen_ai.output.messages": [{"role": "assistant", "parts": [back]}]}
    first, then = _ended_at_tools(True), _ended_at_tools(True)
    then[0]["attributes"] |= end
    found = [[c["status"] for run in runs(*spans) for c in run["tool_calls"]] for spans in (first, then)]
    assert found == [["requested", "ok"], ["unknown", "ok"]]


def test_a_step_that_failed_with_nothing_in_it_has_lost_a_call_that_failed():
    told = {"gen_ai.operation.name": "agent_step"}
    wrong = "Failed after 2 attempts."
    (run,) = runs(
        agent(1, "planner", took=9, scope="gen_ai", error=wrong),
        span(2, 1, "step 1", scope="gen_ai", at=1, attributes=told, error=wrong),
    )
    assert run["status"] == "error" and "missing step" in run["incomplete"]
    assert "rate_limit" in run["boundaries_unknown"]


def test_who_names_its_spans_anew_tells_of_the_same_loops():
    names = {"ai.generateText": "invoke_agent planner", "ai.toolCall": "execute_tool ask_writer"}
    spans = _asked_another(_model(6, 1, "It says: A text.", at=7))
    for one in spans:
        one["name"] = names.get(one["name"], "generate_content m")
    whole, part = runs(*spans), runs(*(s for s in spans if s["id"] != 5))
    assert ["missing step" in run["incomplete"] for run in (*whole, *part)] == [False, True]


@pytest.mark.parametrize("attempts", [2, 3])
def test_a_loop_that_says_how_often_it_tried_has_lost_a_call_where_fewer_are_told(attempts):
    told = f"Failed after {attempts} attempts. Last error: down"
    events = [("exception", {"exception.type": "AI_RetryError", "exception.message": told})]
    (run,) = agreed(
        _loop(1, "planner", took=9, error=told, events=events),
        _model(2, 1, at=1, error="down"),
        _model(3, 1, at=3, error="down"),
    )
    assert ("missing step" in run["incomplete"], "rate_limit" in run["boundaries_unknown"]) == (attempts > 2,) * 2
