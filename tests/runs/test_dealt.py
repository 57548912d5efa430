"""Parts dealt out to workers: each row group is read once, and no trace is lost for it, or counted twice."""

from __future__ import annotations

import functools
from collections import Counter

import polars as pl
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otelcov.engine import engine
from otelcov.ground.config import Config
from otelcov.runs import dealt, slices
from otelcov.runs.reconstruct import reconstruct
from otelcov.store import pieces, scan
from tests.bench.generate import HOUR, Traffic
from tests.sums.stores import Store
from tests.sums.stores import made as sent

LATER = 2**62


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    made = Store(tmp_path_factory.mktemp("dealt") / "store")
    for body in sent(Traffic(1_500, request_spans=32, length_ns=HOUR // 60)):  # many runs at a time
        made.commit([body])
    return made


def parts_of(store: Store, spans: int) -> tuple[slices.Look, slices.Survey, list[slices.Part]]:
    look = slices.Look.of(pieces.look(store.path))
    found = slices.survey(look, map)
    return look, found, slices.parts(look, found.traces, spans=spans, places=found.places)


@pytest.mark.full
@pytest.mark.parametrize("length", [1, *(pytest.param(n, marks=pytest.mark.full) for n in (2, 5))])
def test_every_row_group_is_read_by_one_worker_and_every_trace_is_taken_once(store, length, monkeypatch):
    monkeypatch.setattr(dealt, "_MOST", 1)
    _, found, parts = parts_of(store, 60)
    rows, waiting = dealt.dealt([parts[at : at + length] for at in range(0, len(parts), length)])
    assert waiting.part is not None  # else nothing is shown
    read = Counter(group for row in rows for group in {*row.handed, *(g for p in row.parts for g in p.groups)})
    whole = Counter(group for row in rows for group in frozenset[object]().union(*(p.whole for p in row.parts)))
    assert all(times == 1 or times == whole[group] for group, times in read.items())
    taken = [trace for row in rows for part in row.parts for trace in part.traces["trace_id"]]
    assert sorted([*taken, *waiting.part.traces["trace_id"]]) == sorted(found.traces["trace_id"])


@pytest.mark.full
@pytest.mark.parametrize("together", [50, 1, 10**6])
@pytest.mark.parametrize("name", ["here", "pool"])
def test_traces_that_several_workers_read_are_the_runs_of_one_process(store, name, together, monkeypatch):
    monkeypatch.setattr(dealt, "_MOST", 1)
    monkeypatch.setattr(dealt, "_TOGETHER", together)
    monkeypatch.setattr(dealt, "_ROW", (1, 2))
    look, found, parts = parts_of(store, 60)
    whole = scan.read(store.path)
    expected = reconstruct(whole.spans, whole.logs, Config(), LATER)
    work = functools.partial(slices.reconstructed, where=found.where, config=Config(), now_ns=LATER)
    runner = engine(name, workers=2)
    try:
        done = list(dealt.each_part(runner.map, work, parts, workers=2))
    finally:
        runner.close()
    assert sum(some.runs.height for some in done) > 0
    assert slices.joined(done, look, found, Config(), LATER).equals(expected)


def test_where_most_traces_lie_in_many_files_nothing_is_handed_out(tmp_path):
    made = Store(tmp_path / "store")
    for turn in range(4):  # a quarter of every request
        some = list[bytes]()
        for body in sent(Traffic(1_500, request_spans=32, length_ns=HOUR // 60)):
            request = ExportTraceServiceRequest.FromString(body)
            for held in (scope for resource in request.resource_spans for scope in resource.scope_spans):
                spans = held.spans[turn::4]
                del held.spans[:]
                held.spans.extend(spans)
            some.append(request.SerializeToString())
        made.commit(some)
    _, found, parts = parts_of(made, 60)
    rows, waiting = dealt.dealt([[part] for part in parts])
    assert waiting.part is None and not any(row.handed for row in rows)
    assert sorted(t for row in rows for p in row.parts for t in p.traces["trace_id"]) == sorted(
        found.traces["trace_id"]
    )


@pytest.mark.full
def test_what_is_held_of_a_trace_goes_with_it(store, monkeypatch):
    monkeypatch.setattr(dealt, "_MOST", 1)
    look, found, parts = parts_of(store, 60)
    every = pl.concat(slices.rows_of(part)[0] for part in parts)
    held = every.gather_every(3)
    parts = slices.parts(look, found.traces, spans=60, places=found.places, held=held)
    rows = pl.concat(spans for spans, _ in dealt.each_part(map, slices.rows_of, parts, workers=3))
    assert sorted(rows["span_id"]) == sorted([*every["span_id"], *held["span_id"]])
