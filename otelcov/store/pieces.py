"""A look at a store that can be divided: which files it lists, hour by hour, and what the inboxes still hold.

`scan` reads a window at once, in one process. Here a look is taken once, and any number of workers read some traces
of it, each from the files of the hours where these lie. Files never change, so all of them see the same rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from otelcov.ground.schemas import LOGS, SPANS
from otelcov.store import duplicates, groups, partitions, remote, scan
from otelcov.store.partitions import HOUR_NS
from otelcov.store.tables import OUT_OF_RANGE, Table, Tables, decoded, seen, stored_schema

if TYPE_CHECKING:
    from collector.segment import Row
    from collector.waiting import Waiting

OUTSIDE = scan._OUTSIDE
COLUMNS = {name: pl.Schema({**schema, **duplicates.COPIES}) for name, schema in (("spans", SPANS), ("logs", LOGS))}
FILES = pl.Schema(
    {
        "path": pl.String,
        "rows": pl.Int64,
        "bytes": pl.Int64,
        "hour": pl.Int64,
        "written_ms": pl.Int64,
        "first_ns": pl.Int64,  # when its first and its last row start; null: not known, or 0 is among them
        "last_ns": pl.Int64,
    }
)


@dataclass(frozen=True)
class Look:
    tables: Tables
    waiting: list[Waiting]
    only: frozenset[str] | None = None  # of the files of spans; None: all

    @cached_property
    def spans(self) -> pl.DataFrame:
        """FILES: path (relative to the table), rows, bytes, hour since the epoch (-1: out of range), when it was
        written, and its times."""
        files = _files(self.tables.spans)
        return files if self.only is None else files.filter(pl.col("path").is_in(sorted(self.only)))

    @cached_property
    def logs(self) -> pl.DataFrame:
        return _files(self.tables.logs)

    def held(self, name: str) -> pl.DataFrame:
        """The rows that are in an inbox and not in the tables, copies and all."""
        table = getattr(self.tables, name)
        frames = [frame for box in self.waiting if (frame := scan._held(table, box)) is not None]
        empty = empty_rows(name)
        return pl.concat([empty, *(frame.collect().select(empty.columns) for frame in frames)])

    def halved(self, share: float) -> tuple[Look, list[Row]]:
        """The same look without this share of the spans that inboxes hold, the later ones, and the requests that hold
        those."""
        boxes: list[Waiting] = []
        others: list[Row] = []
        for box in self.waiting:
            lacking = scan.lacking(self.tables.spans, box)
            sizes = list(accumulate(len(row.body) for row in lacking))
            later = lacking[bisect_left(sizes, sizes[-1] * (1 - share)) :] if sizes else []
            known = {id(row) for row in later}
            boxes.append(box._replace(rows=[(batch, row) for batch, row in box.rows if id(row) not in known]))
            others += later
        return replace(self, waiting=boxes), others

    def came_before(self, at_ns: int) -> Look:
        """The same look without what came to the inboxes since."""
        rows = ([(batch, row) for batch, row in box.rows if row.received_unix_nano < at_ns] for box in self.waiting)
        some = [box._replace(rows=each) for box, each in zip(self.waiting, rows, strict=True)]
        return replace(self, waiting=[box for box in some if box.rows])

    def holds(self) -> bool:
        """Is there something in an inbox that the tables lack?"""
        return any(scan.lacking(table, box) for box in self.waiting for table in self.tables)


def look(store: str | Path, inbox: Path | None = None) -> Look:
    return Look(*scan._look(store, inbox))


def committed(store: str | Path) -> Look:
    """The same of the tables alone."""
    return Look(seen(store), [])


def empty_rows(name: str) -> pl.DataFrame:
    return COLUMNS[name].to_frame().with_columns(pl.lit(False).alias(OUTSIDE))


def rows(url: str, name: str, paths: Iterable[str], kept: pl.Expr | None = None) -> pl.LazyFrame:
    """The rows of these files, copies and all; `kept` sees the columns as they are stored."""
    groups: dict[bool, list[str]] = {False: [], True: []}
    for path in sorted(paths):
        groups[path.startswith(f"day={OUT_OF_RANGE}/")].append(f"{url}/{path}")
    frames = [empty_rows(name).lazy()]
    for outside, some in groups.items():
        if some:
            scanned = pl.scan_parquet(
                some,
                schema=stored_schema(COLUMNS[name]),
                missing_columns="insert",
                extra_columns="ignore",
                hive_partitioning=False,
                glob=False,
                storage_options=remote.options(url),
            )
            scanned = scanned if kept is None else scanned.filter(kept)
            frames.append(scanned.select(*decoded(COLUMNS[name]), pl.lit(outside).alias(OUTSIDE)))
    return pl.concat(frames)


def first(url: str, name: str, paths: Iterable[str], count: int) -> pl.DataFrame:
    """So many rows of each of these files, the first, copies and all; of an hour that upkeep has rewritten these are
    whole traces, whichever."""
    frames = [rows(url, name, [path]).head(count).collect() for path in sorted(paths)]
    return pl.concat([empty_rows(name), *frames])


def light(url: str, path: str, names: list[str]) -> pl.DataFrame | None:
    """Flat columns of a file of spans, `links` and `group`; None where that is no quicker than to read its rows."""
    if remote.is_remote(url) or path.startswith(f"day={OUT_OF_RANGE}/"):
        return None
    schema = pl.Schema({name: SPANS[name] for name in (*names, "links")})
    stored = groups.light(f"{url}/{path}", names).cast(stored_schema(schema))
    return stored.select(*decoded(schema), pl.lit(False).alias(OUTSIDE), "group")


def of_traces(name: str, traces: pl.Series) -> pl.Expr:
    return pl.col("trace_id").is_in(traces.implode())


def in_hours(files: pl.DataFrame, hours: Collection[int]) -> list[str]:
    return files.filter(pl.col("hour").is_in(list(hours)))["path"].to_list()


def between(files: pl.DataFrame, first_ns: int | None, last_ns: int | None) -> list[str]:
    """The files that may hold rows of this stretch of time; those out of range are always among them."""
    near = pl.lit(True)
    if first_ns is not None:
        near = near & (pl.col("hour") >= first_ns // HOUR_NS) & (pl.col("last_ns") >= first_ns).fill_null(True)
    if last_ns is not None:
        near = near & (pl.col("hour") <= last_ns // HOUR_NS) & (pl.col("first_ns") <= last_ns).fill_null(True)
    return files.filter(near | (pl.col("hour") < 0))["path"].to_list()


def _files(table: Table) -> pl.DataFrame:
    listed = table.files()
    hours = [partitions.number(day, hour) for day, hour in listed.select("day", "hour").iter_rows()]
    return (
        listed.select("path", "written_ms", "first_ns", "last_ns", rows="num_records", bytes="size_bytes")
        .with_columns(hour=pl.Series(hours, dtype=pl.Int64))
        .select(FILES.names())
        .cast(FILES)
    )
