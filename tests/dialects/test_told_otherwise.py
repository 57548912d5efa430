"""The GenAI conventions as SDKs nobody has seen may tell them: the same sessions in other shapes."""

import json

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from tests.runs.requests import T0, agent, chat, records, runs, span, tool

pytestmark = pytest.mark.full


def _called(run):
    return [(c["name"], c["agent"], c["status"], c["turn"]) for c in run["tool_calls"]]


def test_a_tool_may_begin_while_its_request_is_still_told():
    def told(answer, **more):
        (run,) = runs(
            agent(1, "a", took=9),
            chat(2, 1, answer, "go", at=1, took=2),
            tool(3, 1, "look", result="3", at=2.5, attributes={"gen_ai.tool.call.arguments": {"q": 1}}),
            chat(4, 1, "done", at=5, **more),
        )
        return _called(run)

    assert told([("c1", "look", {"q": 1})]) == [("look", "a", "ok", 0)]
    assert told(None) == [("look", "a", "ok", 0)]
    other = told([("c1", "look", {"q": 2})])
    assert {(status, turn) for _, _, status, turn in other} == {("requested", 0), ("ok", None)}


def test_a_tool_that_began_with_its_model_by_a_coarse_clock_is_called_once():
    (run,) = runs(
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {"q": 1})], "go", at=1),
        tool(3, 1, "look", result="3", at=1, attributes={"gen_ai.tool.call.arguments": {"q": 1}}),
        chat(4, 1, "done", at=5),
    )
    assert _called(run) == [("look", "a", "ok", 0)]


def test_who_begins_after_a_model_was_asked_was_not_asked_by_the_user():
    asked = [{"role": "user", "parts": [{"type": "text", "content": "book it"}]}]
    (run,) = runs(
        span(1, None, "handle", took=20),
        chat(2, 1, [("c1", "ask_worker", {"task": "book it"})], "plan a trip", at=1, gen_ai__agent__name="planner"),
        agent(4, "worker", 1, at=4, took=3, gen_ai__input__messages=asked),
        chat(5, 4, "booked", "book it", at=5),
        chat(6, 1, "done", at=9),
    )
    assert run["input"] == "plan a trip"


def test_what_is_left_of_a_result_is_no_result():
    long = "x" * 200
    asked = [{"role": "user", "parts": [{"type": "text", "content": long}]}]
    spans = [
        agent(1, "a", took=9),
        chat(2, 1, [("c1", "look", {"q": long})], asked, at=1),
        tool(3, 1, "look", "c1", long, at=3),
        chat(4, 1, "done", asked, at=5),
    ]
    for one in spans:
        one["attributes"] = {k: v if isinstance(v, int) else _text(v)[:128] for k, v in one["attributes"].items()}
    (run,) = runs(*spans)
    assert [(c["name"], c["status"], c["result"]) for c in run["tool_calls"]] == [("look", "ok", None)]
    assert "truncated values" in run["incomplete"]


def _text(value):
    return value if isinstance(value, str) else json.dumps(value)


def test_an_agent_that_links_to_a_tool_was_called_by_that_tool():
    asked = chat(2, 1, [("c1", "book_trip", {"task": "book"})], "go", at=1)
    called = tool(3, 1, "book_trip", "c1", "ok", at=3, took=5, kind=3)
    worker = [
        agent(4, "worker", trace=2, at=4, took=3, links=[(1, 3)]),
        chat(5, 4, "booked", "book", trace=2, at=5),
    ]
    (run,) = runs(agent(1, "planner", took=20), asked, called, *worker, chat(6, 1, "done", at=9))
    assert [(d["from"], d["to"], d["tool"]) for d in run["delegations"]] == [("planner", "worker", "book_trip")]
    assert run["tool_calls"] == []


def _records(of, *messages):
    """Log records of one time, as JavaScript's clock of milliseconds makes them."""
    whole = ExportLogsServiceRequest.FromString(
        records([(of, {"event.name": name} | body) for name, body in messages], trace=of)
    )
    for record, (name, _) in zip(whole.resource_logs[0].scope_logs[0].log_records, messages, strict=True):
        record.time_unix_nano, record.event_name = T0, name
    return whole.SerializeToString()


def _asks(id):
    function = {"name": "look", "arguments": "{}"}
    return ("gen_ai.assistant.message", {"tool_calls": [{"id": id, "type": "function", "function": function}]})


def _choice(**message):
    return ("gen_ai.choice", {"index": 0, "message": message})


def test_messages_of_one_time_are_in_the_order_that_they_can_only_have():
    user = ("gen_ai.user.message", {"content": "go"})
    history = [user, _asks("c1"), ("gen_ai.tool.message", {"id": "c1", "content": "3"})]
    again = [("gen_ai.tool.message", {"id": "a2", "content": "4"}), _asks("a2")]
    logs = [
        _records(1, user, _choice(**_asks("c1")[1])),
        _records(2, *history[::-1], _choice(**_asks("a2")[1])),
        _records(3, *again, *history, _choice(content="done")),
    ]
    for some in (logs, logs[::-1]):
        (run,) = runs(*(chat(n, None, trace=n, at=n * 2) for n in (1, 2, 3)), logs=some)
        assert (run["input"], run["output"]) == ("go", "done")
        assert [(c["call_id"], c["result"], c["turn"]) for c in run["tool_calls"]] == [("c1", "3", 0), ("a2", "4", 1)]


def test_of_words_of_several_turns_at_one_time_nobody_knows_the_last():
    first = [("gen_ai.user.message", {"content": "zero"}), _asks("c1"), ("gen_ai.tool.message", {"id": "c1"})]
    later = [*first, ("gen_ai.assistant.message", {"content": "done"}), ("gen_ai.user.message", {"content": "more"})]
    logs = [
        _records(1, first[0], _choice(**_asks("c1")[1])),
        _records(2, *first, _choice(content="done")),
        _records(3, *later, _choice(**_asks("c2")[1])),
        _records(4, *later, _asks("c2"), ("gen_ai.tool.message", {"id": "c2"}), _choice(content="well")),
    ]
    one, two = runs(*(chat(n, None, trace=n, at=n * 2) for n in (1, 2, 3, 4)), logs=logs)
    assert (one["input"], one["output"], len(one["llm_calls"])) == ("zero", "done", 2)
    assert (two["input"], two["output"], len(two["llm_calls"])) == (None, "well", 2)
    assert [c["call_id"] for c in two["tool_calls"]] == ["c2"]
    assert "order of messages not reported" in two["incomplete"]


def test_a_choice_that_was_cut_is_no_answer():
    long = "x" * 200
    message = json.dumps({"role": "assistant", "tool_calls": [{"id": "c1", "function": {"arguments": long}}]})
    told = [("gen_ai.user.message", {"content": long[:128]}), ("gen_ai.choice", {"message": message[:128]})]
    (run,) = runs(agent(1, "a", took=9), chat(2, 1, at=1, events=told))
    assert (run["input"], run["output"], run["tool_calls"]) == (None, None, None)
    assert "max_steps" in run["boundaries_unknown"]
    assert "truncated values" in run["incomplete"]


def test_ids_of_messages_of_one_time_may_be_anything():
    odd = ("gen_ai.assistant.message", {"tool_calls": [{"id": ["c1"]}, "x"]})
    sent = _records(2, odd, ("gen_ai.tool.message", {"id": {"a": 1}, "content": "3"}), ("gen_ai.user.message", {}))
    assert len(runs(agent(1, "a", took=9, trace=2), chat(2, 1, trace=2, at=1), logs=[sent])) == 1
