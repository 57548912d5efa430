"""Respan 2.24's packages for single kits, by what their spans told of runs against a model of ours: shortened."""

import json

import pytest

from tests.runs.requests import runs, span

pytestmark = pytest.mark.full


def _told(id, parent, kind, named, at=0.0, took=1.0, given=None, came=None, scope="respan.tracer", **more):
    texts = {"traceloop.entity.input": given, "traceloop.entity.output": came}
    told = {"respan.entity.log_type": kind, "traceloop.entity.name": named} | more.pop("told", {})
    told |= {key: x if isinstance(x, str) else json.dumps(x) for key, x in texts.items() if x is not None}
    return span(id, parent, more.pop("name", kind), at=at, took=took, scope=scope, attributes=told, **more)


def _model(id, parent, at, asked, came, scope="respan.tracer", **more):
    flat = {f"gen_ai.prompt.{n}.{key}": value for n, told in enumerate(asked) for key, value in told.items()}
    flat |= {f"gen_ai.completion.0.{key}": value for key, value in came.items()}
    flat |= {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 2}
    return _told(id, parent, "chat", "chat", at, told=flat, scope=scope, **more)


def _asks(name, call_id="call_7Q", **given):
    function = {"name": name, "arguments": json.dumps(given)}
    calls = [{"id": call_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": "", "tool_calls": json.dumps(calls)}


_GO, _SAYS = {"role": "user", "content": "go"}, {"role": "assistant", "content": "done"}
_BACK = {"role": "tool", "content": "seen", "tool_call_id": "call_7Q"}


def _called(run):
    return [(c["name"], c["agent"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]]


def test_methods_of_llama_indexs_agents_are_no_agents():
    """respan-instrumentation-llama-index 0.1: each is told as one; what it put out says who was at work."""
    next_one = {"current_agent_name": "planner"}
    (run,) = runs(
        _told(1, None, "agent", "FunctionAgent.run", took=20, came={"result": {"response": _SAYS} | next_one}),
        _told(2, 1, "agent", "BaseWorkflowAgent.init_run", 0.1, 0.2, came={"input": [_GO]} | next_one),
        _told(3, 1, "agent", "BaseWorkflowAgent.setup_agent", 0.4, 0.2, came={"input": [_GO]} | next_one),
        _told(4, 1, "agent", "BaseWorkflowAgent.run_agent_step", 1, 3, came={"response": _SAYS} | next_one),
        _model(5, 4, 2, [_GO], _asks("look", at="x")),
        _told(6, 1, "agent", "BaseWorkflowAgent.parse_agent_output", 5, 0.1, came="null"),
        _told(7, 1, "task", "BaseWorkflowAgent.call_tool", 6, 2),
        _told(8, 7, "tool", "look", 6.5, 1, {"name": "look", "arguments": {"at": "x"}}, '"seen"'),
        _told(9, 1, "agent", "BaseWorkflowAgent.run_agent_step", 10, 3, came={"response": _SAYS} | next_one),
        _model(10, 9, 11, [_GO, _asks("look", at="x"), _BACK], _SAYS),
    )
    assert (run["agents"], run["delegations"], run["output"]) == (["planner"], [], "done")
    assert _called(run) == [("look", "planner", {"at": "x"}, "ok", "seen")]


def test_what_was_raised_in_llama_index_is_no_answer_and_the_method_tells_of_the_call_that_failed():
    failed = {"status": "error", "error": "InternalServerError", "message": "scripted failure"}
    wrong = {"came": failed, "error": "scripted failure"}
    (run,) = runs(
        _told(1, None, "agent", "FunctionAgent.run", took=9, **wrong),
        _told(2, 1, "agent", "BaseWorkflowAgent.run_agent_step", 1, 3, **wrong),
        _told(3, 2, "task", "OpenAI._prepare_chat_with_tools", 1.1, 0.1),
        _told(4, 2, "task", "OpenAI.achat", 2, 1, **wrong),
    )
    assert (run["status"], run["output"], [c["status"] for c in run["llm_calls"]]) == ("error", None, ["error"])


def test_agents_and_tools_of_smolagents_are_told_in_frames():
    """respan-instrumentation-smolagents 0.1, on top of OpenInference's; a run that raised left its span open."""
    scope = "openinference.instrumentation.smolagents"
    given = {"name": "look", "arguments": {"args": [], "kwargs": {"at": "x"}, "sanitize_inputs_outputs": True}}
    first, second = runs(
        _told(1, 90, "task", "smolagents.step", 0, 2, name="task", error="boom", scope=scope),
        _model(2, 1, 1, [_GO], {}, scope, error="boom"),
        _told(3, 90, "agent", "ToolCallingAgent.run", 10, 20, {"task": "and now?"}, '"done"', scope, status=1),
        _told(4, 3, "task", "smolagents.step", 11, 5, name="task", scope=scope, status=1),
        _model(5, 4, 12, [_GO], _asks("look", at="x"), scope, status=1),
        _told(6, 4, "tool", "look", 14, 1, {"arguments": given, "name": "look"}, r'"\"seen\""', scope, status=1),
        _told(7, 3, "task", "smolagents.step", 17, 5, name="task", scope=scope, status=1),
        _told(8, 7, "agent", "worker.run", 18, 2, {"task": "help"}, '"nine"', scope, status=1),
        _model(9, 8, 18.5, [{"role": "user", "content": "help"}], {"role": "assistant", "content": "nine"}, scope),
    )
    assert (first["status"], second["status"], second["input"]) == ("error", "ok", "and now?")
    assert (second["agents"], second["output"]) == (["worker"], "done")
    assert _called(second) == [("look", None, {"at": "x"}, "ok", "seen")]


def test_a_task_of_crewais_is_told_with_its_prompt_and_a_tool_that_nobody_has_with_words_of_the_kit():
    """respan-instrumentation-crewai 0.1."""
    prompt = "go\n\nThis is the expected criteria for your final answer: text\nyou MUST return the actual content."
    back = _BACK | {"content": "Tool not found"}
    (run,) = runs(
        _told(1, None, "workflow", "crew", took=20, scope="crewai", status=1),
        _told(2, 1, "agent", "planner", 1, 18, json.dumps(prompt), '"done"', "crewai", status=1),
        _model(3, 2, 2, [{"role": "user", "content": prompt}], _asks("look", at="x"), "crewai", status=1),
        _told(4, 2, "tool", "look", 4, 1, {"name": "look", "arguments": {"at": "x"}}, '"Tool not found"', "crewai"),
        _model(5, 2, 6, [_GO, _asks("look", at="x"), back], _SAYS, "crewai", status=1),
    )
    assert run["input"] == "go"
    assert [(name, status) for name, _, _, status, _ in _called(run)] == [("look", "requested")]


_NO_TOOL = "Invoking `look()` failed as no tool with that name is available. The tools you can call are: add."


@pytest.mark.parametrize(
    "framed",
    [
        {"name": "look", "result": "Unknown tool name: 'look'. Available tools: 'add'", "tool_call_id": "call_7Q"},
        {"name": "look", "response": {"error": _NO_TOOL}},
    ],
)
def test_a_tools_message_may_be_a_frame_with_the_calls_name_and_id(framed):
    """respan-instrumentation-pydantic-ai and -google-adk 0.1."""
    back = {"role": "tool", "content": json.dumps(framed)}
    (run,) = runs(
        _told(1, None, "agent", "planner", took=20),
        _model(2, 1, 2, [_GO], _asks("look", at="x")),
        _model(3, 1, 6, [_GO, _asks("look", at="x"), back], _SAYS),
    )
    given = framed.get("result", framed.get("response"))
    assert _called(run) == [("look", "planner", {"at": "x"}, "requested", given)]


def _of_agno(*tools, last="tool", came=None):
    said = [_GO, {"role": "assistant", "content": "", "tool_calls": []}, _BACK][: 3 if last == "tool" else 1]
    asked = json.dumps(said, separators=(",", ":"))
    used = {"gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 429, "gen_ai.usage.output_tokens": 65}
    (run,) = runs(
        _told(1, None, "agent", "planner", 0, 20, {"input_content": "go"}, "done", "", status=1),
        _told(2, 1, "chat", "model_request", 0, 20, asked, came or "done", "", told=used, status=1),
        *(_told(n, 1, "tool", "look", 0, 20, {"name": "look", "arguments": {"at": n}}, **told) for n, told in tools),
    )
    return run


def test_one_call_that_stands_for_all_of_an_agents_run_is_none():
    """respan-exporter-agno and -instrumentation-agno 0.1 tell a run once it is over, all of it as long as the run."""
    run = _of_agno((3, {"came": "seen"}))
    assert run["llm_calls"] in (None, [])
    assert "model calls share a span" in run["incomplete"]
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [("ok", "seen")]
    (call,) = _of_agno(last="user")["llm_calls"]
    assert (call["status"], call["input_tokens"]) == ("ok", 429)


def test_which_of_two_calls_that_are_told_at_one_time_came_first_is_not_known():
    """The one that failed may have come after the one that went well."""
    run = _of_agno((3, {"error": "no such city"}), (4, {"came": "seen"}))
    assert [c["status"] for c in run["tool_calls"]] == ["error", "ok"]
    assert "tool_recovery" not in run["boundaries"]
    assert "tool_recovery" in run["boundaries_unknown"]


def test_autogens_agents_bear_the_name_of_a_method_and_models_that_of_the_one_that_answered():
    """respan-instrumentation-autogen 0.1, on top of OpenInference's."""
    scope = "openinference.instrumentation.autogen_agentchat"
    dated = {"gen_ai.request.model": "m-2024-07-18"}

    def model(id, parent, at, came):
        made = _model(id, parent, at, [_GO], came, scope, status=1)
        return made | {"attributes": made["attributes"] | dated}

    moved = '"Transferred to booker, adopting the role of booker immediately."'
    (run,) = runs(
        _told(1, None, "workflow", "Swarm.run_stream", 0, 20, {"task": "go"}, scope=scope, status=1),
        _told(2, 1, "agent", "front.on_messages_stream", 1, 5, scope=scope, status=1),
        model(3, 2, 2, _asks("transfer_to_booker")),
        _told(4, 2, "tool", "transfer_to_booker", 4, 1, {"name": "transfer_to_booker", "arguments": {}}, moved, scope),
        _told(5, 1, "agent", "booker.on_messages_stream", 7, 5, scope=scope, status=1),
        model(6, 5, 8, _SAYS),
    )
    assert run["agents"] == ["booker", "front"]
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("front", "booker", "handoff")]
    assert {(c["request_model"], c["response_model"]) for c in run["llm_calls"]} == {(None, "m-2024-07-18")}


def test_a_module_of_dspys_is_no_agents_name_and_its_end_no_tool():
    """respan-instrumentation-dspy 0.1."""
    (run,) = runs(
        _told(1, None, "agent", "ReAct", 0, 20, {"question": "go"}, {"answer": "done"}, "", status=1),
        _model(2, 1, 1, [_GO], _SAYS, "", status=1),
        _told(3, 1, "tool", "look", 3, 1, {"name": "look", "arguments": {"at": "x"}}, '"seen"', "", status=1),
        _model(4, 1, 5, [_GO], _SAYS, "", status=1),
        _told(5, 1, "tool", "finish", 7, 1, {"name": "finish", "arguments": {}}, '"Completed."', "", status=1),
    )
    assert (run["agents"], [c["name"] for c in run["tool_calls"]]) == ([], ["look"])
