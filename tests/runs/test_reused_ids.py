"""Ids of calls that stand for several: made anew in each answer, or the name of the tool."""

from tests.runs.either_way import with_shortcut, without
from tests.runs.requests import agent, chat, frames, request, runs, tool


def _user(text):
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def _asks(*calls):
    parts = [{"type": "tool_call", "id": i, "name": name, "arguments": given} for i, name, given in calls]
    return {"role": "assistant", "parts": parts}


def _brings(*results):
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": i, "response": r} for i, r in results]}


def _results(*spans):
    (run,) = runs(*spans)
    ways = [way(*frames([("traces", request(spans))])) for way in (lambda *a: with_shortcut(*a)[0], without)]
    assert ways[0].equals(ways[1])
    return [(c["name"], c["arguments"], c["status"], c["result"], c["turn"]) for c in run["tool_calls"]]


FIRST, SECOND = ("call_0", "look", {"q": 1}), ("call_0", "look", {"q": 2})


def test_a_result_is_of_the_newest_call_with_its_id_where_only_what_is_new_is_told():
    spans = [
        agent(1, "a", took=20),
        chat(2, 1, [FIRST], "go", at=1),
        tool(3, 1, "look", "call_0", at=3),
        chat(4, 1, [SECOND], [_brings(("call_0", "one"))], at=5),
        tool(5, 1, "look", "call_0", at=7),
        chat(6, 1, "done", [_brings(("call_0", "two"))], at=9),
    ]
    told = [("look", {"q": 1}, "ok", "one", 0), ("look", {"q": 2}, "ok", "two", 1)]
    assert _results(*spans) == told
    assert _results(*(s for s in spans if s["id"] not in (3, 5))) == told


def test_who_took_over_has_the_results_of_its_own_calls_with_ids_of_who_handed_over():
    over, back = _asks(("call_0", "transfer_to_worker", {})), _brings(("call_0", "handed over"))
    history = [_user("go"), over, back]
    spans = [
        agent(1, "planner", took=3),
        chat(2, 1, [("call_0", "transfer_to_worker", {})], "go", at=1),
        agent(3, "worker", 1, at=4, took=9),
        chat(4, 3, [FIRST], history, at=5),
        chat(5, 3, "done", [*history, _asks(FIRST), _brings(("call_0", "one"))], at=8),
    ]
    assert _results(*spans) == [("look", {"q": 1}, "ok", "one", 1)]


def test_calls_of_one_answer_that_bear_the_name_of_their_tool_for_an_id_are_several():
    both = [("look", "look", {"q": 1}), ("look", "look", {"q": 2})]
    history = [_user("go"), _asks(*both), _brings(("look", "one"), ("look", "two"))]
    spans = [
        agent(1, "a", took=20),
        chat(2, 1, both, "go", at=1),
        tool(3, 1, "look", "look", at=3.5, attributes={"gen_ai.tool.call.arguments": {"q": 1}}),
        tool(4, 1, "look", "look", at=3, attributes={"gen_ai.tool.call.arguments": {"q": 2}}),
        chat(5, 1, "done", history, at=7),
    ]
    told = [("look", {"q": 1}, "ok", "one", 0), ("look", {"q": 2}, "ok", "two", 0)]
    assert _results(*spans) == told
    assert _results(*(s for s in spans if s["id"] not in (3, 4))) == told


def test_a_span_ran_the_newest_call_with_its_id():
    spans = [
        agent(1, "a", took=20),
        chat(2, 1, [FIRST], "go", at=1),
        chat(3, 1, [SECOND], "go on", at=4),
        tool(4, 1, "look", "call_0", "two", at=6),
        chat(5, 1, "done", "go on", at=9),
    ]
    assert [(given["q"], result) for _, given, _, result, _ in _results(*spans)] == [(1, None), (2, "two")]


def test_spans_side_by_side_that_bear_the_name_of_their_tool_for_an_id_are_several_calls():
    both = [("look", "look", {"q": 1}), ("look", "look", {"q": 2})]
    spans = [
        agent(1, "a", took=20),
        chat(2, 1, both, "go", at=1),
        tool(3, 1, "look", "look", at=3),
        tool(4, 1, "look", "look", at=3.1),
        chat(5, 1, "done", at=7),
    ]
    assert [(given["q"], status) for _, given, status, _, _ in _results(*spans)] == [(1, "ok"), (2, "ok")]


def test_a_result_by_an_id_of_another_conversation_is_of_the_request_that_it_goes_on_from():
    asked = [("look_1", "look", {"q": 1}), ("book_2", "book", {})]
    answer = _asks(*asked)
    answer["parts"].insert(0, {"type": "text", "content": "I look."})
    output = {"gen_ai.output.messages": [answer]}
    spans = [
        chat(1, None, [("look_0", "look", {"q": 1})], "here?", trace=1),
        chat(
            2,
            None,
            "Here.",
            [_user("here?"), _asks(("look_0", "look", {"q": 1})), _brings(("look_0", "yes"))],
            trace=2,
            at=1,
        ),
        chat(3, None, None, "there?", trace=3, at=2, attributes=output),
        chat(4, None, "There.", [_user("there?"), answer, _brings(("look_0", "no"), ("book_1", "too"))], trace=4, at=3),
    ]
    told = [(r["input"], r["output"], [(c["name"], c["result"]) for c in r["tool_calls"]]) for r in runs(*spans)]
    assert told == [
        ("here?", "Here.", [("look", "yes")]),
        ("there?", "There.", [("look", "no"), ("book", "too")]),
    ]
