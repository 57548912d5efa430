"""Agents of Mastra's 1.71 under its exporters, of which single spans are lost."""

import json

from tests.runs.requests import runs, span

_BRIDGE, _EXPORTER, _LAMINAR = "@mastra/otel-bridge", "@mastra/otel-exporter", "@mastra/laminar"
_GO = [{"role": "user", "content": "go"}]


def _frame(id, parent, type, at, took, scope=_BRIDGE, **more):
    told = {"gen_ai.operation.name": type, "mastra.span.type": type} | more.pop("attributes", {})
    return span(id, parent, f"{type} planner", at=at, took=took, scope=scope, attributes=told, **more)


def _agent(id, parent=None, at=0, took=20, name="planner", put_out="Done.", asked="go", **more):
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, "gen_ai.agent.id": name}
    told |= {"mastra.agent_run.input": asked}
    told |= {"mastra.agent_run.output": {"text": put_out, "files": []}} if put_out is not None else {}
    return _frame(id, parent, "agent_run", at, took, attributes=told, **more)


def _generation(id, parent, at, took, why="stop", said="Done.", **more):
    told = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": [why]}
    told |= {"gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": said}]}]}
    return _frame(id, parent, "model_generation", at, took, attributes=told, **more)


def _step(id, parent, at, took, said="", calls=(), heard=_GO, **more):
    asked = [{"toolCallId": i, "toolName": name, "args": given} for i, name, given in calls]
    told = {"mastra.model_step.input": heard, "mastra.model_step.output": {"text": said, "toolCalls": asked}}
    return _frame(id, parent, "model_step", at, took, attributes=told, **more)


def _part(id, parent, at, took=1):
    return _frame(id, parent, "model_inference", at, took)


def _tool(id, parent, name, at, call, given, result, **more):
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": call}
    told |= {"gen_ai.tool.call.arguments": given, "gen_ai.tool.call.result": result}
    return _frame(id, parent, "tool_call", at, 1, attributes=told, **more)


_LOOK = ("call_1", "look", {"x": 1})


def test_a_part_of_a_step_that_has_not_come_says_that_one_is_missing_and_why_its_loop_ended_is_no_earlier_ones():
    (run,) = runs(
        _agent(1),
        _generation(2, 1, 1, 18),
        _step(3, 2, 2, 5, calls=[_LOOK]),
        _tool(4, 3, "look", 4, "call_1", {"x": 1}, "seen"),
        _part(5, 99, 10),
    )
    assert [c["finish_reason"] for c in run["llm_calls"]] == [None]
    assert "missing step" in run["incomplete"]


def test_what_a_loop_came_to_in_which_a_model_failed_is_no_answer():
    (run,) = runs(
        _agent(1, put_out=None, error="server failed"), _generation(2, 1, 1, 18, "error", ""), _part(5, 99, 10)
    )
    assert (run["status"], run["output"]) == ("error", None)


def test_a_step_that_asked_for_a_tool_did_not_fail_as_its_loop_did():
    (run,) = runs(
        _agent(1, put_out=None, error="server failed"),
        _generation(2, 1, 1, 18, "error", ""),
        _step(3, 2, 2, 5, calls=[_LOOK]),
        _tool(4, 3, "look", 4, "call_1", {"x": 1}, "seen"),
        _part(5, 99, 10),
    )
    assert [(c["status"], c["finish_reason"]) for c in run["llm_calls"]] == [("ok", None)]


def test_an_empty_text_of_a_loop_is_no_answer_under_laminar():
    told = {"lmnr.span.output": {"files": [], "text": "", "warnings": []}}
    (run,) = runs(
        span(1, name="agent run: 'planner'", took=9, scope=_LAMINAR, attributes={"lmnr.span.input": "go"}),
        span(2, 1, "llm: 'model-a'", at=1, took=7, scope=_LAMINAR, attributes=told | {"lmnr.span.type": "LLM"}),
        span(3, 99, "inference: 0", at=2, scope=_LAMINAR),
    )
    assert (run["output"], "missing step" in run["incomplete"]) == (None, True)


def test_a_result_that_history_names_behind_the_words_of_others_came_back():
    heard = [*_GO, {"role": "assistant", "content": "[tool: agent-writer][tool: dig]"}]
    heard += [{"role": "tool", "content": "Wrote it.[tool-result: dig]"}]
    asked = [("call_1", "agent-writer", {"prompt": "write"}), ("call_2", "dig", {"x": 1})]
    (run,) = runs(
        _agent(1),
        _generation(2, 1, 1, 18),
        _step(3, 2, 2, 7, calls=asked),
        _tool(4, 3, "agent-writer", 4, "call_1", {"prompt": "write"}, {"text": "Wrote it."}),
        _agent(5, 4, 4.2, 0.5, "writer", "Wrote it.", "write"),
        _step(6, 2, 10, 2, "Done.", heard=heard),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("dig", "unknown", None)]


def test_a_tool_that_an_agent_ended_on_may_have_run_though_its_span_is_lost():
    again = ("call_2", "look", {"x": 2})

    def status(put_out):
        (run,) = runs(
            _agent(1, put_out=put_out, scope=_EXPORTER),
            _step(3, 1, 2, 5, calls=[_LOOK], scope=_EXPORTER),
            _tool(4, 3, "look", 4, "call_1", {"x": 1}, "seen", scope=_EXPORTER),
            _step(5, 1, 8, 5, calls=[again], scope=_EXPORTER),
        )
        return [c["status"] for c in run["tool_calls"]]

    assert status("") == ["ok", "unknown"]


def test_a_span_that_bears_another_id_of_the_same_kind_ran_what_another_asked_for():
    (run,) = runs(
        _agent(1),
        _generation(2, 1, 1, 18),
        _step(3, 98, 2, 2, calls=[_LOOK]),
        _tool(4, 99, "look", 5, "call_2", {"x": 7}, "seen 7"),
        _step(6, 2, 10, 2, "Done."),
    )
    told = sorted((json.dumps(c["arguments"]), c["result"]) for c in run["tool_calls"])
    assert told == [('{"x": 1}', None), ('{"x": 7}', "seen 7")]


def test_an_agent_that_failed_and_lost_who_called_it_is_not_the_run_where_a_model_was_asked_on():
    told = {"lmnr.span.input": [{"role": "user", "content": "write"}]}
    step = {"lmnr.span.input": _GO, "lmnr.span.output": {"text": "", "toolCalls": []}}
    last = {"lmnr.span.input": _GO, "lmnr.span.output": {"text": "Done.", "toolCalls": []}}
    (run,) = runs(
        span(2, 99, "llm: 'model-a'", at=0, took=20, scope=_LAMINAR, attributes={"lmnr.span.type": "LLM"}),
        span(3, 2, "step: 0", at=1, took=8, scope=_LAMINAR, attributes=step),
        span(4, 98, "agent run: 'writer'", at=3, took=5, scope=_LAMINAR, attributes=told, error="server failed"),
        span(5, 4, "step: 0", at=4, took=3, scope=_LAMINAR, attributes=step, error="server failed"),
        span(6, 2, "step: 1", at=12, took=3, scope=_LAMINAR, attributes=last),
    )
    assert (run["status"], run["input"]) == ("unknown", None)
