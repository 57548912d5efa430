"""What keeps a store small and quick: closed hours rewritten, old hours dropped, traces erased.

An hour that is over is read, its copies dropped, and written anew sorted by trace and time, in place of the many small
files it came in. That goes through the very handle whose files were read, so Delta refuses it when anything touched
the hour meanwhile; then nothing is lost and the next round tries again. (Delta's own `optimize` is never used: two of
them on one version doubled the rows without an error.)

An hour that is still open is touched all the time. Of its files the small ones are put together, many at a time: one
transaction names what goes and what comes in its place, so commits of other files do not disturb it, and it is refused
when any of those that go has gone already.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from otelcov.ground.errors import StoreError
from otelcov.store import duplicates, partitions, remote, scan
from otelcov.store.commit import NEW, UNIQUE, Committer, File, sync_log, transact
from otelcov.store.partitions import HOUR_NS
from otelcov.store.tables import OUT_OF_RANGE, PARTITION, Table, arrow_schema, decoded, open_, stored, stored_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable

_LATE_NS = 600_000_000_000  # after its end, for the spans that come late, before an hour counts as closed
_PART_ROWS = 500_000  # of an hour in memory at once
_OUTSIDE_FILES = 32  # out of range is never over: rewritten when it has that many new files
_SMALL_BYTES = 1 << 20
_MANY_SMALL = 64  # files of an open hour that become one
_KEEP_HOURS = 1  # files that nobody lists any more, for the reports that are running
_TRIES = 5

# The files of a table from which sums are kept. None becomes one with another that is not among them: what is new could
# then not be told from what is counted.
Counted = Callable[[str], frozenset[str]]


def _none(table: str) -> frozenset[str]:
    return frozenset()


@dataclass(frozen=True)
class Removed:
    spans: int = 0
    logs: int = 0


def tidy(store: str | Path, now_ns: int, counted: Counted = _none) -> int:
    """Rewrite the hours that are over, put small files of open ones together, and drop what nobody lists any more; how
    many hours were rewritten."""
    rewritten = 0
    for table in open_(store):
        for day, hour in _untidy(table, now_ns):
            rewritten += rewrite(store, table.name, day, hour, counted)
        gather(table.reopened(), counted)
        _clean(table.reopened().delta)
    return rewritten


def rewrite(store: str | Path, name: str, day: str, hour: str, counted: Counted = _none) -> bool:
    """One partition sorted, each row once; False if it was touched meanwhile, or may not be, and stays as it is."""
    from deltalake import ColumnProperties, WriterProperties, write_deltalake
    from deltalake.exceptions import CommitFailedError, DeltaError

    table: Table = getattr(open_(store), name)
    files = table.files().filter((pl.col("day") == day) & (pl.col("hour") == hour))
    known = counted(name)
    if not files.height or 0 < files["path"].is_in(sorted(known)).sum() < files.height:
        return False
    import pyarrow as pa

    rows = pa.RecordBatchReader.from_batches(
        arrow_schema(table.schema, partitioned=True), _sorted(table, files, day, hour)
    )
    try:
        write_deltalake(
            table.delta,
            rows,
            mode="overwrite",
            predicate=f"day = '{day}' AND hour = '{hour}'",
            partition_by=PARTITION,
            target_file_size=256 << 20,
            writer_properties=WriterProperties(
                compression="ZSTD",
                compression_level=3,
                max_row_group_size=65_536,
                column_properties=dict.fromkeys(UNIQUE, ColumnProperties(dictionary_enabled=False)),
            ),
        )
    except CommitFailedError:
        return False
    except DeltaError as error:
        raise StoreError(f"Couldn't rewrite {day} {hour}:00 of {table.url}: {error}") from error
    return True


def gather(table: Table, counted: Counted = _none) -> int:
    """Many small files of a partition put together, sorted and each row once; how many there were."""
    files = table.files().with_columns(pl.col("path").is_in(sorted(counted(table.name))).alias("counted"))
    small = files.filter((pl.col("size_bytes") < _SMALL_BYTES) & (pl.col("day") != OUT_OF_RANGE))
    gathered = 0
    for (day, hour, _), some in small.sort("path").group_by(*PARTITION, "counted", maintain_order=True):
        if some.height >= _MANY_SMALL and _swap(table, some, str(day), str(hour)):
            gathered += some.height
    return gathered


def _swap(table: Table, files: pl.DataFrame, day: str, hour: str) -> bool:
    """One file in the place of these; False if another process was quicker with any of them."""
    import pyarrow as pa
    from deltalake.exceptions import CommitFailedError, DeltaError
    from deltalake.transaction import AddAction, RemoveAction

    whole = File(table, day, hour)
    for batch in _sorted(table, files, day, hour):
        whole.add(pa.Table.from_batches([batch]).drop_columns(PARTITION))
    at = time.time_ns() // 1_000_000
    partition: dict[str, str | None] = {"day": day, "hour": hour}
    gone = files.select("path", "size_bytes").rows()
    actions: list[AddAction | RemoveAction] = [whole.close()]
    actions += [RemoveAction(path, True, at, size=size, partition_values=partition) for path, size in gone]
    try:
        transact(table, actions)
    except CommitFailedError:
        return False
    except DeltaError as error:
        raise StoreError(f"Couldn't put files of {day} {hour}:00 of {table.url} together: {error}") from error
    return True


def drop_before(store: str | Path, cutoff_ns: int) -> Removed:
    """Remove what started before the hour of the cutoff; what has no sound start goes by when it came."""
    day, hour = partitions.names(cutoff_ns // HOUR_NS)
    first_ns = cutoff_ns // HOUR_NS * HOUR_NS
    counts = []
    for table in open_(store):
        start, end = partitions.TIMES[table.name]
        at = f"CASE WHEN {start} = 0 THEN {end} ELSE {start} END"
        old = f"((day < '{day}' OR (day = '{day}' AND hour < '{hour}')) AND day <> '{OUT_OF_RANGE}')"
        outside = f"(day = '{OUT_OF_RANGE}' AND (({at} > 0 AND {at} < {first_ns}) OR received_unix_nano < {first_ns}))"
        counts.append(_delete(table, old) + _delete(table, outside))
        with _told(table):
            _clean(table.reopened().delta)
    return Removed(*counts)


def erase(
    store: str | Path,
    traces: Iterable[bytes],
    inbox: Path | None = None,
    also: Iterable[Callable[[set[bytes]], None]] = (),
    patience_s: float = 30.0,
) -> Removed:
    """Remove every trace of these traces: inboxes, tables, old files, and what `also` removes elsewhere."""
    wanted = set(traces)
    if not wanted:
        return Removed()
    empty_inboxes(store, wanted, inbox, patience_s)
    listed = ", ".join(f"X'{trace.hex()}'" for trace in sorted(wanted))
    counts = []
    for table in open_(store):
        counts.append(_delete(table, f"trace_id IN ({listed})"))
        with _told(table):
            _clean_at_once(table.reopened().delta)
    for remove in also:
        remove(wanted)
    return Removed(*counts)


def empty_inboxes(store: str | Path, traces: set[bytes], inbox: Path | None, patience_s: float) -> None:
    """Wait until no inbox holds these traces any more; those without an owner are emptied here."""
    root = scan.inbox_root(store, inbox)
    if root is None or not root.is_dir():
        return
    from collector.inbox import orphans

    for box in orphans(root):
        try:
            Committer(store, box).drain()
        finally:
            box.retire()
    deadline = time.monotonic() + patience_s
    while _held(root, traces):
        if time.monotonic() > deadline:
            raise StoreError(
                f"The inbox in {root} still holds spans of these traces. Is its collector running and able to commit? "
                "Stop it, then prune again."
            )
        time.sleep(0.2)


def _held(root: Path, traces: set[bytes]) -> bool:
    from collector.waiting import pending
    from otelcov.store import layout

    rows = pending(root)
    for name, signal in (("spans", "traces"), ("logs", "logs")):
        some = [row for row in rows if row.signal == signal]
        if some and traces & set(layout.table(name, some).column("trace_id").to_pylist()):
            return True
    return False


def _untidy(table: Table, now_ns: int) -> list[tuple[str, str]]:
    """The partitions with new files that will hardly get more, those with most files first."""
    closed = partitions.names((now_ns - _LATE_NS) // HOUR_NS)
    files = table.files().with_columns(pl.col("path").str.contains(f"/{NEW}", literal=True).alias("new"))
    counts = files.group_by(PARTITION).agg(pl.len().alias("files"), pl.col("new").sum())
    at = pl.concat_str(PARTITION, separator=" ")
    outside = pl.col("day") == OUT_OF_RANGE
    due = counts.filter(
        ((at < " ".join(closed)) & ~outside & (pl.col("new") > 0) & (pl.col("files") > 1))
        | (outside & (pl.col("new") >= _OUTSIDE_FILES))
    )
    return due.sort("files", *PARTITION, descending=[True, False, False]).select(PARTITION).rows()


def _sorted(table: Table, files: pl.DataFrame, day: str, hour: str) -> Iterator[pa.RecordBatch]:
    """The rows of a partition by trace and time, each once, a part of the traces at a time."""
    import pyarrow as pa

    scanned = pl.scan_parquet(
        [f"{table.url}/{path}" for path in sorted(files["path"])],
        schema=stored_schema(table.schema),
        missing_columns="insert",
        hive_partitioning=False,
        glob=False,
        storage_options=remote.options(table.url),
    ).select(decoded(table.schema))
    parts = min(256, -(-int(files["num_records"].sum()) // _PART_ROWS))
    first_byte = pl.col("trace_id").bin.head(1).bin.reinterpret(dtype=pl.UInt8).fill_null(0)
    for part in range(parts):
        some = scanned if parts == 1 else scanned.filter(first_byte.cast(pl.UInt32) * parts // 256 == part)
        rows = duplicates.unique(table.name, some.collect())
        rows = rows.sort("trace_id", partitions.moment(table.name), "span_id", nulls_last=True)
        arrow = stored(_small(rows, table.schema))
        for name, value in zip(PARTITION, (day, hour), strict=True):
            arrow = arrow.append_column(name, pa.array([value] * arrow.num_rows, pa.string()))
        yield from arrow.to_batches(max_chunksize=65_536)


def _small(rows: pl.DataFrame, schema: pl.Schema) -> pa.Table:
    """The frame in Arrow's 32-bit types, with the signs as they are."""
    import pyarrow as pa

    from otelcov.store.tables import arrow_type

    table = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
    return table.cast(pa.schema([(name, arrow_type(kind)) for name, kind in schema.items()]))


def _delete(table: Table, predicate: str) -> int:
    """Delete rows; when somebody else changed the same files meanwhile, look again."""
    from deltalake.exceptions import CommitFailedError, DeltaError

    for attempt in range(_TRIES):
        now = table.reopened()
        before = now.delta.version()
        try:
            told: dict[str, Any] = now.delta.delete(predicate)
        except CommitFailedError as error:
            failure: Exception = error
            time.sleep(0.2 * 2**attempt)
        except DeltaError as error:
            raise StoreError(f"Couldn't delete from {table.url}: {error}") from error
        else:
            sync_log(now, before)
            return int(told.get("num_deleted_rows") or 0)
    raise StoreError(f"Couldn't delete from {table.url}: others kept changing it ({failure}). Try again.")


def _clean(delta: DeltaTable) -> None:
    """Remove the files that no version lists since an hour, and the log of versions that nobody reads."""
    delta.vacuum(retention_hours=_KEEP_HOURS, dry_run=False, full=True)
    _forget(delta)


def _clean_at_once(delta: DeltaTable) -> None:
    """Remove what was just deleted: the files that the log names so, and no others, as a commit may be writing some."""
    delta.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False, full=False)
    _forget(delta)


@contextmanager
def _told(table: Table) -> Iterator[None]:
    """A person asked for it: what goes wrong is said."""
    from deltalake.exceptions import DeltaError

    try:
        yield
    except (DeltaError, OSError) as error:
        raise StoreError(f"Couldn't remove the old files of {table.url}: {error}. Is the folder writable?") from error


def _forget(delta: DeltaTable) -> None:
    delta.update_incremental()
    delta.create_checkpoint()
    delta.cleanup_metadata()
