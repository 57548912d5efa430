"""Agents that others called by a tool, and that wait for somebody: deepagents 0.7.32 under OpenInference 0.1.80, by
hand and shortened."""

from tests.runs.requests import agent, chat, runs, span, tool

_LOOK = [("call_2kq7Ab9ZpX", "look", {"x": 1})]


def _task(id, at, took=9, **more):
    """The tool by which deepagents calls an agent, and that agent's span."""
    kind, named = "openinference.span.kind", f"worker{id}"
    given = {"description": f"part {id}", "subagent_type": named}
    told = {kind: "TOOL", "tool.name": "task", "input.value": given} | more
    return (
        span(id, 1, "task", at=at, took=took, attributes=told),
        span(id + 1, id, named, at=at, took=took, attributes={kind: "CHAIN"}),
    )


def test_what_a_delegate_was_asked_that_goes_on_is_not_what_the_user_said():
    resumed = {"openinference.span.kind": "CHAIN", "input.value": {"resume": {"decisions": [{"type": "approve"}]}}}
    (run,) = runs(
        span(1, None, "LangGraph", took=30, attributes=resumed),
        *_task(2, at=1),
        chat(4, 3, "booked", "part 2", at=3),
        chat(5, 1, "all booked", "go", at=20),
    )
    assert (run["input"], run["output"]) == ("go", "all booked")


def test_what_a_delegate_said_while_another_waits_is_not_the_runs_answer():
    calls = [(f"call_{n}q7Ab9ZpX", "task", {"description": f"part {n}", "subagent_type": f"worker{n}"}) for n in (3, 6)]
    (run,) = runs(
        span(1, None, "LangGraph", took=30, attributes={"openinference.span.kind": "CHAIN"}),
        chat(2, 1, calls, "go", at=1),
        *_task(3, at=3),
        chat(5, 4, _LOOK, "part 3", at=4),
        *_task(6, at=3),
        chat(8, 7, "it is three", "part 6", at=5),
    )
    assert (run["input"], run["output"]) == ("go", None)


def test_who_raised_that_it_waits_has_not_done_what_it_was_asked():
    """OpenLLMetry 0.62.4 tells an interrupt as it tells an error."""
    raised = ("exception", {"exception.type": "langgraph.errors.GraphInterrupt", "exception.message": "(Interrupt())"})
    waits = {"error": "(Interrupt())", "events": [raised]}
    (run,) = runs(
        agent(1, "LangGraph", took=30),
        chat(2, 1, [("call_3q7Ab9ZpX", "task", {"subagent_type": "worker"})], "go", at=1),
        tool(3, 1, "task", "call_3q7Ab9ZpX", at=3, took=9, **waits),
        agent(4, "worker", 3, at=4, took=7, **waits),
        chat(5, 4, _LOOK, "part", at=5),
    )
    assert [(d["to"], d["status"]) for d in run["delegations"]] == [("worker", "unknown")]
