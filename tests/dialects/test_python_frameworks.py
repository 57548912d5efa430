"""What frameworks of agents for Python tell of themselves, and what instrumentations tell of them."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span, tool

pytestmark = pytest.mark.full


def _chain(id, parent, name, **more):
    return span(id, parent, name, **{"attributes": {"openinference.span.kind": "CHAIN"}} | more)


def _kind(kind, **told):
    return {"openinference.span.kind": kind} | told


def _answer(*parts):
    said = [{"role": "assistant", "parts": [{"type": "text", "content": t}], "finish_reason": why} for t, why in parts]
    return {"gen_ai.output.messages": said}


def test_the_tasks_of_a_crew_hand_nothing_over():
    def task(id, name, before, at):
        told = _kind("AGENT", **{"graph.node.id": name} | ({"graph.node.parent_id": before} if before else {}))
        scope = "openinference.instrumentation.crewai"
        return span(id, 1, f"{name}._execute_core", at=at, took=5, scope=scope, attributes=told)

    (run,) = runs(
        _chain(1, None, "Crew.kickoff", took=20),
        task(2, "researcher", None, 1),
        chat(3, 2, "facts", "find", at=2),
        task(4, "writer", "researcher", 8),
        chat(5, 4, "an essay", "write", at=9),
    )
    assert (run["agents"], run["delegations"]) == (["researcher", "writer"], [])


@pytest.mark.parametrize(
    "prompt",
    [
        "\nCurrent Task: Where is order 7?",
        "\nCurrent Task: Where is order 7?\n\nBegin! This is VERY important to you!\n\nThought:",
        "\nCurrent Task: Where is order 7?\n\nThis is the expected criteria for your final answer: answer\nyou MUST",
        "Where is order 7?\n\nThis is the expected criteria for your final answer: answer\nyou MUST",
    ],
)
def test_what_crewai_wraps_around_a_task_is_not_the_users(prompt):
    (run,) = runs(agent(1, "planner", took=9), chat(2, 1, "Shipped.", prompt, at=1))
    assert run["input"] == "Where is order 7?"
    (run,) = runs(
        span(1, None, "planner.execute", took=9, attributes=_kind("AGENT", **{"input.value": prompt})),
        chat(2, 1, "Shipped.", at=1),
    )
    assert run["input"] == "Where is order 7?"


def test_a_user_who_speaks_of_the_current_task_is_left_to_it():
    (run,) = runs(agent(1, "planner", took=9), chat(2, 1, "None.", "Current Task: which is it?", at=1))
    assert run["input"] == "Current Task: which is it?"


def test_a_step_after_an_answer_was_not_given_the_users_words():
    asked = _kind("AGENT", **{"input.value": "Where is order 7?"})
    (run,) = runs(
        _chain(1, None, "Flow.kickoff", took=20),
        _chain(2, 1, "Flow.begin", at=1, took=9),
        span(3, 2, "planner.execute", at=2, took=7, attributes=asked),
        chat(4, 3, "Shipped.", at=3),
        _chain(5, 1, "Flow.then", at=12, attributes=_kind("CHAIN", **{"input.value": '{"_0": "Shipped."}'})),
    )
    assert run["input"] == "Where is order 7?"


def test_ways_to_a_coworker_are_no_tools_whoever_spells_them():
    offered = [{"type": "function", "name": n} for n in ("lookup", "Delegate work to coworker")]
    flat = {"llm.request.functions.0.name": "ask_question_to_coworker", "llm.request.functions.1.name": "lookup"}
    (run,) = runs(
        agent(1, "planner", took=9, attributes={"gen_ai.tool.definitions": offered}),
        chat(2, 1, "Shipped.", "go", at=1, attributes=flat),
    )
    assert run["known_tools"] == ["lookup"]
    (run,) = runs(
        agent(1, "planner", took=9, attributes={"gen_ai.tool.definitions": offered[1:]}), chat(2, 1, "x", "go", at=1)
    )
    assert run["known_tools"] is None


def test_what_a_delegate_without_spans_asked_for_is_its_own_and_may_have_run():
    names = {"gen_ai.response.finish_reasons": ["tool_calls"]}

    def asking(call, name, arguments):
        told = {"gen_ai.tool.name": name, "gen_ai.tool.call.id": call, "gen_ai.tool.args": arguments}
        return {"attributes": names | told}

    way = '{"task": "find", "coworker": "worker"}'
    (run,) = runs(
        agent(1, "planner", took=20),
        chat(2, 1, at=1, **asking("c1", "delegate_work_to_coworker", way)),
        tool(3, 1, "Delegate work to coworker", at=3, took=9),
        chat(4, 3, at=4, **asking("c2", "lookup", '{"order": "7"}')),
        chat(5, 3, at=8, attributes={"gen_ai.response.finish_reasons": ["stop"]}),
        chat(6, 1, at=14, attributes={"gen_ai.response.finish_reasons": ["stop"]}),
    )
    assert [(c["name"], c["agent"], c["status"]) for c in run["tool_calls"]] == [("lookup", "worker", "unknown")]
    assert [c["agent"] for c in run["llm_calls"]] == ["planner", "worker", "worker", "planner"]


ADK = {"scope": "gcp.vertex.agent"}


def test_a_streamed_answer_told_piece_by_piece_is_one_text():
    pieces = _answer(("Order 7 shipp", ""), ("ed.", "stop"))
    (run,) = runs(agent(1, "planner", took=9, **ADK), chat(2, 1, None, "go", at=1, attributes=pieces, **ADK))
    assert run["output"] == "Order 7 shipped."
    whole = _answer(("One.", "stop"), ("Two.", "stop"))
    (run,) = runs(agent(1, "planner", took=9, **ADK), chat(2, 1, None, "go", at=1, attributes=whole, **ADK))
    assert run["output"] == "Two."


@pytest.mark.parametrize(
    ("scope", "calls"), [("gcp.vertex.agent", []), ("opentelemetry.instrumentation.vertexai", None)]
)
def test_that_gemini_stopped_says_no_tool_was_called_where_tools_would_have_spans(scope, calls):
    stopped = {"gen_ai.response.finish_reasons": ["stop"], "gen_ai.request.model": "gemini-2.5-flash"}
    (run,) = runs(agent(1, "planner", took=9, scope=scope), chat(2, 1, at=1, attributes=stopped, scope=scope))
    assert run["tool_calls"] == calls


@pytest.mark.parametrize(
    ("name", "limited"), [("exit_loop", False), ("lookup", True), ("end_date", True), ("Handoff-complete_task", False)]
)
def test_a_run_that_a_tool_ended_by_its_name_did_not_run_out_of_steps(name, limited):
    (run,) = runs(
        agent(1, "looper", took=9),
        chat(2, 1, [("c0", "look", {})], "go", at=1),
        tool(3, 1, "look", "c0", "seen", at=3),
        chat(4, 1, [("c1", name, {})], "go", at=5),
        tool(5, 1, name, "c1", '{"result": null}', at=7.5),
    )
    assert ("max_steps" in run["boundaries"]) is limited


def test_a_log_record_whose_body_is_json_holds_the_whole_message():
    asked = {"id": "c1", "type": "function", "function": {"name": "w", "arguments": '{"c": "Oslo"}'}}
    answer = {"message": {"role": "assistant", "tool_calls": [asked]}, "finish_reason": "tool_calls"}
    told = [("gen_ai.user.message", {"role": "user", "content": "Oslo?"}), ("gen_ai.choice", answer)]
    events = [(name, {"body": json.dumps(body)}) for name, body in told]
    (run,) = runs(agent(1, "planner", took=9), chat(2, 1, at=1, events=events), tool(3, 1, "w", "c1", "4", at=3))
    assert [(c["arguments"], c["result"], c["turn"]) for c in run["tool_calls"]] == [({"c": "Oslo"}, "4", 0)]
    assert run["input"] == "Oslo?"


def test_the_id_of_the_answer_before_is_no_conversations():
    def asked(of):
        return runs(agent(1, "planner", took=9, gen_ai__conversation__id=of), chat(2, 1, "Hi.", "Hi", at=1))[0]

    assert asked("resp_19")["conversation_id"] is None
    assert asked("conv_19")["conversation_id"] == "conv_19"


def _team(*first):
    offered = {"gen_ai.tool.definitions": [{"type": "function", "name": "handoff_to_worker"}]}
    back = {"gen_ai.tool.definitions": [{"type": "function", "name": n} for n in ("lookup", "handoff_to_planner")]}
    return runs(
        span(1, None, "workflow.run", took=30, gen_ai__operation__name="invoke_workflow"),
        agent(2, "planner", 1, at=1, took=5, attributes=offered),
        chat(3, 2, *first, at=2, attributes={"gen_ai.response.finish_reasons": ["tool_calls"]}),
        agent(4, "worker", 1, at=8, took=9, attributes=back),
        chat(5, 4, "Shipped.", "go", at=9),
    )[0]


def test_ways_to_the_agents_of_a_run_are_no_tools_taken_or_not():
    assert _team([("c1", "handoff_to_worker", {})], "go")["known_tools"] == ["lookup"]
    (run,) = runs(
        agent(1, "planner", took=9, attributes={"gen_ai.tool.definitions": [{"name": "transfer_to_human"}]}),
        chat(2, 1, "Hi.", "Hi", at=1),
    )
    assert run["known_tools"] == ["transfer_to_human"]


def test_whether_an_agent_handed_over_is_unknown_where_what_it_asked_for_cannot_be_seen():
    assert _team()["delegations"] is None
    assert [(d["from"], d["to"]) for d in _team([("c1", "handoff_to_worker", {})], "go")["delegations"]] == [
        ("planner", "worker")
    ]


def test_mlflow_names_a_tool_of_dspy_behind_its_class():
    def step(id, parent, name, kind, at, took=1, **told):
        told = {f"mlflow.{key}": json.dumps(value) for key, value in ({"spanType": kind} | told).items()}
        return span(id, parent, name, at=at, took=took, attributes=told)

    (run,) = runs(
        step(1, None, "ReAct.forward", "AGENT", 0, 20, spanInputs={"question": "Where?"}),
        step(2, 1, "LM.__call__", "CHAT_MODEL", 1, spanOutputs=["lookup"]),
        step(3, 1, "Tool.lookup", "TOOL", 3, spanInputs={"order": "7"}, spanOutputs="shipped"),
        step(4, 1, "LM.__call__", "CHAT_MODEL", 5, spanOutputs=["finish"]),
        step(5, 1, "Tool.finish", "TOOL", 7, spanInputs={}, spanOutputs="Completed."),
        step(6, 1, "LM.__call__", "CHAT_MODEL", 9, spanOutputs=["Shipped."]),
    )
    assert [(c["name"], c["arguments"], c["result"]) for c in run["tool_calls"]] == [
        ("lookup", {"order": "7"}, "shipped")
    ]


@pytest.mark.parametrize("summed_up", [True, False])
def test_a_loop_of_dspys_that_something_broke_off_after_a_tool_met_no_limit(summed_up):
    """Where it goes on to sum up, it had met its limit before that failed."""

    def step(id, parent, name, kind, at=0.0, took=1.0, **told):
        told = {"openinference.span.kind": kind} | {key.replace("_", "."): value for key, value in told.items()}
        return span(id, parent, name, at=at, took=took, scope="openinference.instrumentation.dspy", attributes=told)

    broken = {"error": "TypeError"}
    (run,) = runs(
        step(1, None, "ReAct.forward", "CHAIN", 0, 20, input_value='{"question": "Where?"}') | broken,
        step(2, 1, "Predict.forward", "CHAIN", 1),
        step(3, 2, "LM.__call__", "LLM", 1, llm_model_name="m"),
        step(4, 1, "look.__call__", "TOOL", 3, input_value='{"kwargs": {"q": "x"}}', output_value='"y"'),
        *([step(5, 1, "ChainOfThought.forward", "CHAIN", 5) | broken] if summed_up else ()),
    )
    assert ("max_steps" in run["boundaries"], run["status"]) == (summed_up, "error")


def test_what_smolagents_writes_before_a_task_is_not_the_users():
    told = {"openinference.span.kind": "LLM", "llm.input_messages.0.message.role": "user"}
    told["llm.input_messages.0.message.content"] = "New task:\nOslo?"

    def asked(scope):
        (run,) = runs(span(2, 1, "OpenAIModel.generate", attributes=told, scope=scope, error="500"))
        return run["input"]

    assert asked("openinference.instrumentation.smolagents") == "Oslo?"
    assert asked("openinference.instrumentation.openai") == "New task:\nOslo?"


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Thought: I know it.\nAnswer: Cold.", "Cold."),
        ("Thought: of it.\nNo Answer: none", "Thought: of it.\nNo Answer: none"),
        ("Answer: Cold.", "Answer: Cold."),
    ],
)
def test_the_answer_of_llama_indexs_react_is_what_follows_its_thought(said, answer):
    (run,) = runs(agent(1, "planner", took=9), chat(2, 1, said, "Oslo?", at=1))
    assert run["output"] == answer


def test_runs_after_one_of_smolagents_that_raised_are_runs_of_their_own():
    scope = "openinference.instrumentation.smolagents"

    def run(id, parent, at, asked):
        told = _kind("AGENT", **{"input.value": asked, "output.value": "Done."})
        return [
            span(id, parent, "helper.run", at=at, took=5, scope=scope, status=1, attributes=told),
            _chain(id + 1, id, "Step 1", at=at, took=4, scope=scope),
            chat(id + 2, id + 1, "Done.", asked, at=at + 1, scope=scope),
        ]

    def raised(id, parent, at):
        failed = chat(id + 1, id, asked="go", at=at, scope=scope) | {"error": "boom"}
        return [_chain(id, parent, "Step 1", at=at, scope=scope, error="AgentGenerationError: boom"), failed]

    found = runs(
        *raised(10, 9, 0), *run(20, 9, 2, "one"), *run(30, 9, 10, "two"), *raised(40, 39, 20), *run(50, 39, 30, "three")
    )
    assert [(r["input"], r["status"], len(r["llm_calls"])) for r in found] == [
        ("go", "error", 1),
        ("one", "ok", 1),
        ("two", "ok", 1),
        ("go", "error", 1),
        ("three", "ok", 1),
    ]
    assert ["missing parent" in r["incomplete"] for r in found] == [True, False, False, True, False]
    step = _chain(10, 9, "Step 1", scope=scope, error="AgentGenerationError: boom")
    assert [r["input"] for r in runs(step, *run(20, 9, 2, "one"), *run(30, 9, 10, "two"))] == ["one", "two"]
    assert len(runs(*run(20, 9, 2, "one"), *run(30, 9, 10, "two"))) == 2  # a step would have asked a model before


@pytest.mark.parametrize("ran", [True, False])
def test_traceloop_says_of_a_run_that_asked_for_nobodys_tool_that_it_went_well(ran):
    scope = "opentelemetry.instrumentation.openai_agents"
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 2}
    told["gen_ai.response.finish_reasons"] = ["tool_call"]
    stop = [tool(4, 2, "look", at=3, status=1, scope=scope)] if ran else []
    (run,) = runs(
        span(1, None, "Agent Workflow", took=9, status=1, scope=scope, traceloop__span__kind="workflow"),
        agent(2, "planner", 1, took=8, status=1, scope=scope),
        span(3, 2, "openai.response", at=1, status=1, scope=scope, attributes=told),
        *stop,
    )
    assert run["status"] == ("ok" if ran else "unknown")
    assert ("error" in run["boundaries_unknown"]) is not ran


def _agno(id, trace, name, kind, at, took, parent=None, **told):
    scope = "opentelemetry.instrumentation.agno"
    made = {"traceloop.span.kind": kind} | told
    return span(id, parent, f"{name}.{kind}", trace=trace, at=at, took=took, scope=scope, status=1, attributes=made)


def test_a_team_of_agno_is_the_agent_that_hands_work_to_its_members():
    given = {"traceloop.entity.input": json.dumps({"member_id": "worker", "task": "look at Oslo"})}
    (run,) = runs(
        _agno(1, 1, "boss", "workflow", 0, 20, **{"agno.team.name": "boss"}),
        _agno(2, 1, "delegate", "tool", 3, 9, 1, **given | {"gen_ai.tool.name": "delegate_task_to_member"}),
        _agno(3, 1, "worker", "agent", 4, 7, 2, **{"gen_ai.agent.name": "worker"}),
    )
    assert run["agents"] == ["boss", "worker"]
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [
        ("boss", "worker", "delegate_task_to_member")
    ]


def test_what_began_before_an_agent_is_not_its_work_and_a_tool_alone_was_asked_by_no_user():
    given = {"traceloop.entity.input": json.dumps({"member_id": "worker", "task": "look at Oslo"})}
    given |= {"gen_ai.tool.name": "delegate_task_to_member", "traceloop.entity.output": "handed on"}
    team, tool_alone, member = runs(
        _agno(1, 1, "boss", "workflow", 0, 0.1, **{"agno.team.name": "boss", "traceloop.entity.input": "go"}),
        _agno(2, 2, "delegate", "tool", 3.0001, 0.0002, **given),
        _agno(3, 3, "worker", "agent", 3.0005, 7, **{"gen_ai.agent.name": "worker"}),
    )
    assert (team["agents"], team["delegations"], team["tool_calls"]) == (["boss"], None, None)
    assert [(d["from"], d["to"], d["tool"]) for d in tool_alone["delegations"]] == [
        (None, "worker", "delegate_task_to_member")
    ]
    assert (tool_alone["input"], tool_alone["output"]) == (None, None)
    assert member["agents"] == ["worker"]
