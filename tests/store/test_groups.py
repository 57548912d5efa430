"""Row groups are read whole, and what is kept of one holds on to nothing else of it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.inbox import Row
from otelcov.store import commit, pieces, tables
from otelcov.store.groups import Group, Shelf
from tests.bench.generate import HOUR, Traffic
from tests.bench.reconstruct import write_store
from tests.store.otlp import NOW, span, trace_request


@pytest.mark.parametrize("traces", [1, 20])
def test_a_few_rows_keep_no_memory_of_the_others(tmp_path: Path, traces: int) -> None:
    write_store(str(tmp_path), Traffic(3000, text=300, length_ns=HOUR // 2))
    look = pieces.look(tmp_path)
    path = f"{look.tables.spans.url}/{look.spans['path'][0]}"
    ids = pieces.rows(look.tables.spans.url, "spans", look.spans["path"]).collect()["trace_id"]
    wanted = ids.unique(maintain_order=True).head(traces)
    before = pa.total_allocated_bytes()
    some = Shelf().rows(Group(path, 0), pieces.COLUMNS["spans"], wanted)
    assert set(some["trace_id"]) == set(wanted)
    assert pa.total_allocated_bytes() - before < 100_000  # of some megabytes


@pytest.mark.parametrize("seldom", [(), ("events",), ("links",), ("events", "links")])
def test_what_is_seldom_there_is_read_where_it_is(tmp_path: Path, seldom: tuple[str, ...]) -> None:
    request = ExportTraceServiceRequest()
    request.ParseFromString(trace_request(*(span(id) for id in range(1, 5))))
    one = request.resource_spans[0].scope_spans[0].spans[1]
    if "events" in seldom:
        one.events.add(name="e", time_unix_nano=NOW).attributes.add(key="k").value.int_value = 3
        one.events.add(name="f")
    if "links" in seldom:
        one.links.add(trace_id=b"t" * 16, span_id=b"s" * 8)
    commit.commit(tables.create(tmp_path), "app", 1, [Row("traces", NOW, 4, 0, request.SerializeToString())])
    look = pieces.look(tmp_path)
    rows = pieces.rows(look.tables.spans.url, "spans", look.spans["path"]).drop(pieces.OUTSIDE).collect()
    group = Group(f"{look.tables.spans.url}/{look.spans['path'][0]}", 0)
    assert Shelf().rows(group, pieces.COLUMNS["spans"], rows["trace_id"].unique()).equals(rows)
    assert [name for name in ("events", "links") if rows[name].list.len().sum()] == list(seldom)
