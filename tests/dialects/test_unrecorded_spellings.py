"""Messages of the GenAI conventions as other languages spell and other encoders carry them."""

import json

import pytest

from tests.runs import requests
from tests.runs.requests import agent, chat, records, runs, span, tool

pytestmark = pytest.mark.full


def _part(kind, **more):
    return {"type": kind} | more


def _history(user, assistant, tool_role, text, call, response):
    return [
        {"role": user, "parts": [_part(text, content="weather?")]},
        {"role": assistant, "parts": [_part(call, id="c1", name="look", arguments={"city": "Oslo"})]},
        {"role": tool_role, "parts": [_part(response, id="c1", response="3 degrees")]},
    ]


@pytest.mark.parametrize(
    "spelling",
    [
        ("User", "Assistant", "Tool", "text", "tool_call", "tool_call_response"),
        ("USER", "ASSISTANT", "TOOL", "TEXT", "TOOL_CALL", "TOOL_CALL_RESPONSE"),
        ("user", "assistant", "tool", "text", "toolCall", "toolCallResponse"),
        ("user", "assistant", "tool", "text", "tool-call", "tool-call-response"),
        ("User", "Assistant", "Tool", "Text", "ToolCall", "ToolCallResponse"),
    ],
)
def test_roles_and_parts_are_read_in_any_casing(spelling):
    history = _history(*spelling)
    answer = [{"role": spelling[1], "parts": [_part(spelling[3], content="cold")], "finish_reason": "stop"}]
    first, second = {"gen_ai.output.messages": history[1:2]}, {"gen_ai.output.messages": answer}
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, asked=history[:1], at=1, attributes=first),
        chat(3, 1, asked=history, at=3, attributes=second),
    )
    assert (run["input"], run["output"]) == ("weather?", "cold")
    (call,) = run["tool_calls"]
    told = (call["name"], call["status"], call["call_id"], call["arguments"], call["result"])
    assert told == ("look", "ok", "c1", {"city": "Oslo"}, "3 degrees")


def test_json_that_was_set_as_bytes_is_json(monkeypatch):
    plain = requests._value

    def value(given):
        return requests.AnyValue(bytes_value=given) if isinstance(given, bytes) else plain(given)

    monkeypatch.setattr(requests, "_value", value)
    asked, said = ([{"role": r, "parts": [_part("text", content=t)]}] for r, t in (("user", "hi"), ("assistant", "ho")))
    written = {"gen_ai.input.messages": asked, "gen_ai.output.messages": said}
    in_bytes = {key: json.dumps(value).encode() for key, value in written.items()}
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, at=1, attributes=in_bytes))
    assert (run["input"], run["output"]) == ("hi", "ho")
    events = [{"event.name": "gen_ai.client.inference.operation.details"} | in_bytes]
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, at=1), logs=[records((2, event) for event in events)])
    assert (run["input"], run["output"]) == ("hi", "ho")
    (run,) = runs(agent(1, "a", took=9), tool(2, 1, "shoot", "c1", at=1, attributes=_result(b"\x89PNG{")))
    assert run["tool_calls"][0]["result"] == "iVBOR3s="  # an image, not a text


def _result(data):
    return {"gen_ai.tool.call.result": data}


@pytest.mark.parametrize(
    ("text", "ran", "told"),
    [
        ("Error: no such city", False, ("error", "soft")),
        ("Error: no such city", True, ("ok", "soft")),  # the tool's own words, and its span says that it went well
        ("ValueError: no such city", True, ("error", "soft")),
        ('{"error": "no such city"}', False, ("error", "soft")),
        ('{"error": null, "city": "Oslo"}', False, ("ok", None)),
        ("3 degrees", False, ("ok", None)),
        ("Errors are rare in Oslo", True, ("ok", None)),
    ],
)
def test_a_text_that_is_all_an_object_holds_tells_an_error_as_it_does_alone(text, ran, told):
    history = [
        {"role": "user", "parts": [{"text": "weather?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"city": "Oslo"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"result": text}}}]},
    ]
    spans = [tool(3, 1, "look", result=json.dumps({"result": text}), at=3)] if ran else []
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [(None, "look", {"city": "Oslo"})], "weather?", at=1),
        *spans,
        chat(4, 1, "done", history, at=5),
    )
    assert [(c["status"], c["error_kind"]) for c in run["tool_calls"]] == [told]


def test_what_an_agent_that_works_first_was_asked_is_not_the_users_request():
    (run,) = runs(
        agent(1, "writer", took=9),
        agent(2, "critic", 1, at=1, took=2),
        chat(3, 2, "fine", "a poem", at=1.5),
        chat(4, 1, "done", "write", at=4),
    )
    assert run["input"] == "write"


def test_of_agents_that_only_their_model_calls_name_nobody_knows_who_called_whom():
    def named(id, name, at):
        return chat(id, 1, "done", "go", at=at, attributes={"gen_ai.agent.name": name})

    (run,) = runs(span(1, None, "work", took=9), named(2, "a", 1), named(3, "b", 3))
    assert run["agents"] == ["a", "b"]
    assert run["delegations"] is None and "delegations not visible" in run["incomplete"]
    (run,) = runs(span(1, None, "work", took=9), named(2, "a", 1), named(3, "a", 3))
    assert run["delegations"] == []
