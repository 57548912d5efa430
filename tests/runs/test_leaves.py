"""Model calls and tools that each stand in a trace of their own, under one conversation id."""

import pytest

from tests.runs.requests import chat, runs, tool


def _said(role, **part):
    return {"role": role, "parts": [part]}


def _user(text):
    return _said("user", type="text", content=text)


def _history(*ids):
    out = []
    for id in ids:
        out.append(_said("assistant", type="tool_call", id=id, name="look", arguments={"a": id}))
        out.append(_said("tool", type="tool_call_response", id=id, response=f"found {id}"))
    return out


def _turn(conversation, text, one, two, at=0.0, trace=1, before=(), named=True):
    """Two tools, one after the other, and an answer; every step in a trace of its own."""
    told = {"gen_ai.conversation.id": conversation} if conversation else {}
    asked = [*before, _user(text)]

    def model(number, answer, ids, finish):
        more = told | {"gen_ai.response.finish_reasons": [finish]}
        given = [*asked, *_history(*ids)]
        return chat(1, None, answer, asked=given, at=at + 2 * number, trace=trace + 2 * number, attributes=more)

    def ran(number, id):
        more = told | {"gen_ai.tool.call.arguments": {"a": id}}
        place = {"at": at + 2 * number + 1.2, "took": 0.5, "trace": trace + 2 * number + 1}
        return tool(1, None, "look", id if named else None, f"found {id}", attributes=more, **place)

    return [
        model(0, [(one, "look", {"a": one})], [], "tool_calls"),
        ran(0, one),
        model(1, [(two, "look", {"a": two})], [one], "tool_calls"),
        ran(1, two),
        model(2, "done", [one, two], "stop"),
    ]


def _conversations(named, conversation="c"):
    first = [_user("go"), *_history("1a", "2a"), _said("assistant", type="text", content="done")]
    return [
        *_turn(conversation, "go", "1a", "2a", named=named),
        *_turn(conversation and "other", "stay", "1b", "2b", at=0.1, trace=21, named=named),
        *_turn(conversation, "more", "1c", "2c", at=10, trace=41, before=first, named=named),
    ]


def _without(spans, *words):
    for one in spans:
        one["attributes"] = {k: v for k, v in one["attributes"].items() if not any(word in k for word in words)}
    return spans


def _shapes(found):
    return [(len(r["trace_ids"]), len(r["llm_calls"]), [c["turn"] for c in r["tool_calls"]]) for r in found]


_CONTENT = ("messages", "arguments", "result")


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("lost", [(), ("output.messages", "finish"), _CONTENT, (*_CONTENT, "finish")])
def test_leaves_of_a_conversation_are_one_run_for_each_request(named, lost):
    found = runs(*_without(_conversations(named), *lost))
    assert _shapes(found) == [(5, 3, [0, 1])] * 3
    assert [r["conversation_id"] for r in found] == ["c", "other", "c"]


def test_what_was_asked_tells_where_a_tool_ran_that_tells_no_id():
    found = runs(*_conversations(False))
    assert [[(c["call_id"], c["result"], c["evidence"]) for c in r["tool_calls"]] for r in found] == [
        [(f"{n}{run}", f"found {n}{run}", ["span", "message"]) for n in (1, 2)] for run in "abc"
    ]


def test_without_a_conversation_nothing_tells_whose_a_tool_was():
    found = runs(*_without(_conversations(True, conversation=None), *_CONTENT))
    assert [len(r["trace_ids"]) for r in found] == [1] * 15


def test_an_answer_ends_its_run_also_where_texts_cannot_be_seen():
    told = {"gen_ai.conversation.id": "c", "gen_ai.response.finish_reasons": ["stop"]}
    assert len(runs(*(chat(1, None, trace=n, at=n, attributes=told) for n in (1, 2, 3)))) == 3


def test_a_call_that_was_asked_new_words_begins_a_run_whatever_came_before():
    left = _turn("c", "go", "1a", "2a")[:2]
    new = _turn("c", "more", "1c", "2c", at=10, trace=41, before=[_user("go"), *_history("1a")])
    assert _shapes(runs(*left, *new)) == [(2, 1, [0]), (5, 3, [0, 1])]


def test_an_agent_waits_while_another_works_for_it():
    def model(trace, name, finish):
        told = {"gen_ai.conversation.id": "c", "gen_ai.agent.name": name, "gen_ai.response.finish_reasons": [finish]}
        return chat(1, None, trace=trace, at=2 * trace, attributes=told)

    asks, ends = "tool_calls", "stop"
    steps = [("planner", asks), ("worker", asks), ("worker", ends), ("planner", ends), ("planner", ends)]
    found = runs(*(model(trace, *step) for trace, step in enumerate(steps, 1)))
    assert [[c["agent"] for c in r["llm_calls"]] for r in found] == [
        ["planner", "worker", "worker", "planner"],
        ["planner"],
    ]


def _of_langchain_js(trace, at, *results, asked="go"):
    """A model that asks for tools without a word of which, the tools, and the call that is told their results."""
    finish = {"gen_ai.response.finish_reasons": ["tool_call"]}
    empty = {"gen_ai.output.messages": [_said("assistant", type="text", content="") | {"finish_reason": "tool_call"}]}
    came = [_said("tool", type="text", content=text) for text in results]
    history = [_user(asked), _said("assistant", type="text", content=""), *came]
    return [
        chat(1, None, None, [_user(asked)], trace=trace, at=at, attributes=finish | empty),
        *(
            tool(1, None, "look", f"c{trace}{n}", text, trace=trace + 2 + n, at=at + 2)
            for n, text in enumerate(results)
        ),
        chat(1, None, "done", history, trace=trace + 1, at=at + 4),
    ]


def _results(found):
    return [None if r["tool_calls"] is None else [(c["result"], c["turn"]) for c in r["tool_calls"]] for r in found]


def test_a_tool_ran_for_the_call_after_which_a_model_was_told_its_result():
    both = [*_of_langchain_js(1, 0, "red", "blue"), *_of_langchain_js(11, 0.1, "green", asked="stay")]
    assert _results(runs(*both)) == [[("red", 0), ("blue", 0)], [("green", 0)]]


def test_what_two_models_were_told_may_have_come_from_either_tool():
    found = runs(*_of_langchain_js(1, 0, "red"), *_of_langchain_js(11, 0.1, "red", asked="stay"))
    assert _results(found) == [None, None, [("red", None)], [("red", None)]]


@pytest.mark.parametrize(("said", "one"), [("no such city", True), ("another", False)])
def test_a_tool_that_failed_ran_for_the_call_after_which_a_model_was_told_of_the_failure(said, one):
    spans = _of_langchain_js(1, 0, f"Error: {said}\n Please fix your mistakes.")
    thrown = ("exception", {"exception.type": "Error", "exception.message": "no such city"})
    spans[1] = tool(1, None, "look", trace=3, at=2, error="no such city", events=[thrown])
    found = runs(*spans)
    assert len(found) == (1 if one else 2)
    calls = [(c["name"], c["status"], c["turn"]) for c in found[-1]["tool_calls"]]
    assert calls == [("look", "error", 0 if one else None)]


def test_some_of_the_tools_of_a_run_are_not_told_as_all():
    spans = _of_langchain_js(1, 0, "red", "blue")
    del spans[2]
    found = runs(*spans)
    assert _results(found) == [None, [("red", None)]]
    assert "whose work this was is not visible" in found[1]["incomplete"]


@pytest.mark.parametrize("ids", [("call_Qx1v", "call_Zp8m"), ("call_0", "call_0")])
@pytest.mark.parametrize("failed", [False, True])
def test_a_tool_whose_id_only_histories_show_is_of_the_run_that_shows_it(ids, failed):
    """Two runs at once, each step in a trace of its own, whose answers are not told. An id that counts in each answer
    alone tells nothing: tools of which the same came are dealt, else whose was whose stays unknown."""
    spans = []
    for at, id in enumerate(ids):
        asked = [_user(f"look at {at}")]
        spans += [
            chat(1, None, None, asked, trace=10 * at + 1, at=0.1 * at, took=0.5),
            tool(
                1, None, "look", id, trace=10 * at + 2, at=1 + 0.1 * at, took=0.5, error="no" if at and failed else None
            ),
            chat(1, None, "done", [*asked, *_history(id)], trace=10 * at + 3, at=3 + at, took=0.5),
        ]
    together = sorted(sorted(int(trace, 16) for trace in run["trace_ids"]) for run in runs(*spans))
    known = ids[0] != ids[1] or not failed
    assert together == ([[1, 2, 3], [11, 12, 13]] if known else [[1, 3], [2], [11, 13], [12]])
