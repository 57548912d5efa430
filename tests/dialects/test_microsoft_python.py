"""OpenAI's agents under the observability of Microsoft's Agent 365 for Python (2.0)."""

import json

import pytest

from tests.dialects.test_platforms_kits import either_way
from tests.runs.requests import span

_SCOPE = "microsoft_agents_a365.observability.core.config"


def _told(id, parent, name, op, at, took, status=1, **told):
    told = {"gen_ai.operation.name": op, "gen_ai.provider.name": "openai"} | told
    return span(id, parent, name, at=at, took=took, scope=_SCOPE, status=status, attributes=told)


def _part(role, **part):
    return {"role": role, "parts": [part]}


_ASKED = _part("user", type="text", content="Weather?")
_SAID = _part("assistant", type="text", content="Sunny.")


def _call(name, given):
    return _part("assistant", type="tool_call", id="c1", name=name, arguments=json.dumps(given))


def _response(id, parent, at, asked, said):
    """Messages stand in one attribute, and beside it in numbered ones by names that nobody else has."""
    told = {"gen_ai.response.model": "gpt-x-1", "gen_ai.usage.input_tokens": id, "gen_ai.usage.output_tokens": 2}
    told |= {"gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps(said)}
    told |= {"gen_ai.input.messages.0.message_role": "system"}
    told |= {"gen_ai.input.messages.0.gen_ai.output.messages": "You help."}
    for at_, message in enumerate(asked, 1):
        told |= {f"gen_ai.input.messages.{at_}.message_role": message["role"]}
    return _told(id, parent, "response", "chat", at, 5, **told)


def _run(name, given, gave, lost):
    back = _part("tool", type="tool_call_response", id="c1", response=gave)
    told = {"gen_ai.tool.name": name, "gen_ai.tool.type": "function", "gen_ai.tool.call.result": gave}
    spans = [
        _told(1, None, "Agent workflow", "chain", 0, 60),
        _told(2, 1, "invoke_agent planner", "invoke_agent", 1, 58),
        _told(3, 2, "turn", "chain", 2, 28),
        _response(4, 3, 3, [_ASKED], [_call(name, given) | {"finish_reason": "tool_call"}]),
        _told(5, 3, f"execute_tool {name}", "execute_tool", 10, 15, **told),
        _told(6, 2, "turn", "chain", 35, 20),
        _response(7, 6, 36, [_ASKED, _call(name, given), back], [_SAID]),
    ]
    if name == "ask_worker":
        spans += [
            _told(8, 5, "Agent workflow", "chain", 11, 13),
            _told(9, 8, "invoke_agent worker", "invoke_agent", 12, 11),
            _told(10, 9, "turn", "chain", 13, 9),
            _response(11, 10, 14, [_part("user", type="text", content="Do it.")], [_SAID]),
        ]
    (run,) = either_way(*(s for s in spans if s["id"] != lost))
    return run


def test_numbered_attributes_that_nobody_can_read_hide_no_messages():
    run = _run("look", {"city": "Rome"}, "sunny in Rome", lost=5)
    assert [(t["status"], t["result"], t["turn"]) for t in run["tool_calls"]] == [("ok", "sunny in Rome", 0)]
    assert (run["input"], run["output"], run["incomplete"]) == ("Weather?", "Sunny.", [])


@pytest.mark.parametrize("name, given", [("look", {"city": "Rome"}), ("ask_worker", {"input": "Do it."})])
def test_who_asked_is_missing_where_a_later_call_was_shown_the_request(name, given):
    """Also for what calls another agent."""
    assert _run(name, given, "Sunny.", lost=None)["incomplete"] == []
    assert "missing step" in _run(name, given, "Sunny.", lost=4)["incomplete"]


@pytest.mark.parametrize("lost, status", [(None, "error"), (3, "unknown")])
def test_an_agent_ends_well_though_its_turn_failed(lost, status):
    """Nobody has the tool that was asked for: the turn alone says so."""
    spans = [
        _told(1, None, "Agent workflow", "chain", 0, 30),
        _told(2, 1, "invoke_agent planner", "invoke_agent", 1, 28),
        _told(3, 2, "turn", "chain", 2, 25, status=2),
        _response(4, 3, 3, [_ASKED], [_call("nosuch", {"a": 1}) | {"finish_reason": "tool_call"}]),
    ]
    (run,) = either_way(*(s for s in spans if s["id"] != lost))
    assert run["status"] == status
