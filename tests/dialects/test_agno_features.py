"""Agno 3.1 under OpenInference 1.0 and Traceloop 0.62: what waits, is refused, is called off, or goes to several at
once."""

import json

import pytest

from tests.runs.requests import chat, runs, span

pytestmark = pytest.mark.full

_SCOPE = "openinference.instrumentation.agno"
_RUN = "48d9ec8e-b3f3-4d9a-a08f-5ba8221d6f33"


def _step(id, parent, name, kind, at, took=1, **told):
    told = {key.replace("__", "."): value for key, value in told.items()}
    told = {"openinference.span.kind": kind} | told
    return span(id, parent, name, at=at, took=took, attributes=told, scope=_SCOPE, status=told.pop("status", 1))


def _agent(id, name, parent=None, at=0, took=9, **told):
    key = "agno.team" if name == "team" else "agno.agent"
    return _step(id, parent, f"{name}.run", "AGENT", at, took, **{key: name, "input.value": "go"} | told)


def _asked(*calls):
    flat = {}
    for at, (id, name, arguments) in enumerate(calls):
        call = f"llm.output_messages.0.message.tool_calls.{at}.tool_call"
        flat |= {f"{call}.id": id, f"{call}.function.name": name, f"{call}.function.arguments": json.dumps(arguments)}
    return {"llm.output_messages.0.message.role": "assistant"} | flat


def _back(id, name, arguments, words):
    call = "llm.input_messages.1.message.tool_calls.0.tool_call"
    return {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "go",
        "llm.input_messages.1.message.role": "assistant",
        f"{call}.id": id,
        f"{call}.function.name": name,
        f"{call}.function.arguments": json.dumps(arguments),
        "llm.input_messages.2.message.role": "tool",
        "llm.input_messages.2.message.tool_call_id": id,
        "llm.input_messages.2.message.content": words,
    }


def _model(id, parent, at, took=1, **told):
    told = {"llm.model_name": "gpt-4o-mini", "llm.token_count.prompt": 10, "llm.token_count.completion": 5} | told
    return _step(id, parent, "OpenAIChat.invoke", "LLM", at, took, **told)


def _said(text):
    return {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": text}


def _tool(id, parent, name, at, took=1, arguments="{}", **told):
    return _step(id, parent, name, "TOOL", at, took, **{"tool.name": name, "tool.parameters": arguments} | told)


def _called(run):
    return [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]]


@pytest.mark.parametrize(
    ("words", "status"),
    [("Function call was rejected by the user", "requested"), ("no way", "unknown")],
)
def test_a_tool_that_came_back_without_a_span_was_refused_or_run_elsewhere(words, status):
    """What a refusal is told is what somebody noted, and what an external execution brought is anything."""
    (run,) = runs(
        _agent(1, "worker", **{"output.value": "done"}),
        _model(2, 1, 0, **_asked(("c1", "rm", {"path": "a"}))),
        _model(3, 1, 3, **_back("c1", "rm", {"path": "a"}, words) | _said("done")),
    )
    assert _called(run) == [("rm", status, words)]
    assert run["status"] == "ok"


def test_what_agno_has_to_execute_did_not_run_yet():
    (run,) = runs(
        _agent(1, "planner", **{"output.value": "I have tools to execute, but I need user input."}),
        _model(2, 1, 0, **_asked(("c1", "ext", {"x": 1}))),
    )
    assert _called(run) == [("ext", "requested", None)]


@pytest.mark.parametrize("kind", ["Run", "Team run", "Workflow run"])
def test_how_a_run_of_agnos_went_that_was_called_off_is_not_known(kind):
    spans = [
        _agent(1, "planner", **{"output.value": f"{kind} {_RUN} was cancelled"}),
        _model(2, 1, 0, **_asked(("c1", "look", {"x": 1}))),
        _tool(3, 1, "look", 2, **{"output.value": "seen 1"}),
    ]
    (run,) = runs(*spans)
    assert (run["status"], _called(run)) == ("unknown", [("look", "ok", "seen 1")])


@pytest.mark.parametrize(("status", "told"), [(0, "unknown"), (1, "ok")])
def test_an_agent_that_says_nothing_where_all_in_it_does_may_have_been_called_off(status, told):
    """A task that was cancelled, a stream that was left."""
    (run,) = runs(
        _agent(1, "planner", status=status),
        _model(2, 1, 0, **_asked(("c1", "look", {"x": 1}))),
        _tool(3, 1, "look", 2, **{"output.value": "seen 1"}),
    )
    assert (run["status"], run["output"]) == (told, None)


def test_one_call_of_a_teams_reaches_all_its_members_beside_it():
    (run,) = runs(
        _agent(1, "team", took=20, **{"output.value": "done"}),
        _model(2, 1, 0, **_asked(("c1", "delegate_task_to_members", {"task": "t"}))),
        _tool(3, 1, "delegate_task_to_members", 2, 10, '{"task": "t"}', **{"output.value": "Agent a1: sAgent a2: s"}),
        _agent(4, "a1", 1, 3, 3, **{"output.value": "s"}),
        _model(5, 4, 4, **_said("s")),
        _agent(6, "a2", 1, 7, 3, **{"output.value": "s"}),
        _model(7, 6, 8, **_said("s")),
        _model(8, 1, 13, **_said("done")),
    )
    way = ("tool", "delegate_task_to_members", "ok")
    told = [(d["from"], d["to"], d["form"], d["tool"], d["status"]) for d in run["delegations"]]
    assert told == [("team", "a1", *way), ("team", "a2", *way)]


def _traced(id, parent, name, kind, at, took=1, **told):
    told = {"traceloop.span.kind": kind} | told
    scope = "opentelemetry.instrumentation.agno"
    return span(id, parent, f"{name}.{kind}", at=at, took=took, attributes=told, scope=scope, status=1)


def _ran(id, parent, name, at, given, result):
    told = f"status='success' result={result} error=None updated_session_state=None images=None"
    told = {"gen_ai.tool.name": name, "traceloop.entity.input": json.dumps(given), "traceloop.entity.output": told}
    return _traced(id, parent, name, "tool", at, 0.001, **told)


_UNREAD = "<generator object _get_task_tools.<locals>.look at 0x7f749afdbe80>"


def test_what_a_tool_gives_piece_by_piece_is_what_its_model_saw():
    call = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"x": 1}}]}
    back = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "part seen 1"}]}
    asked = {"role": "user", "parts": [{"type": "text", "content": "go"}]}
    (run,) = runs(
        _traced(1, None, "planner", "agent", 0, 9, **{"gen_ai.agent.name": "planner"}),
        chat(2, 1, [("c1", "look", {"x": 1})], "go"),
        _ran(3, 1, "look", 2, {"x": 1}, _UNREAD),
        chat(4, 1, "done", [asked, call, back], at=3),
    )
    assert _called(run) == [("look", "ok", "part seen 1")]


def test_a_call_of_a_teams_is_over_before_the_members_that_it_reaches_begin():
    (run,) = runs(
        _traced(1, None, "team", "workflow", 0, 20, **{"agno.team.name": "team"}),
        chat(2, 1, [("c1", "delegate_task_to_members", {"task": "t"}), ("c2", "execute_task", {"member_id": "a3"})]),
        _ran(3, 1, "delegate_task_to_members", 2, {"task": "t"}, _UNREAD),
        _traced(4, 1, "a1", "agent", 3, 3, **{"gen_ai.agent.name": "a1"}),
        chat(5, 4, "s", "t", at=4),
        _traced(6, 1, "a2", "agent", 7, 3, **{"gen_ai.agent.name": "a2"}),
        chat(7, 6, "s", "t", at=8),
        _ran(8, 1, "execute_task", 11, {"member_id": "a3"}, _UNREAD),
        _traced(9, 1, "a3", "agent", 12, 3, **{"gen_ai.agent.name": "a3"}),
        chat(10, 9, "s", "t", at=13),
        chat(11, 1, "done", at=16),
    )
    told = [(d["from"], d["to"], d["form"], d["tool"]) for d in run["delegations"]]
    to_all = ("tool", "delegate_task_to_members")
    assert told == [("team", "a1", *to_all), ("team", "a2", *to_all), ("team", "a3", "tool", "execute_task")]
    assert run["tool_calls"] == []


def test_an_agent_that_ends_well_without_a_word_may_have_been_called_off():
    (run,) = runs(
        _traced(1, None, "planner", "agent", 0, 9, **{"gen_ai.agent.name": "planner"}),
        chat(2, 1, [("c1", "look", {"x": 1})], "go"),
        _ran(3, 1, "look", 2, {"x": 1}, "'seen 1'"),
    )
    assert (run["status"], _called(run)) == ("unknown", [("look", "ok", "seen 1")])


def test_what_a_program_asks_once_a_team_has_ended_is_no_work_of_the_teams():
    """OpenInference 1.0, once a team was sent to a member that it has not: its span stays current."""
    told = runs(
        _agent(1, "team", **{"output.value": "gone"}),
        _model(2, 1, 1, **_said("gone")),
        _agent(3, "planner", 1, 12, **{"input.value": "then", "output.value": "next"}),
        _model(4, 3, 13, **_said("next")),
    )
    assert [(r["input"], r["output"], r["agents"], r["delegations"]) for r in told] == [
        ("go", "gone", ["team"], []),
        ("then", "next", ["planner"], []),
    ]


@pytest.mark.parametrize(("took", "status"), [(4, "unknown"), (1, "error")], ids=["called", "handed to"])
def test_a_team_that_went_well_did_not_fail_as_the_member_did_that_its_tool_called(took, status):
    given = {"member_id": "critic", "task": "Be kind."}
    way = "delegate_task_to_member"
    failed = _step(5, 4, "OpenAIChat.invoke", "LLM", 5, **{"llm.model_name": "m"}) | {
        "error": "The model fails.",
        "status": 2,
    }
    (run,) = runs(
        _agent(1, "team", took=20),
        _step(2, 1, "OpenAIChat.invoke", "LLM", 1, **{"llm.model_name": "m"} | _asked(("c1", way, given))),
        _step(3, 1, way, "TOOL", 3, took, **{"tool.name": way, "input.value": json.dumps(given), "output.value": ""}),
        _agent(4, "critic", 1, 4, 2),
        failed,
    )
    assert run["status"] == status and "error" in run["boundaries"]
