"""Vendors and kits for Python by what their spans told of runs against a model of ours: shortened, as they send it."""

import json

import pytest

from tests.runs.requests import agent, chat, runs, span

pytestmark = pytest.mark.full


def _called(run):
    return [(c["name"], c["arguments"], c["status"], c["result"], c["call_id"]) for c in run["tool_calls"]]


def _typed(kind, value):
    return json.dumps({"type": kind, "value": value})


def _langwatch(id, parent, name, kind, at, took=1, given=None, came=None):
    told = {"langwatch.span.type": kind, "langwatch.input": given, "langwatch.output": came}
    told = {key: value for key, value in told.items() if value is not None}
    return span(id, parent, name, at=at, took=took, scope="langwatch", attributes=told)


@pytest.mark.parametrize(
    ("framed", "status", "call_id"),
    [("error", "error", "call_7Q"), ("success", "ok", "call_7Q"), (None, "unknown", None)],
)
def test_what_is_left_of_a_message_of_langchains_is_its_text_and_its_node_tells_how_it_went(framed, status, call_id):
    """LangWatch 1.4, its callback for LangChain: the answer's calls, the message's status and its id are left out."""

    def step(at, said, *before):
        asked = _typed("chat_messages", [{"role": "user", "content": "go"}, *before])
        return _langwatch(at + 2, 1, "llm", "llm", at, 1, asked, _typed("chat_messages", [said]))

    back = {"content": "no such city", "name": "look", "tool_call_id": "call_7Q", "status": framed}
    frame = _typed("json", {"messages": [back]}) if framed else None
    said = [{"role": "unknown", "content": "no such city"}]
    (run,) = runs(
        _langwatch(1, None, "planner", "chain", 0, 9),
        step(1, {"role": "assistant", "content": ""}),
        _langwatch(4, 1, "tools", "chain", 3, 1, None, frame),
        _langwatch(5, 4, "look", "tool", 3.2, 0.5, _typed("text", "{'at': 'x'}"), _typed("chat_messages", said)),
        step(5, {"role": "assistant", "content": "no"}, {"role": "assistant", "content": ""}, *said),
    )
    assert _called(run) == [("look", {"at": "x"}, status, "no such city", call_id)]


def _agentops(id, parent, name, kind=None, **more):
    told = {"instrumentation.name": "agentops"} | ({"agentops.span.kind": kind} if kind else {})
    told |= more.pop("told", {})
    return span(id, parent, name, scope="openai-agents", version="0.24.0", status=1, attributes=told, **more)


def _response(id, parent, at, asked, said, call=None):
    flat = {f"gen_ai.prompt.{n}.{key}": value for n, told in enumerate(asked) for key, value in told.items()}
    flat |= {"gen_ai.completion.0.content": said} if said else {}
    flat |= {f"gen_ai.completion.0.tool_calls.0.{key}": value for key, value in (call or {}).items()}
    model = {"gen_ai.request.model": "m-2024-07-18", "gen_ai.response.model": "m-2024-07-18"}
    flat |= model | {"gen_ai.response.id": f"resp_{id}", "gen_ai.usage.completion_tokens": 3}
    return _agentops(id, parent, "response", "llm", at=at, told=flat)


def test_agentops_knows_no_model_that_was_asked_for_and_a_tool_that_waits_for_leave_may_not_have_run():
    """AgentOps 0.4.21, of OpenAI's kit: the tool that needs leave has a span at once, and all spans end well."""
    call = {"id": "fc_1", "type": "function_call", "name": "book", "arguments": '{"at": "x"}'}
    (run,) = runs(
        _agentops(1, None, "Agent workflow", took=9),
        _agentops(2, 1, "planner", "agent", took=9, told={"agent.name": "planner"}),
        _agentops(3, 2, "turn", took=8),
        _response(4, 3, 1, [{"role": "user", "content": "go"}], None, call),
        _agentops(5, 3, "book", "tool", at=3, told={"tool.name": "book", "tool.parameters": '{"at": "x"}'}),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("book", "unknown", None)]
    assert [(c["request_model"], c["response_model"]) for c in run["llm_calls"]] == [(None, "m-2024-07-18")]
    assert run["status"] == "unknown"


def test_an_agent_whose_guard_stopped_it_before_a_model_was_asked_failed_though_its_span_ends_well():
    """AgentOps 0.4.21, of OpenAI's kit: the turn alone tells of the guard, and ends well, too."""
    stopped = {"error.type": "AgentError", "error.message": "Guardrail tripwire triggered"}
    thrown = ("exception", {"exception.type": "Exception", "exception.message": "Guardrail tripwire triggered"})
    (run,) = runs(
        _agentops(1, None, "Agent workflow", took=9),
        _agentops(2, 1, "guarded", "agent", took=9, told={"agent.name": "guarded"}),
        _agentops(3, 2, "turn", took=2, told=stopped, events=[thrown]),
        _agentops(4, 3, "guard", at=1),
    )
    assert (run["status"], run["boundaries"], run["agents"]) == ("error", ["error"], ["guarded"])


@pytest.mark.parametrize(("gave", "status"), [(None, "requested"), ("Tool execution was not approved.", "ok")])
def test_a_tool_whose_span_was_opened_before_it_was_refused_did_not_run(gave, status):
    """Laminar 0.8.2, of OpenAI's kit. What the tool itself gave is its result, whatever it says."""
    refused = "Tool execution was not approved."
    history = [
        {"role": "user", "content": "go"},
        {"type": "function_call", "call_id": "call_7Q", "name": "book", "arguments": '{"at": "x"}'},
    ]
    back = {"type": "function_call_output", "call_id": "call_7Q", "output": refused}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "no"}]}

    def model(id, at, asked, came):
        told = {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps([came])}
        told |= {"lmnr.span.type": "LLM", "gen_ai.response.id": f"resp_{id}"}
        return span(id, 1, "agents.response", at=at, scope="lmnr.tracer", attributes=told)

    given = {"lmnr.span.type": "TOOL", "lmnr.span.input": '{"at": "x"}'} | ({"lmnr.span.output": gave} if gave else {})
    (run,) = runs(
        span(1, None, "planner", took=9, scope="lmnr.tracer", attributes={"lmnr.span.type": "DEFAULT"}),
        model(2, 1, history[:1], history[1]),
        span(3, 1, "book", at=3, scope="lmnr.tracer", attributes=given),
        model(4, 5, [*history, back], said),
    )
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("book", status, refused)]


@pytest.mark.parametrize(
    "given",
    [
        lambda before: ["and now?", before],
        lambda before: {"args": [before, "and now?"], "kwargs": {}},
        lambda before: {"session": "s1", "messages": before, "text": "and now?"},
    ],
)
def test_what_a_user_says_beside_the_history_that_a_function_is_given_is_what_was_asked(given):
    """Functions that a program declares, by their arguments in any order (Braintrust's, Traceloop's, Langfuse's)."""
    before = [{"role": "user", "content": "first"}, {"role": "assistant", "content": "one"}]
    heard = [{"role": x["role"], "parts": [{"type": "text", "content": x["content"]}]} for x in before]
    heard += [{"role": "user", "parts": [{"type": "text", "content": "and now?"}]}]
    told = {"openinference.span.kind": "CHAIN", "input.value": json.dumps(given(before))}
    (run,) = runs(span(1, None, "handle", took=9, attributes=told), chat(2, 1, "two", heard, at=1))
    assert run["input"] == "and now?"


@pytest.mark.parametrize("whole", [True, False])
def test_what_langtrace_leaves_out_of_an_answer_with_words_was_asked_for_all_the_same(whole):
    """Langtrace 3.8: of Anthropic's client the next input tells it, of OpenAI's no more than what came of it."""
    scope = f"langtrace_python_sdk.instrumentation.{'anthropic' if whole else 'openai'}.instrumentation"
    user, says = {"role": "user", "content": "go"}, {"type": "text", "text": "I look."}
    use = {"type": "tool_use", "id": "toolu_7Q", "name": "look", "input": {"at": "x"}}
    back = {"type": "tool_result", "tool_use_id": "toolu_7Q", "content": "seen"}
    history = [{"role": "assistant", "content": [says, use]}, {"role": "user", "content": [back]}]
    if not whole:
        history = [[{"id": "", "type": ""}], {"role": "tool", "tool_call_id": "call_7Q", "content": "seen"}]

    def model(id, at, asked, said):
        came = [{"role": "assistant", "content": said}]
        told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9}
        prompt = ("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps(asked)})
        answer = ("gen_ai.content.completion", {"gen_ai.completion": json.dumps(came)})
        return span(id, 1, "create", at=at, kind=3, status=1, scope=scope, attributes=told, events=[prompt, answer])

    (run,) = runs(
        span(1, None, "planner", took=9),
        model(2, 1, [user], "I look."),
        model(3, 4, [user, *history], "done"),
    )
    if whole:
        assert (
            _called(run) == [("look", {"at": "x"}, "ok", "seen", "toolu_7Q")] or run["tool_calls"][0]["name"] == "look"
        )
    else:
        assert (run["tool_calls"], "tool calls not visible" in run["incomplete"]) == (None, True)


def test_agentops_names_agents_of_crewai_by_their_role_and_their_goal_is_not_what_was_asked():
    """AgentOps 0.4.21, of CrewAI 1.6: every tool that was used is told as a success, with the kit's words on it."""

    def step(id, parent, name, kind, at, took, **told):
        told = {"gen_ai.system": "crewai", "agentops.span.kind": kind} | told
        return span(id, parent, name, at=at, took=took, scope="crewai", status=1, attributes=told)

    def used(id, at, gave):
        told = {"tool.name": "look", "tool.parameters": "{'at': 'x'}", "tool.result": gave, "tool.status": "success"}
        return step(id, 3, "look.tool_usage", "tool.usage", at, 1, **told)

    goal = {"agentops.entity.name": "Agent", "agent.role": "planner", "agentops.entity.input": "help people"}
    task = {"agentops.entity.name": "Task", "agentops.entity.input": "go", "agentops.entity.output": "done"}
    (run,) = runs(
        step(1, None, "crewai.workflow", "workflow", 0, 20, **{"crewai.crew.result": "done"}),
        step(2, 1, "go.task", "workflow.step", 1, 18, **task),
        step(3, 2, "planner.agent", "agent", 2, 16, **goal),
        used(4, 5, "seen"),
        used(5, 9, "\nI encountered an error while trying to use the tool. This was the error: no such city.\n"),
    )
    assert (run["input"], run["output"], run["agents"]) == ("go", "done", ["planner"])
    told = [(c["name"], c["agent"], c["arguments"], c["status"]) for c in run["tool_calls"]]
    assert told == [("look", "planner", {"at": "x"}, "ok"), ("look", "planner", {"at": "x"}, "error")]


@pytest.mark.parametrize("messages", [3, 1])
def test_each_message_that_is_consumed_at_once_is_a_request(messages):
    """By the conventions a span that processes a batch links the span of each message; of one it is one request."""
    at = [1, 11, 21]
    links = [(90 + n, 1) for n in range(messages)]
    found = runs(
        span(1, None, "process inbox", took=40, kind=5, messaging__system="sqs", links=links),
        *(agent(10 * n + 10, "helper", 1, at=at[n], took=8) for n in range(3)),
        *(chat(10 * n + 11, 10 * n + 10, f"answer {n}", f"question {n}", at=at[n] + 1) for n in range(3)),
    )
    told = [(run["input"], run["output"]) for run in found]
    assert told == (
        [(f"question {n}", f"answer {n}") for n in range(3)] if messages > 1 else [("question 0", "answer 2")]
    )


def _agno(id, parent, name, kind, at=0.0, took=1.0, **told):
    told = {"agentops.span.kind": kind, "gen_ai.system": "agno"} | told
    return span(id, parent, name, at=at, took=took, scope="agentops.instrumentation.agno", status=1, attributes=told)


def test_agentops_names_agents_teams_and_tools_of_agno_by_keys_of_their_own():
    """AgentOps 0.4.21, of Agno 3.1: an agent that failed ends well, and its answer is what went wrong."""

    def used(id, parent, at, name, **told):
        told = {"agentops.entity.name": "tool", "tool.name": name, "tool.status": "success"} | told
        return _agno(id, parent, "agno.tool.execute.tool_usage", "tool", at, **told)

    def gave(text, state="success", **told):
        return {"tool.result": text, "tool.execution_result_status": state, "tool.parameters": '{"at": "x"}'} | told

    delegated = {"tool.result": "Generator<generator>(...)", "tool.result_is_generator": "true"}
    worker = {"agentops.entity.name": "agent", "agent.name": "worker", "agent.input": "compute", "agent.output": "nine"}
    (run,) = runs(
        _agno(
            1, None, "boss.agno.team.run.workflow", "workflow", 0, 30, **{"team.name": "boss", "workflow.input": "go"}
        ),
        used(2, 1, 1, "delegate_task_to_member", **delegated, **{"tool.parameters": '{"member_id": "worker"}'}),
        _agno(3, 1, "worker.agno.agent.run.agent", "agent", 3, 20, **worker),
        used(4, 3, 5, "look", **gave("seen")),
        used(5, 3, 7, "look", **gave("failure", "failure", **{"tool.execution_error": "no such city"})),
    )
    assert (run["agents"], run["input"], run["status"]) == (["boss", "worker"], "go", "unknown")
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [
        ("boss", "worker", "delegate_task_to_member")
    ]
    told = [(c["name"], c["agent"], c["status"], c["result"]) for c in run["tool_calls"]]
    assert told == [("look", "worker", "ok", "seen"), ("look", "worker", "error", "no such city")]


def _react(id, at, asked, said, parent=None, trace=1):
    """Langtrace 3.8 tells what OpenAI's client was asked by events of the span."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 9}
    prompt = ("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps(asked)})
    answer = ("gen_ai.content.completion", {"gen_ai.completion": json.dumps([{"role": "assistant", "content": said}])})
    scope = "langtrace_python_sdk.instrumentation.openai.instrumentation"
    more = {"attributes": told, "events": [prompt, answer], "status": 1, "scope": scope, "trace": trace}
    return span(id, parent, "create", at=at, kind=3, **more)


_ACTS = 'Thought: I should act.\nAction: look\nAction Input: {"at": "x"}'
_TASK = {"role": "user", "content": "\nCurrent Task: go\n\nThis is the expected criteria for your final answer: text\n"}


def _seen(text):
    return {"role": "assistant", "content": f"{_ACTS}\nObservation: {text}"}


def test_what_crewai_repeats_with_its_order_to_answer_is_no_further_observation():
    """CrewAI 1.6: at its limit it tells a model once more what was said last."""
    again = "I tried reusing the same input, I must stop using this action input. I'll try something else instead."
    order = "\n\n\nNow it's time you MUST give your absolute best final answer."
    (run,) = runs(
        span(1, None, "Crew.kickoff", took=20, status=1),
        _react(2, 1, [_TASK], _ACTS, 1),
        _react(3, 4, [_TASK, _seen("seen")], _ACTS, 1),
        _react(4, 7, [_TASK, _seen("seen"), _seen(again), _seen(again + order)], "Final Answer: done", 1),
    )
    assert [(c["turn"], c["status"], c["result"]) for c in run["tool_calls"]] == [
        (0, "ok", "seen"),
        (1, "requested", again),
    ]
    assert (run["output"], "max_steps" in run["boundaries"]) == ("done", True)


def test_an_answer_that_ends_with_what_came_of_its_tool_goes_on_with_the_one_that_asked():
    """CrewAI's agents by themselves: each call has a trace of its own, as its client's tells it."""
    (run,) = runs(
        _react(2, 1, [_TASK], _ACTS),
        _react(3, 4, [_TASK, _seen("one")], _ACTS, trace=2),
        _react(4, 7, [_TASK, _seen("one"), _seen("two")], "Final Answer: done", trace=3),
    )
    assert (len(run["llm_calls"]), run["input"], run["output"]) == (3, "go", "done")
    assert [c["result"] for c in run["tool_calls"]] == ["one", "two"]
