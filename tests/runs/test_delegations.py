"""Agents, and who handed work to whom."""

import json

import pytest

from otelcov.runs import run_json
from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, frames, request, runs, span, tool


def handed(run):
    return [(d["from"], d["to"], d["form"], d["tool"]) for d in run["delegations"]]


def test_two_spellings_are_one_agent():
    (run,) = runs(
        agent(1, "Research Analyst", took=20),
        agent(2, "research_analyst", parent=1, took=19),
        chat(3, 2, "done", at=1, attributes={"gen_ai.agent.name": "research_analyst"}),
    )
    assert (run["agents"], run["delegations"]) == (["Research Analyst"], [])
    assert [c["agent"] for c in run["llm_calls"]] == ["Research Analyst"]
    (run,) = runs(
        agent(1, "销售 Agent", took=20), agent(2, "技术 Agent", parent=1, at=1, took=9), chat(3, 2, "x", at=2)
    )
    assert handed(run) == [("销售 Agent", "技术 Agent", "nested", None)]


def test_a_nested_agent_was_delegated_to():
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, "go", at=0.5, took=0.1),
        agent(3, "worker", parent=1, at=1, took=5),
        chat(4, 3, "done", at=2),
    )
    assert handed(run) == [("planner", "worker", "nested", None)]


def test_an_agent_under_a_tool_makes_the_tool_a_delegation():
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "ask_worker", {"task": "x"})], at=0.5, took=0.1),
        tool(3, 1, "ask_worker", call="c1", at=1, took=6),
        agent(4, "worker", parent=3, at=1.5, took=5),
        chat(5, 4, "done", at=2),
        chat(6, 1, "done", at=8),
    )
    assert handed(run) == [("planner", "worker", "tool", "ask_worker")]
    assert run["tool_calls"] == []
    assert run["path"] == [["planner->worker"]]


def test_a_tool_that_an_agent_in_it_calls_again_was_called_twice():
    """Who is called has no span around what it does (LangGraph under Traceloop): the tool stands in one of its name."""
    worker, clerk = ({"gen_ai.agent.name": name} for name in ("worker", "clerk"))
    given = [{"gen_ai.tool.call.arguments": json.dumps({"task": task})} for task in ("one", "two")]
    (run,) = runs(
        agent(1, "planner", took=20),
        chat(2, 1, [("c1", "ask", {"task": "one"})], at=0.5, took=0.1),
        tool(3, 1, "ask", at=1, took=12, attributes=given[0]),
        agent(4, "worker", parent=3, at=1, took=12),
        span(5, 3, "graph", at=1, took=11.9),
        chat(6, 5, [("c2", "ask", {"task": "two"})], at=2, attributes=worker),
        tool(7, 5, "ask", at=4, took=5, attributes=given[1] | worker),
        agent(8, "clerk", parent=7, at=4, took=5),
        chat(9, 7, "found", at=5, attributes=clerk),
        chat(10, 5, "done", at=10, attributes=worker),
        chat(11, 1, "done", at=18),
    )
    assert handed(run) == [("planner", "worker", "tool", "ask"), ("worker", "clerk", "tool", "ask")]
    assert run["tool_calls"] == []


def test_what_stands_in_a_tool_for_a_moment_is_no_call_of_its_own():
    """BeeAI's event of an error, by an instrumentation without a name."""
    event = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": '{"error": "no"}'}
    (run,) = runs(
        agent(1, "planner", took=9),
        chat(2, 1, [("c1", "look", {"q": 1})], at=0.5, took=0.1),
        tool(3, 1, "look", call="c1", at=1, took=2, attributes={"gen_ai.tool.call.arguments": '{"q": 1}'}),
        span(4, 3, "error", at=2, took=0, attributes=event),
    )
    assert [(c["name"], c["arguments"]) for c in run["tool_calls"]] == [("look", {"q": 1})]


def test_a_graph_in_a_tool_named_after_it_does_not_hide_another_in_that_tool():
    """LangGraph under OpenInference, values cut: graphs have the name of their agent, and bear it as a stamp."""
    (run,) = runs(
        _graph(1, None, "planner", "planner", took=20),
        _graph(2, 1, "tools", "planner", at=1, took=18),
        _graph(3, 2, "ask_worker", "planner", "TOOL", at=1, took=17),
        _graph(4, 3, "worker", "worker", at=1, took=16),
        _graph(5, 4, "ask_worker", "worker", "TOOL", at=2, took=9),
        _graph(6, 5, "clerk", "clerk", at=2, took=8),
        _graph(7, 6, "look", "clerk", "TOOL", at=3),
        _graph(8, 6, "model", "clerk", "LLM", at=5),
    )
    assert handed(run) == [("planner", "worker", "tool", "ask_worker"), ("worker", "clerk", "tool", "ask_worker")]
    assert [(c["name"], c["agent"]) for c in run["tool_calls"]] == [("look", "clerk")]


def test_a_graph_that_bears_its_name_as_a_stamp_is_an_agent_where_others_have_spans_of_their_own():
    """LangGraph under Traceloop; of one agent the span is lost that bears its name alone."""
    stamps = [{"traceloop.association.properties.lc_agent_name": name} for name in ("planner", "worker", "clerk")]
    task, tooled = ({"traceloop.span.kind": kind, "gen_ai.operation.name": operation} for kind, operation in _KINDS)
    tooled |= {"gen_ai.tool.name": "ask_worker", "traceloop.entity.name": "ask_worker"}
    named = {"gen_ai.operation.name": "invoke_agent", "traceloop.span.kind": "agent"}
    scope = {"scope": "opentelemetry.instrumentation.langchain"}
    (run,) = runs(
        span(1, None, "invoke_agent planner", took=20, attributes=named | {"gen_ai.agent.name": "planner"}, **scope),
        span(2, 1, "execute_tool ask_worker", at=1, took=17, attributes=tooled | stamps[0], **scope),
        span(3, 2, "execute_task worker", at=1, took=16, attributes=task | stamps[1], **scope),
        span(4, 3, "execute_tool ask_worker", at=2, took=9, attributes=tooled | stamps[1], **scope),
        span(5, 4, "invoke_agent clerk", at=2, attributes=named | {"gen_ai.agent.name": "clerk"}, **scope),
        span(6, 4, "execute_task clerk", at=3, took=5, attributes=task | stamps[2], **scope),
        chat(7, 6, "done", at=4, attributes=stamps[2], **scope),
        chat(8, 3, "done", at=12, attributes=stamps[1], **scope),
    )
    assert handed(run)[:1] == [("planner", "worker", "tool", "ask_worker")]
    assert {(c["agent"]) for c in run["llm_calls"]} == {"clerk", "worker"}


_KINDS = (("task", "execute_task"), ("tool", "execute_tool"))


def _graph(id, parent, name, stamp, kind="CHAIN", **more):
    told = {"openinference.span.kind": kind, "metadata": json.dumps({"lc_agent_name": stamp})}
    told |= {"tool.name": name} if kind == "TOOL" else {}
    return span(id, parent, name, scope="openinference.instrumentation.langchain", attributes=told, **more)


PLANNER = (agent(1, "planner", took=9), chat(2, 1, [("c1", "solve", {"task": "x"})], at=0.5, took=0.1))
ASKS = tool(3, 1, "solve", call="c1", at=1, took=6)
WORKS = (chat(5, 4, [("c2", "look", {})], at=2), tool(6, 4, "look", call="c2", at=4))


@pytest.mark.parametrize(
    ("lost", "found"),
    [
        ("the agent that was called", [*PLANNER, ASKS, *WORKS]),
        ("the agent that called", [PLANNER[1], ASKS, *WORKS]),
        ("the call", [*PLANNER, agent(4, "worker", parent=3, at=1.5, took=5), *WORKS]),
    ],
)
def test_of_what_stands_below_a_parent_that_never_came_nobody_knows_who_called_it(lost, found):
    (run,) = runs(*found)
    assert run["delegations"] is None, lost
    assert "delegations not visible" in run["incomplete"]


def test_where_one_agent_alone_has_not_come_there_was_no_delegation():
    named = {"gen_ai.agent.name": "planner"}
    (run,) = runs(chat(2, 1, "done", attributes=named), tool(3, 1, "look", at=2, attributes=named))
    assert run["delegations"] == []


@pytest.mark.parametrize("said", ["Unnamed Agent", "unknown_agent", "default-agent", "LangGraph"])
def test_a_name_that_stands_for_any_agent_is_none(said):
    (run,) = runs(agent(1, said, took=9), chat(2, 1, "done", at=1))
    assert (run["agents"], [c["agent"] for c in run["llm_calls"]]) == ([], [None])


def test_an_agent_is_one_that_can_fail_whatever_its_name():
    (run,) = runs(
        span(1, None, "workflow", gen_ai__operation__name="invoke_workflow", took=20),
        agent(2, "default", parent=1, took=9, error="Max turns exceeded"),
        chat(3, 2, [("c1", "look", {})], at=0.5),
        tool(4, 2, "look", call="c1", result="here", at=2),
    )
    assert (run["status"], run["boundaries"], run["agents"]) == ("error", ["max_steps"], [])


def test_a_transfer_tool_hands_over():
    (run,) = runs(
        span(1, None, "workflow", gen_ai__operation__name="invoke_workflow", took=20),
        agent(2, "planner", parent=1, took=5),
        chat(3, 2, [("c1", "transfer_to_worker", {})], at=0.5),
        tool(4, 2, "transfer_to_worker", call="c1", at=2),
        agent(5, "worker", parent=1, at=6, took=9),
        chat(6, 5, "done", at=7),
    )
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [
        ("planner", "worker", "transfer_to_worker")
    ]
    assert run["tool_calls"] == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("task", {"subagent_type": "worker", "description": "x"}), ("transfer-to-agent", {"agent_name": "worker"})],
)
def test_an_argument_names_the_agent_that_nobody_recorded(name, arguments):
    (run,) = runs(
        agent(1, "planner", took=20, gen_ai__input__messages=[{"role": "user", "content": "x"}]),
        chat(2, 1, [("c1", name, arguments)], "x", at=1),
        tool(3, 1, name, "c1", "found", at=3, took=5),
        tool(4, 3, "grep", "c2", "x", at=4),
        chat(5, 1, "done", "x", at=9),
    )
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("planner", "worker", name)]
    assert [(c["name"], c["agent"]) for c in run["tool_calls"]] == [("grep", "worker")]
    (run,) = runs(
        agent(1, "planner", took=20, gen_ai__input__messages=[{"role": "user", "content": "x"}]),
        chat(2, 1, [("c1", name, arguments)], "x", at=1),
        tool(3, 1, name, "c1", "found", at=3, took=5),
        chat(5, 1, "done", "x", at=9),
    )
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("planner", "worker", name)]


def test_a_member_is_called_by_its_id():
    (run,) = runs(
        span(1, None, "Team.run", gen_ai__operation__name="invoke_agent", took=20),
        chat(2, 1, [("c1", "delegate_task_to_member", {"member_id": "weather-agent", "task": "x"})], at=1),
        agent(3, "Weather Agent", parent=1, at=3, took=5),
        chat(4, 3, "sunny", at=4),
        chat(5, 1, "done", at=9),
    )
    assert handed(run) == [(None, "Weather Agent", "tool", "delegate_task_to_member")]
    assert run["tool_calls"] == []


def test_siblings_without_a_handover_are_no_delegation():
    (run,) = runs(
        span(1, None, "workflow", gen_ai__operation__name="invoke_workflow", took=20),
        agent(2, "left", parent=1, took=5),
        chat(3, 2, "a", at=0.5),
        agent(4, "right", parent=1, took=5),
        chat(5, 4, "b", at=0.6),
    )
    assert run["delegations"] == []
    assert run["agents"] == ["left", "right"]


def test_a_tool_that_names_neither_itself_nor_its_agent_is_a_question_mark():
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": ""}
    (run,) = runs(agent(1, "a"), span(2, 1, "execute_tool", attributes=attributes))
    assert (run["tool_calls"][0]["name"], run["path"]) == (None, [["a/?"]])
    assert [state.split("|")[:2] for state in run["states"]] == [["a", "?"]]


def test_tools_of_a_delegate_whose_model_cannot_be_seen_stand_where_they_ran():
    (run,) = runs(
        agent(1, "a", took=20),
        tool(8, 1, "prepare", at=0.5, took=0.2),
        chat(2, 1, [("c", "search", {})], at=1),
        tool(3, 1, "search", "c", "x", at=3),
        agent(4, "b", 1, at=5, took=5),
        tool(5, 4, "save", at=6),
        tool(6, 4, "mail", at=8),
        chat(7, 1, "done", at=12),
    )
    assert [c["name"] for c in run["tool_calls"]] == ["prepare", "search", "save", "mail"]
    assert [step for step in run["path"] if "->" not in step[0]] == [
        ["a/prepare"],
        ["a/search"],
        ["b/save"],
        ["b/mail"],
    ]


@pytest.mark.parametrize("tools", [("ask_left", "ask_right"), ("west", "east")])
def test_agents_called_at_once_beside_their_tools_are_told_apart(tools):
    """By the tools' names; else by the time that is nearest."""
    (run,) = runs(
        span(1, None, "workflow", gen_ai__operation__name="invoke_workflow", took=20),
        agent(2, "planner", 1, took=19),
        chat(3, 2, [("c1", tools[0], {}), ("c2", tools[1], {}), ("c3", "weather", {})], at=0.5, took=0.1),
        tool(4, 2, tools[0], "c1", at=1, took=4),
        tool(5, 2, tools[1], "c2", at=1.2, took=9),
        tool(6, 2, "weather", "c3", "3", at=0.9, took=12),
        agent(7, "left", 1, at=1.3, took=3.6),
        chat(8, 7, "a", at=2),
        agent(9, "right", 1, at=1.4, took=8.7),
        chat(10, 9, "b", at=2.1),
        chat(11, 2, "done", at=14),
    )
    assert handed(run) == [("planner", "left", "tool", tools[0]), ("planner", "right", "tool", tools[1])]
    assert [c["name"] for c in run["tool_calls"]] == ["weather"]


@pytest.mark.parametrize("name", ["team.worker", "team/worker", "team:worker", "my-worker", "my worker", "o'worker"])
@pytest.mark.parametrize("way", ["transfer_to_", "hand-off-to-", "ask_", "ask-"])
def test_an_agent_may_be_called_by_a_name_with_any_mark_in_it(way, name):
    """Gemini's tools may have dots and colons in their names, all others hyphens; pydantic-ai's agents anything."""
    (run,) = runs(
        agent(1, "planner", took=20),
        chat(2, 1, [("c1", f"{way}{name}", {})], at=1),
        tool(3, 1, f"{way}{name}", "c1", "done", at=3, took=8),
        agent(4, name, 1, at=4, took=5),
        chat(5, 4, "done", at=5),
        chat(6, 1, "done", at=15),
    )
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("planner", name, f"{way}{name}")]
    assert run["tool_calls"] == []


def test_a_handoffs_span_and_its_call_are_one_where_nobody_names_the_caller():
    """Traceloop 0.62 of OpenAI's agents: the handoff's span names who hands over, and not to whom."""
    (run,) = runs(
        span(1, None, "Agent Workflow", took=20, traceloop__span__kind="workflow"),
        span(2, 1, "a", took=6, gen_ai__operation__name="invoke_agent"),
        chat(3, 2, [("c1", "transfer_to_worker", {})], at=1),
        span(
            4,
            2,
            "planner -> unknown.handoff",
            at=3,
            traceloop__span__kind="handoff",
            gen_ai__handoff__from_agent="planner",
        ),
        agent(5, "worker", 1, at=8, took=5),
        chat(6, 5, "done", at=9),
    )
    assert [(d["from"], d["to"]) for d in run["delegations"]] == [("planner", "worker")]


def _member(id, at, call, member, said, **more):
    """A call of Agno's tool by which a team (3.1 under OpenInference 1.0) hands work to a member."""
    told = {"openinference.span.kind": "TOOL", "tool.name": "delegate_task_to_member", "output.value": said}
    told |= {"input.value": json.dumps({"member_id": member, "task": "look"}), "tool.id": call}
    return span(id, 1, "delegate_task_to_member", at=at, attributes=told, status=1, **more)


def test_a_member_that_a_team_does_not_have_was_asked_and_is_no_agent():
    (run,) = runs(
        agent(1, "planner", took=20),
        chat(2, 1, [("c1", "delegate_task_to_member", {"member_id": "nobody", "task": "look"})], "go", at=1),
        _member(3, 3, "c1", "nobody", "Member with ID nobody not found in the team or any subteams."),
        chat(4, 1, "done", at=6),
    )
    assert (run["agents"], run["tool_calls"]) == (["planner"], [])
    assert [(d["from"], d["to"], d["status"]) for d in run["delegations"]] == [("planner", "nobody", "unknown")]


def test_what_a_team_hands_work_over_by_is_no_tool_also_where_it_did_not():
    offered = [{"name": "search"}, {"name": "delegate_task_to_member"}]
    (run,) = runs(
        agent(1, "planner", took=9), chat(2, 1, "done", "go", attributes={"gen_ai.tool.definitions": offered})
    )
    assert run["known_tools"] == ["search"]


@pytest.mark.parametrize("regular", [True, False])
def test_a_call_that_failed_before_the_agent_began_asked_the_agent_that_another_call_of_the_tool_reached(regular):
    given = {"topic": "fjords"}
    spans = [
        agent(1, "planner", took=30),
        chat(2, 1, [("c1", "research", given)], "go", at=1),
        tool(3, 1, "research", "c1", at=3, error="no room", attributes={"gen_ai.tool.call.arguments": given}),
        chat(4, 1, [("c2", "research", given)], [{"role": "user", "parts": []}], at=5),
        tool(5, 1, "research", "c2", "deep", at=7, took=9, attributes={"gen_ai.tool.call.arguments": given}),
        agent(6, "worker", 5, at=8, took=6),
        chat(7, 6, "deep", "fjords", at=9),
        chat(8, 1, "done", at=20),
    ]
    frame = frames([("traces", request(spans))])
    found = with_shortcut(*frame)[0] if regular else without(*frame)
    (run,) = (run_json(row, {}) for row in found.iter_rows(named=True))
    assert [(d["to"], d["tool"], d["status"]) for d in run["delegations"]] == [
        ("worker", "research", "error"),
        ("worker", "research", "ok"),
    ]
    assert run["tool_calls"] == []


@pytest.mark.parametrize("error", ["the agent could not start", None])
def test_an_agent_that_mastra_gives_another_as_a_tool_is_asked_by_the_tools_name(error):
    """@mastra/otel-exporter: the tool's name is `agent-` and the key of the agent."""
    told = {"mastra.span.type": "tool_call", "gen_ai.tool.name": "agent-worker", "input": '{"prompt": "look"}'}
    theirs = {"mastra.span.type": "agent_run", "agent.id": "fjord-worker"}
    (run,) = runs(
        span(1, None, "agent.planner", took=9, attributes={"mastra.span.type": "agent_run", "agent.id": "planner"}),
        span(2, 1, "tool.execute agent-worker", at=1, took=5, error=error, attributes=told),
        *([] if error else [span(3, 2, at=2, attributes=theirs)]),
    )
    assert run["tool_calls"] == []
    assert [(d["to"], d["tool"], d["status"]) for d in run["delegations"]] == [
        ("worker", "agent-worker", "error") if error else ("fjord-worker", "agent-worker", "ok")
    ]


def _messages(*sent, tool_name="send_message", key="recipient", **more):
    """A boss that sends messages: (to whom, whether they are at work, what came back, what was thrown)."""
    yield agent(1, "boss", took=90)
    for n, (to, works, result, thrown) in enumerate(sent):
        at, id, given = 20 * n, 10 * n + 10, {key: to, "message": "go"}
        told = {"gen_ai.tool.call.arguments": json.dumps(given)}
        yield chat(id, 1, [(f"c{n}", tool_name, given)], "plan", at=at + 1)
        yield tool(id + 1, 1, tool_name, f"c{n}", result, at=at + 3, took=9, error=thrown, attributes=told)
        if works:
            yield agent(id + 2, to, id + 1, at=at + 4, took=6)
            yield chat(id + 3, id + 2, "done", "go", at=at + 5, **more)
    yield chat(2, 1, "planned", at=80)


def _handed(*sent, **more):
    (run,) = runs(*_messages(*sent, **more))
    assert run["tool_calls"] == []
    return [(d["from"], d["to"], d["tool"], d["status"]) for d in run["delegations"]]


@pytest.mark.parametrize(("result", "thrown"), [(None, "down"), ("Error: nobody is called so", None)])
def test_whom_a_call_that_reached_nobody_was_meant_for_is_its_own_argument(result, thrown):
    first = ("dev", True, "done", None)
    assert _handed(first, ("qa", False, result, thrown)) == [
        ("boss", "dev", "send_message", "ok"),
        ("boss", "qa", "send_message", "error"),
    ]


def test_an_argument_that_says_that_it_names_an_agent_makes_a_tool_a_delegation():
    alone = ("nobody", False, "Error: Unknown recipient agent 'nobody'.", None)
    assert _handed(alone, key="recipient_agent") == [("boss", "nobody", "send_message", "error")]


def test_an_agent_whose_model_failed_last_and_of_whom_an_error_came_back_was_called_in_vain():
    failed = ("dev", True, "Error: Failed to get response from agent 'dev'.", None)
    assert _handed(failed, error="scripted") == [("boss", "dev", "send_message", "error")]
    assert _handed(failed) == [("boss", "dev", "send_message", "ok")]


@pytest.mark.parametrize(
    ("first", "then", "is_one"),
    [
        ("You plan.", "You write texts of all kinds.", True),
        ("You are clerk. It is 10:02.", "You are clerk. It is 10:03.", False),
    ],
)
def test_who_goes_on_after_a_hand_over_is_known_by_instructions_where_nobody_is_named(first, then, is_one):
    def told(orders, *more):
        said = [("system", {"type": "text", "content": orders}), ("user", {"type": "text", "content": "go"}), *more]
        return [{"role": role, "parts": [part]} for role, part in said]

    asked = {"type": "tool_call", "name": "transfer_to_savings", "arguments": {}, "id": "call_Ab3dE5"}
    done = {"type": "tool_call_response", "response": "Done.", "id": "call_Ab3dE5"}
    (run,) = runs(
        span(1, None, "serve", took=9),
        chat(2, 1, [("call_Ab3dE5", "transfer_to_savings", {})], told(first), at=1),
        tool(3, 1, "transfer_to_savings", "call_Ab3dE5", "Done.", at=2.5, took=0.2),
        chat(4, 1, "x", told(then, ("assistant", asked), ("tool", done)), at=3),
    )
    assert [c["name"] for c in run["tool_calls"]] == ([] if is_one else ["transfer_to_savings"])
    assert not is_one or handed(run) == [(None, "savings", "handoff", "transfer_to_savings")]


@pytest.mark.parametrize(("who", "one"), [("writer", True), ("critic", False)])
def test_who_asks_the_same_goes_on_after_a_hand_over_if_that_names_it(who, one):
    """Each call in a trace of its own, without ids, and the hand-over is not shown."""

    def told(orders):
        said = (("system", orders), ("user", "go"))
        return [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in said]

    found = runs(
        chat(
            *(1, None, [("", "transfer_to_writer", {})], told("You plan.")),
            **{"trace": 1, "attributes": {"gen_ai.agent.name": "planner"}},
        ),
        chat(1, None, "x", told("You do."), trace=2, at=2, attributes={"gen_ai.agent.name": who}),
    )
    assert len(found) == (1 if one else 2)


def _asks(id, parent, call, at, history=(), **more):
    """An agent's model asks another by its name; what it asked before, and what came of it, is told."""
    told = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    for before in history:
        told += [
            {"role": "assistant", "parts": [{"type": "tool_call", "id": before, "name": "worker", "arguments": {}}]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": before, "response": "done"}]},
        ]
    answer = "done" if call is None else [(call, "worker", {"task": call})]
    return chat(id, parent, answer, told, at=at, took=0.4, **more)


@pytest.mark.parametrize("lost", [(), (8,), (7, 8)])
def test_a_tool_without_spans_that_called_an_agent_once_calls_it_where_nothing_of_it_came(lost):
    """smolagents' managed agents: each step holds who is called in it, and no tool's span."""
    spans = [
        agent(1, "planner", took=20),
        span(2, 1, "Step 1", at=1, took=5),
        _asks(3, 2, "c1", 1),
        agent(4, "worker", parent=2, at=2, took=3),
        chat(5, 4, "one", "c1", at=2.5),
        span(6, 1, "Step 2", at=7, took=5),
        _asks(9, 6, "c2", 7, ["c1"]),
        agent(7, "worker", parent=6, at=8, took=3),
        chat(8, 7, "two", "c2", at=8.5),
        _asks(10, 1, None, 15, ["c1", "c2"]),
    ]
    (run,) = runs(*(s for s in spans if s["id"] not in lost))
    assert (run["tool_calls"], handed(run)) == ([], [("planner", "worker", "tool", "worker")] * 2)
