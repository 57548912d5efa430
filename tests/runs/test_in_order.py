"""Model calls in traces of their own that tell neither words nor ids, as a client tells them with content kept out."""

from __future__ import annotations

import pytest

from otelcov.ground.config import Config
from otelcov.runs import reconstruct
from otelcov.store.layout import from_requests
from tests.captures import LATER
from tests.runs.requests import request, runs, span

ASKED = {"gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "a"}]}]'}
UNSURE = "whose work this was is not visible"


def call(trace, at, finish="tool_calls", given=None, took=1.0, model="m-1", **more):
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model, "gen_ai.response.finish_reasons": [finish]}
    told |= {"gen_ai.usage.input_tokens": 100 + trace if given is None else given, "gen_ai.usage.output_tokens": 9}
    return span(1, None, f"chat {model}", trace=trace, at=at, took=took, scope="client", attributes=told | more)


def lengths(*spans):
    return sorted(len(run["trace_ids"]) for run in runs(*spans))


def test_the_next_call_goes_on_with_one_that_asked_for_tools():
    one, two = runs(call(1, 0), call(2, 3), call(3, 6, "stop"), call(4, 9), call(5, 12, "stop"))
    assert [len(run["trace_ids"]) for run in (one, two)] == [3, 2]
    assert [len(run["llm_calls"]) for run in (one, two)] == [3, 2]
    assert all(run["tool_calls"] is None and UNSURE in run["incomplete"] for run in (one, two))


def test_one_that_asked_for_nothing_is_a_run():
    alone, other = runs(call(1, 0, "stop"), call(2, 3, "stop"))
    assert UNSURE not in alone["incomplete"] + other["incomplete"]


def test_calls_at_one_time_are_told_apart_by_nothing():
    assert lengths(call(1, 0), call(2, 0.5), call(3, 3, "stop"), call(4, 3.5, "stop")) == [1, 1, 1, 1]
    assert lengths(call(1, 0), call(2, 3, "stop", took=9), call(3, 5, "stop")) == [1, 1, 1]
    assert lengths(call(1, 0), call(2, 3, "stop", took=1), call(3, 5, "stop")) == [1, 2]


@pytest.mark.parametrize(
    "second",
    [
        call(2, 3, "stop", given=90),
        call(2, 70, "stop"),
        call(2, 3, "stop", model="m-2"),
        call(2, 3, "stop", **{"gen_ai.conversation.id": "c-2"}),
        call(
            2, 3, "stop", **{"gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "a"}]}]'}
        ),
    ],
)
def test_a_call_that_cannot_have_been_given_what_tools_told_begins_anew(second):
    assert lengths(call(1, 0), second) == [1, 1]


def test_who_tells_words_elsewhere_was_given_none_here():
    assert lengths(call(1, 0, **ASKED), call(2, 3, "stop")) == [1, 1]
    cut = {"gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "cont'}
    assert lengths(call(1, 0, **ASKED), call(2, 3, "stop", **cut)) == [2]


def test_of_another_service_nothing_goes_on():
    bodies = [request([call(1, 0)]), request([call(2, 3, "stop")], service="other")]
    assert reconstruct(*from_requests(bodies, [], 1), Config(), LATER).height == 2


def test_what_goes_on_in_a_frame_stands_in_it():
    framed = [span(7, None, "ai.streamText", at=0, scope="ai"), call(1, 0) | {"id": 2, "parent": 7, "scope": "ai"}]
    assert lengths(*framed, call(2, 3, "stop")) == [1, 1]


def ran(trace, at, took=1.0, **more):
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    return span(1, None, "execute_tool", trace=trace, at=at, took=took, scope="client", attributes=told | more)


def test_a_tool_that_has_no_id_is_of_the_call_that_asked_for_some_before_it():
    """@traceloop/instrumentation-langchain 0.24 without a root, with content kept out."""
    (one,) = runs(call(1, 0), ran(6, 1.5), call(2, 3), ran(7, 4.2), ran(8, 4.2, 1.5), call(4, 9, "stop"))
    assert len(one["trace_ids"]) == 6
    assert [(c["name"], c["turn"], c["status"]) for c in one["tool_calls"]] == [
        ("look", 0, "ok"),
        ("look", 1, "ok"),
        ("look", 1, "ok"),
    ]
    assert UNSURE in one["incomplete"]


@pytest.mark.parametrize(
    ("first", "tool", "second"),
    [
        (call(1, 0, "stop"), ran(6, 1.5), call(2, 3, "stop")),  # nobody asked for tools
        (call(1, 0), ran(6, 1.5, 3), call(2, 3, "stop")),  # it outlasts the next call's beginning
        (call(1, 0), ran(6, 0.5), call(2, 3, "stop")),  # it began before it was asked for
        (call(1, 0, took=4), ran(6, 4.5), call(2, 3, "stop", took=3)),  # calls overlap
        (call(1, 0), ran(6, 1.5, **{"gen_ai.tool.call.id": "c1"}), call(2, 3, "stop")),  # an id tells who asked
    ],
)
def test_a_tool_of_which_that_is_not_sure_stands_alone(first, tool, second):
    assert 1 in [len(r["trace_ids"]) for r in runs(first, tool, second) if r["tool_calls"]]
