"""What several traces hold together is kept, too, once nothing can join it any more."""

from __future__ import annotations

import random

import polars as pl
import pytest

from otelcov.sums import joined, kept
from tests.runs.requests import T0, agent, chat, request, span, tool
from tests.sums.stores import BEGIN, QUESTIONS, bodies, equal
from tests.sums.stores import store as store

DAY = 86_400
LATER = "2026-01-03T00:00:00Z"
AT = BEGIN / 10**9 - T0 / 10**9


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few spans are worth a step of their own, and a step is small."""
    monkeypatch.setattr(joined, "_FEW", 1)
    monkeypatch.setattr(joined, "_STEP", 4)


def exchange(number: int, at: float, apart: float = 2) -> list[bytes]:
    """A request of three traces: a model call, the tool it asks for, and the call that brings its result."""
    call, trace, at = f"call_{number}Xy7Kq2Vb9", 10_000 + 10 * number, AT + at
    user = {"role": "user", "parts": [{"type": "text", "content": f"question {number}"}]}
    asked = {"role": "assistant", "parts": [{"type": "tool_call", "id": call, "name": "look", "arguments": {}}]}
    came = {"role": "tool", "parts": [{"type": "tool_call_response", "id": call, "response": "12"}]}
    return [
        request([chat(trace, None, [(call, "look", {})], [user], trace=trace, at=at)]),
        request([tool(trace + 1, None, "look", call, "12", trace=trace + 1, at=at + apart)]),
        request([chat(trace + 2, None, "done", [user, asked, came], trace=trace + 2, at=at + 2 * apart)]),
    ]


def twice(number: int, at: float) -> list[bytes]:
    """A request that two instrumentations told, each whole."""
    call, at = f"call_{number}Tw1c3Told", AT + at
    found = []
    for trace, scope in enumerate(("handler", "processor"), 50_000 + 10 * number):
        spans = [
            agent(1, "planner", at=at, took=9),
            chat(2, 1, [(call, "look", {})], f"question {number}", at=at + 1),
            tool(3, 1, "look", call, "12", at=at + 3),
            chat(4, 1, "done", at=at + 5),
        ]
        found.append(request([one | {"trace": trace, "scope": scope} for one in spans]))
    return found


def in_order(number: int, at: float) -> list[bytes]:
    """A request of two model calls of which no word is told."""
    told = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1"}
    return [
        request(
            [
                span(1, None, "chat m-1", trace=70_000 + 10 * number + turn, at=AT + at + 3 * turn, scope="client")
                | {"attributes": told | {"gen_ai.response.finish_reasons": [finish]}}
            ]
        )
        for turn, finish in enumerate(("tool_calls", "stop"))
    ]


def _anyhow(store, chance: random.Random, sent: list[bytes], most: int) -> None:
    """Commit these in any order, at most so many at a time, and count now and then by any clock."""
    chance.shuffle(sent)
    while sent:
        store.commit([sent.pop() for _ in range(min(len(sent), chance.randint(1, most)))])
        if chance.random() < 0.7:
            hour = chance.randint(4, 60)
            store.count(f"2026-01-0{1 + hour // 24}T{hour % 24:02}:30:00Z")


def _together(listed: kept.Kept) -> list[kept.Batch]:
    return [batch for batch in listed.batches if batch.together]


@pytest.mark.full
def test_a_run_of_several_traces_is_kept_once_it_is_old(store):
    sent = [body for number in range(6) for body in exchange(number, number * 5_000)]
    store.commit([*bodies(300), *sent])
    assert store.count("2026-01-01T10:00:00Z").left_out().height
    equal(store, "2026-01-01T10:00:00Z")
    listed = store.count(LATER)
    assert not listed.left_out().height
    assert sum(batch.runs for batch in _together(listed)) == 6
    assert sum(batch.spans for batch in _together(listed)) == 18
    equal(store, LATER, QUESTIONS)


@pytest.mark.full
@pytest.mark.parametrize("late", [0, *(pytest.param(n, marks=pytest.mark.full) for n in (1, 2))])
def test_a_part_that_comes_late_joins_what_was_kept(store, late):
    parts = exchange(1, 5_000)
    missing = parts.pop(late)
    store.commit([*bodies(300), *parts, *exchange(2, 9_000), *exchange(3, 60_000)])
    assert _together(store.count(LATER))
    store.commit([missing])
    for _ in range(2):
        equal(store, LATER)
        runs = store.ask(now=LATER, since="all").runs()[0]
        assert runs.filter(pl.col("trace_ids").list.len() > 1)["trace_ids"].list.len().to_list() == [3, 3, 3]
        store.count(LATER)
    assert not store.count(LATER).left_out().height


@pytest.mark.full
def test_a_span_that_comes_late_is_told_with_the_run_it_belongs_to(store):
    store.commit([body for number in range(3) for body in exchange(number, number * 30_000)])
    store.count(LATER)
    store.commit([request([tool(77, 10_010, "peek", result="1", trace=10_010, at=AT + 30_000.5)])])
    equal(store, LATER)
    store.count(LATER)
    equal(store, LATER)


@pytest.mark.full
def test_many_spans_that_come_late_are_told_with_the_whole_run(store):
    store.commit([body for number in range(2) for body in exchange(number, number * 30_000)])
    store.count(LATER)
    more = [tool(100 + n, 10_010, f"peek{n}", result="1", trace=10_010, at=AT + 34_000 + n) for n in range(20)]
    store.commit([request(more)])
    equal(store, LATER)
    store.count(LATER)
    equal(store, LATER)


@pytest.mark.full
def test_a_framework_that_tells_late_of_a_kept_call_is_one_run_with_it(store):
    asked = [("call_Ab3dE5fG7hI9jK1lM", "search", {})]
    store.commit([*exchange(1, 0), request([chat(3, None, asked, trace=2, at=AT + 40, scope="client")])])
    assert _together(store.count(LATER))
    framework = [agent(1, "planner", at=AT + 38, took=9), chat(2, 1, asked, at=AT + 40)]
    store.commit([request([one | {"scope": "framework"} for one in framework])])
    equal(store, LATER)
    store.count(LATER)
    equal(store, LATER)


@pytest.mark.full
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, 4))])
def test_whatever_comes_first_the_report_is_the_same(store, seed):
    chance = random.Random(seed)
    count = 12 if seed else 6
    sent = bodies(200 if seed else 80)
    for number in range(count):
        sent += exchange(number, chance.uniform(0, 1.2 * DAY), chance.choice([2, 4_000, 9_000]))
        sent += in_order(number, chance.uniform(0, 1.2 * DAY))
    _anyhow(store, chance, sent, 25)
    equal(store, "2026-01-04T00:00:00Z")
    listed = store.count("2026-01-04T00:00:00Z")
    assert not listed.left_out().height
    assert sum(batch.runs for batch in _together(listed)) == 2 * count
    equal(store, "2026-01-04T00:00:00Z")


@pytest.mark.full
@pytest.mark.parametrize("first", [0, pytest.param(1, marks=pytest.mark.full)])
def test_what_another_instrumentation_tells_later_is_the_run_that_was_kept(store, first):
    one, other = twice(1, 0)[first], twice(1, 0)[1 - first]
    store.commit([one, *twice(2, 30_000)])
    listed = store.count("2026-01-01T10:00:00Z")
    assert sum(batch.runs for batch in listed.batches) == 1  # the others may be one
    store.commit([other])
    for clock in ("2026-01-01T10:00:00Z", LATER, LATER):
        equal(store, clock)
        runs = store.ask(now=clock, since="all").runs()[0]
        assert runs["trace_ids"].list.len().to_list() == [2, 2]
        listed = store.count(clock)
    assert not listed.left_out().height
    assert sum(batch.runs for batch in _together(listed)) == 2


@pytest.mark.full
def test_traces_that_links_join_through_one_without_a_step_are_kept_with_it(store):
    planner = [agent(1, "planner", trace=31, at=AT, took=9), chat(2, 1, "sent", trace=31, at=AT + 1)]
    bus = span(3, None, "publish", trace=32, at=AT + 3, links=[(31, 2)])
    worker = [
        agent(4, "worker", trace=33, at=AT + 5, took=4, links=[(32, 3)]),
        chat(5, 4, "done", trace=33, at=AT + 6),
    ]
    store.commit([request([*planner, bus, *worker]), *exchange(1, 20_000)])
    listed = store.count(LATER)
    assert not listed.left_out().height
    assert sum(batch.runs for batch in _together(listed)) == 2
    equal(store, LATER)
    more = [
        agent(6, "clerk", trace=34, at=AT + 30_000, took=4, links=[(32, 3)]),
        chat(7, 6, "too", trace=34, at=AT + 30_001),
    ]
    store.commit([request(more)])
    equal(store, LATER)
    store.count(LATER)
    equal(store, LATER)


@pytest.mark.full
def test_parts_beyond_the_longest_run_are_no_part_of_it(store):
    late = exchange(1, 8 * 3_600, 20)[2]
    store.commit([*exchange(1, 0, 20)[:2], *exchange(2, 100)])
    assert _together(store.count(LATER))
    store.commit([late])
    equal(store, LATER)
    assert sorted(store.ask(now=LATER, since="all").runs()[0]["trace_ids"].list.len()) == [1, 2, 3]
    store.count(LATER)
    equal(store, LATER)


def handed_on(number: int, at: float) -> list[bytes]:
    """An agent whose stream was handed on, the model call that it made, and the tool that it ran."""
    scope, trace = "opentelemetry.instrumentation.agno", 20_000 + 10 * number
    idle = {"traceloop.span.kind": "agent", "gen_ai.agent.name": "helper", "traceloop.entity.input": f"go {number}"}
    ran = {"traceloop.span.kind": "tool", "gen_ai.tool.name": "look", "traceloop.entity.output": "12"}
    own = {"trace": trace, "at": AT + at, "took": 9, "scope": scope, "status": 1, "attributes": idle}
    at += AT
    return [
        request([span(trace, None, "helper.agent", **own)]),
        request([chat(trace + 1, None, [("c1", "look", {})], f"go {number}", trace=trace + 1, at=at + 2)]),
        request([span(trace + 2, None, "look.tool", trace=trace + 2, at=at + 5, scope=scope, attributes=ran)]),
    ]


def served(number: int, at: float, service: str = "app") -> list[bytes]:
    """A run that calls a tool of a server, which tells of it in a trace of its own."""
    trace, at = 30_000 + 10 * number, AT + at
    served = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    return [
        request(
            [
                agent(trace, "clerk", trace=trace, at=at, took=20),
                tool(trace + 1, trace, "mcp__shop__look", "toolu_1", "12", trace=trace, at=at + 1, took=3),
            ]
        ),
        request(
            [span(trace + 2, None, "tools/call look", trace=trace + 2, at=at + 2, kind=2, attributes=served)],
            service=service,
        ),
    ]


def behind_gateways(number: int, at: float) -> list[bytes]:
    """A run whose call a gateway tells, too, by the id of its answer, and the server behind that by its tokens."""
    trace, at = 40_000 + 10 * number, AT + at
    answer = {"gen_ai.response.id": f"gen-{number}Xy7Kq2Vb9"}
    usage = {"gen_ai.usage.input_tokens": 1000 + number, "gen_ai.usage.output_tokens": 7}
    host = chat(2, 1, "done", "go", trace=trace, at=at + 1, took=3, attributes=answer | usage)
    through = chat(1, None, "done", "go", trace=trace + 1, at=at + 1.1, took=2.8, attributes=answer | usage)
    behind = span(1, None, "llm_request", trace=trace + 2, at=at + 1.2, took=2.6, kind=2, attributes=usage)
    behind["attributes"] = usage | {"gen_ai.response.model": "llama"}
    return [
        request([agent(1, "helper", trace=trace, at=at, took=9), host]),
        request([through], service="gateway", scope="b"),
        request([behind], service="server", scope="vllm"),
    ]


@pytest.mark.full
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, 3))])
def test_what_stands_in_traces_of_its_own_is_told_the_same_whatever_comes_first(store, seed):
    chance = random.Random(seed)
    sent = bodies(100 if seed else 30)
    of_each = 5 if seed else 1
    for number in range(of_each):
        sent += handed_on(number, chance.uniform(0, 0.8 * DAY)) + served(number, chance.uniform(0, 0.8 * DAY))
        sent += served(5 + number, chance.uniform(0, 0.8 * DAY), "tools")
        sent += behind_gateways(number, chance.uniform(0, 0.8 * DAY)) + twice(number, chance.uniform(0, 0.8 * DAY))
    _anyhow(store, chance, sent, 12)
    for _ in range(2):
        equal(store, "2026-01-04T00:00:00Z")
        store.count("2026-01-04T00:00:00Z")
    runs = store.ask(now="2026-01-04T00:00:00Z", since="all").runs()[0]
    assert sorted(runs["trace_ids"].list.len().to_list())[-5 * of_each :] == [2] * 3 * of_each + [3] * 2 * of_each
