"""Graphs of LangChain under instrumentations that no capture holds: OpenTelemetry's, Splunk's, Future AGI's."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full


def _called(run):
    return [(c["name"], c["agent"], c["status"], c["result"]) for c in run["tool_calls"]]


def _handed(run):
    return [(d["from"], d["to"], d["tool"], d["status"]) for d in run["delegations"]]


_BEFORE = [
    {"type": "human", "data": {"content": "go", "type": "human"}},
    {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "look", "args": {}, "id": "c1"}]}},
    {"type": "tool", "data": {"content": "seen", "name": "look", "tool_call_id": "c1"}},
    {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "transfer_to_b", "args": {}, "id": "c2"}]}},
    {"type": "tool", "data": {"content": "Transferred", "name": "transfer_to_b", "tool_call_id": "c2"}},
]
_WHOLE = json.dumps({"graph": "__parent__", "update": {"messages": _BEFORE}, "goto": "b"})


@pytest.mark.parametrize("told", [_WHOLE, _WHOLE[: _WHOLE.index("c2")]])
def test_a_tool_that_hands_over_brings_what_was_said_before_it(told):
    kind = {"openinference.span.kind": "TOOL", "tool.name": "transfer_to_b", "output.value": told}
    (run,) = runs(
        span(1, None, "graph", took=20),
        agent(2, "a", 1, at=1, took=8),
        chat(3, 2, [("c1", "look", {})], "go", at=2),
        tool(4, 2, "look", "c1", "seen", at=4),
        chat(5, 2, [("c2", "transfer_to_b", {})], "go", at=6),
        span(6, 2, "transfer_to_b", at=8, attributes=kind),
        agent(7, "b", 1, at=10, took=5),
        chat(8, 7, "done", "go", at=11),
    )
    assert _handed(run) == [("a", "b", "transfer_to_b", "ok")]
    assert _called(run) == [("look", "a", "ok", "seen")]


_ASKED = (
    "content='' additional_kwargs={'refusal': None} response_metadata={'model_name': 'm'} name='lead'"
    " id='lc_run--1-0' tool_calls=[{'name': 'look', 'args': {'at': \"it's\"}, 'id': 'c1', 'type': 'tool_call'}]"
    " invalid_tool_calls=[] usage_metadata={'input_tokens': 1}"
)
_RESULT = "content='seen' name='look' id='2' tool_call_id='c1'"
_ANSWER = (
    "content='all done' additional_kwargs={} response_metadata={'model_name': 'm'} name='lead' id='lc_run--2-0'"
    " tool_calls=[] invalid_tool_calls=[]"
)
_USER = "content='go on' additional_kwargs={} response_metadata={} id='0'"


def _future_agi(id, parent, name, kind, at, took=1.0, **told):
    return span(id, parent, name, at=at, took=took, attributes={"gen_ai.span.kind": kind} | told)


def test_messages_that_langchain_wrote_as_text_are_messages():
    (run,) = runs(
        _future_agi(
            1,
            None,
            "lead",
            "CHAIN",
            0,
            9,
            **{"output.value": json.dumps({"messages": [_USER, _ASKED, _RESULT, _ANSWER]})},
        ),
        _future_agi(2, 1, "model", "CHAIN", 1, 2, **{"input.value": json.dumps({"messages": [_USER]})}),
        chat(3, 2, [("c1", "look", {"at": "it's"})], at=1.5),
        _future_agi(
            4,
            1,
            "look",
            "TOOL",
            4,
            **{
                "gen_ai.tool.name": "look",
                "input.value": json.dumps({"at": "it's"}),
                "output.value": json.dumps({"output": _RESULT}),
            },
        ),
        chat(5, 1, "all done", at=6),
    )
    assert (run["input"], run["output"]) == ("go on", "all done")
    assert _called(run) == [("look", "lead", "ok", "seen")]
    assert run["tool_calls"][0]["call_id"] == "c1"


def test_a_part_that_is_its_classs_name_is_no_text():
    lost = [{"role": "assistant", "parts": ["ToolCall"], "finish_reason": "tool_calls"}]
    (run,) = runs(
        agent(1, "a", took=9, error="no such hotel"),
        chat(2, 1, None, "go", at=1, gen_ai__output__messages=json.dumps(lost)),
        tool(3, 1, "book", None, None, at=3, error="no such hotel"),
    )
    assert run["output"] is None


def test_a_workflow_that_bears_the_name_of_who_wrote_its_answer_is_an_agent():
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "done"}], "name": "lead"}]
    told = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.output.messages": json.dumps(answer)}
    (run,) = runs(
        span(1, None, "invoke_workflow lead", took=9, attributes=told),
        chat(2, 1, [("c1", "task", {"subagent_type": "b"})], "go", at=1),
        tool(3, 1, "task", "c1", "booked", at=3, took=3),
        agent(4, "b", 3, at=3.5, took=2),
        chat(5, 4, "booked", "book", at=4),
        chat(6, 1, "done", "go", at=7),
    )
    assert [c["agent"] for c in run["llm_calls"]] == ["lead", "b", "lead"]
    assert _handed(run) == [("lead", "b", "task", "ok")]


def test_the_function_in_which_a_supervisor_calls_its_agents_is_none():
    scope = "opentelemetry.instrumentation.genai.langchain"
    (run,) = runs(
        span(1, None, "invoke_workflow team", took=20, gen_ai__operation__name="invoke_workflow", scope=scope),
        agent(2, "boss", 1, at=1, took=4, scope=scope),
        chat(3, 2, [("c1", "transfer_to_b", {})], "go", at=1),
        tool(4, 2, "transfer_to_b", "c1", "over", at=3),
        agent(5, "call_agent", 1, at=6, took=6, scope=scope),
        agent(6, "b", 5, at=7, took=4, scope=scope),
        chat(7, 6, "done", "go", at=8),
    )
    assert run["agents"] == ["b", "boss"]
    assert _handed(run) == [("boss", "b", "transfer_to_b", "ok")]


@pytest.mark.parametrize("over", ["transfer_to_b", "look"])
def test_nodes_between_which_work_was_handed_over_are_agents_whatever_is_stamped_on_them(over):
    stamp = {"gen_ai.agent.name": "team"}
    step = {"gen_ai.step.type": "chain"} | stamp

    def node(id, parent, name, at, took):
        return span(id, parent, f"step {name}", at=at, took=took, attributes=step | {"gen_ai.step.name": name})

    (run,) = runs(
        agent(1, "team", took=40),
        node(2, 1, "boss", 1, 6),
        chat(3, 2, [("c1", over, {})], "go", at=2, attributes=stamp),
        tool(4, 2, over, "c1", "over", at=4, attributes=stamp),
        node(5, 1, "b", 8, 6),
        chat(6, 5, "done", "go", at=9, attributes=stamp),
        node(7, 1, "boss", 15, 6),
        chat(8, 7, "all done", "go", at=16, attributes=stamp),
    )
    handed = over != "look"
    assert run["agents"] == (["b", "boss"] if handed else ["team"])
    assert [c["agent"] for c in run["llm_calls"]] == (["boss", "b", "boss"] if handed else ["team"] * 3)
    assert _handed(run) == ([("boss", "b", over, "ok")] if handed else [])


@pytest.mark.parametrize("asks", [False, True])
def test_agents_after_one_another_may_have_handed_over_where_no_model_call_is_seen(asks):
    """OpenAI's kit under OpenTelemetry's instrumentation, which leaves model calls to that of the client."""
    (run,) = runs(
        span(1, None, "invoke_workflow Agent workflow", took=20, gen_ai__operation__name="invoke_workflow"),
        agent(2, "a", 1, at=1, took=4),
        tool(3, 2, "look", None, "seen", at=2),
        agent(4, "b", 1, at=6, took=4),
        tool(5, 4, "book", None, "booked", at=7),
        *([chat(6, 4, "done", at=8)] if asks else []),
    )
    assert (run["delegations"] is None) is not asks


@pytest.mark.parametrize(("told", "status"), [({}, "unknown"), ({"status": 1}, "ok")])
def test_how_an_agent_ended_that_did_nothing_is_unknown_unless_it_is_told(told, status):
    (run,) = runs(span(1, None, "workflow", gen_ai__operation__name="invoke_workflow"), agent(2, "a", 1, **told))
    assert run["status"] == status


def test_a_handoffs_span_is_no_tool_whichever_key_calls_it_one():
    (run,) = runs(
        _future_agi(1, None, "Agent workflow", "AGENT", 0, 20),
        _future_agi(2, 1, "a", "AGENT", 1, 6, **{"graph.node.id": "a"}),
        chat(3, 2, [("c1", "transfer_to_b", {})], "go", at=2),
        _future_agi(4, 2, "handoff to b", "TOOL", 4, **{"input.value": "{}"}),
        _future_agi(5, 1, "b", "AGENT", 8, 6, **{"graph.node.id": "b", "graph.node.parent_id": "a"}),
        chat(6, 5, "done", "go", at=9),
    )
    assert _handed(run) == [("a", "b", "transfer_to_b", "ok")]
    assert _called(run) == []


def test_a_tool_that_bears_the_name_of_an_agent_that_worked_is_no_known_tool():
    told = {"gen_ai.tool.definitions": json.dumps([{"type": "function", "name": n} for n in ("look", "booker")])}
    (run,) = runs(
        agent(1, "lead", took=9, attributes=told), agent(2, "booker", 1, at=2, took=3), chat(3, 2, "done", "go", at=3)
    )
    assert _handed(run) == [("lead", "booker", None, "ok")]
    assert run["known_tools"] == ["look"]


_SHARED = "opentelemetry.util.genai.handler"


def _splunk(framework, *steps):
    told = {"gen_ai.framework": framework}
    (run,) = runs(
        agent(1, "a", took=9, attributes=told, scope=_SHARED),
        chat(2, 1, [("c1", "look", {})], "go", at=1, attributes=told, scope=_SHARED),
        *(step | {"scope": _SHARED} for step in steps),
    )
    return run


@pytest.mark.parametrize("framework", ["openai_agents", "other"])
def test_a_kit_is_known_where_all_spans_come_of_one_scope(framework):
    """OpenAI's kit raises an error at a limit, and Splunk's instrumentation of it tells none."""
    again = chat(4, 1, [("c2", "look", {})], "go", at=5, attributes={"gen_ai.framework": framework})
    run = _splunk(framework, tool(3, 1, "look", "c1", "seen", at=3), again, tool(5, 1, "look", "c2", "seen", at=7.5))
    theirs = framework == "openai_agents"
    assert ("max_steps" in run["boundaries"]) is not theirs
    assert run["status"] == ("unknown" if theirs else "ok")


def test_a_tool_whose_result_is_not_told_may_have_failed_where_spans_tell_no_failure():
    run = _splunk("openai_agents", tool(3, 1, "look", at=3))
    assert _called(run) == [("look", "a", "unknown", None)]


def test_a_model_call_of_which_not_even_the_model_is_known_may_have_failed():
    unknown = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "unknown_model"}
    run = _splunk("openai_agents", tool(3, 1, "look", "c1", "seen", at=3), span(4, 1, "chat", at=5, attributes=unknown))
    assert [(c["request_model"], c["status"]) for c in run["llm_calls"]] == [("model-a", "ok"), (None, "unknown")]


def test_dspys_loop_asks_once_more_whether_it_finished_or_not():
    scope = "opentelemetry.instrumentation.genai.dspy"
    (run,) = runs(
        agent(1, "dspy.ReAct", took=9, scope=scope),
        chat(2, 1, "next: look", "go", at=1, scope=scope),
        tool(3, 1, "look", None, "seen", at=3, scope=scope),
        chat(4, 1, "done", "go", at=5, scope=scope),
    )
    assert "max_steps" in run["boundaries_unknown"]


def _monocle(id, parent, type, at, took=1.0, subtype=None, **entities):
    told = {"span.type": type, "span.subtype": subtype} if subtype else {"span.type": type}
    told |= {f"entity.{key[1:].replace('_', '.', 1)}": value for key, value in entities.items()}
    return span(id, parent, "invoke", at=at, took=took, attributes=told, scope="monocle_apptrace")


@pytest.mark.parametrize("back", ["turn_end", "delegation"])
def test_monocle_says_what_a_span_is_and_of_whom(back):
    """What comes back from an agent that is done was not handed over."""
    owned = {"_2_name": "b", "_2_type": "agent.langgraph"}
    (run,) = runs(
        _monocle(1, None, "workflow", 0, 30, _1_name="app"),
        _monocle(2, 1, "agentic.turn", 0, 30),
        _monocle(3, 2, "agentic.invocation", 1, 4, _1_name="a"),
        _monocle(4, 3, "inference.framework", 2, subtype="delegation", _2_name="m", _3_name="transfer_to_b"),
        _monocle(5, 4, "inference.modelapi", 2.1, 0.5),
        _monocle(6, 2, "agentic.invocation", 6, 8, _1_name="b", _1_from_agent="a"),
        _monocle(7, 6, "inference.framework", 7, subtype="tool_call", _2_name="m"),
        _monocle(8, 6, "agentic.tool.invocation", 9, _1_name="look", **owned),
        _monocle(9, 6, "inference.framework", 11, subtype=back, _2_name="m"),
        _monocle(10, 2, "agentic.invocation", 16, 4, _1_name="a", _1_from_agent="b"),
        _monocle(11, 10, "inference.framework", 17, subtype="turn_end", _2_name="m"),
    )
    assert _called(run) == [("look", "b", "ok", None)]
    assert [(c["agent"], c["request_model"]) for c in run["llm_calls"]] == [
        ("a", "m"),
        ("b", "m"),
        ("b", "m"),
        ("a", "m"),
    ]
    over = [("a", "b", None, "ok"), ("b", "a", None, "ok")]
    assert _handed(run) == (over if back == "delegation" else over[:1])


@pytest.mark.parametrize("raised", [None, "could not be parsed"])
def test_what_a_model_said_before_its_frame_failed_is_no_answer(raised):
    (run,) = runs(agent(1, "a", took=9, error=raised), chat(2, 1, "next: fly", "go", at=1))
    assert run["output"] == (None if raised else "next: fly")
    assert run["status"] == ("error" if raised else "ok")


def _task(id, parent, name, at, took=1, kind="task", **told):
    told = {"traceloop.span.kind": kind, "traceloop.entity.name": f"{name}.{kind}"} | told
    scope = "opentelemetry.instrumentation.llamaindex"
    return span(id, parent, f"{name}.{kind}", at=at, took=took, scope=scope, attributes=told)


def _next(name):
    return {"traceloop.entity.output": json.dumps({"input": [], "current_agent_name": name})}


_NEXT = _next("helper")


def test_a_step_of_llama_index_under_traceloop_is_of_the_agent_that_the_step_before_it_put_out():
    def answered(id, parent, at, text=""):
        told = [{"role": "assistant", "parts": [{"type": "text", "content": text}] if text else []}]
        messages = {"gen_ai.output.messages": json.dumps(told), "gen_ai.response.id": str(id)}
        return _task(id, parent, "LLM", at, **messages, **{"gen_ai.operation.name": "chat"})

    def called(id, at, name, given):
        told = {"tool.name": name, "tool.arguments": json.dumps(given)}
        result = {"tool_name": name, "tool_id": f"c{id}", "tool_output": {"raw_output": "fine", "is_error": False}}
        return _task(id, 1, "AgentWorkflow", at, **told, **{"traceloop.entity.output": json.dumps(result)})

    (run,) = runs(
        _task(1, None, "AgentWorkflow", 0, 20, kind="workflow"),
        _task(2, 1, "AgentWorkflow", 1, **_next("planner")),
        _task(3, 1, "AgentWorkflow", 2),
        answered(4, 3, 2.2),
        called(5, 4, "handoff", {"to_agent": "scout", "reason": "weather"}),
        _task(6, 1, "AgentWorkflow", 6, **_next("scout")),
        _task(7, 1, "AgentWorkflow", 8),
        answered(8, 7, 8.2),
        called(9, 10, "look", {"city": "Oslo"}),
        _task(10, 1, "AgentWorkflow", 12),
        answered(11, 10, 12.2, "done"),
    )
    assert _handed(run) == [("planner", "scout", "handoff", "ok")]
    assert [(c["name"], c["agent"]) for c in run["tool_calls"]] == [("look", "scout")]
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "scout", "scout"]


def test_what_fails_under_traceloop_for_llama_index_is_never_told():
    steps = [_task(2, 1, "BaseWorkflowAgent", 1, **_NEXT), _task(3, 1, "BaseWorkflowAgent", 2, **_NEXT)]
    (run,) = runs(*steps, _task(5, 4, "LLM", 3))
    assert (run["status"], run["agents"], run["llm_calls"]) == ("unknown", ["helper"], None)
    assert runs(_task(5, 4, "LLM", 3)) == []


@pytest.mark.parametrize(("parent", "status"), [(9, "unknown"), (1, "ok")])
def test_a_run_ends_in_what_is_lost_where_only_what_prepared_it_has_come(parent, status):
    asked = [{"role": "assistant", "parts": [], "finish_reason": ""}]
    answer = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(asked), "gen_ai.response.id": "1"}
    (run,) = runs(
        _task(1, None, "FunctionAgent", 0, 4, kind="workflow"),
        _task(2, 1, "BaseWorkflowAgent", 1, 3),
        _task(3, 2, "LLM", 2, **answer),
        _task(4, parent, "LLM", 5),
    )
    assert run["status"] == status
    assert ("what came last is not visible" in run["incomplete"]) == (status == "unknown")
    assert ("error" in run["boundaries_unknown"]) == (status == "unknown")


def test_traceloop_says_well_of_an_agent_of_openais_that_its_guard_stopped():
    scope = "opentelemetry.instrumentation.openai_agents"
    frame = span(1, None, "Agent Workflow", took=3, scope=scope, status=1, traceloop__span__kind="workflow")
    told = {"traceloop.span.kind": "agent", "gen_ai.agent.name": "helper", "gen_ai.operation.name": "invoke_agent"}
    (run,) = runs(frame, span(2, 1, "helper.agent", scope=scope, status=1, attributes=told))
    assert (run["status"], run["agents"]) == ("unknown", ["helper"])
    assert "error" in run["boundaries_unknown"]


def _openlit(number, asked, answer, calls=None, at=0):
    """OpenLIT 1.33.22 of OpenAI's client 1.109 below LangGraph 0.3: no graph, a trace for each call, events of text."""
    told = [
        {"id": i, "function": {"arguments": json.dumps(a), "name": n}, "type": "function"} for i, n, a in calls or []
    ]
    return span(
        number,
        None,
        "chat gpt-4o-mini",
        trace=number,
        at=at,
        kind=3,
        scope="openlit.otel.tracing",
        events=[
            ("gen_ai.content.prompt", {"gen_ai.prompt": asked}),
            ("gen_ai.content.completion", {"gen_ai.completion": answer}),
        ],
        attributes={
            "telemetry.sdk.name": "openlit",
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "gpt-4o-mini",
            "gen_ai.response.id": f"chatcmpl-{number}",
            "gen_ai.response.finish_reasons": ["tool_calls" if calls else "stop"],
            "gen_ai.response.tool_calls": str(told) if calls else "None",
        },
    )


def test_history_that_leaves_out_what_was_asked_for_goes_on_with_who_asked():
    two = [("c3", "look", {"city": "Oslo"}), ("c4", "look", {"city": "Rome"})]
    asked = "system: Look.\nuser: Oslo?"
    found = runs(
        _openlit(1, asked, "None", [("c1", "look", {"city": "Oslo"})]),
        _openlit(2, f"{asked}\nassistant: None\ntool: snow", "Snow.", at=2),
        _openlit(3, asked, "None", [("c2", "look", {"city": "Bergen"})], at=9),  # the same words again
        _openlit(4, f"{asked}\nassistant: None\ntool: rain", "None", two, at=11),
        _openlit(5, f"{asked}\nassistant: None\ntool: rain\nassistant: None\ntool: snow\ntool: sun", "Snow.", at=13),
        _openlit(6, f"{asked}\nassistant: None\ntool: snow\nassistant: Snow.\nuser: Sure?", "Yes.", at=20),
    )
    assert [(len(run["llm_calls"]), run["output"], run["status"]) for run in found] == [
        (2, "Snow.", "ok"),
        (3, "Snow.", "ok"),
        (1, "Yes.", "ok"),
    ]
    told = [[(c["arguments"]["city"], c["result"], c["turn"]) for c in run["tool_calls"]] for run in found]
    assert told == [
        [("Oslo", "snow", 0)],
        [("Bergen", "rain", 0), ("Oslo", "snow", 1), ("Rome", "sun", 1)],
        [],
    ]


def _graph(id, parent, name, at=0, took=1, **told):
    """A node of LangChain 1.4's agents under OpenInference 0.1.80."""
    attributes = {"openinference.span.kind": "CHAIN", "metadata": json.dumps({"lc_agent_name": "planner"})}
    attributes |= {key.replace("__", "."): json.dumps({"messages": said}) for key, said in told.items()}
    return span(id, parent, name, at=at, took=took, attributes=attributes, status=1)


def _said(kind, text):
    return {"type": kind, "data": {"content": text, "type": kind}}


def test_a_run_that_a_middleware_answered_before_the_model_was_asked_is_a_run():
    asked, told = _said("human", "Hi"), _said("ai", "I may not.")
    (run,) = runs(
        _graph(1, None, "planner", took=5, input__value=[["user", "Hi"]], output__value=[asked, told]),
        _graph(2, 1, "guard.before_model", at=1, input__value=[asked], output__value=[told]),
    )
    assert (run["agents"], run["input"], run["output"]) == (["planner"], "Hi", "I may not.")
    assert run["llm_calls"] is None and run["tool_calls"] is None
    assert runs(_graph(1, None, "RunnableSequence", input__value=[asked], output__value=[told])) == []


def test_what_a_middleware_made_of_the_answer_is_the_output():
    """Traceloop 0.62 of LangChain 1.4: the agent's span tells nothing, the workflow in it what it put out."""
    scope = "opentelemetry.instrumentation.langchain"
    made = {
        "traceloop.entity.output": json.dumps(
            {"outputs": {"messages": [_said("human", "Hi"), _said("ai", "Censored.")]}}
        )
    }
    (run,) = runs(
        agent(1, "planner", took=9, scope=scope),
        span(2, 1, "planner.workflow", took=8, scope=scope, attributes=made | {"traceloop.span.kind": "workflow"}),
        chat(3, 2, "A secret.", "Hi", at=1, scope=scope),
    )
    assert run["output"] == "Censored."


def test_ways_to_agents_that_never_worked_are_no_tools():
    """OpenAI's Agents SDK, LlamaIndex, a supervisor of LangGraph, Google's ADK and a swarm of Strands."""
    ways = {
        "transfer_to_worker": "Handoff to the worker agent to handle the request. Looks things up.",
        "handoff": "Useful for handing off to another agent.\nIf you are currently not equipped …",
        "transfer_to_writer": "Ask agent 'writer' for help",
        "transfer_to_agent": "Transfer the query to another agent.",
        "handoff_to_agent": "Transfer control to another agent in the swarm for specialized help.",
    }
    tools = {"search": "Finds.", "transfer_to_account": "Moves money.", **ways}
    told = {"gen_ai.tool.definitions": [{"name": name, "description": said} for name, said in tools.items()]}
    (run,) = runs(agent(1, "planner", took=9), chat(2, 1, "done", "go", attributes=told))
    assert run["known_tools"] == ["search", "transfer_to_account"]


def test_an_agent_of_smolagents_that_ran_out_of_steps_is_asked_for_an_answer():
    """smolagents 1.26 under OpenInference 0.1.43: no span tells of it but in the words of the last prompt."""
    told = [("system", "An agent tried to answer a user query but it got stuck."), ("user", "New task:\nplan")]
    told.append(("user", "Based on the above, please provide an answer to the following user task:\nplan"))
    asked = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in told]
    (run,) = runs(agent(1, "planner", took=9), chat(2, 1, "Oslo is done.", asked, at=5))
    assert run["boundaries"] == ["max_steps"]


def test_an_error_of_another_type_has_none():
    """Langfuse 5 of a tool that raised: by the conventions `_OTHER` stands for any error."""
    (run,) = runs(agent(1, "a", took=5), tool(2, 1, "book", at=1, error="no room", error__type="_OTHER"))
    assert [(c["status"], c["error_type"]) for c in run["tool_calls"]] == [("error", None)]
