"""Runs of real kits that go wrong or come back: agents that fail, handoffs there and back, odd arguments."""

import json

import pytest

from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, frames, request, runs, span, tool

pytestmark = pytest.mark.full

_FAILED = {"error": "RuntimeError('bad tool')"}


def _either_way(*spans):
    """The run, which must be the same by the shortcut."""
    sent = frames([("traces", request(spans))])
    assert with_shortcut(*sent)[0].equals(without(*sent))
    (run,) = runs(*spans)
    return run


def _asked(tool_status, agent_status):
    """Pydantic AI 2.68 and LangGraph 1.2 under OpenInference 0.1.80: an agent called by a tool of another's."""
    return [
        agent(1, "boss", took=20),
        chat(2, 1, [("c1", "ask_w", {"request": "x"})], "go", at=1),
        tool(3, 1, "ask_w", "c1", None if tool_status else "done", at=3, took=8, **tool_status),
        agent(4, "w", 3, at=4, took=6, **agent_status),
        chat(5, 4, "done", "x", at=5),
        chat(6, 1, "sorry", "go", at=14),
    ]


@pytest.mark.parametrize(
    ("tool_status", "agent_status", "status"),
    [({}, {}, "ok"), (_FAILED, _FAILED, "error"), ({}, _FAILED, "error"), (_FAILED, {}, "error")],
)
def test_a_delegation_to_an_agent_that_failed_failed(tool_status, agent_status, status):
    run = _either_way(*_asked(tool_status, agent_status))
    assert [(d["from"], d["to"], d["form"], d["status"]) for d in run["delegations"]] == [("boss", "w", "tool", status)]
    assert run["status"] == "ok"


def test_a_nested_agent_that_failed_is_a_delegation_that_failed():
    run = _either_way(
        agent(1, "boss", took=20),
        chat(2, 1, "well", "go", at=1),
        agent(3, "w", 1, at=4, took=6, **_FAILED),
        chat(4, 3, "done", "x", at=5),
        chat(5, 1, "sorry", "go", at=14),
    )
    assert [(d["to"], d["form"], d["status"]) for d in run["delegations"]] == [("w", "nested", "error")]


def _said(text):
    return {"gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]}


def _got_over():
    """A member failed, and the agent that had called it answered."""
    return [
        agent(1, "boss", took=20, attributes=_said("sorry")),
        chat(2, 1, [("c1", "ask_w", {"request": "x"})], "go", at=1),
        tool(3, 1, "ask_w", "c1", "bad", at=3, took=8),
        agent(4, "w", 1, at=4, took=6, **_FAILED),
        chat(5, 4, None, "x", at=5, **_FAILED),
        chat(6, 1, "sorry", "go", at=14),
    ]


def test_whoever_went_on_after_an_agent_that_failed_is_in_charge():
    """Agno's agents under OpenInference 1.0.15 stand beside the tool that called them."""
    run = _either_way(*_got_over())
    assert (run["status"], run["output"]) == ("ok", "sorry")
    assert [(d["to"], d["status"]) for d in run["delegations"]] == [("w", "error")]


def test_what_was_laid_under_an_agent_that_was_done_is_of_the_one_above():
    """A team in a team of Agno's is left current once it has answered."""
    run = _either_way(
        agent(1, "boss", took=30, attributes=_said("done")),
        chat(2, 1, [("c1", "ask_w", {"request": "x"})], "go", at=1),
        tool(3, 1, "ask_w", "c1", "well", at=3, took=8),
        agent(4, "w", 3, at=4, took=6, attributes=_said("well")) | {"parent": 1},
        chat(5, 4, "well", "x", at=5),
        chat(6, 4, [("c2", "look", {"q": 1})], "go", at=14),
        tool(7, 4, "look", "c2", "seen", at=16),
        chat(8, 4, "done", "go", at=18),
    )
    assert [c["agent"] for c in run["llm_calls"]] == ["boss", "w", "boss", "boss"]
    assert [(c["name"], c["agent"]) for c in run["tool_calls"]] == [("look", "boss")]
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("boss", "w")]


def test_what_was_laid_under_what_was_done_is_found_without_content():
    """Agno's under OpenInference, with inputs and outputs hidden."""
    well = {"status": 1}
    first = [
        agent(1, "boss", took=30, **well),
        chat(2, 1, at=1, **well),
        tool(3, 1, "ask_w", at=3, took=8, **well),
        agent(4, "w", 1, at=4, took=6, **well),
        chat(5, 4, at=5, **well),
        chat(6, 4, at=14, **well),
    ]
    later = [
        agent(7, "boss", 4, at=35, took=5, **well),
        chat(8, 7, at=36, **well),
        agent(9, "boss", 4, at=45, took=5, **well),
        chat(10, 9, at=46, **well),
    ]
    found = runs(*first, *later)
    assert [[c["agent"] for c in r["llm_calls"]] for r in found] == [["boss", "w", "boss"], ["boss"], ["boss"]]


def test_requests_that_were_laid_under_a_run_that_is_over_are_runs():
    """What a member of Agno's left current that failed, a script's next requests stand below."""
    asked = _got_over()
    later = [
        agent(7, "boss", 4, at=25, took=5, attributes=_said("hello")),
        chat(8, 7, "hello", "hi", at=26),
        agent(9, "boss", 4, at=35, took=5, attributes=_said("bye")),
        chat(10, 9, "bye", "see you", at=36),
    ]
    found = runs(*asked, *later)
    assert [(r["input"], r["output"], len(r["llm_calls"])) for r in found] == [
        ("go", "sorry", 3),
        ("hi", "hello", 1),
        ("see you", "bye", 1),
    ]
    assert [r["status"] for r in found] == ["ok", "ok", "ok"]


@pytest.mark.parametrize("failed", [True, False])
@pytest.mark.parametrize(("key", "text"), [("_raw", "not json {"), ("INVALID_JSON", "not json {"), ("_raw", "[1]")])
def test_arguments_that_are_no_object_are_their_text(key, text, failed):
    """opentelemetry-instrumentation-openai-agents 0.62 and Pydantic AI 2.68 make up an object of one key for them."""
    made = {key: text}
    given = {"gen_ai.tool.call.arguments": json.dumps(made)}
    run = _either_way(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", made)], "go", at=1),
        tool(3, 1, "look", "c1", "no", at=3, attributes=given, **(_FAILED if failed else {})),
        chat(4, 1, "done", "go", at=6),
    )
    (call,) = run["tool_calls"]
    assert (call["arguments"], call["arguments_text"], call["status"]) == (None, text, "error" if failed else "ok")


def test_a_tool_may_have_an_argument_of_that_name():
    run = _either_way(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {"_raw": '{"q": 1}'})], "go", at=1),
        tool(3, 1, "look", "c1", "seen", at=3),
        chat(4, 1, "done", "go", at=6),
    )
    assert run["tool_calls"][0]["arguments"] == {"_raw": '{"q": 1}'}


_SCOPE = {"scope": "opentelemetry.instrumentation.openai_agents", "version": "0.62.4"}


def _system(name):
    return {"role": "system", "parts": [{"type": "text", "content": f"you are {name}"}]}


def _exchange(id, name, arguments, result):
    call = {"type": "tool_call", "id": id, "name": name, "arguments": arguments}
    answer = {"type": "tool_call_response", "id": id, "response": result}
    return [{"role": "assistant", "parts": [call]}, {"role": "tool", "parts": [answer]}]


def _model(id, parent, name, history, at):
    """Of Chat Completions this instrumentation tells no answer: later inputs alone show what was asked for."""
    said = [_system(name), {"role": "user", "parts": [{"type": "text", "content": "go"}]}, *history]
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": said}
    return span(id, parent, "openai.response", at=at, status=1, attributes=told, **_SCOPE)


def _agent(id, name, at, took):
    told = {"traceloop.span.kind": "agent", "gen_ai.agent.name": name, "gen_ai.operation.name": "invoke_agent"}
    return span(id, 1, f"{name}.agent", at=at, took=took, status=1, attributes=told, **_SCOPE)


def _handoff(id, parent, source, at):
    told = {"traceloop.span.kind": "handoff", "gen_ai.handoff.from_agent": source, "gen_ai.agent.name": source}
    return span(id, parent, f"{source} → unknown.handoff", at=at, took=0.1, status=1, attributes=told, **_SCOPE)


def _search(id, parent, query, at):
    told = {"traceloop.span.kind": "tool", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    told |= {"gen_ai.tool.call.arguments": json.dumps({"q": query}), "gen_ai.tool.call.result": f"found {query}"}
    return span(id, parent, "search.tool", at=at, took=0.5, status=1, attributes=told, **_SCOPE)


def test_agents_that_hand_over_there_and_back_share_a_history_and_each_asked_for_its_own():
    """OpenAI's Agents 0.24 over Chat Completions, planner -> a -> planner -> b."""
    to_a = _exchange("c1", "transfer_to_a", {}, '{"assistant": "a"}')
    first = _exchange("c2", "search", {"q": "a"}, "found a")
    back = _exchange("c3", "transfer_to_planner", {}, '{"assistant": "planner"}')
    to_b = _exchange("c4", "transfer_to_b", {}, '{"assistant": "b"}')
    second = _exchange("c5", "search", {"q": "b"}, "found b")
    workflow = {"traceloop.span.kind": "workflow", "traceloop.workflow.name": "Agent Workflow"}
    run = _either_way(
        span(1, None, "Agent Workflow", took=30, status=1, attributes=workflow, **_SCOPE),
        _agent(2, "planner", 1, 3),
        _model(3, 2, "planner", [], 1.5),
        _handoff(4, 2, "planner", 3),
        _agent(5, "a", 5, 5),
        _model(6, 5, "a", to_a, 5.5),
        _search(7, 5, "a", 7),
        _model(8, 5, "a", to_a + first, 8),
        _handoff(9, 5, "a", 9.5),
        _agent(10, "planner", 11, 3),
        _model(11, 10, "planner", to_a + first + back, 11.5),
        _handoff(12, 10, "planner", 13),
        _agent(13, "b", 15, 6),
        _model(14, 13, "b", to_a + first + back + to_b, 15.5),
        _search(15, 13, "b", 17),
        _model(16, 13, "b", to_a + first + back + to_b + second, 18),
    )
    told = [(c["name"], c["agent"], c["turn"], c["status"], c["result"], c["evidence"]) for c in run["tool_calls"]]
    both = ["message", "span"]
    assert [(*x[:5], sorted(x[5])) for x in told] == [
        ("search", "a", 1, "ok", "found a", both),
        ("search", "b", 4, "ok", "found b", both),
    ]
    assert [(d["from"], d["to"], d["form"], d["tool"]) for d in run["delegations"]] == [
        ("planner", "a", "handoff", "transfer_to_a"),
        ("a", "planner", "handoff", "transfer_to_planner"),
        ("planner", "b", "handoff", "transfer_to_b"),
    ]


def test_agents_that_were_sent_the_same_at_once_each_asked_for_its_own():
    """Each answer is told by the next input of its agent alone, and the inputs before are the same."""
    ones, others = _exchange("c1", "search", {"q": "a"}, "found a"), _exchange("c2", "search", {"q": "b"}, "found b")
    workflow = {"traceloop.span.kind": "workflow", "traceloop.workflow.name": "Agent Workflow"}
    run = _either_way(
        span(1, None, "Agent Workflow", took=30, status=1, attributes=workflow, **_SCOPE),
        _agent(2, "a", 1, 20),
        _agent(3, "b", 1, 20),
        _model(4, 2, "a", [], 2),
        _model(5, 3, "b", [], 2.5),
        _search(6, 2, "a", 5),
        _search(7, 3, "b", 5.2),
        _model(8, 2, "a", ones, 8),
        _model(9, 3, "b", others, 8.5),
    )
    told = [(c["agent"], c["turn"], c["call_id"], c["result"]) for c in run["tool_calls"]]
    assert told == [("a", 0, "c1", "found a"), ("b", 1, "c2", "found b")]


def test_an_agent_that_failed_and_was_got_over_is_no_error_of_the_run():
    """CrewAI 1.15 asked one coworker twice at once, and one of the two could not start."""
    failed = {"error": "RuntimeError: Executor is already running"}
    run = _either_way(
        agent(1, "boss", took=20),
        chat(2, 1, "well", "go", at=1),
        agent(3, "w", 1, at=4, took=1, **failed),
        agent(4, "w", 1, at=4, took=6),
        chat(5, 4, "done", "x", at=5),
        chat(6, 1, "done", "go", at=14),
    )
    assert (run["status"], run["boundaries"]) == ("ok", [])


def test_of_an_agent_twice_at_once_each_asked_for_its_own_also_where_no_answer_is_told():
    """LangSmith of LangGraph 1.2, values cut: while one tool began, the model of the other was asked again."""
    run = _either_way(
        agent(1, "boss", took=30),
        chat(2, 1, at=1, asked="go"),
        tool(3, 1, "ask_w", "c1", "one", at=3, took=12, attributes={"gen_ai.tool.call.arguments": {"q": 1}}),
        tool(4, 1, "ask_w", "c2", "two", at=3, took=12, attributes={"gen_ai.tool.call.arguments": {"q": 2}}),
        agent(5, "w", 3, at=3.5, took=11),
        agent(6, "w", 4, at=3.5, took=11),
        chat(7, 5, at=4),
        chat(8, 6, at=4.5, took=1.2),
        tool(9, 5, "look", None, "a", at=5.5, took=0.5, attributes={"gen_ai.tool.call.arguments": {"q": "a"}}),
        chat(10, 5, at=6.5, took=3),
        tool(11, 6, "look", None, "b", at=7, took=0.5, attributes={"gen_ai.tool.call.arguments": {"q": "b"}}),
        chat(12, 6, at=10.5),
        chat(13, 1, "done", at=17),
    )
    assert [(c["result"], c["turn"]) for c in run["tool_calls"]] == [("a", 1), ("b", 2)]
