"""CrewAI 1.15 under OpenInference: flows in which a later step fails."""

import json

import pytest

from tests.runs.requests import runs, span


def _of(id, parent, name, kind, at, took, output=None, **more):
    told = {"openinference.span.kind": kind} | ({} if output is None else {"output.value": output})
    told |= more.pop("attributes", {})
    scope = "openinference.instrumentation.crewai"
    return span(id, parent, name, at=at, took=took, scope=scope, attributes=told, **{"status": 1} | more)


@pytest.mark.parametrize("fails", [True, False])
def test_what_a_step_put_out_before_another_failed_is_no_answer(fails):
    asked = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "go"}
    said = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "one"}
    wrong = {"status": 2, "error": "flow broke"} if fails else {}
    kept = json.dumps({"raw": "one", "pydantic": None, "agent_role": "b"})
    (run,) = runs(
        _of(1, None, "Flow_1.kickoff", "CHAIN", 0, 9, **wrong),
        _of(2, 1, "Flow_1.first", "CHAIN", 0, 4, "one"),
        _of(3, 2, "b.kickoff", "AGENT", 0.1, 3.8, kept),
        _of(4, 3, "ChatCompletion", "LLM", 1, 2, attributes=asked | said | {"llm.model_name": "m"}),
        _of(5, 1, "Flow_1.second", "CHAIN", 5, 1, **wrong),
    )
    assert (run["status"], run["output"]) == (("error", None) if fails else ("ok", "one"))


def test_a_tool_that_nobody_has_was_only_requested_where_events_tell_of_it():
    scope = "openinference.instrumentation.crewai._event_listener"
    told = {"tool.name": "look", "input.value": '{"q": 1}'}
    kinds = ("AGENT", "TOOL", "TOOL")
    (run,) = runs(
        *(
            span(n, 1 if n > 1 else None, f"{n}.run", at=n, took=1 if n > 1 else 9, scope=scope, attributes=some)
            for n, some in enumerate(
                (
                    {"openinference.span.kind": kinds[0], "graph.node.id": "planner"},
                    {"openinference.span.kind": kinds[1], "output.value": "Tool not found"} | told,
                    {"openinference.span.kind": kinds[2], "output.value": "found"} | told,
                ),
                1,
            )
        )
    )
    assert [c["status"] for c in run["tool_calls"]] == ["requested", "ok"]


@pytest.mark.parametrize("inputs", ["null", "{}"])
def test_a_crew_that_is_filled_in_with_nothing_is_asked_its_task(inputs):
    def said(role, text):
        return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])

    crew = {"gen_ai.operation.name": "invoke_workflow", "crewai.crew.inputs": inputs}
    task = {"gen_ai.operation.name": "execute_task", "crewai.task.description": "Write."}
    own = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "0f", "crewai.agent.role": "writer"}
    call = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    call |= {"gen_ai.input.messages": said("user", "Write."), "gen_ai.output.messages": said("assistant", "Done.")}
    (run,) = runs(
        span(
            1,
            None,
            "execute crew",
            took=9,
            scope="crewai",
            attributes={"gen_ai.input.messages": said("user", inputs)} | crew,
        ),
        span(2, 1, "execute task", at=1, took=7, scope="crewai", attributes=task),
        span(3, 2, "execute agent", at=2, took=5, scope="crewai", attributes=own),
        span(4, 3, "call llm", at=3, took=2, scope="crewai", attributes=call),
    )
    assert run["input"] == "Write."
