"""Kits for Python whose steps are told in part: spans lost, values cut, and what the rest of a run shows of them."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full

_OPENAIS = {"scope": "opentelemetry.instrumentation.openai_agents"}


def _turn(id, parent, at, **more):
    told = {"gen_ai.operation.name": "unknown", "gen_ai.provider.name": "openai"}
    return span(id, parent, "unknown", at=at, attributes=told, **_OPENAIS, **more)


def _cut(text, limit=256):
    """Messages as OpenTelemetry's first kit of OpenAI's agents prints them, cut."""
    print_ = f"ResponseFunctionToolCall(arguments='{json.dumps({'what': 'x' * 200})}', call_id='call_1', name='{text}')"
    return json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": print_}]}])[:limit]


@pytest.mark.parametrize(
    ("error", "status"), [("Tool not found: {'tool_name': 'ghost'}", "error"), ("failed", "unknown")]
)
def test_a_step_that_failed_ended_its_run_where_what_was_asked_for_is_cut(error, status):
    """opentelemetry-instrumentation-openai-agents-v2 0.1, with values cut at 256."""
    answer = {"gen_ai.output.messages": _cut("ghost")}
    (run,) = runs(
        span(1, None, "Agent workflow", took=9, status=1, gen_ai__operation__name="invoke_agent", **_OPENAIS),
        agent(2, "planner", 1, at=1, took=8, status=1, attributes=answer, **_OPENAIS),
        _turn(3, 2, 2, took=3, error=error),
        chat(4, 3, None, "go", at=2, status=1, attributes=answer, **_OPENAIS),
    )
    assert (run["status"], run["output"], run["tool_calls"]) == (status, None, None)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("Max turns exceeded: {'max_turns': 2}", "unknown"),
        ("The next request would exceed the request_limit of 2", "unknown"),
        ("Recursion limit of 2 reached without hitting a stop condition.", "requested"),
    ],
)
def test_what_was_asked_for_before_a_limit_on_turns_may_have_run(error, status):
    """The same, with the span of the last tool lost."""
    (run,) = runs(
        agent(1, "planner", took=20, error=error),
        chat(2, 1, [("c1", "look", {"at": "x"})], "go", at=1),
        tool(3, 1, "look", "c1", "seen", at=3),
        chat(4, 1, [("c2", "look", {"at": "y"})], "go", at=6),
    )
    assert [(c["call_id"], c["status"]) for c in run["tool_calls"]] == [("c1", "ok"), ("c2", status)]
    assert (run["status"], run["boundaries"]) == ("error", ["max_steps"])


@pytest.mark.parametrize(
    ("kind", "delegated"), [("AgentTool", True), ("_SingleTurnAgentTool", True), ("FunctionTool", False)]
)
def test_an_agent_of_googles_kit_as_a_tool_is_none_where_its_own_spans_are_lost(kind, delegated):
    """google-adk 2 and @google/adk 1: the tool's type says what it is."""
    adk = {"scope": "gcp.vertex.agent"}
    told = {"gen_ai.tool.type": kind, "gcp.vertex.agent.tool_call_args": '{"request": "write"}'}
    told["gcp.vertex.agent.tool_response"] = '{"result": "a poem"}'
    (run,) = runs(
        agent(1, "planner", took=20, **adk),
        span(2, 1, "call_llm", at=1, took=5, gen_ai__request__model="m", gen_ai__system="gcp.vertex.agent", **adk),
        tool(3, 2, "writer", "adk-1", at=3, attributes=told, **adk),
        span(4, 1, "call_llm", at=8, gen_ai__request__model="m", gen_ai__system="gcp.vertex.agent", **adk),
    )
    assert [c["name"] for c in run["tool_calls"] or ()] == ([] if delegated else ["writer"])
    told = [(d["from"], d["to"], d["form"], d["tool"]) for d in run["delegations"] or ()]
    assert told == ([("planner", "writer", "tool", "writer")] if delegated else [])


@pytest.mark.parametrize(
    ("scope", "paused", "status"),
    [("pydantic-ai", 0.2, "unknown"), ("pydantic-ai", 0.01, "requested"), ("crewai", 0.2, "requested")],
)
def test_a_repeated_call_whose_span_is_lost_may_have_run_in_less_time_than_before(scope, paused, status):
    """Pydantic AI 2.68 under Laminar, where the same tool took 44, 1 and 10 milliseconds."""
    kit = {"scope": scope}

    def heard(*ids):
        user = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
        return [user, *(x for i in ids for x in (_asked_for(i), _came_back(i)))]

    (run,) = runs(
        agent(1, "planner", took=20, **kit),
        chat(2, 1, [("c1", "look", {})], heard(), at=1, **kit),
        tool(3, 1, "look", "c1", "seen", at=2, **kit, attributes={"gen_ai.tool.call.arguments": "{}"}),
        chat(4, 1, [("c2", "look", {})], heard("c1"), at=4, **kit),
        chat(5, 1, "done", heard("c1", "c2"), at=5 + paused, **kit),
    )
    assert [(c["call_id"], c["status"]) for c in run["tool_calls"]] == [("c1", "ok"), ("c2", status)]


def _asked_for(id):
    return {"role": "assistant", "parts": [{"type": "tool_call", "id": id, "name": "look", "arguments": {}}]}


def _came_back(id):
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": id, "response": "seen"}]}
