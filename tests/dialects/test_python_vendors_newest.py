"""Confident AI, Raindrop, Laminar, Splunk, AgentOps and DataRobot: written by hand as their kits tell it."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full


def _called(run):
    return [(c["name"], c["agent"], c["arguments"], c["status"], c["result"], c["call_id"]) for c in run["tool_calls"]]


_USER = {"role": "user", "content": "go"}


def _confident(id, parent, kind, named, at=0.0, took=1.0, given=None, came=None, **more):
    """confident-trace 0.1.11: what `@span` tells of a function."""
    told = {"confident.span.type": kind} | more.pop("told", {})
    told |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": named} if kind == "tool" else {}
    told |= {"confident.span.input": given} if given is not None else {}
    told |= {"confident.span.output": came} if came is not None else {}
    named = f"execute_tool {named}" if kind == "tool" else named
    return span(id, parent, named, at=at, took=took, scope="confident_trace", attributes=told, **more)


def test_confident_ais_spans_tell_an_agents_name_and_what_functions_got_and_gave():
    (run,) = runs(
        _confident(1, None, "agent", "planner", 0, 20, {"args": ["go"], "kwargs": {}}, '"stopped"'),
        chat(2, 1, [("c1", "look", {"x": 1})], "go", at=1, scope="confident_trace"),
        _confident(3, 1, "tool", "look", 3, given={"args": [], "kwargs": {"x": 1}}, came={"seen": 1}),
        _confident(4, 1, "custom", "note", 5, told={"confident.trace.thread_id": "t-1"}),
    )
    assert _called(run) == [("look", "planner", {"x": 1}, "ok", {"seen": 1}, "c1")]
    assert (run["agents"], run["input"], run["output"]) == (["planner"], "go", "stopped")
    assert run["conversation_id"] == "t-1"


def test_confident_ai_tells_a_tools_answer_in_langgraph_as_a_message():
    """confident-trace 0.1.11."""

    def told(answer):
        return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": answer, "id": "c1"}]}]

    ran = {"confident.span.integration": "LangGraph", "confident.span.input": {"x": 1}, "gen_ai.tool.call.id": "c1"}
    ran |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    for answer in ("seen", "Error: it is not there"):
        (run,) = runs(
            span(1, None, "planner", took=9),
            chat(2, 1, [("c1", "look", {"x": 1})], "go", at=1),
            span(3, 1, "look", at=3, attributes=ran | {"confident.span.output": told(answer)}),
        )
        assert _called(run) == [("look", None, {"x": 1}, "ok", answer, "c1")]
        assert ("tool_failure" in run["boundaries"]) is (answer != "seen")


def _raindrop(id, named, at, given, came, trace, convo="talk-1"):
    """raindrop-ai 0.0.75: a tool that is told by hand, in a trace of its own."""
    props = {"event_id": "e-1", "user_id": "u", "convo_id": convo}
    told = {f"traceloop.association.properties.{key}": value for key, value in props.items()}
    told |= {"traceloop.span.kind": "tool", "traceloop.entity.name": named}
    told |= {"traceloop.entity.input": json.dumps({"args": [given]}), "traceloop.entity.output": json.dumps(came)}
    return span(id, None, f"{named}.tool", trace, at, scope="traceloop.tracer", attributes=told)


def test_what_raindrop_is_told_of_a_tool_is_all_that_it_was_given():
    said = {"traceloop.association.properties.convo_id": "talk-1"}
    question = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"x": 1}}]}
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "seen"}]}
    (run,) = runs(
        chat(1, None, [("c1", "look", {"x": 1})], [question], at=0, trace=1, attributes=said),
        _raindrop(2, "look", 2, {"x": 1}, "seen", 2),
        chat(3, None, "done", [question, asked, back], at=4, trace=3, attributes=said),
    )
    assert _called(run) == [("look", None, {"x": 1}, "ok", "seen", "c1")]
    assert (run["conversation_id"], run["output"]) == ("talk-1", "done")


def _laminar(id, parent, kind, named, at=0.0, took=1.0, given=None, came=None, told=None, **more):
    """lmnr 0.8.2: OpenAI's agents."""
    told = {"lmnr.span.type": kind} | (told or {})
    told |= {"lmnr.span.input": json.dumps(given, separators=(",", ":"))} if given is not None else {}
    told |= {"lmnr.span.output": json.dumps(came, separators=(",", ":"))} if came is not None else {}
    return span(id, parent, named, at=at, took=took, scope="lmnr.tracer", attributes=told, **more)


def _laminar_asked(id, parent, at, items, came, model="model-b-1", named="agents.response", **more):
    told = {"gen_ai.input.messages": items, "gen_ai.system": "openai"}
    told |= {"gen_ai.output.messages": came, "gen_ai.usage.input_tokens": 10} if came else {}
    told |= dict.fromkeys(("gen_ai.request.model", "gen_ai.response.model"), model)
    told |= {"gen_ai.response.id": f"resp_{id}"} if named == "agents.response" and came else {}
    return _laminar(id, parent, "LLM", named, at, told=told, **more)


def test_laminar_tells_openais_agents_their_turns_and_what_a_response_asked_for():
    used = {"input_tokens": 10, "output_tokens": 2}

    def call(at, id, name, given):
        return {"arguments": json.dumps(given), "call_id": id, "name": name, "type": "function_call", "id": f"fc_{at}"}

    turns = [{"openai.agents.turn.index": n, "openai.agents.turn.agent_name": a} for n, a in ((1, "boss"), (2, "help"))]
    over, look = call(1, "c1", "transfer_to_help", {}), call(2, "c2", "look", {"x": 1})
    back = [{"call_id": c, "output": o, "type": "function_call_output"} for c, o in (("c1", "{}"), ("c2", "seen"))]
    said = [{"id": "m1", "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}]
    around = {"openai.agents.task.name": "Agent workflow"}
    (run,) = runs(
        _laminar(1, None, "DEFAULT", "Agent workflow", 0, 30),
        _laminar(2, 1, "DEFAULT", "agents.task", 0, 30, {"name": "Agent workflow"}, used, around),
        _laminar(3, 2, "DEFAULT", "boss", 0, 5, {"name": "boss", "handoffs": ["help"], "output_type": "str"}),
        _laminar(4, 3, "DEFAULT", "agents.turn", 0, 4, {"turn": 1, "agent_name": "boss"}, used, turns[0]),
        _laminar_asked(5, 4, 1, [_USER], [over | {"role": "assistant"}]),
        _laminar(6, 4, "TOOL", "agents.handoff", 3, told={"openai.agents.handoff.to": "help"}),
        _laminar(7, 2, "DEFAULT", "help", 6, 20, {"name": "help", "tools": ["look"], "output_type": "str"}),
        _laminar(8, 7, "DEFAULT", "agents.turn", 6, 9, {"turn": 2, "agent_name": "help"}, used, turns[1]),
        _laminar_asked(9, 8, 7, [_USER, over, back[0]], [look | {"role": "assistant"}]),
        _laminar(10, 8, "TOOL", "look", 9, given='{"x": 1}', came="seen"),
        _laminar_asked(11, 7, 16, [_USER, over, back[0], look, back[1]], said),
    )
    assert _called(run) == [("look", "help", {"x": 1}, "ok", "seen", "c2")]
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("boss", "help", "handoff")]
    assert (run["agents"], run["input"], run["output"]) == (["boss", "help"], "go", "done")
    assert [(c["agent"], c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [
        (name, None, "model-b-1") for name in ("boss", "help", "help")
    ]


def test_laminar_knows_the_model_that_was_asked_for_where_none_answered():
    (run,) = runs(
        _laminar_asked(1, None, 0, [_USER], [{"role": "assistant", "content": "done"}], "model-b", "agents.generation")
    )
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [("model-b", None)]


def _splunk(id, parent, name, at, took=1.0, **told):
    """splunk-otel-instrumentation-openai-agents 0.1.5."""
    told = {"gen_ai.framework": "openai_agents", "gen_ai.agent.name": "planner"} | told
    named = {"scope": "opentelemetry.util.genai.handler", "version": "0.1.15"}
    return span(id, parent, name, at=at, took=took, attributes=told, **named)


def _splunk_agents(**told):
    (run,) = runs(
        _splunk(1, None, "workflow Agent workflow", 0, 20, **{"gen_ai.operation.name": "invoke_workflow"}),
        _splunk(2, 1, "invoke_agent planner", 0, 19, **{"gen_ai.operation.name": "invoke_agent"}),
        _splunk(3, 2, "chat model", 1, **{"gen_ai.operation.name": "chat"} | told),
    )
    return [(c["request_model"], c["response_model"], c["status"]) for c in run["llm_calls"]]


def test_splunk_tells_of_openais_agents_the_model_that_answered_in_both_places_and_nothing_of_a_failure():
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "done"}], "finish_reason": "stop"}]
    both = dict.fromkeys(("gen_ai.request.model", "gen_ai.response.model"), "model-b-1")
    assert _splunk_agents(**both, **{"gen_ai.output.messages": said}) == [(None, "model-b-1", "ok")]
    assert _splunk_agents(**{"gen_ai.request.model": "unknown_model"}) == [(None, None, "unknown")]


def test_a_run_whose_last_answer_asked_for_a_tool_may_have_met_its_limit_though_nobody_tells_which():
    """agentops 0.4.21: an answer's calls are told by attributes of their own, where there is one."""
    told = {"agentops.agent.output": "stopped", "agentops.agent.input": '{"args": ["go"], "kwargs": {}}'}
    asked = {"gen_ai.request.type": "chat", "gen_ai.request.model": "m", "gen_ai.usage.prompt_tokens": 3}
    asked |= {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "go"}
    asked |= {"gen_ai.completion.0.finish_reason": "tool_calls", "gen_ai.completion.0.role": "assistant"}
    ran = {"agentops.tool.input": '{"args": [], "kwargs": {"x": 1}}', "agentops.tool.output": "seen"}
    named = {"agentops.span.kind": "agent", "operation.name": "planner"}
    (run,) = runs(
        span(1, None, "planner.agent", took=9, scope="agentops", attributes=named | told),
        span(2, 1, "openai.chat.completion", at=1, scope="openai", attributes=asked),
        span(3, 1, "look.tool", at=3, scope="agentops", attributes={"agentops.span.kind": "tool"} | ran),
    )
    assert (run["status"], run["output"]) == ("ok", "stopped")
    assert {"max_steps", "cost_limit"} <= set(run["boundaries_unknown"])


def test_datarobots_marks_of_what_a_model_asked_for_are_no_calls():
    """datarobot-genai 0.31, LangGraph's agents under OpenLLMetry."""
    scope = "datarobot_genai.dragent.plugins.datarobot_otel_conventions_middleware"
    around = {"gen_ai.agent.name": "langgraph_agent", "gen_ai.prompt": "go", "gen_ai.completion": "done"}
    around |= {"datarobot.session_id": "talk-1"}
    mark = {"gen_ai.tool.name": "look", "gen_ai.agent.name": "MyAgent"}
    (run,) = runs(
        span(1, None, "datarobot_agent", took=20, scope=scope, attributes=around),
        agent(2, "planner", 1, at=1, took=18),
        chat(3, 2, [("c1", "look", {"x": 1})], "go", at=2),
        span(4, 1, "look", at=3.5, took=0.001, scope=scope, attributes=mark),
        tool(5, 2, "look", "c1", "seen", at=4),
        chat(6, 2, "done", "go", at=6),
    )
    assert _called(run) == [("look", "planner", {"x": 1}, "ok", "seen", "c1")]
    assert (run["agents"], run["delegations"], run["conversation_id"]) == (["planner"], [], "talk-1")
    assert (run["input"], run["output"]) == ("go", "done")


def test_what_holds_llamaindexs_agents_is_none_for_confident_ai():
    """confident-trace 0.1.11: AgentWorkflow."""
    told = {"confident.span.integration": "LlamaIndex", "gen_ai.operation.name": "invoke_agent"}
    over = {"to_agent": "worker", "reason": "r"}
    ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "handoff"}
    ran |= {"confident.span.input": {"kwargs": over | {"ctx": "[unsupported]"}}, "confident.span.output": '"it is"'}

    def run_of(name):
        (run,) = runs(
            span(1, None, f"invoke_agent {name}", took=9, attributes=told | {"gen_ai.agent.name": name}),
            chat(2, 1, [("c1", "handoff", over)], "go", at=1),
            span(3, 1, "execute_tool handoff", at=3, attributes=ran),
            chat(4, 1, "done", "go", at=5),
        )
        return run

    run = run_of("AgentWorkflow")
    assert (run["agents"], run["tool_calls"], run["output"]) == ([], [], "done")
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [(None, "worker", "handoff")]
    assert run_of("planner")["agents"] == ["planner"]


def test_confident_ai_tells_what_came_of_an_agent_where_it_is_a_text():
    """confident-trace 0.1.11: CrewAI, whose models' answers it does not see; LlamaIndex; a stream of Agno's."""

    def output_of(came):
        told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner", "confident.span.output": came}
        asked = chat(3, 2, None, "go", at=1)
        (run,) = runs(span(1, None, "crew crew", took=9), span(2, 1, "invoke_agent planner", attributes=told), asked)
        return run["output"]

    assert output_of('"done"') == "done"
    assert output_of({"response": "[unsupported]"}) is output_of('""') is None


def test_what_splunk_tells_of_a_graph_that_waits_is_no_answer_and_of_one_that_goes_on_no_request():
    """splunk-otel-instrumentation-langchain 0.1.16: all that a model is given is of the user."""

    def said(role, *texts):
        return [{"role": role, "parts": [{"type": "text", "content": text}]} for text in texts]

    def graph(trace, given, came, **told):
        around = {"gen_ai.operation.name": "invoke_agent", "gen_ai.framework": "langchain"} | told
        around |= {"gen_ai.input.messages": said("user", given), "gen_ai.output.messages": said("assistant", came)}
        return _splunk(1, None, "invoke_agent planner", 0, 9, **around) | {"trace": trace}

    asked = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    last = {
        "gen_ai.input.messages": said("user", "go", "", "seen"),
        "gen_ai.output.messages": said("assistant", "done"),
    }
    (waits,) = runs(
        graph(1, "go", '{"action_requests": []}', **{"gen_ai.finish_reason": "interrupted"}),
        _splunk(2, 1, "chat m", 1, **asked, **{"gen_ai.input.messages": said("user", "go")}) | {"trace": 1},
    )
    (resumed,) = runs(
        graph(2, '{"decisions": []}', "done", **{"gen_ai.command": "resume"}),
        _splunk(2, 1, "chat m", 3, **asked, **last) | {"trace": 2},
    )
    assert [(r["input"], r["output"]) for r in (waits, resumed)] == [("go", None), (None, "done")]


def _processed(id, parent, kind, at, took=1.0, **told):
    """openai-agents-opentelemetry 0.4.1."""
    told = {"agent.span.type": kind, "agent.trace_id": "trace_1a"} | told
    return span(id, parent, kind, at=at, took=took, scope="openai.agents", attributes=told, **_WELL)


_WELL = {"status": 1}


def _team_processed(worker=True, failed=False):
    def turn(id, parent, at, name, took=4.0):
        return _processed(id, parent, "turn", at, took, **{"span.data": {"sdk_span_type": "turn", "agent_name": name}})

    def ran(id, parent, at, name, took, came):
        told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.result": came}
        given = ("gen_ai.tool.input", {"gen_ai.tool.call.arguments": '{"x": 1}'})
        return _processed(id, parent, "function", at, took, **told) | {"events": [given]}

    around = {"agent.workflow.name": "Team", "agent.trace_id": "trace_1a", "agent.group_id": "talk-1"}
    (run,) = runs(
        span(1, None, "workflow: Team", took=40, scope="openai.agents", attributes=around, **_WELL),
        _processed(2, 1, "agent", 0, 30, **{"agent.name": "planner"}),
        turn(3, 2, 0, "planner", 20),
        _processed(4, 3, "response", 1),
        ran(5, 3, 3, "look", 1, "seen"),
        ran(6, 3, 5, "ask_worker", 9, "fine"),
        *([_processed(7, 6, "agent", 6, 7, **{"agent.name": "worker"})] if worker else []),
        turn(8, 7, 6, "worker"),
        _processed(9, 8, "response", 7),
        _processed(10, 2, "handoff", 21, **{"agent.handoff.from": "planner", "agent.handoff.to": "helper"}),
        _processed(11, 1, "agent", 31, 5, **{"agent.name": "helper"}),
        turn(12, 11, 31, "helper"),
        _processed(13, 12, "response", 32) | ({"status": 2, "error": "it is down"} if failed else {}),
    )
    return run


def test_a_processor_of_openais_agents_that_tells_nothing_of_a_response_tells_whose_it_was():
    run = _team_processed()
    assert _called(run) == [("look", "planner", {"x": 1}, "ok", "seen", None)]
    assert [(c["agent"], c["request_model"], c["status"]) for c in run["llm_calls"]] == [
        ("planner", None, "ok"),
        ("worker", None, "ok"),
        ("helper", None, "ok"),
    ]
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [
        ("planner", "worker", "tool"),
        ("planner", "helper", "handoff"),
    ]
    assert (run["status"], run["conversation_id"], run["input"], run["output"]) == ("ok", "talk-1", None, None)


def test_the_turn_of_an_agent_of_a_processors_whose_span_is_lost_tells_who_it_was():
    run = _team_processed(worker=False)
    assert [c["name"] for c in run["tool_calls"]] == ["look"]
    assert run["agents"] == ["helper", "planner", "worker"]
    assert "error" in _team_processed(failed=True)["boundaries"]


def test_where_no_span_says_that_anything_failed_nobody_knows_how_it_went():
    """gigaflow 0.6.4."""

    def did(id, parent, at, kind, took=1.0, **told):
        told |= {"gigaflow.primitive.type": kind}
        return span(id, parent, kind, at=at, took=took, scope="gigaflow", attributes=told)

    ran = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    (run,) = runs(
        did(2, None, 0, "user_input", 9, **{"gigaflow.content": "go"}),
        did(3, 2, 1, "llm_call", **{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}),
        did(4, 2, 3, "tool_invocation", **ran),
    )
    assert [c["status"] for c in (*run["llm_calls"], *run["tool_calls"])] == ["unknown", "unknown"]
    assert (run["input"], run["status"]) == ("go", "unknown")


def test_a_tools_span_of_a_processors_may_have_waited_for_leave_where_nothing_came_back():
    run = _team_processed()
    assert run["tool_calls"][0]["status"] == "ok"
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "agent.span.type": "function"}
    (run,) = runs(
        _processed(1, None, "agent", 0, 9, **{"agent.name": "planner"}),
        _processed(2, 1, "response", 1),
        _processed(3, 1, "function", 3, **told, **{"gen_ai.tool.call.arguments": '{"x": 1}'}),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["unknown"]
