"""Respan 2.24 with respan-sdk 2.9, of OpenAI's kit: messages around what tools were given and gave, and the provider's
own tools as Python prints them."""

import json

import pytest

from tests.runs.requests import runs, span


def _span(id, parent, kind, named, at=0, took=1, given=None, came=None, **told):
    texts = {"traceloop.entity.input": given, "traceloop.entity.output": came}
    told = {"respan.entity.log_type": kind, "traceloop.entity.name": named} | told
    told |= {key: value for key, value in texts.items() if value is not None}
    return span(id, parent, kind, at=at, took=took, attributes=told, scope="", status=1)


def _agents(*steps):
    (run,) = runs(
        _span(1, None, "workflow", "Agent workflow", took=30), _span(2, 1, "agent", "planner", took=29), *steps
    )
    return run


_LONG = "Looks. " * 99


def _model(id, at, came, calls=()):
    asked = '[{"content": "go", "role": "user"}]'
    told = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "go", "gen_ai.completion.0.role": "assistant"}
    told |= {
        "llm.request.functions": json.dumps([{"type": "function", "function": {"name": "look", "description": _LONG}}])
    }
    told |= {"gen_ai.request.model": "m", "gen_ai.usage.prompt_tokens": 5, "gen_ai.completion.0.content": came}
    made = [{"id": f"c{n}", "type": "function", "function": {"name": n, "arguments": a}} for n, a in calls]
    told |= {"gen_ai.completion.0.tool_calls": json.dumps(made)} if made else {}
    return _span(id, 2, "chat", "response", at, given=asked, came=came, **told)


@pytest.mark.parametrize(("gave", "told"), [("seen 1", ("ok", "seen 1")), ("", ("unknown", None))])
def test_a_tool_is_told_as_a_message_and_one_that_waits_as_an_empty_one(gave, told):
    run = _agents(
        _model(3, 0, "", [("look", '{"x": 1}')]),
        _span(
            *(4, 2, "tool", "look", 2),
            given='[{"role": "tool", "content": "{\\"x\\": 1}"}]',
            came=json.dumps({"role": "tool", "content": gave}),
        ),
        _model(5, 4, "done"),
    )
    (call,) = run["tool_calls"]
    assert (call["name"], call["arguments"], call["status"], call["result"]) == ("look", {"x": 1}, *told)


_SEARCH = "{'id': 'ws_1', 'action': {'type': 'search', 'query': 'q'}, 'status': 'completed', 'type': 'web_search_call'}"
_LIST = "{'id': 'l_1', 'server_label': 'srv', 'tools': [{'name': 'roll'}], 'type': 'mcp_list_tools', 'error': None}"
_ROLL = "{'id': 'm_1', 'name': 'roll', 'arguments': '{\"sides\": 6}', 'output': '4', 'type': 'mcp_call', 'error': None}"


@pytest.mark.parametrize(
    ("printed", "called"),
    [
        (_SEARCH, ("web_search", {"type": "search", "query": "q"}, "ok", None)),
        (f"{_LIST}\n{_ROLL}", ("roll", {"sides": 6}, "ok", "4")),
    ],
)
def test_what_the_provider_ran_is_no_part_of_what_was_said(printed, called):
    run = _agents(_model(3, 0, f"{printed}\nfound\nit"))
    assert run["output"] == "found\nit"
    assert [(c["name"], c["arguments"], c["status"], c["result"]) for c in run["tool_calls"]] == [called]
