"""Vendors and kits for Python by what their spans told of runs against a model of ours: shortened, as they send it."""

import json

import pytest

from tests.runs.requests import runs, span


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
