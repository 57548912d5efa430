"""A window of spans and log records, from the tables and from what the inboxes still hold, each row once.

What was acknowledged is visible at once, so a reader takes every inbox first and opens the tables after it: a batch
that is committed in between is then in both, never in neither. Its number tells: rows whose batch the opened version
has are left out. Rows that were in no batch yet are surely not in the tables if the version has no batch younger than
the look into the inbox; else the reader looks again, and in the end leaves it to the comparison of copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from otelcov.ground.errors import StoreError, UsageError
from otelcov.ground.schemas import LOGS, SPANS
from otelcov.ground.windows import ALL, Window
from otelcov.store import duplicates, partitions, remote
from otelcov.store.partitions import HOUR_NS
from otelcov.store.tables import OUT_OF_RANGE, Table, Tables, decoded, seen, stored_schema

if TYPE_CHECKING:
    from collector.segment import Row
    from collector.waiting import Waiting

MAX_RUN_NS = 6 * HOUR_NS  # the config's default `runs.max_run`
_LOOKS = 3
_SERVES = ".store"  # in an inbox folder that was named: which store it serves
_OUTSIDE = "_out_of_range"
_SCHEMAS = {"spans": SPANS, "logs": LOGS}


@dataclass(frozen=True)
class Quality:
    """What the spans of a window went through, for the report's `quality`."""

    spans: int
    duplicates: int  # further copies of spans, dropped while reading or by upkeep
    conflicts: int  # spans whose copies differed
    out_of_range: int  # spans that start too far from their arrival to have a partition of their own
    masked: int  # values that the collector masked, hashed or dropped


@dataclass(frozen=True)
class Rows:
    """One consistent look at a window of a store and `max_run` around it."""

    window: Window
    every_span: pl.LazyFrame  # copies and all, with the columns that count them
    every_log: pl.LazyFrame

    @property
    def spans(self) -> pl.LazyFrame:
        """SPANS"""
        return self._unique_spans.select(SPANS.names())

    @cached_property
    def logs(self) -> pl.LazyFrame:
        """LOGS"""
        return _unique("logs", self.every_log).select(LOGS.names())

    @cached_property
    def quality(self) -> Quality:
        """Counted over the spans of the window itself, without what is read around it."""
        inside = self._unique_spans.filter(_within("spans", self.window, 0, timeless=self.window == ALL))
        counted = inside.select(pl.len(), pl.col("copies", "differed", _OUTSIDE, "masked").sum()).collect()
        return Quality(*(int(n) for n in counted.row(0)))

    @cached_property
    def _unique_spans(self) -> pl.LazyFrame:
        return _unique("spans", self.every_span)


def spans(
    store: str | Path, window: Window = ALL, max_run_ns: int = MAX_RUN_NS, inbox: Path | None = None
) -> pl.LazyFrame:
    """The spans whose runs may lie in the window: SPANS, each once."""
    return read(store, window, max_run_ns, inbox).spans


def logs(
    store: str | Path, window: Window = ALL, max_run_ns: int = MAX_RUN_NS, inbox: Path | None = None
) -> pl.LazyFrame:
    """The log records of the same stretch of time: LOGS, each once."""
    return read(store, window, max_run_ns, inbox).logs


def quality(
    store: str | Path, window: Window = ALL, max_run_ns: int = MAX_RUN_NS, inbox: Path | None = None
) -> Quality:
    return read(store, window, max_run_ns, inbox).quality


def read(store: str | Path, window: Window = ALL, max_run_ns: int = MAX_RUN_NS, inbox: Path | None = None) -> Rows:
    """Spans, logs and quality of one look: what a command that needs more than one of them should call."""
    tables, waiting = _look(store, inbox)
    return Rows(window, *(_every(table, waiting, window, max_run_ns) for table in tables))


def inbox_root(store: str | Path, inbox: Path | None = None) -> Path | None:
    """Where the inboxes of a store lie: on a local disk, so for a remote store only where one is named."""
    if inbox is not None:
        return inbox
    return None if remote.is_remote(store) else Path(store) / "inbox"


def writable_inbox(store: str | Path, inbox: Path | None = None) -> Path | None:
    """The same for who writes there. A folder that was named serves one store and says which, since what a process
    leaves in it goes to the store of the next. Raises UsageError where it serves another, StoreError where it cannot
    be written."""
    if inbox is None:
        return inbox_root(store)
    name = str(store) if remote.is_remote(store) else str(Path(store).resolve())
    marker = inbox / _SERVES
    try:
        inbox.mkdir(parents=True, exist_ok=True)
        try:
            with marker.open("x") as file:
                file.write(name)
        except FileExistsError:
            served = marker.read_text()
            if served and served != name:
                raise UsageError(
                    f"The inbox {inbox} serves the store {served}, not {name}. Give each store an inbox of its own "
                    "with --inbox DIR."
                ) from None
    except OSError as error:
        raise StoreError(f"Couldn't write to the inbox {inbox}: {error.strerror or error}.") from error
    return inbox


def _look(store: str | Path, inbox: Path | None) -> tuple[Tables, list[Waiting]]:
    root = inbox_root(store, inbox)
    for _ in range(_LOOKS):
        waiting = _waiting(root)
        tables = seen(store)
        if all(table.committed(box.app_id) <= box.last_number for table in tables for box in waiting):
            break
    return tables, waiting


def _waiting(root: Path | None) -> list[Waiting]:
    if root is None or not root.is_dir() or not any(root.iterdir()):
        return []
    from collector.waiting import waiting

    return [box for box in waiting(root) if box.rows]


def _every(table: Table, waiting: list[Waiting], window: Window, max_run_ns: int) -> pl.LazyFrame:
    inside = _within(table.name, window, max_run_ns, timeless=True)
    frames = [_stored(table, outside, window, max_run_ns) for outside in (False, True)]
    frames += [_held(table, box) for box in waiting]
    empty = table.schema.to_frame(eager=False).with_columns(pl.lit(False).alias(_OUTSIDE))
    return pl.concat([frame for frame in frames if frame is not None] or [empty]).filter(inside)


def _stored(table: Table, outside: bool, window: Window, max_run_ns: int) -> pl.LazyFrame | None:
    """The rows of the files that may hold some of the window, those out of range apart."""
    files = table.files().filter((pl.col("day") == OUT_OF_RANGE) == outside)
    if not outside:
        first, last = _reach(window, max_run_ns)
        at = pl.concat_str("day", "hour", separator=" ")
        if first is not None:
            files = files.filter(at >= " ".join(partitions.names(first // HOUR_NS)))
        if last is not None:
            files = files.filter(at <= " ".join(partitions.names(last // HOUR_NS)))
    if not files.height:
        return None
    paths = sorted(f"{table.url}/{path}" for path in files["path"])
    scanned = pl.scan_parquet(
        paths,
        schema=stored_schema(table.schema),
        missing_columns="insert",
        extra_columns="ignore",
        hive_partitioning=False,
        glob=False,
        storage_options=remote.options(table.url),
    )
    return scanned.select(*decoded(table.schema), pl.lit(outside).alias(_OUTSIDE))


def _held(table: Table, box: Waiting) -> pl.LazyFrame | None:
    """The rows of an inbox that this version of the table lacks."""
    rows = lacking(table, box)
    return held(table.name, rows).lazy() if rows else None


def held(name: str, requests: list[Row]) -> pl.DataFrame:
    """The rows of requests that wait in an inbox, copies and all, as those of a table are read."""
    from otelcov.store import layout

    laid_out = layout.table(name, requests)
    frame = duplicates.new(layout.frame(laid_out, _SCHEMAS[name]))
    outside = pl.Series(_OUTSIDE, partitions.hours(name, laid_out, any_hour=False) < 0)
    return frame.with_columns(outside)


def lacking(table: Table, box: Waiting) -> list[Row]:
    """The requests in an inbox that this version of the table lacks."""
    signal = "traces" if table.name == "spans" else "logs"
    done = table.committed(box.app_id)
    return [row for batch, row in box.rows if row.signal == signal and (batch is None or batch > done)]


def _unique(name: str, every: pl.LazyFrame) -> pl.LazyFrame:
    """Each row once. Which they are is decided now; the rows are read when the frame is collected."""
    verdict = duplicates.judge(name, every)
    return every if verdict is None else verdict.of(every)


def _reach(window: Window, max_run_ns: int) -> tuple[int | None, int | None]:
    """The first and the last nanosecond that are read for a window."""
    return (
        None if window.since_ns is None else max(0, window.since_ns - max_run_ns),
        None if window.until_ns is None else window.until_ns + max_run_ns - 1,
    )


def _within(name: str, window: Window, max_run_ns: int, timeless: bool) -> pl.Expr:
    """Whether a row lies in the window or `max_run` around it; what has no time lies anywhere or nowhere."""
    first, last = _reach(window, max_run_ns)
    at = partitions.moment(name)
    inside = pl.lit(True)
    if first is not None:
        inside = at >= pl.lit(first, pl.UInt64)
    if last is not None:
        inside = inside & (at <= pl.lit(last, pl.UInt64))
    return (at == 0) | inside if timeless else (at > 0) & inside
