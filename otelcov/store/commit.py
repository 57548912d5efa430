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

from collector.inbox import DAMAGED, Batch, Inbox
from collector.wire import Undecodable
from otelcov.ground.errors import StoreError
from otelcov.store import layout, partitions, remote
from otelcov.store.tables import PARTITION, Table, Tables, arrow_schema, create, stored

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import CommitProperties
    from deltalake.transaction import AddAction, RemoveAction

    from collector.segment import Row

NEW = "new-"  # how the files begin that no upkeep has rewritten
_TRIES = 8
_GROUP_ROWS = 32_768
# Columns whose values hardly ever repeat: looking each up in a dictionary first would cost a sixth of the writing.
UNIQUE = (
    "span_id",
    "start_time_unix_nano",
    "end_time_unix_nano",
    "time_unix_nano",
    "content.list.element.string_value",
)
# Of values' types most occur nowhere in a row group: where its statistics say so, readers leave these columns out.
OFTEN_EMPTY = tuple(
    f"{name}.list.element.{kind}_value"
    for name in ("attributes", "content")
    for kind in ("bool", "int", "double", "array", "kvlist", "bytes")
)
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
        self.box = box
        self._batches = Batches(store, box.folder, any_hour)

    @property
    def tables(self) -> Tables:
        return self._batches.tables

    @property
    def set_aside(self) -> int:
        return self._batches.set_aside

    def step(self, max_bytes: int = 64 << 20) -> Written | None:
        """Commit the next batch; None if nothing waits. A batch that fails stays in the inbox and comes again."""
        batch = self.box.next_batch(max_bytes)
        if batch is None:
            return None
        written = self._batches.commit(batch)
        self.box.done(batch)
        return written

    def drain(self) -> Written:
        """Commit all that waits."""
        total = Written()
        while (written := self.step()) is not None:
            total = Written(total.spans + written.spans, total.logs + written.logs)
        return total


class Batches:
    """Commits batches of one inbox, wherever they were fixed."""

    def __init__(self, store: str | Path, folder: Path, any_hour: bool = False) -> None:
        self.tables = create(store)
        self.folder = folder  # of the inbox
        self.any_hour = any_hour
        self.set_aside = 0  # requests that could not be decoded, kept as files

    def commit(self, batch: Batch) -> Written:
        try:
            return commit(self.tables, batch.app_id, batch.number, batch.rows, self.any_hour)
        except Undecodable:
            rows = self._without_undecodable(batch)
            return commit(self.tables, batch.app_id, batch.number, rows, self.any_hour)

    def _without_undecodable(self, batch: Batch) -> list[Row]:
        """Admission lets nothing in that cannot be decoded; if it did, one request must not hold up all others."""
        kept = []
        for i, row in enumerate(batch.rows):
            try:
                layout.table("spans" if row.signal == "traces" else "logs", [row])
            except Undecodable:
                aside = self.folder.parent / DAMAGED
                aside.mkdir(exist_ok=True)
                (aside / f"{batch.app_id}-{batch.number}-{i}.{row.signal}.pb").write_bytes(row.body)
                self.set_aside += 1
            else:
                kept.append(row)
        return kept


def _once(table: Table, app_id: str, number: int, requests: Sequence[Row], any_hour: bool) -> int:
    from deltalake import CommitProperties, Transaction
    from deltalake.exceptions import DeltaError

    if not requests:
        return 0
    actions: list[AddAction | RemoveAction] = []
    count = 0
    for attempt in range(_TRIES):
        table.refresh()
        if number <= table.committed(app_id):
            return count
        if not actions:
            count, actions = _write(table, requests, any_hour)
            if not actions:
                return 0
        try:
            transact(table, actions, CommitProperties(app_transactions=[Transaction(app_id, number)]))
        except DeltaError as error:
            failure: Exception = error
            time.sleep(0.02 * 2**attempt)
            continue
        return count
    raise StoreError(f"Couldn't commit to {table.url}: {failure}. The inbox keeps the rows; they are tried again.")


def transact(
    table: Table, actions: Sequence[AddAction | RemoveAction], properties: CommitProperties | None = None
) -> None:
    """One transaction, on disk when this returns. Raises DeltaError where another was quicker, or it cannot be."""
    from deltalake import PostCommitHookProperties

    before = table.delta.version()
    table.delta.create_write_transaction(
        list(actions),
        mode="append",
        schema=arrow_schema(table.schema, partitioned=True),
        partition_by=PARTITION,
        commit_properties=properties,
        post_commithook_properties=PostCommitHookProperties(cleanup_expired_logs=False),
    )
    sync_log(table, before)


def _write(table: Table, requests: Sequence[Row], any_hour: bool) -> tuple[int, list[AddAction | RemoveAction]]:
    """The rows of these requests in files, one a partition; they count from the commit that names them."""
    files: dict[int, File] = {}
    count = 0
    for rows in layout.pieces(table.name, requests):
        hours = partitions.hours(table.name, rows, any_hour, files.keys())
        different = np.unique(hours)
        for hour in different.tolist():
            part = rows if len(different) == 1 else rows.filter(hours == hour)
            if hour not in files:
                files[hour] = File(table, *partitions.names(hour))
            files[hour].add(stored(part))
        count += rows.num_rows
    return count, [file.close() for file in files.values()]


class File:
    """One Parquet file that is being written, a row group at a time while its rows are still in the caches."""

    def __init__(self, table: Table, day: str, hour: str) -> None:
        import pyarrow as pa

        self.partition = {"day": day, "hour": hour}
        self.path = f"day={day}/hour={hour}/{NEW}{uuid.uuid4().hex}.parquet"
        self.table = table
        self.rows = 0
        self.times: list[tuple[int, int]] = []  # least and greatest of the rows' first time column, as it is stored
        self.waiting: list[pa.Table] = []
        self.waiting_rows = 0
        self.local = table.local and table.local / self.path
        if self.local:
            self.local.parent.mkdir(parents=True, exist_ok=True)
        self.sink: Any = self.local or pa.BufferOutputStream()
        self.writer: Any = None

    def add(self, rows: pa.Table) -> None:
        self.waiting.append(rows)
        self.waiting_rows += rows.num_rows
        if self.waiting_rows >= _GROUP_ROWS:
            self._write_group()

    def close(self) -> AddAction:
        from deltalake.transaction import AddAction

        self._write_group()
        self.writer.close()
        if self.local:
            _sync(self.local)
            _sync(self.local.parent)
            size = self.local.stat().st_size
        else:
            size = self._send()
        return AddAction(self.path, size, self.partition, time.time_ns() // 1_000_000, True, json.dumps(self._stats()))

    def _stats(self) -> dict[str, Any]:
        """What lets readers skip the file: when its rows began, unless some of them do not say."""
        least, greatest = min(low for low, _ in self.times), max(high for _, high in self.times)
        if least <= 0:
            return {"numRecords": self.rows}
        name = partitions.TIMES[self.table.name][0]
        return {"numRecords": self.rows, "minValues": {name: least}, "maxValues": {name: greatest}}

    def _write_group(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not self.waiting:
            return
        rows = pa.concat_tables(self.waiting).unify_dictionaries()
        if self.writer is None:
            leaves = list(_leaves(rows.schema))
            repeating = [leaf for leaf in leaves if leaf not in UNIQUE]
            told = [*partitions.TIMES[self.table.name], *(leaf for leaf in leaves if leaf.startswith(OFTEN_EMPTY))]
            self.writer = pq.ParquetWriter(
                self.sink, rows.schema, write_statistics=told, use_dictionary=repeating, **_WRITE
            )
        self.writer.write_table(rows)
        first = rows.column(partitions.TIMES[self.table.name][0]).to_numpy()
        self.times.append((int(first.min()), int(first.max())))
        self.rows += rows.num_rows
        self.waiting, self.waiting_rows = [], 0

    def _send(self) -> int:
        """To where the table lies."""
        pages: bytes = self.sink.getvalue().to_pybytes()
        remote.write(self.table.url, self.path, pages)
        return len(pages)


def _leaves(fields: Any, above: str = "") -> Iterator[str]:
    """The columns of a Parquet file by their paths."""
    import pyarrow as pa

    for field in fields:
        path, kind = above + field.name, field.type
        while pa.types.is_list(kind):
            path, kind = path + ".list.element", kind.value_type
        if pa.types.is_struct(kind):
            yield from _leaves(kind, path + ".")
        else:
            yield path


def sync_log(table: Table, before: int) -> None:
    """The inbox forgets what was committed, so the commit itself must survive a loss of power, not only the files; and
    so must every other, since a log with a gap is no log."""
    if table.local is not None:
        table.refresh()
        log = table.local / "_delta_log"
        for version in range(before + 1, table.delta.version() + 1):  # ours is among them
            entry = log / f"{version:020}.json"
            if entry.exists():
                _sync(entry)
        _sync(log)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
