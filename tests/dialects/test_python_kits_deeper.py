"""Python kits that hand on their work, in which something fails, by what they told of runs against a model of ours."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool


@pytest.mark.parametrize("cut", [None, 60])
def test_a_graph_that_broke_as_it_was_to_go_on_with_an_agent_was_handed_over_to_it(cut):
    """LangGraph's swarm, of whose tools that were asked for at once another threw."""
    sent = json.dumps({"graph": "__parent__", "update": {"messages": ["go"] * 9}, "goto": "writer"})[:cut]
    (run,) = runs(
        agent(1, "planner", took=9, error="boom"),
        chat(2, 1, [("c1", "transfer_to_writer", {}), ("c2", "look", {})], "go", at=1),
        tool(3, 1, "transfer_to_writer", "c1", sent, at=3),
        tool(4, 1, "look", "c2", at=3, error="boom"),
    )
    assert [(d["from"], d["to"], d["form"], d["status"]) for d in run["delegations"]] == [
        ("planner", "writer", "handoff", "unknown")
    ]
    assert [c["name"] for c in run["tool_calls"]] == ["look"]


def _words(role, text):
    return {"role": role, "parts": [{"type": "text", "content": text}]}


@pytest.mark.parametrize("told", ["[Handoff from planner] go there", "go elsewhere"])
def test_who_is_handed_over_to_may_be_told_what_the_user_said(told):
    """PraisonAI, of which a client's spans tell, each in a trace of its own."""
    asked = [_words("system", "You plan."), _words("user", "go there")]
    call = {"type": "tool_call", "id": "c1", "name": "transfer_to_writer", "arguments": {"task": "write"}}
    came = {"type": "tool_call_response", "id": "c1", "response": "Handoff successful. writer response: written"}
    back = [*asked, {"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [came]}]
    found = runs(
        chat(1, None, [("c1", "transfer_to_writer", {"task": "write"})], asked, trace=1),
        chat(2, None, "written", [_words("system", "You write."), _words("user", told)], trace=2, at=2),
        chat(3, None, "done", back, trace=3, at=4),
    )
    assert len(found) == (1 if "go there" in told else 2)
    ways = [[(d["to"], d["tool"], d["status"]) for d in run["delegations"] or []] for run in found]
    assert len(found) == 2 or ways == [[("writer", "transfer_to_writer", "ok")]]


def test_the_tools_that_there_are_may_be_told_beside_the_one_that_nobody_has():
    """PraisonAI."""
    told = {"error": "Tool 'look' not found. Available tools: ['dig']", "available_tools": ["dig"]}
    call = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}
    came = {"type": "tool_call_response", "id": "c1", "response": json.dumps(told)}
    back = [_words("user", "go"), {"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [came]}]
    (run,) = runs(chat(1, None, [("c1", "look", {})], "go"), chat(2, None, "done", back, trace=2, at=2))
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("look", "requested")]


_OI = "openinference.instrumentation.langchain"


def _chain(id, parent, name, at, took, given=""):
    told = {"openinference.span.kind": "CHAIN", "input.value": given}
    return span(id, parent, name, at=at, took=took, attributes=told, scope=_OI, status=1)


@pytest.mark.parametrize("given", ["c1", "c0"])
def test_a_call_that_a_step_was_given_may_have_run_though_history_leaves_it_out(given):
    """LangGraph's supervisor, of what was asked for beside a hand-over; the span of the tool was lost."""
    call = {"name": "look", "args": {"x": 1}, "id": given, "type": "tool_call"}
    step = json.dumps({"__type": "tool_call_with_context", "tool_call": call, "state": {"messages": [{"id": "c1"}]}})
    back = [
        _words("user", "go"),
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c2", "name": "dig", "arguments": {}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c2", "response": "dug"}]},
    ]
    (run,) = runs(
        agent(1, "planner", took=20),
        _chain(2, 1, "agent", 0, 3),
        chat(3, 2, [("c1", "look", {"x": 1}), ("c2", "dig", {})], "go", at=1),
        _chain(5, 1, "tools", 4, 1, step),
        _chain(6, 1, "tools", 4, 2),
        tool(7, 6, "dig", "c2", "dug", at=4),
        _chain(8, 1, "agent", 7, 3),
        chat(9, 8, "done", back, at=8),
    )
    assert [c["status"] for c in run["tool_calls"] if c["name"] == "look"] == [
        "unknown" if given == "c1" else "requested"
    ]


def test_a_node_of_the_agents_name_took_over_though_its_model_call_was_lost():
    """LangGraph's supervisor sends its state with the hand-over."""
    sent = '{"graph": "__parent__", "goto": ["Send(node=\'writer\', arg={})"]}'
    (run,) = runs(
        agent(1, "planner", took=20),
        chat(2, 1, [("c1", "transfer_to_writer", {})], "go", at=1),
        tool(3, 1, "transfer_to_writer", "c1", sent, at=3),
        _chain(4, 1, "writer", 5, 3),
        chat(6, 1, "done", "go", at=9),
    )
    assert [(d["from"], d["to"], d["form"]) for d in run["delegations"]] == [("planner", "writer", "handoff")]
    assert run["tool_calls"] == []


def _rail(id, parent, name, at, took=1, scope="nemo-guardrails", **more):
    return span(id, parent, name, at=at, took=took, scope=scope, **more)


def _asked(id, parent, at, model="gpt-4o", task="chat", scope="nemo-guardrails", **told):
    told = {"gen_ai.operation.name": task, "gen_ai.request.model": model, "gen_ai.usage.input_tokens": 10 * id} | told
    return _rail(id, parent, f"{task} {model}", at, scope=scope, kind=3, attributes=told)


def _words_of(heard, said):
    return {"gen_ai.input.messages": [_words("user", heard)], "gen_ai.output.messages": [_words("assistant", said)]}


@pytest.mark.parametrize("lost", [None, 1, 3])
def test_what_rails_ask_a_model_was_not_asked_by_the_user(lost):
    """NeMo Guardrails 0.24."""
    asked = {"guardrails.request.input": '[{"role": "user", "content": "go"}]', "guardrails.request.output": "No."}
    spans = [
        _rail(1, None, "guardrails.request", 0, 9, attributes=asked | {"gen_ai.operation.name": "guardrails"}),
        _rail(2, 1, "guardrails.rail", 1, 2, attributes={"rail.type": "Input"}),
        _rail(3, 2, "guardrails.action", 1, 2),
        _asked(4, 3, 1, **_words_of("Is this bad: go", "no")),
        _asked(5, 1, 3, **_words_of("go", "gone")),
        _rail(6, 1, "guardrails.rail", 5, 2, attributes={"rail.type": "Output", "rail.stop": True}),
        _asked(7, 6, 5, **_words_of("Is this bad: gone", "yes")),
    ]
    (run,) = runs(*(one for one in spans if one["id"] != lost))
    told = (None, None) if lost == 1 else ("go", "No.")
    assert (run["input"], run["output"], run["status"]) == (*told, "unknown" if lost == 1 else "ok")
    assert sorted(c["input_tokens"] for c in run["llm_calls"]) == [40, 50, 70]


def test_rails_tell_models_by_the_names_of_tasks_and_words_by_events():
    """NeMo Guardrails 0.24, whose older engine tells of a request once it is done."""
    ours = {"scope": "nemo_guardrails"}
    said = [("guardrails.user_message", {"content": "go"}), ("guardrails.utterance.bot.started", {"content": "gone"})]
    (run,) = runs(
        _rail(1, None, "guardrails.request", 0, 9, events=said, **ours),
        _rail(2, 1, "guardrails.rail", 1, 2, attributes={"rail.type": "input"}, **ours),
        _asked(3, 2, 1, task="self_check_input", **ours),
        _rail(4, 1, "guardrails.rail", 3, 2, attributes={"rail.type": "generation"}, **ours),
        _asked(5, 4, 3, task="general", **ours),
        _asked(6, 4, 4, task="general", **ours, **{"llm.cache.hit": True}),
    )
    assert (run["input"], run["output"]) == ("go", "gone")
    assert [c["input_tokens"] for c in run["llm_calls"]] == [30, 50]


def _step(id, name, at, took, put_out, kind="CHAIN", **more):
    told = {"openinference.span.kind": kind, "output.value": put_out} | more
    scope = "openinference.instrumentation.llama_index"
    return span(id, 1, f"AgentWorkflow.{name}", at=at, took=took, scope=scope, status=1, attributes=told)


def test_a_step_that_sets_an_agent_up_names_it_where_the_one_that_chose_it_was_cut():
    """LlamaIndex under OpenInference, with values cut."""
    given = {"llm.token_count.prompt": 10, "llm.output_messages.0.message.role": "assistant"}
    (run,) = runs(
        _step(1, "run", 0, 20, "done") | {"parent": None},
        _step(2, "init_run", 0, 1, "AgentInput(input=[1 items], current_agent_name='planner')"),
        _step(3, "run_agent_step", 2, 1, "AgentOutput(", "LLM", **given),
        _step(4, "aggregate_tool_results", 4, 1, "AgentInput(input=[ChatMessage(role=<Mess"),
        _step(5, "setup_agent", 6, 1, "AgentSetup(input=[4 items], current_agent_name='writer')"),
        _step(6, "run_agent_step", 8, 1, "AgentOutput(", "LLM", **given),
    )
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "writer"]


def test_a_graphs_first_steps_hand_on_what_was_asked_and_who_comes_next():
    """LangGraph's swarm under Traceloop, whose only model call was lost."""
    given = {"traceloop.entity.input": '{"inputs": {"messages": [{"role": "user", "content": "go"}]}, "tags": []}'}
    start = {"traceloop.entity.output": '{"outputs": {"messages": [{"role": "user", "content": "go"}]}}'}
    (run,) = runs(
        agent(1, "team", took=9, error="failed", scope="opentelemetry.instrumentation.langchain"),
        _task(2, 1, "__start__", 0, given | start),
        _task(3, 2, "route", 0, given | {"traceloop.entity.output": '{"outputs": "planner"}'}),
        agent(4, "planner", 1, at=1, took=5, error="failed", scope="opentelemetry.instrumentation.langchain"),
    )
    assert (run["status"], run["output"]) == ("error", None)


def _task(id, parent, name, at, told):
    told = {"traceloop.span.kind": "task", "traceloop.entity.name": name} | told
    return span(id, parent, f"{name}.task", at=at, attributes=told, scope="opentelemetry.instrumentation.langchain")


_SWARM = "\n\nOther agents available for collaboration:\nAgent name: writer.\n"


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("Context:\nUser Request: go\nnow" + _SWARM, "go\nnow"),
        ("Context:\nHandoff Message: write\n\nUser Request: go" + _SWARM, "go"),
        ("Context:\nUser Request: Multi-modal task" + _SWARM, None),
        ("Context:\nUser Request: go, for", None),
    ],
)
def test_a_swarm_of_strands_frames_the_words_of_the_user(told, asked):
    """What frames it has not come."""
    scope = {"scope": "strands.telemetry.tracer"}
    words = [{"role": "user", "parts": [{"type": "text", "content": told}]}]
    (run,) = runs(
        agent(2, "planner", 1, took=9, status=1, attributes={"gen_ai.input.messages": words}, **scope),
        chat(3, 2, "done", words, at=1, **scope),
    )
    assert run["input"] == asked


def test_an_agent_of_a_swarm_that_ended_well_had_asked_its_model_again():
    """Strands tells nothing of how a swarm ended; the call that answered was lost."""
    scope = {"scope": "strands.telemetry.tracer"}
    (run,) = runs(
        span(1, None, "invoke_swarm", took=9, attributes={"gen_ai.operation.name": "invoke_swarm"}, **scope),
        agent(2, "planner", 1, took=9, status=1, **scope),
        chat(3, 2, at=1, error="too many requests", **scope),
    )
    assert run["status"] == "unknown"


def test_an_agent_of_agnos_that_failed_put_out_no_answer():
    """The call that failed was lost."""
    told = {"openinference.span.kind": "AGENT", "agent.name": "planner", "output.value": "server failed"}
    scope = {"scope": "openinference.instrumentation.agno"}
    (run,) = runs(
        span(1, None, "planner.arun", took=9, attributes=told, error="run status: error", **scope),
        chat(2, 1, [("c1", "look", {})], "go", at=1, **scope),
        tool(3, 1, "look", "c1", "seen", at=3, **scope),
    )
    assert (run["status"], run["output"]) == ("error", None)


def test_what_a_step_put_out_that_lies_in_one_that_failed_is_no_answer():
    """Haystack 3.4 under OpenInference, of an agent that a tool of another asked, of which nothing else is told."""
    spans = [
        _chain(1, None, "Pipeline.run", 0, 9) | {"error": "failed", "status": None},
        _chain(2, 1, "Agent.run", 1, 7) | {"error": "failed", "status": None},
        _chain(3, 2, "Agent.run", 2, 3, "write"),
    ]
    spans[2]["attributes"]["output.value"] = "written"
    (run,) = runs(*(one | {"scope": "openinference.instrumentation.haystack"} for one in spans))
    assert (run["status"], run["output"]) == ("error", None)


def test_what_an_agent_of_smolagents_hands_in_is_its_answer_though_who_called_it_has_not_come():
    """The model call that asked for that was lost."""
    scope = {"scope": "openinference.instrumentation.smolagents"}
    told = {"openinference.span.kind": "AGENT", "output.value": "done", "agent.name": "planner"}
    gave = {"openinference.span.kind": "TOOL", "tool.name": "final_answer", "output.value": "done"}
    (run,) = runs(
        span(1, 9, "planner.run", took=20, attributes=told, status=1, **scope),
        _chain(2, 1, "Step 1", 1, 4) | {"error": "Unknown tool nosuch, should be one of: look", "status": None} | scope,
        chat(3, 2, [("c1", "nosuch", {})], "go", at=1, **scope),
        _chain(4, 1, "Step 2", 6, 4) | scope,
        span(5, 4, "FinalAnswerTool", at=7, attributes=gave, status=1, **scope),
    )
    assert run["status"] != "error"
    assert run["output"] == "done"


def test_who_handed_in_an_answer_since_had_asked_a_model_again():
    """BeeAI, whose frame was lost with the calls that it tells as one."""
    gave = {"openinference.span.kind": "TOOL", "tool.name": "final_answer", "output.value": "Message has been sent"}
    scope = {"scope": "openinference.instrumentation.beeai"}
    (run,) = runs(
        chat(2, 1, at=1, took=4, error="failed", **scope),
        span(3, 1, "final_answer", at=3, attributes=gave, status=1, **scope),
    )
    assert run["status"] == "unknown"


def test_what_a_tool_threw_may_have_ended_a_run_whose_frame_was_lost():
    (run,) = runs(
        chat(2, 1, [("c1", "look", {})], "go", at=1, scope="pydantic-ai"),
        tool(3, 1, "look", "c1", at=3, error="boom", scope="pydantic-ai"),
    )
    assert (run["status"], "error" in run["boundaries_unknown"]) == ("unknown", True)


@pytest.mark.parametrize("asked", [True, False])
def test_what_a_tool_threw_beside_an_agent_that_spoke_since_may_have_ended_the_run_too(asked):
    """Langroid, its tools and agents told by decorators of OpenInference's; Pydantic AI on DBOS."""
    calls = [("c1", "dig", {}), ("c2", "ask_writer", {})]
    (run,) = runs(
        chat(2, 1, calls if asked else [("c0", "look", {})], "go", at=1),
        tool(3, 1, "dig", "c1", at=3, error="boom"),
        tool(4, 1, "ask_writer", "c2", "done", at=3, took=9),
        agent(5, "writer", 4, at=4, took=7),
        chat(6, 5, "done", "write", at=5),
    )
    assert (run["status"], "error" in run["boundaries_unknown"]) == ("unknown", True)


@pytest.mark.parametrize(("other", "status"), [({"func": "Rainy."}, "unknown"), ("Rainy.", "ok")])
def test_bare_words_beside_what_upsonic_frames_may_be_what_a_function_raised(other, status):
    """Upsonic 0.77, of which a client's instrumentation alone tells; it says what an answer wrongly asked for."""
    calls = [("c1", "rain", {}), ("c2", "weather", {}), ("c3", "weather", {})]
    said = "Missing required argument(s) for 'weather': city. This usually means"
    gave = {"c1": json.dumps(other), "c2": "no such city", "c3": said}
    parts = [[{"type": "tool_call_response", "id": call, "result": text}] for call, text in gave.items()]
    heard = [{"role": "tool", "parts": some} for some in parts]
    (run,) = runs(
        span(1, None, "job", took=9),
        chat(2, 1, calls, "Weather?", at=1),
        chat(3, 1, "Sunny.", [{"role": "user", "parts": [{"type": "text", "content": "Weather?"}]}, *heard], at=5),
    )
    assert [c["status"] for c in run["tool_calls"]] == ["ok", status, "error"]


@pytest.mark.parametrize("back", [True, False])
def test_a_run_whose_tools_are_not_told_may_have_failed_at_them_though_another_answered_since(back):
    """Inspect AI, of which a client's instrumentation alone tells; its frame is the program's, and never fails."""
    calls = [("c1", "writer", {"task": "write it"}), ("c2", "dig", {})]
    parts = [{"type": "tool_call", "id": call, "name": name, "arguments": x} for call, name, x in calls]
    gave = [{"type": "tool_call_response", "id": call, "result": "fine"} for call in ("c1", "c2")]
    heard = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    heard += [{"role": "assistant", "parts": parts}, *({"role": "tool", "parts": [part]} for part in gave)]
    (run,) = runs(
        span(1, None, "job", took=20),
        chat(2, 1, calls, "go", at=1),
        chat(3, 1, "written", "write it", at=3),
        *([chat(4, 1, "done", heard, at=5)] if back else []),
    )
    assert (run["status"], run["output"]) == (("ok", "done") if back else ("unknown", None))


@pytest.mark.parametrize("lost", [True, False])
def test_what_a_history_tells_that_a_tool_was_given_is_no_word_of_the_users(lost):
    """Langroid under a client's instrumentation, whose agents are not named: two are called, and the first step of who
    called them is lost."""
    first, then = ("c1", "ask_writer", {"task": "write it"}), ("c2", "ask_finder", {"task": "find it"})
    given = {"type": "tool_call", "id": "c1", "name": "ask_writer", "arguments": first[2]}
    heard = [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": [given]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": "written"}]},
    ]
    (run,) = runs(
        span(1, None, "job", took=20, error="boom"),
        *([] if lost else [chat(2, 1, [first], "go", at=1)]),
        chat(3, 1, "written", "write it", at=3),
        chat(4, 1, [then], heard, at=5),
        chat(5, 1, "found", "find it", at=7),
    )
    assert run["input"] == (None if lost else "go")


def test_what_a_method_of_a_flow_is_given_that_listens_to_another_is_no_word_of_the_users():
    """CrewAI under OpenInference, whose listener ends the flow's own span late."""
    scope = {"scope": "openinference.instrumentation.crewai._event_listener"}
    told = {"openinference.span.kind": "CHAIN", "flow.node.type": "listen", "input.value": '{"_0": "x"}'}
    (run,) = runs(
        span(2, 1, "F.work", took=9, attributes=told | {"output.value": "done"}, **scope),
        agent(3, "planner", 2, at=1, took=7, **scope),
        chat(4, 3, "done", "go", at=2, **scope),
    )
    assert (run["input"], run["output"]) == ("go", "done")


def test_a_tool_of_one_agent_was_not_asked_for_by_another_by_other_ids_and_words():
    """ADK under OpenInference, whose frame of an agent tells its last model call alone; the span of the tool of the
    agent that it called was lost."""
    given = {"gen_ai.tool.call.arguments": '{"x": "p"}'}
    (run,) = runs(
        agent(1, "planner", took=20),
        tool(2, 1, "ask_writer", "c1", "written", at=1, took=9),
        agent(3, "writer", 2, at=2, took=7),
        chat(4, 3, [("c2", "look", {"x": "w"})], "write", at=3),
        chat(5, 3, "written", "write", at=6),
        tool(6, 1, "look", "c3", "seen p", at=12, attributes=given),
    )
    told = {c["call_id"]: (c["agent"], c["result"]) for c in run["tool_calls"]}
    assert told == {"c2": ("writer", None), "c3": ("planner", "seen p")}


def test_a_team_whose_model_asked_for_more_since_a_member_ended_did_not_end_with_that():
    """Agno under OpenInference, of a stream that nobody read to its end."""
    told = {"openinference.span.kind": "AGENT", "output.value": "written"}
    scope = {"scope": "openinference.instrumentation.agno"}
    (run,) = runs(
        span(1, None, "planner.arun", took=20, attributes=told | {"agent.name": "planner"}, status=1, **scope),
        chat(2, 1, [("c1", "delegate_task_to_member", {"member_id": "writer"})], "go", at=1, **scope),
        span(3, 1, "writer.arun", at=3, took=4, attributes=told | {"agent.name": "writer"}, status=1, **scope),
        chat(4, 3, "written", "write", at=4, **scope),
        chat(5, 1, [("c2", "look", {})], "go", at=9, **scope),
        tool(6, 1, "look", "c2", at=11, error="boom", **scope),
    )
    assert (run["output"], run["status"] == "ok") == (None, False)


@pytest.mark.parametrize("ended", [False, True])
def test_a_stream_that_is_not_told_to_have_ended_may_have_broken_its_agent(ended):
    """Pydantic AI 2.68."""
    said = {"gen_ai.output.messages": [_words("assistant", "Half a")]}
    said |= {"gen_ai.response.finish_reasons": ["stop"]} if ended else {}
    answer = chat(2, 1, None, "go", at=1, scope="pydantic-ai", attributes=said)
    for key in ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"):
        del answer["attributes"][key]
    failed = agent(1, "planner", took=9, error="Connection error.", scope="pydantic-ai")
    (run,) = runs(failed, answer)
    assert [c["status"] for c in run["llm_calls"]] == ["ok" if ended else "unknown"]
    assert run["status"] == "error"


def test_a_loop_that_failed_and_tells_no_tool_may_have_met_its_limit():
    """DSPy's ReAct under OpenInference; the span of the tool was lost."""
    asks = "[[ ## next_tool_name ## ]]\nlook\n\n[[ ## next_tool_args ## ]]\n{}\n\n[[ ## completed ## ]]"
    scope, broken = {"scope": "openinference.instrumentation.dspy"}, {"error": "failed", "status": None}
    (run,) = runs(
        _chain(1, None, "ReAct.forward", 0, 20) | scope | broken,
        _chain(2, 1, "Predict.forward", 1, 5) | scope,
        chat(3, 2, asks, "go", at=2, **scope),
        _chain(4, 1, "Predict.forward", 9, 5) | scope | broken,
        chat(5, 4, at=10, error="failed", **scope),
    )
    assert run["boundaries"] == ["error"]
    assert "max_steps" in run["boundaries_unknown"]


@pytest.mark.parametrize("failed", [True, False])
def test_what_was_asked_for_before_what_ran_may_have_run_in_a_team_that_broke_beside_it(failed):
    """Microsoft's Agent Framework, of whose agents at work at once another failed; the span of the tool was lost."""
    (run,) = runs(
        agent(1, "team", took=20, error="failed" if failed else None),
        agent(2, "writer", 1, at=1, took=15),
        chat(3, 2, [("c1", "look", {"x": 1}), ("c2", "look", {"x": 2})], "go", at=2),
        tool(4, 2, "look", "c2", "seen", at=4),
        agent(5, "planner", 1, at=1, took=9, error="failed" if failed else None),
        chat(6, 5, None if failed else "done", "go", at=8, error="failed" if failed else None),
    )
    status = {c["call_id"]: c["status"] for c in run["tool_calls"]}
    assert status["c2"] == "ok"
    assert (status["c1"] == "requested") == (not failed)
