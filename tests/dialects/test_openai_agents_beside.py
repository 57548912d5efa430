"""OpenAI's agents under Traceloop's instrumentation, where an agent as a tool stands beside who called it, and a span
is lost."""

import json

import pytest

from tests.runs.requests import runs, span

pytestmark = pytest.mark.full

_SCOPE = "opentelemetry.instrumentation.openai_agents"
_OFFERED = json.dumps([{"type": "function", "function": {"name": name}} for name in ("ask_writer", "writer_notes")])


def _told(role, *parts):
    return {"role": role, "parts": list(parts)}


def _text(text):
    return {"type": "text", "content": text}


def _calls(*named):
    return [{"type": "tool_call", "id": f"c-{name}", "name": name, "arguments": given} for name, given in named]


def _gave(name, text):
    return _told("tool", {"type": "tool_call_response", "id": f"c-{name}", "response": text})


def _of(id, parent, name, operation=None, **more):
    told = {"gen_ai.operation.name": operation} if operation else {"traceloop.span.kind": "workflow"}
    told |= more.pop("told", {})
    return span(id, parent, name, scope=_SCOPE, attributes=told, status=None if more.get("error") else 1, **more)


def _agent(id, parent, name, **more):
    return _of(id, parent, f"{name}.agent", "invoke_agent", told={"gen_ai.agent.name": name}, **more)


def _model(id, parent, at, inputs=(), answer=(), **more):
    told = {"gen_ai.request.model": "m", "gen_ai.tool.definitions": _OFFERED}
    if answer:
        told |= {
            "gen_ai.input.messages": json.dumps([_told("system", _text("Be good.")), *inputs]),
            "gen_ai.output.messages": json.dumps([_told("assistant", *answer)]),
        }
    return _of(id, parent, "openai.response", "chat", at=at, told=told | more.pop("told", {}), **more)


def _tool(id, name, given, gave, at, took, **more):
    told = {"gen_ai.tool.name": name, "gen_ai.tool.call.arguments": json.dumps(given)}
    told |= {"gen_ai.tool.call.result": gave}
    return _of(id, 2, f"{name}.tool", "execute_tool", at=at, took=took, told=told, **more)


_ASKED = _told("user", _text("Write of owls."))
_GIVEN = _calls(("ask_writer", {"input": "Be brief."}), ("writer_notes", {"q": "owls"}))
_SAID = (_ASKED, _told("assistant", *_GIVEN), _gave("ask_writer", "It failed."), _gave("writer_notes", "Hoo."))


def _run(*lost, fails=True):
    """A planner that asks a writer, who fails, and looks into its notes at once."""
    error = {"error": "The model fails."} if fails else {}
    answer = () if fails else (_text("Owls hoot."),)
    told = [
        _of(1, None, "Agent Workflow", took=20),
        _agent(2, 1, "planner", took=19),
        _model(3, 2, 1, (_ASKED,), _GIVEN),
        _tool(4, "ask_writer", {"input": "Be brief."}, "It failed.", 3, 5, **error),
        _tool(5, "writer_notes", {"q": "owls"}, "Hoo.", 3, 5),
        _agent(6, 1, "writer", at=4, took=3, **error),
        _model(7, 6, 5, (_told("user", _text("Be brief.")),), answer, **error),
        _model(8, 2, 10, _SAID, (_text("Owls, they say."),)),
    ]
    return runs(*(one for one in told if one["id"] not in lost))


@pytest.mark.parametrize("fails", [True, False])
def test_a_plain_tool_that_ran_beside_a_way_to_an_agent_whose_span_is_lost_is_one(fails):
    (run,) = _run(4, fails=fails)
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("planner", "writer", "ask_writer")]
    assert [(c["name"], c["status"]) for c in run["tool_calls"]] == [("writer_notes", "ok")]


@pytest.mark.parametrize(("lost", "status"), [((), "ok"), ((8,), "unknown"), ((2,), "unknown")])
def test_an_agent_that_failed_beside_who_called_it_is_not_how_the_run_ended(lost, status):
    (run,) = _run(*lost)
    assert run["status"] == status


def test_what_an_agent_beside_its_caller_was_told_is_no_users_word_though_another_failed_last():
    (run,) = runs(
        _of(1, None, "Agent Workflow", took=30),
        _agent(2, 1, "planner", took=14),
        _tool(4, "ask_writer", {"input": "Be brief."}, "Owls hoot.", 3, 5),
        _agent(6, 1, "writer", at=4, took=3),
        _model(7, 6, 5, (_told("user", _text("Be brief.")),), (_text("Owls hoot."),)),
        _model(8, 2, 10, (_ASKED, _told("assistant", *_GIVEN[:1]), _gave("ask_writer", "Owls hoot.")), (_text("So."),)),
        _agent(9, 1, "critic", at=15, took=5, error="The model fails."),
        _model(10, 9, 16, error="The model fails."),
    )
    assert run["input"] in (None, "Write of owls.")


def test_how_a_run_ended_on_a_tool_of_which_no_span_came_is_unknown_where_who_had_what_was_cut():
    cut = {"told": {"gen_ai.tool.definitions": _OFFERED[:40]}}
    look = _calls(("writer_notes", {"q": "owls"}))
    (run,) = runs(
        _of(1, None, "Agent Workflow", took=20),
        _agent(2, 1, "planner", took=19),
        _model(3, 2, 1, (_ASKED,), look, **cut),
        _tool(4, "writer_notes", {"q": "owls"}, "Hoo.", 3, 1),
        _model(5, 2, 5, (_ASKED, _told("assistant", *look), _gave("writer_notes", "Hoo.")), _calls(("fly", {})), **cut),
    )
    assert run["status"] == "unknown"
