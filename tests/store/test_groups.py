"""What is kept of a row group holds on to nothing else of it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from otelcov.store import pieces
from otelcov.store.groups import Group, Shelf
from tests.bench.generate import HOUR, Traffic
from tests.bench.reconstruct import write_store


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
