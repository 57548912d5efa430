"""Monocle, whose spans tell in events what was said."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full


def _monocle(id, parent, type, at, took=1.0, given=None, came=None, used=None, **entities):
    """A span of Monocle's (monocle_apptrace 0.8): what was said stands in its events."""
    told = {"span.type": type} | {f"entity.{key[1:].replace('_', '.', 1)}": value for key, value in entities.items()}
    said = [("data.input", {"input": given}), ("data.output", {} if came is None else {"response": came})]
    counts = {"prompt_tokens": 11, "completion_tokens": 5, "finish_reason": used}
    more = {"events": [*said, ("metadata", counts)] if used else said}
    return span(id, parent, "invoke", at=at, took=took, attributes=told, scope="monocle_apptrace", **more)


@pytest.mark.parametrize(
    ("asked", "given", "answer"),
    [
        (["Rome?"], '{"city": "Rome"}', "assistant"),
        ('["Rome?"]', "{'city': 'Rome'}", "ai"),
    ],
)
def test_what_monocle_tells_in_events_was_said_and_used(asked, given, answer):
    """Of OpenAI's agents, of which it tells all that a model asked for, and of LangChain's."""
    call = [{"tool_id": "call_a1b2c3d4", "tool_name": "look", "tool_arguments": '{"city": "Rome"}'}]
    wants = json.dumps({answer: call if answer == "assistant" else {"name": "look", "args": {}}})
    owner = {"_2_name": "planner", "_2_type": "agent.x"}
    (run,) = runs(
        _monocle(1, None, "agentic.turn", 0, 20, asked, "Sunny."),
        _monocle(2, 1, "agentic.invocation", 1, 18, asked, "Sunny.", _1_name="planner"),
        _monocle(3, 2, "inference", 2, 1, ["{}"], wants, "tool_calls", _2_name="m"),
        _monocle(4, 2, "agentic.tool.invocation", 4, 1, given, "sunny in Rome", _1_name="look", **owner),
        _monocle(5, 2, "inference", 6, 1, ["{}"], json.dumps({answer: "Sunny."}), "stop", _2_name="m"),
    )
    assert (run["input"], run["output"], run["status"], run["incomplete"]) == ("Rome?", "Sunny.", "ok", [])
    assert [(c["arguments"], c["result"]) for c in run["tool_calls"]] == [({"city": "Rome"}, "sunny in Rome")]
    told = [(c["input_tokens"], c["output_tokens"], c["finish_reason"]) for c in run["llm_calls"]]
    assert told == [(11, 5, "tool_calls"), (11, 5, "stop")]


def test_a_history_that_monocles_agent_was_given_is_not_what_was_asked():
    history = [json.dumps({"role": "user", "content": text}) for text in ("Rome?", "Oslo?")]
    (run,) = runs(_monocle(2, None, "agentic.invocation", 1, 18, history, "Cold.", _1_name="planner"))
    assert (run["input"], run["output"]) == (None, "Cold.")


def test_of_strands_tools_monocle_tells_the_first_one_and_what_came_of_the_last():
    """monocle_apptrace 0.8 of strands-agents 1.62: all tools of a turn are one span."""
    asks = json.dumps({"tools": [{"tool_id": "c1", "tool_name": "look", "tool_arguments": ""}]})
    of_all = _monocle(3, 1, "agentic.tool.invocation", 4, 1, "{'city': 'Oslo'}", "booked", _1_name="look")
    of_all["name"] = "strands.tools.executors.concurrent.ConcurrentToolExecutor._execute"
    (run,) = runs(
        _monocle(1, None, "agentic.invocation", 0, 20, "Oslo?", "Done.", _1_name="planner"),
        _monocle(2, 1, "inference", 2, 1, ["{}"], asks, "tool_calls", _2_name="m"),
        of_all,
        _monocle(4, 1, "inference", 6, 1, ["{}"], '{"assistant": "Done."}', "stop", _2_name="m"),
    )
    assert (run["input"], run["output"]) == ("Oslo?", "Done.")
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("look", "unknown", None)]


def test_what_failed_has_brought_nothing_under_monocle():
    """monocle_apptrace 0.8 of Google's ADK: `None` stands where nothing came."""
    failed = _monocle(3, 1, "agentic.tool.invocation", 4, 1, '{"what": "x"}', "None", _1_name="boom")
    failed["error"] = "boom broke"
    failed["events"][1][1]["error_code"] = "error"
    asks = _monocle(2, 1, "inference", 2, 1, ["{}"], '{"ai": "\\"model\\": boom"}', "FUNCTION_CALL", _2_name="m")
    asks["attributes"]["span.subtype"] = "tool_call"
    (run,) = runs(_monocle(1, None, "agentic.invocation", 0, 20, ["Go."], None, _1_name="planner"), asks, failed)
    assert [(c["status"], c["result"]) for c in run["tool_calls"]] == [("error", None)]
    assert [c["finish_reason"] for c in run["llm_calls"]] == ["tool_calls"]
    assert run["output"] is None


@pytest.mark.parametrize(("used", "other", "found"), [(5, "planner", 1), (6, "planner", 2), (5, "writer", 2)])
def test_a_request_that_monocle_tells_beside_the_kit_is_one_run(used, other, found):
    """monocle_apptrace 0.8 of strands-agents 1.62, which tells of itself in a trace of its own, earlier and whole."""
    asks, gives = [("call_qD5dWRj4jT", "look", {})], {"city": "Rome"}
    kit = {"scope": "strands.telemetry.tracer", "trace": 2}
    counts = {"attributes": {"gen_ai.usage.input_tokens": 11, "gen_ai.usage.output_tokens": used}}
    told = runs(
        _monocle(1, None, "agentic.invocation", 0, 20, "Rome?", "Sunny.", _1_name="planner"),
        _monocle(2, 1, "inference", 2, 1, ["{}"], '{"tools": []}', "tool_calls", _2_name="m"),
        _monocle(3, 1, "inference", 8, 1, ["{}"], '{"assistant": "Sunny."}', "stop", _2_name="m"),
        agent(11, other, at=0.1, took=19.9, **kit),
        chat(12, 11, asks, "Rome?", at=1.8, took=1.2, **counts, **kit),
        tool(13, 11, "look", "call_qD5dWRj4jT", "sunny", at=4, **kit, gen_ai__tool__call__arguments=json.dumps(gives)),
        chat(14, 11, "Sunny.", "Rome?", at=7.8, took=1.2, **counts, **kit),
    )
    assert len(told) == found
    assert found == 2 or [(c["name"], c["result"]) for c in told[0]["tool_calls"]] == [("look", "sunny")]


@pytest.mark.parametrize(
    ("error", "other", "found"),
    [
        ("BadRequestError: 400 bad request of ours", "planner", 1),
        ("BadRequestError: 500 of another kind altogether", "planner", 2),
        ("BadRequestError: 400 bad request of ours", "writer", 2),
    ],
)
def test_a_request_whose_only_call_failed_is_one_run_beside_the_kits_telling(error, other, found):
    """The same, of a call of which Monocle tells what the client did, and the kit what it waited for that."""
    kit = {"scope": "strands.telemetry.tracer", "trace": 2, "error": error}
    told = runs(
        _monocle(1, None, "agentic.invocation", 0, 2, "Rome?", _1_name="planner")
        | {"error": "400 bad request of ours"},
        _monocle(2, 1, "inference", 0.8, 1, ["{}"], _2_name="m") | {"error": "400 bad request of ours"},
        agent(11, other, at=0.01, took=1.98, **kit),
        chat(12, 11, None, "Rome?", at=0.1, took=1.8, **kit),
    )
    assert [(r["status"], len(r["llm_calls"])) for r in told] == [("error", 1)] * found


def test_a_task_of_a_crew_is_no_agent_under_monocle():
    """monocle_apptrace 0.8 of CrewAI 1.15, of which it calls a task an agent, too."""
    task = _monocle(2, 1, "agentic.invocation", 1, 18, ["Rome?"], "Sunny.", _1_name="Task")
    task["name"] = "crewai.task.Task.execute_sync"
    (run,) = runs(
        _monocle(1, None, "agentic.turn", 0, 20, None, "Sunny."),
        task,
        _monocle(3, 2, "agentic.invocation", 2, 16, ["Rome?"], "Sunny.", _1_name="planner"),
        _monocle(4, 3, "inference", 3, 1, ["{}"], '{"assistant": "Sunny."}', "stop", _2_name="m"),
    )
    assert (run["agents"], run["delegations"], run["input"]) == (["planner"], [], "Rome?")


@pytest.mark.parametrize(("ends", "status"), [(1, "unknown"), (20, "ok")])
def test_how_what_a_frame_set_going_went_is_not_told_by_the_end_of_that_frame(ends, status):
    """monocle_apptrace 0.8 of LlamaIndex 0.14, whose workflow gives a handler back at once; a limit of turns ended
    it."""
    said = (["{}"], '{"assistant": null}', "tool_calls")
    (run,) = runs(
        _monocle(9, None, "workflow", 0, ends),
        _monocle(1, 9, "agentic.turn", 0, ends, None, "WorkflowHandler(workflow=FunctionAgent)"),
        _monocle(2, 1, "inference.framework", 2, 1, *said, _2_name="m"),
        _monocle(3, 1, "agentic.tool.invocation", 4, 1, "{}", "sunny", _1_name="look", _2_name="a", _2_type="agent.x"),
        _monocle(4, 1, "inference.framework", 6, 1, *said, _2_name="m"),
    )
    assert (run["status"], run["output"]) == (status, None)


@pytest.mark.parametrize(("before", "found"), [("planner", [("planner", "worker")]), ("another", [])])
def test_an_agent_that_another_run_ended_with_handed_nothing_over(before, found):
    """monocle_apptrace 0.8 of LlamaIndex 0.14: what it keeps of who worked last it keeps for the next run, too."""
    owned = {"_2_name": "planner", "_2_type": "agent.x"}
    (run,) = runs(
        _monocle(1, None, "workflow", 0, 20),
        _monocle(2, 1, "agentic.tool.invocation", 1, 1, "{}", "sunny", _1_name="look", **owned),
        _monocle(3, 1, "agentic.invocation", 4, 9, ["Go."], "Done.", _1_name="worker", _1_from_agent=before),
    )
    assert [(d["from"], d["to"]) for d in run["delegations"] or []] == found
