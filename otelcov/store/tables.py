"""The Delta tables of a store: where they lie, which columns their files have, and the number of that format.

    <store>/spans/    day=2026-01-31/hour=07/…     one row a span as it came; `upkeep` drops the copies of closed hours
    <store>/logs/     the same for log records
    <store>/inbox/    what was acknowledged and is not in the tables yet (collector.inbox)

Day and hour are those of the span's start. They are text, so that `out-of-range` is a day like any other: there lies
whatever starts so far from its arrival that a partition of its own would let one hostile request write thousands of
files. Delta has no unsigned numbers: a uint64 is stored as the int64 of the same bits, a uint32 as an int64.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from otelcov.ground.errors import StoreError
from otelcov.ground.schemas import EVENT, LOGS, SPANS
from otelcov.store import listing as listings
from otelcov.store import remote
from otelcov.store.duplicates import COPIES
from otelcov.store.listing import Listing

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable

# The format of the tables; 1: the first.
FORMAT = 1

OUT_OF_RANGE = "out-of-range"
PARTITION = ["day", "hour"]

_FORMAT_KEY = "otelcov.format"
_ENDS = (("min", "first_ns"), ("max", "last_ns"))
_SETTINGS = {
    _FORMAT_KEY: str(FORMAT),
    "delta.checkpointInterval": "50",
    "delta.logRetentionDuration": "interval 1 hours",
    "delta.deletedFileRetentionDuration": "interval 1 hours",  # a report that is running keeps its files
    "delta.enableExpiredLogCleanup": "false",  # upkeep does it: it would cost every checkpoint a listing
}


@dataclass(frozen=True)
class Table:
    """One of the two tables, at the version that was last read."""

    name: str
    url: str
    schema: pl.Schema  # of its rows, COPIES included
    listing: Listing | None = None  # what its log was seen to list: who reads a table needs no more of it
    _committed: dict[str, tuple[int, int]] = field(default_factory=dict, init=False, compare=False, repr=False)

    @cached_property
    def delta(self) -> DeltaTable:
        """The table as the library knows it, for who writes."""
        from deltalake import DeltaTable

        return DeltaTable(self.url, storage_options=remote.options(self.url))

    @property
    def version(self) -> int:
        return int(self.delta.version()) if self.listing is None else self.listing.version

    @property
    def settings(self) -> dict[str, str]:
        return dict(self.delta.metadata().configuration) if self.listing is None else self.listing.settings

    @property
    def local(self) -> Path | None:
        return None if remote.is_remote(self.url) else Path(self.url)

    def refresh(self) -> None:
        """Go to the newest version; any exception of a commit leaves the handle at one that may be old."""
        self.delta.update_incremental()

    def reopened(self) -> Table:
        return replace(self, listing=None)

    def committed(self, app_id: str) -> int:
        """The number of the last batch of this inbox that is in the table."""
        if self.listing is not None:
            return self.listing.batches.get(app_id, 0)
        version = self.version
        known = self._committed.get(app_id)
        if known is None or known[0] != version:  # else not: it reads the log from its last checkpoint on
            known = self._committed[app_id] = version, self.delta.transaction_version(app_id) or 0
        return known[1]

    def log(self, version: int) -> list[dict[str, Any]] | None:
        """What this version did, as Delta's log has it; None where the log has been cleaned since."""
        name = f"_delta_log/{version:020}.json"
        try:
            text = remote.read(self.url, name) if self.local is None else (self.local / name).read_bytes()
        except OSError:
            return None
        return [json.loads(line) for line in text.splitlines() if line]

    def files(self) -> pl.DataFrame:
        """Every file of this version: path (relative), day, hour, num_records, size_bytes, when it was written
        (`written_ms`), and `first_ns`, `last_ns`: when its first and its last row start; null where that is not known.
        """
        name = "start_time_unix_nano" if self.name == "spans" else "time_unix_nano"
        if self.listing is None:
            actions: Any = self.delta.get_add_actions(flatten=True)
            listed = pl.DataFrame(actions)
        else:
            listed = listings.rows(self.listing, name)
        known = all(f"{end}.{name}" in listed.columns for end, _ in _ENDS)
        ends = [(pl.col(f"{end}.{name}") if known else pl.lit(None), alias) for end, alias in _ENDS]
        # A row without a time lies where its other one says. Delta, which rewrites hours, takes its 0 for the first.
        timed = ends[0][0] > 0
        return listed.select(
            *(pl.when(timed).then(end).cast(pl.Int64).alias(alias) for end, alias in ends),
            "path",
            "size_bytes",
            "num_records",
            pl.col("modification_time").cast(pl.Int64).alias("written_ms"),
            pl.col("partition.day").cast(pl.String).alias("day"),
            pl.col("partition.hour").cast(pl.String).alias("hour"),
        )


@dataclass(frozen=True)
class Tables:
    """The spans and the logs of one store."""

    spans: Table
    logs: Table

    def __iter__(self) -> Any:
        return iter((self.spans, self.logs))


def create(store: str | Path) -> Tables:
    """The tables of a store, made where they are missing and brought to this format where they are older."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    for name, schema in _ROWS.items():
        url, options = _table_url(store, name), remote.options(store)
        try:
            if DeltaTable.is_deltatable(url, options):
                continue
            if _bare(url) and not DeltaTable.is_deltatable(url, options):
                raise _without_log(store, name)
            if not remote.is_remote(url):
                Path(url).mkdir(parents=True, exist_ok=True)
            DeltaTable.create(
                url,
                arrow_schema(schema, partitioned=True),
                mode="ignore",
                partition_by=PARTITION,
                configuration=_SETTINGS,
                raise_if_key_not_exists=False,
                storage_options=options,
            )
        except (DeltaError, OSError) as error:
            if DeltaTable.is_deltatable(url, options):
                continue  # another process was quicker
            raise StoreError(f"Couldn't create a store in {store}: {error}. Is the folder writable?") from error
    tables = open_(store)
    for table in tables:
        _migrate(table)
    return tables


def open_(store: str | Path) -> Tables:
    """The tables of a store that exists."""
    return Tables(*(_open(store, name) for name in _ROWS))


def seen(store: str | Path) -> Tables:
    """The same for who only reads: where the log alone tells what there is, the library is not loaded."""
    return Tables(*(_seen(store, name) or _open(store, name) for name in _ROWS))


def arrow_schema(schema: pl.Schema, partitioned: bool = False) -> pa.Schema:
    """The columns of a table's files; those of the table itself, `partitioned`, also name the partition."""
    import pyarrow as pa

    fields = [(name, arrow_type(kind, signed=True)) for name, kind in schema.items()]
    return pa.schema(fields + [(name, pa.string()) for name in PARTITION] * partitioned)


def arrow_type(kind: Any, signed: bool = False) -> Any:
    """A column's type in Arrow; `signed`, as Delta has it."""
    import pyarrow as pa

    if isinstance(kind, pl.List):
        return pa.list_(arrow_type(kind.inner, signed))
    if isinstance(kind, pl.Struct):
        return pa.struct([(field.name, arrow_type(field.dtype, signed)) for field in kind.fields])
    return {
        pl.String: pa.string(),
        pl.Binary: pa.binary(),
        pl.Boolean: pa.bool_(),
        pl.Int32: pa.int32(),
        pl.Int64: pa.int64(),
        pl.UInt32: pa.int64() if signed else pa.uint32(),
        pl.UInt64: pa.int64() if signed else pa.uint64(),
        pl.Float64: pa.float64(),
    }[kind]


def stored(rows: pa.Table) -> pa.Table:
    """The same rows in the types of the files."""
    import pyarrow as pa

    return pa.table([_signed(column) for column in rows.combine_chunks().columns], names=rows.column_names)


def decoded(schema: pl.Schema) -> list[pl.Expr]:
    """The columns of the files as the types that they stand for."""
    return [_decoded(name, kind) for name, kind in schema.items()]


def stored_schema(schema: pl.Schema) -> pl.Schema:
    """What Polars finds in the files."""
    return pl.Schema({name: _polars_stored(kind) for name, kind in schema.items()})


_ROWS = {"spans": pl.Schema({**SPANS, **COPIES}), "logs": pl.Schema({**LOGS, **COPIES})}


def _table_url(store: str | Path, name: str) -> str:
    return f"{str(store).rstrip('/')}/{name}"


def _seen(store: str | Path, name: str) -> Table | None:
    url = _table_url(store, name)
    listed = None if remote.is_remote(url) else listings.listing(Path(url))
    return None if listed is None else _known(store, Table(name, url, _ROWS[name], listed))


def _open(store: str | Path, name: str) -> Table:
    from deltalake.exceptions import DeltaError, TableNotFoundError

    url = _table_url(store, name)
    try:
        return _known(store, Table(name, url, _ROWS[name]))
    except TableNotFoundError as error:
        if _bare(url):
            raise _without_log(store, name) from error
        raise StoreError(
            f"There is no store in {store}. Is --store right? `otelcov collect`, `otelcov import` and "
            "`otelcov demo` create one."
        ) from error
    except (DeltaError, OSError) as error:
        raise StoreError(f"Couldn't read the {name} of the store {store}: {error}") from error


def _known(store: str | Path, table: Table) -> Table:
    """The table, if it is of a format that is known here."""
    found = int(table.settings.get(_FORMAT_KEY) or 0)
    if found > FORMAT:
        raise StoreError(
            f"The store {store} has format {found}, and this otelcov knows formats up to {FORMAT}. "
            "Use the newer otelcov that wrote it."
        )
    return table


def _bare(url: str) -> bool:
    """Whether there are files of a table, though there may be no log that lists them."""
    if not remote.is_remote(url):
        return next(Path(url).rglob("*.parquet"), None) is not None
    return any(path.endswith(".parquet") for path in remote.paths(url))


def _without_log(store: str | Path, name: str) -> StoreError:
    # A new log would list none of them, and upkeep would then remove them all.
    return StoreError(
        f"The {name} of the store {store} have files, and no log that lists them ({name}/_delta_log). Restore that "
        "folder from a copy of the store, or move the files away to begin anew."
    )


def _migrate(table: Table) -> None:
    """Older formats step by step. Files need no change: a column they lack is read as null."""
    if int(table.settings.get(_FORMAT_KEY) or 0) < FORMAT:
        table.delta.alter.set_table_properties(_SETTINGS, raise_if_not_exists=False)
        table.refresh()


def _polars_stored(kind: Any) -> Any:
    if isinstance(kind, pl.List):
        return pl.List(_polars_stored(kind.inner))
    if isinstance(kind, pl.Struct):
        return pl.Struct({field.name: _polars_stored(field.dtype) for field in kind.fields})
    return pl.Int64 if kind in (pl.UInt32, pl.UInt64) else kind


def _signed(column: Any) -> Any:
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks != 1:
            column = column.combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    kind = column.type
    if pa.types.is_uint64(kind):
        return column.view(pa.int64())
    if pa.types.is_uint32(kind):
        return column.cast(pa.int64())
    if pa.types.is_struct(kind):
        fields = [_signed(column.field(i)) for i in range(kind.num_fields)]
        mask = column.is_null() if column.null_count else None
        return pa.StructArray.from_arrays(fields, names=[field.name for field in kind], mask=mask)
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(column.offsets, _signed(column.values))
    return column


def _decoded(name: str, kind: Any) -> pl.Expr:
    if name in COPIES:
        return pl.col(name).cast(kind).fill_null(0 if kind == pl.UInt32 else False)
    if kind == pl.UInt64:
        return pl.col(name).reinterpret(signed=False)
    if kind == _polars_stored(kind):
        return pl.col(name)
    if kind == pl.List(EVENT):
        at = pl.field("time_unix_nano").reinterpret(signed=False)
        return pl.col(name).list.eval(pl.element().struct.with_fields(at)).cast(kind)
    return pl.col(name).cast(kind)
