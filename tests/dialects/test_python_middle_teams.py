"""Who worked for whom, in versions between the early and the newest ones: agents at once, ways to others, and tools in
threads and traces of their own."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full


def test_a_way_to_an_agent_that_was_left_for_another_is_no_tool():
    """opentelemetry-instrumentation-openai-agents 0.46 tells no results, and what is said of a tool beside its name."""
    scope = {"scope": "opentelemetry.instrumentation.openai_agents"}
    told = {"gen_ai.operation.name": "response", "gen_ai.request.model": "m", "gen_ai.prompt.0.role": "user"}
    told |= {"gen_ai.prompt.0.content": "go", "gen_ai.completion.0.role": "assistant"}
    first = dict(told)
    for n, to in enumerate(("worker", "writer")):
        call, offer = f"gen_ai.completion.0.tool_calls.{n}", f"llm.request.functions.{n}"
        first |= {f"{call}.id": f"c{n}", f"{call}.name": f"transfer_to_{to}", f"{call}.arguments": "{}"}
        first |= {f"{offer}.name": f"transfer_to_{to}", f"{offer}.description": f"Handoff to the {to} agent to handle."}
    first |= {"llm.request.functions.2.name": "look", "llm.request.functions.2.description": "Looks."}
    kept = {"traceloop.span.kind": "agent"}
    (run,) = runs(
        span(1, None, "Agent Workflow", took=9, status=1, attributes={"traceloop.span.kind": "workflow"}, **scope),
        span(2, 1, "planner.agent", took=3, attributes=kept | {"gen_ai.agent.name": "planner"}, status=1, **scope),
        span(3, 2, "openai.response", at=1, kind=3, attributes=first, status=1, **scope),
        span(5, 1, "worker.agent", at=4, attributes=kept | {"gen_ai.agent.name": "worker"}, took=3, status=1, **scope),
        span(
            6, 5, "openai.response", at=5, attributes=told | {"gen_ai.completion.0.content": "Here."}, kind=3, **scope
        ),
    )
    assert (run["tool_calls"], run["known_tools"]) == ([], ["look"])
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [
        ("planner", "worker", "transfer_to_worker")
    ]


_SMOL = {"scope": "openinference.instrumentation.smolagents"}


def _smol(id, parent, name, kind, at, took=1.0, trace=1, **told):
    told = {"openinference.span.kind": kind} | {key.replace("__", "."): value for key, value in told.items()}
    return span(id, parent, name, trace, at, took, status=1, attributes=told, **_SMOL)


def _smol_asked(id, at, calls, history=(), trace=1, parent=1):
    """A model's call that asked for tools, as (id, name, arguments), or gave its answer as one does there."""
    place = "llm.output_messages.0.message"
    told = {f"{place}.role": "assistant", "llm.model_name": "m"}
    for n, (role, text) in enumerate((("user", "go"), *history)):
        place_in = f"llm.input_messages.{n}.message"
        told |= {f"{place_in}.role": role, f"{place_in}.content": text}
    for n, (call, name, arguments) in enumerate(calls):
        at_call = f"{place}.tool_calls.{n}.tool_call"
        told |= {f"{at_call}.id": call, f"{at_call}.function.name": name}
        told[f"{at_call}.function.arguments"] = json.dumps(arguments)
    return _smol(id, parent, "OpenAIServerModel.generate", "LLM", at, trace=trace, **told)


def _smol_ran(id, at, name, given, result, trace=1, parent=1):
    given = json.dumps({"args": [], "sanitize_inputs_outputs": True, "kwargs": given})
    told = {"tool__name": name, "input__value": given, "output__value": result}
    return _smol(id, parent, "SimpleTool", "TOOL", at, 0.1, trace, **told)


_CITIES = [("c1", "look", {"city": "Oslo"}), ("c2", "look", {"city": "Rome"})]


_DONE = [("c3", "final_answer", {"answer": "Done."})]


def test_what_threads_ran_in_traces_of_their_own_is_what_was_asked_for():
    """smolagents 1.20 under OpenInference 0.1.14: several tools of an answer run in threads, one does not."""
    (run,) = runs(
        _smol(1, None, "ToolCallingAgent.run", "AGENT", 0, 20, input__value='{"task": "go"}', output__value="Done."),
        _smol_asked(2, 1, _CITIES),
        _smol_ran(3, 2.5, "look", {"city": "Rome"}, "Rain.", trace=2, parent=None),
        _smol_ran(4, 2.6, "look", {"city": "Oslo"}, "Sun.", trace=3, parent=None),
        _smol_asked(5, 6, _DONE),
    )
    assert [(c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        ({"city": "Oslo"}, "ok", "Sun."),
        ({"city": "Rome"}, "ok", "Rain."),
    ]


def test_what_two_agents_asked_for_at_once_ran_for_nobody_known():
    agents = [
        span
        for trace in (1, 2)
        for span in (
            _smol(trace * 10, None, "ToolCallingAgent.run", "AGENT", 0, 20, trace, output__value="Done."),
            _smol_asked(trace * 10 + 1, 1, _CITIES, trace=trace, parent=trace * 10),
        )
    ]
    found = runs(*agents, _smol_ran(3, 2.5, "look", {"city": "Rome"}, "Rain.", trace=3, parent=None))
    assert len(found) == 3


def test_what_the_first_of_several_calls_gave_is_not_what_the_others_did():
    """smolagents 1.14 runs the first call of an answer alone."""
    seen = [("tool-call", "Calling tools:\n[...]"), ("tool-response", "Observation:\nSun.")]
    (run,) = runs(
        _smol(1, None, "ToolCallingAgent.run", "AGENT", 0, 20, input__value='{"task": "go"}', output__value="Done."),
        _smol_asked(2, 1, _CITIES),
        _smol_ran(4, 2.6, "look", {"city": "Oslo"}, "Sun."),
        _smol_asked(5, 6, _DONE, seen),
    )
    assert [(c["arguments"], c["result"]) for c in run["tool_calls"]] == [
        ({"city": "Oslo"}, "Sun."),
        ({"city": "Rome"}, None),
    ]


def test_what_lies_beside_agents_at_work_at_once_is_whose_instructions_it_was_given():
    """google-adk 1.11: the tools and later calls of a ParallelAgent's agents lie under that, and overlap."""

    def asked(id, parent, at, took, who, said, given=None):
        parts = [{"text": said}] if given is None else [{"function_call": {"name": said, "args": given}}]
        system = {"system_instruction": f"You are {who}."}
        request = {"model": "m", "config": system, "contents": [{"role": "user", "parts": [{"text": "go"}]}]}
        told = {"gen_ai.system": "gcp.vertex.agent", "gen_ai.request.model": "m"}
        told["gcp.vertex.agent.llm_request"] = json.dumps(request)
        told["gcp.vertex.agent.llm_response"] = json.dumps({"content": {"role": "model", "parts": parts}})
        return span(id, parent, "call_llm", at=at, took=took, attributes=told, scope="gcp.vertex.agent")

    def ran(id, at, name, given, result):
        told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        told |= {"gcp.vertex.agent.tool_call_args": json.dumps(given)}
        told["gcp.vertex.agent.tool_response"] = json.dumps({"result": result})
        return span(id, 2, f"execute_tool {name}", at=at, took=0.1, attributes=told, scope="gcp.vertex.agent")

    scope = {"scope": "gcp.vertex.agent"}
    (run,) = runs(
        span(1, None, "invocation", took=30, **scope),
        span(2, 1, "agent_run [fan]", took=29, **scope),
        span(3, 2, "agent_run [planner]", at=1, took=20, **scope),
        asked(4, 3, 1, 6, "planner", "look", {"city": "Oslo"}),
        span(5, 2, "agent_run [writer]", at=2, took=22, **scope),
        asked(6, 5, 2, 16, "writer", "add", {"a": 1}),
        ran(7, 5, "look", {"city": "Oslo"}, "Sun."),
        ran(8, 6, "add", {"a": 1}, "2"),
        asked(9, 2, 8, 12, "planner", "Sunny."),
        asked(10, 2, 18.5, 5, "writer", "Two."),
    )
    assert [(c["name"], c["agent"], c["status"]) for c in run["tool_calls"]] == [
        ("look", "planner", "ok"),
        ("add", "writer", "ok"),
    ]
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "writer", "planner", "writer"]


@pytest.mark.parametrize(("led", "to"), [(True, "lead"), (False, "lead_team")])
def test_a_way_to_a_team_is_one_to_who_works_first_in_it(led, to):
    """LangGraph under OpenLLMetry, whose spans of a graph's nodes bear their kind; the tool hands over, and no more."""
    kept = {"scope": "opentelemetry.instrumentation.langchain"}
    kinds = [{"traceloop.span.kind": kind} for kind in ("workflow", "task")]
    (run,) = runs(
        span(1, None, "top.workflow", took=20, attributes=kinds[0], **kept),
        agent(2, "planner", 1, at=1, took=4),
        chat(3, 2, [("c1", "transfer_to_lead_team", {})], "go", at=1),
        tool(4, 2, "transfer_to_lead_team", "c1", '{"graph": "__parent__", "goto": "lead_team"}', at=3),
        span(5, 1, "lead_team.task", at=6, took=5, attributes=kinds[1], **kept),
        *([agent(6, "lead", 5, at=7, took=3)] if led else []),
        chat(7, 6 if led else 5, "Done.", "go", at=8),
    )
    assert run["tool_calls"] == []
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("planner", to)]


@pytest.mark.parametrize(("graph", "to"), [("__parent__", ["mid"]), (None, [])])
def test_who_works_next_was_sent_on_to_by_a_graph_above_whose_nodes_are_not_told(graph, to):
    """LangGraph's supervisors in each other under contrib's instrumentation, which tells of agents alone."""
    (run,) = runs(
        span(1, None, "invoke_workflow full", took=20),
        agent(2, "top", 1, at=1, took=4),
        chat(3, 2, [("c1", "transfer_to_middle", {})], "go", at=1),
        tool(4, 2, "transfer_to_middle", "c1", json.dumps({"graph": graph, "goto": "middle"}), at=3),
        agent(5, "mid", 1, at=7, took=3),
        chat(6, 5, "Done.", "go", at=8),
    )
    assert [(d["to"], d["form"], d["status"]) for d in run["delegations"] or ()] == [(x, "handoff", "ok") for x in to]
    assert [c["name"] for c in run["tool_calls"]] == ([] if to else ["transfer_to_middle"])


def _base_tool(id, name, given, at, error=None, parent=None, trace=2):
    told = {"tool_name": name, "tool_description": "Books.", "tool_args": json.dumps(given)}
    return span(id, parent, name, trace, at, 0.1, attributes=told, scope="base_tool", error=error)


@pytest.mark.parametrize(("error", "status"), [("ValueError: no hotel", "error"), (None, "ok")])
def test_a_tool_that_autogen_ran_in_a_trace_of_its_own_is_what_a_model_asked_for(error, status):
    """autogen-agentchat 0.5.6, an agent alone, its model under another instrumentation: the model is told of an error
    in words of the tool's own."""
    question = {"role": "user", "parts": [{"type": "text", "content": "book"}]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "book", "arguments": {"x": 1}}]}
    brought = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "no hotel"}]}
    (run,) = runs(
        chat(1, None, [("c1", "book", {"x": 1})], [question], at=1),
        _base_tool(2, "book", {"x": 1}, 3, error),
        chat(3, None, "None.", [question, asked, brought], at=4, trace=3),
    )
    assert [(c["name"], c["arguments"], c["status"]) for c in run["tool_calls"]] == [("book", {"x": 1}, status)]
    assert (run["status"], run["output"]) == ("ok", "None.")


def test_what_became_of_the_run_of_a_tool_that_autogen_ran_alone_is_not_told():
    (run,) = runs(_base_tool(2, "book", {"x": 1}, 3, "ValueError: no hotel"))
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("book", "error")]
    assert run["status"] == "unknown"
    assert "whose work this was is not visible" in run["incomplete"]
