"""A load test with a scripted model: every run has the same words, ids and tokens, one after the other or all at once.
A run costs no more for that, however its parts lie in traces of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.runs.growth import growth
from tests.runs.requests import agent, chat, span, tool

Spans = list[dict[str, Any]]
CALL = "call_Ab3dE5fG7hI9jK1lM"
ANSWER = {"gen_ai.response.id": "chatcmpl-Ab3dE5fG7hI9jK1lM"}
LINEAR = 5  # times the work for four times the runs


def _told(call: str | None) -> list[dict[str, Any]]:
    asked = {"type": "tool_call", "name": "look", "arguments": {}} | ({"id": call} if call else {})
    brought = {"type": "tool_call_response", "response": 3} | ({"id": call} if call else {})
    return [
        {"role": "user", "parts": [{"type": "text", "content": "go"}]},
        {"role": "assistant", "parts": [asked]},
        {"role": "tool", "parts": [brought]},
    ]


def _run(at: float, trace: int, **more: Any) -> Spans:
    """An agent that calls a tool."""
    return [
        agent(1, "a", trace=trace, at=at, took=5, **more),
        chat(2, 1, [(CALL, "look", {})], "go", trace=trace, at=at + 0.1, attributes=ANSWER),
        tool(3, 1, "look", CALL, "3", trace=trace, at=at + 1.2, took=0.5),
        chat(4, 1, "x", _told(CALL), trace=trace, at=at + 2, attributes=ANSWER),
    ]


def _lone(at: float, trace: int, call: str | None = CALL, **more: Any) -> Spans:
    """Two calls of a model, each in a trace of its own."""
    return [
        chat(1, None, [(call or "", "look", {})], "go", trace=trace, at=at + 0.2, took=0.8, scope="b", **more),
        chat(1, None, "x", _told(call), trace=trace + 1, at=at + 2.1, took=0.8, scope="b", **more),
    ]


def _tool(at: float, trace: int, call: str | None = CALL, **more: Any) -> Spans:
    return [tool(1, None, "look", call, "3", trace=trace, at=at + 1.3, took=0.3, **more)]


def _told_twice(at: float, trace: int) -> Spans:
    return _run(at, trace) + _lone(at, trace + 1, attributes=ANSWER)


def _through_a_gateway(at: float, trace: int, error: str | None = None) -> Spans:
    return [
        agent(1, "a", trace=trace, at=at, took=5),
        chat(2, 1, "x", "go", trace=trace, at=at + 0.1),
        span(1, None, "POST /v1/chat/completions", trace=trace + 1, at=at + 0.15, took=0.9, kind=2, error=error),
        chat(2, 1, None if error else "x", "go", trace=trace + 1, at=at + 0.2, took=0.8, error=error, scope="b"),
    ]


def _tried_by_a_gateway(at: float, trace: int) -> Spans:
    return _through_a_gateway(at, trace, "down")


def _failed_twice(at: float, trace: int) -> Spans:
    return [
        agent(1, "a", trace=trace, at=at, took=5, error="down"),
        chat(2, 1, None, "go", trace=trace, at=at + 0.1, error="down"),
        chat(1, None, None, "go", trace=trace + 1, at=at + 0.2, took=0.8, error="down", scope="b"),
    ]


def _agent_as_a_tool(at: float, trace: int) -> Spans:
    return [
        agent(1, "boss", trace=trace, at=at, took=5),
        chat(2, 1, [(CALL, "ask_helper", {})], "go", trace=trace, at=at + 0.1),
        tool(3, 1, "ask_helper", CALL, "3", trace=trace, at=at + 1.2, took=2),
        agent(1, "helper", trace=trace + 1, at=at + 1.3, took=1.5),
        chat(2, 1, "y", "sub", trace=trace + 1, at=at + 1.4),
    ]


def _loose(at: float, trace: int) -> Spans:
    return _lone(at, trace) + _tool(at, trace + 2)


def _loose_without_ids(at: float, trace: int) -> Spans:
    return _lone(at, trace, None) + _tool(at, trace + 2, None)


def _of_one_conversation(at: float, trace: int) -> Spans:
    spans = _loose(at, trace)
    for one in spans:
        one["attributes"] |= {"gen_ai.conversation.id": "one"}
    return spans


def _served(at: float, trace: int) -> Spans:
    told = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "look"}
    return [*_run(at, trace), span(1, None, "tools/call look", trace + 1, at + 1.3, 0.3, kind=2, attributes=told)]


def _linked(at: float, trace: int) -> Spans:
    return _run(at, trace, links=[(trace + 1, 1)]) + _run(at + 2, trace + 1)


def _all_linked_to_one(at: float, trace: int) -> Spans:
    return _run(at, trace, links=[(1, 1)] if trace > 1 else [])


def _empty_agent(at: float, trace: int) -> Spans:
    return [agent(1, "a", trace=trace, at=at, took=5), *_loose(at, trace + 1)]


def _told_without_tokens(at: float, trace: int) -> Spans:
    """An agent whose call tells no tokens, and a client's telling of some other call at that time."""
    inner = chat(2, 1, None, f"go {trace}", trace=trace, at=at + 0.1, took=2)
    inner["attributes"] = {key: told for key, told in inner["attributes"].items() if ".usage." not in key}
    other = chat(1, None, "x", f"stay {trace}", trace=trace + 1, at=at + 0.5, took=0.8, scope="b")
    return [agent(1, "a", trace=trace, at=at, took=5), inner, other]


def _with_orders(of: str, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"role": "system", "parts": [{"type": "text", "content": f"You are {of}."}]}, *messages]


def _handed_over(at: float, trace: int) -> Spans:
    """Three calls without ids, of which the first hands over and the last goes on without showing that."""
    words = _told(None)[:1]
    asked = [("", "transfer_to_helper", {})]
    return [
        chat(1, None, asked, _with_orders("boss", words), trace=trace, at=at, took=0.8, scope="b"),
        tool(1, None, "transfer_to_helper", None, None, trace=trace + 1, at=at + 1, took=0.3),
        chat(1, None, "x", _with_orders("helper", words), trace=trace + 2, at=at + 2, took=0.8, scope="b"),
    ]


def _asked_beside(at: float, trace: int) -> Spans:
    """A call that asks another agent, whose own stands in a trace of its own, with a tool of its own."""
    words = _told(None)[:1]
    said = {"type": "tool_call", "name": "ask_helper", "arguments": {"task": "do"}}
    back = {"type": "tool_call_response", "response": "x"}
    told = [*words, {"role": "assistant", "parts": [said]}, {"role": "tool", "parts": [back]}]
    inner = [{"role": "user", "parts": [{"type": "text", "content": "do"}]}, *_told(None)[1:]]
    return [
        chat(
            *(1, None, [("", "ask_helper", {"task": "do"})], _with_orders("boss", words)),
            **{"trace": trace, "at": at, "took": 0.8, "scope": "b"},
        ),
        chat(
            *(1, None, [("", "look", {})], _with_orders("helper", inner[:1])),
            **{"trace": trace + 1, "at": at + 1, "took": 0.2, "scope": "b"},
        ),
        tool(1, None, "look", None, "3", trace=trace + 2, at=at + 1.3, took=0.3),
        chat(1, None, "x", _with_orders("helper", inner), trace=trace + 3, at=at + 2, took=0.8, scope="b"),
        chat(1, None, "y", _with_orders("boss", told), trace=trace + 4, at=at + 3, took=0.8, scope="b"),
    ]


def _undecided(at: float, trace: int) -> Spans:
    """The same of one conversation, whose answers and ids are not told."""
    spans = [one | {"attributes": dict(one["attributes"])} for one in _asked_beside(at, trace)]
    for one in spans:
        one["attributes"] |= {"gen_ai.conversation.id": "one"}
        one["attributes"].pop("gen_ai.output.messages", None)
    return spans


_WAIT = (
    *(_loose, _loose_without_ids, _of_one_conversation, _empty_agent, _handed_over, _asked_beside, _undecided),
    _told_without_tokens,
)
QUICK = [_told_twice, _through_a_gateway]
OTHERS = [
    *(_tried_by_a_gateway, _failed_twice, _agent_as_a_tool, _loose, _loose_without_ids, _of_one_conversation),
    *(_served, _linked, _all_linked_to_one, _empty_agent, _handed_over, _asked_beside, _undecided),
    _told_without_tokens,
]


@pytest.mark.full
@pytest.mark.parametrize("apart", [6, 0])
@pytest.mark.parametrize("one", [*QUICK, *(pytest.param(one, marks=pytest.mark.full) for one in OTHERS)])
def test_runs_that_are_all_alike_cost_no_more_each(one: Callable[[float, int], Spans], apart: int) -> None:
    few = 70 if one in _WAIT else 30  # more than may wait for tools at once (joining/leaves.py)
    assert growth(lambda n: [s for i in range(n) for s in one(i * apart, 10 * i + 1)], few) < LINEAR


@pytest.mark.full
def test_ids_that_count_in_each_answer_alone_cost_no_comparison_of_all_words_with_all() -> None:
    """Conversations at once, whose histories are told in other words than their questions were: none is found."""
    known = [{"role": "user", "parts": [{"type": "text", "content": "more"}]}] * 30

    def one(at: float, trace: int) -> Spans:
        asked = [*known, {"role": "user", "parts": [{"type": "text", "content": f"go {trace}"}]}]
        first = chat(1, None, [("call_0", "look", {})], asked, trace=trace, at=at, took=0.8, scope="b")
        told = [*known, *_told("call_0")]
        return [first, chat(1, None, "x", told, trace=trace + 1, at=at + 2, took=0.8, scope="b")]

    assert growth(lambda n: [s for i in range(n) for s in one(i * 0.001, 10 * i + 1)], 70) < LINEAR
