"""One file of the inbox: an SQLite database in WAL mode that only grows, and is deleted whole.

A chunk is what one group commit made durable: the admitted requests of that moment, joined and compressed, in one
SQLite row. One statement and one fsync a group keeps the writer out of Python's way, and small requests compress
together. Nothing is ever deleted or checkpointed in a live file, so its WAL is append-only: a copy of both files taken
at any moment is a consistent database, which is how a reader without write permission gets at it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import zstandard

if TYPE_CHECKING:  # a reader of the inbox need not load the decoder
    from collector.wire import Signal

FORMAT = 1
_SIGNALS: tuple[Signal, ...] = ("traces", "logs")
_ROW = struct.Struct("<BQIII")  # signal, received, spans, masked, length of the body


class Row(NamedTuple):
    """One admitted request."""

    signal: Signal
    received_unix_nano: int
    spans: int  # or log records
    masked: int  # values that redaction changed
    body: bytes  # OTLP protobuf, after redaction


class Chunk(NamedTuple):
    id: int
    spans: int
    raw_bytes: int
    rows: list[Row]


def create(path: Path) -> sqlite3.Connection:
    """A new segment, open for writing and durable as a file."""
    writer = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=8)
    try:
        _lay_out(writer)
        sync_folder(path.parent)
    except BaseException:
        writer.close()
        raise
    return writer


def _lay_out(writer: sqlite3.Connection) -> None:
    # A large page suits large blobs; a checkpoint would copy every byte a second time for a file that is soon deleted.
    for pragma in (
        "page_size=16384",
        "journal_mode=wal",
        "synchronous=full",
        "wal_autocheckpoint=0",
        "cache_size=-4096",
    ):
        writer.execute(f"pragma {pragma}")
    writer.execute(f"pragma user_version={FORMAT}")
    writer.execute(
        "create table chunks (id integer primary key autoincrement, spans integer not null,"
        " raw_bytes integer not null, rows blob not null, body blob not null)"
    )


def append(writer: sqlite3.Connection, rows: Sequence[Row], compressor: zstandard.ZstdCompressor) -> None:
    """Make rows durable as one chunk; returns after the fsync, raises sqlite3.Error with nothing kept."""
    meta = b"".join(_ROW.pack(_SIGNALS.index(r.signal), *r[1:4], len(r.body)) for r in rows)
    joined = rows[0].body if len(rows) == 1 else b"".join(r.body for r in rows)
    body = compressor.compress(joined)
    # One statement outside a transaction is a transaction: begin, insert, fsync in a single call without the GIL.
    writer.execute(
        "insert into chunks (spans, raw_bytes, rows, body) values (?, ?, ?, ?)",
        (sum(r.spans for r in rows), len(joined), meta, body),
    )


def close_without_checkpoint(path: Path, writer: sqlite3.Connection) -> None:
    """The last connection to close copies the WAL into the database unless it is read-only: let such a one be last."""
    with contextlib.ExitStack() as last, contextlib.closing(writer), contextlib.suppress(sqlite3.Error):
        last.enter_context(contextlib.closing(_open(path))).execute("select 1 from chunks limit 1").fetchone()


def chunks(path: Path, first: int = 1, last: int | None = None) -> Iterator[Chunk]:
    """The chunks of a segment by id, also of one that is being written to.

    FileNotFoundError if it was dropped meanwhile.
    """
    with readable(path) as reader:
        try:
            found = reader.execute(
                "select id, spans, raw_bytes, rows, body from chunks where id >= ? and id <= ? order by id",
                (first, last if last is not None else 2**62),
            )
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return  # it is being created
            raise
        unpack = zstandard.ZstdDecompressor()
        for id_, spans, raw_bytes, meta, body in found:
            yield Chunk(id_, spans, raw_bytes, _rows(meta, unpack.decompress(body, max_output_size=raw_bytes)))


def sizes(path: Path, after: int = 0) -> list[tuple[int, int, int]]:
    """(id, spans, raw bytes) of the chunks with a greater id, without their bodies."""
    with readable(path) as reader:
        try:
            query = "select id, spans, raw_bytes from chunks where id > ? order by id"
            return reader.execute(query, (after,)).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise


def delete(path: Path) -> None:
    """The database first: a reader that comes between finds no file, rather than an old file without its WAL."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def move(path: Path, to: Path) -> None:
    """Both files are in the new place before either leaves the old one: a crash doubles rows and loses none."""
    names = [suffix for suffix in ("-wal", "") if path.with_name(path.name + suffix).exists()]
    for suffix in names:
        to.with_name(to.name + suffix).hardlink_to(path.with_name(path.name + suffix))
    sync_folder(to.parent)
    for suffix in (*reversed(names), "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _rows(meta: bytes, body: bytes) -> list[Row]:
    rows, at = [], 0
    for signal, received, spans, masked, length in _ROW.iter_unpack(meta):
        rows.append(Row(_SIGNALS[signal], received, spans, masked, body[at : at + length]))
        at += length
    return rows


def _open(path: Path, immutable: bool = False) -> sqlite3.Connection:
    options = "immutable=1" if immutable else "mode=ro"
    uri = f"file:{quote(str(path.absolute()))}?{options}"
    return sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None, check_same_thread=False)


DAMAGE = (sqlite3.DatabaseError, zstandard.ZstdError, struct.error, IndexError, MemoryError)


class readable:
    """A read-only connection by whatever way the permissions leave open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder: tempfile.TemporaryDirectory[str] | None = None
        self.reader: sqlite3.Connection | None = None

    def __enter__(self) -> sqlite3.Connection:
        try:
            self.reader = _open(self.path)
            self.reader.execute("select count(*) from sqlite_master").fetchone()
        except sqlite3.OperationalError:
            self.close()
            if not self.path.exists():
                raise FileNotFoundError(self.path) from None
            self.reader = self._without_write_permission()
        return self.reader

    def _without_write_permission(self) -> sqlite3.Connection:
        wal = self.path.with_name(self.path.name + "-wal")
        if not wal.exists() or not wal.stat().st_size:
            return _open(self.path, immutable=True)  # closed cleanly: all is in the one file
        self.folder = tempfile.TemporaryDirectory(prefix="otelcov-inbox-")
        copy = Path(self.folder.name) / self.path.name
        shutil.copyfile(self.path, copy)
        shutil.copyfile(wal, copy.with_name(wal.name))
        return _open(copy)

    def close(self) -> None:
        if self.reader is not None:
            self.reader.close()
        if self.folder is not None:
            self.folder.cleanup()

    def __exit__(self, *_: object) -> None:
        self.close()
