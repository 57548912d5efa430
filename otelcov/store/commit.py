"""Batches of an inbox into the tables, each exactly once.

Delta takes the same application transaction twice, so exactly once is kept here: a batch has a number that only grows
within its inbox, what belongs to it is fixed before it is first committed, and before every commit, and after any
exception of one, the table is brought to its newest version and the batch is skipped if that version has its number.
A commit whose outcome is unknown is thereby asked for, never guessed.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from otelcov.ground.errors import StoreError
from otelcov.store import layout, partitions
from otelcov.store.tables import PARTITION, Table, Tables, arrow_schema, create, stored

if TYPE_CHECKING:
    import pyarrow as pa

    from collector.inbox import Inbox
    from collector.segment import Row

NEW = "new-"  # how the files begin that no upkeep has rewritten
_TRIES = 8
_WRITE = {"compression": "zstd", "compression_level": 1, "store_schema": False}


@dataclass(frozen=True)
class Written:
    """What a batch brought into the tables; nothing if they had it already."""

    spans: int = 0
    logs: int = 0


def commit(tables: Tables, app_id: str, number: int, rows: Sequence[Row], any_hour: bool = False) -> Written:
    """One batch into both tables, each unless it has the batch."""
    return Written(
        spans=_once(tables.spans, app_id, number, [r for r in rows if r.signal == "traces"], any_hour),
        logs=_once(tables.logs, app_id, number, [r for r in rows if r.signal == "logs"], any_hour),
    )


class Committer:
    """Brings what one inbox holds into a store, through handles that are kept."""

    def __init__(self, store: str | Path, box: Inbox, any_hour: bool = False) -> None:
        self.tables = create(store)
        self.box = box
        self.any_hour = any_hour

    def step(self, max_bytes: int = 64 << 20) -> Written | None:
        """Commit the next batch; None if nothing waits. A batch that fails stays in the inbox and comes again."""
        batch = self.box.next_batch(max_bytes)
        if batch is None:
            return None
        written = commit(self.tables, batch.app_id, batch.number, batch.rows, self.any_hour)
        self.box.done(batch)
        return written

    def drain(self) -> Written:
        """Commit all that waits."""
        total = Written()
        while (written := self.step()) is not None:
            total = Written(total.spans + written.spans, total.logs + written.logs)
        return total


def _once(table: Table, app_id: str, number: int, requests: Sequence[Row], any_hour: bool) -> int:
    from deltalake import CommitProperties, PostCommitHookProperties, Transaction
    from deltalake.exceptions import DeltaError

    if not requests:
        return 0
    actions, count = None, 0
    for attempt in range(_TRIES):
        table.refresh()
        if number <= table.committed(app_id):
            return count if actions else 0
        if actions is None:
            laid_out = layout.table(table.name, requests)
            count = int(laid_out.num_rows)
            if not count:
                return 0
            actions = [_write(table, *part) for part in _parts(table, laid_out, any_hour)]
        try:
            table.delta.create_write_transaction(
                actions,
                mode="append",
                schema=arrow_schema(table.schema, partitioned=True),
                partition_by=PARTITION,
                commit_properties=CommitProperties(app_transactions=[Transaction(app_id, number)]),
                post_commithook_properties=PostCommitHookProperties(cleanup_expired_logs=False),
            )
        except DeltaError as error:
            failure: Exception = error
            time.sleep(0.02 * 2**attempt)
            continue
        _sync_log(table)
        return count
    raise StoreError(f"Couldn't commit to {table.url}: {failure}. The inbox keeps the rows; they are tried again.")


def _parts(table: Table, rows: pa.Table, any_hour: bool) -> Iterator[tuple[str, str, pa.Table]]:
    """The rows of each partition."""
    import pyarrow as pa

    hour = partitions.hours(table.name, rows, any_hour)
    different = np.unique(hour)
    for each in different:
        part = rows if len(different) == 1 else rows.filter(pa.array(hour == each))
        yield (*partitions.names(int(each)), part)


def _write(table: Table, day: str, hour: str, rows: pa.Table) -> Any:
    """A file of the table; it counts from the commit that names it."""
    import pyarrow.parquet as pq
    from deltalake.transaction import AddAction

    path = f"day={day}/hour={hour}/{NEW}{uuid.uuid4().hex}.parquet"
    rows = stored(rows)
    if table.local is not None:
        file = table.local / path
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, file, **_WRITE)
        _sync(file)
        _sync(file.parent)
        size = file.stat().st_size
    else:
        import pyarrow as pa
        from deltalake.fs import DeltaStorageHandler

        pages = pa.BufferOutputStream()
        pq.write_table(rows, pages, **_WRITE)
        buffer = pages.getvalue()
        with pa.fs.PyFileSystem(DeltaStorageHandler(table.url)).open_output_stream(path) as out:
            out.write(buffer)
        size = buffer.size
    stats = json.dumps({"numRecords": rows.num_rows})
    return AddAction(path, size, {"day": day, "hour": hour}, time.time_ns() // 1_000_000, True, stats)


def _sync_log(table: Table) -> None:
    """The inbox forgets what was committed, so the commit itself must survive a loss of power, not only the files."""
    if table.local is not None:
        table.refresh()
        log = table.local / "_delta_log"
        entry = log / f"{table.delta.version():020}.json"
        if entry.exists():  # of another writer's commit since, perhaps: then ours lies before it in the same folder
            _sync(entry)
        _sync(log)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
