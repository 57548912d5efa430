"""The durable inbox: what was acknowledged is on the local disk until the store has it.

    <root>/<app id>/lock            flock: one process owns an inbox
                    control.db      batch numbers, their members, what was taken (SQLite)
                    seg-00000001.db chunks of admitted requests (segment.py)
    <root>/.damaged/                files that could not be read, set aside

The collector writes, the store takes:

    box = Inbox.open(root)                    take over an inbox nobody owns, else create one (Inbox.create: always)
    box.append(rows)                          returns once the rows are on disk; raises InboxError with nothing kept
    batch = box.next_batch(max_bytes)         Batch(app_id, number, rows) or None; its members are fixed on disk first,
                                              and it is given again, equal, until done: also after a crash
    box.done(batch)                           the store has it; segments whose batches are all done are dropped
    fixed = box.fix(max_bytes)                the same batch by its name alone, for a process that reads it by itself
    box.close()                               keeps what is left for the next owner
    box.retire()                              close, and remove the folder if nothing is left (import, orphans)
    orphans(root) -> [Inbox]                  inboxes of processes that are gone: drain them, then retire()

Readers take no lock (waiting.py).

`root` is `<store>/inbox`. Batch numbers of an app id only grow (AUTOINCREMENT) and an app id is never inherited: where
the control file is missing or damaged, the segments move to a new inbox. The rows may then be committed a second time,
which readers de-duplicate; what must never happen is that a number comes back and a batch is skipped as known.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import zstandard

from collector import control, segment
from collector.control import InboxError
from collector.segment import Chunk, Row
from collector.waiting import Part, folders, segment_path

__all__ = ["Batch", "Fixed", "Inbox", "InboxError", "Row", "orphans"]

SEGMENT_SPANS = 32_768
SEGMENT_BYTES = 64 * 2**20
DAMAGED = ".damaged"


class Batch(NamedTuple):
    app_id: str
    number: int
    rows: list[Row]


class Fixed(NamedTuple):
    """A batch whose members are fixed on disk, without them."""

    app_id: str
    number: int
    parts: list[Part]


class Inbox:
    """One inbox that this process owns. Appends come from one thread, batches from one other."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self.app_id = folder.name
        self.set_aside = 0  # damaged files
        self.replayed = 0  # spans that an earlier process had acknowledged and not committed
        self.backlog_bytes = 0  # uncompressed, not yet done
        self._lock_handle = lock
        self._writing = threading.Lock()  # held while the live segment is written or ended
        self._counting = threading.Lock()
        self._control = control.connect(folder)
        self._live: tuple[int, sqlite3.Connection] | None = None
        self._live_spans = self._live_bytes = 0
        self._given: tuple[int, int] | None = None  # number, raw bytes
        self._compressor = zstandard.ZstdCompressor(level=-5, write_checksum=True)  # read once, soon: speed before size

    @classmethod
    def open(cls, root: Path) -> Inbox:
        return next(_unowned(root), None) or cls.create(root)

    @classmethod
    def create(cls, root: Path) -> Inbox:
        """Raises InboxError where the disk is full or may not be written."""
        app_id = secrets.token_hex(16)
        newborn = root / f".{app_id}"
        lock = None
        try:
            newborn.mkdir(parents=True)
            lock = os.open(newborn / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)  # at once: nobody else knows the name
            control.create(newborn, app_id)
            newborn.rename(root / app_id)
            segment.sync_folder(root)
        except (sqlite3.Error, OSError) as error:
            shutil.rmtree(newborn, ignore_errors=True)
            if lock is not None:
                os.close(lock)
            raise InboxError(f"could not create an inbox in {root}: {error}") from error
        return cls(root / app_id, lock)

    def append(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        with self._writing:
            try:
                if self._live is None:
                    self._live = self._begin_segment()
                    self._live_spans = self._live_bytes = 0
                segment.append(self._live[1], rows, self._compressor)
            except (sqlite3.Error, OSError) as error:
                self._give_up_segment(error)
                raise InboxError(f"could not write to the inbox {self.folder}: {error}") from error
            raw_bytes = sum(len(row.body) for row in rows)
            self._count(raw_bytes)
            self._live_bytes += raw_bytes
            self._live_spans += sum(row.spans for row in rows)
            if self._live_spans >= SEGMENT_SPANS or self._live_bytes >= SEGMENT_BYTES:
                self._end_segment()

    def next_batch(self, max_bytes: int = 64 * 2**20) -> Batch | None:
        fixed = self.fix(max_bytes)
        if fixed is None:
            return None
        chunks = [chunk for part in fixed.parts for chunk in self._chunks(*part)]
        self._given = fixed.number, sum(chunk.raw_bytes for chunk in chunks)
        return Batch(self.app_id, fixed.number, [row for chunk in chunks for row in chunk.rows])

    def fix(self, max_bytes: int = 64 * 2**20) -> Fixed | None:
        known = self._control.execute("select number from batches order by number limit 1").fetchone()
        if known is None:
            parts = self._choose(max_bytes)
            if not parts:
                return None
            number = self._fix(parts)
        else:
            number = known[0]
            query = "select segment, first_id, last_id from parts where batch = ? order by segment, first_id"
            parts = self._control.execute(query, (number,)).fetchall()
        self._given = number, sum(self._raw_bytes(*part) for part in parts)
        return Fixed(self.app_id, number, parts)

    def done(self, batch: Batch | Fixed) -> None:
        assert self._given is not None and self._given[0] == batch.number, "only the last batch given can be done"
        _, raw_bytes = self._given
        with control.transaction(self._control):
            self._control.execute("delete from parts where batch = ?", (batch.number,))
            self._control.execute("delete from batches where number = ?", (batch.number,))
        self._given = None
        self._count(-raw_bytes)
        with self._writing:  # an idle inbox keeps nothing, so that what is erased from the store is gone
            if self._live is not None and self._is_done(self._live[0]):
                self._end_segment()
        self._drop_segments()

    @property
    def lock_handle(self) -> int:
        """For a process that works on the inbox for this one: while it holds the handle too, nobody else takes over."""
        return self._lock_handle

    def close(self) -> None:
        """Release the inbox. Segments stay readable for another user: a clean close leaves no WAL behind."""
        if self._live is not None:
            number, writer = self._live
            self._live = None
            writer.close()  # the last connection: checkpoints
            if not segment.sizes(self._path(number)):
                segment.delete(self._path(number))
        self._control.close()
        os.close(self._lock_handle)

    def retire(self) -> None:
        if self._live is not None:
            self._end_segment()
        self._drop_segments()
        empty = not self._segments() and self.next_batch() is None
        if not empty:
            return self.close()
        self._control.close()
        shutil.rmtree(self.folder)  # the lock goes with it, still held
        os.close(self._lock_handle)

    def _path(self, number: int) -> Path:
        return segment_path(self.folder, number)

    def _segments(self) -> list[int]:
        return sorted(int(path.stem[4:]) for path in self.folder.glob("seg-*.db"))

    def _count(self, raw_bytes: int) -> None:
        with self._counting:
            self.backlog_bytes = max(0, self.backlog_bytes + raw_bytes)

    def _begin_segment(self) -> tuple[int, sqlite3.Connection]:
        own = control.connect(self.folder)  # the other one belongs to the thread that takes batches
        try:
            number = control.next_segment(own)
        finally:
            own.close()
        return number, segment.create(self._path(number))

    def _end_segment(self) -> None:
        assert self._live is not None
        (number, writer), self._live = self._live, None
        segment.close_without_checkpoint(self._path(number), writer)

    def _give_up_segment(self, error: Exception) -> None:
        """After a failed fsync the kernel may have dropped the pages, so nothing more is written after them. A full
        disk leaves the file sound: stay, as a new one would need more room."""
        if self._live is not None and getattr(error, "sqlite_errorname", "") != "SQLITE_FULL":
            with contextlib.suppress(sqlite3.Error, OSError):
                self._end_segment()

    def _choose(self, max_bytes: int) -> list[Part]:
        """The next chunks, oldest first, that no batch has taken: at least one, then up to max_bytes."""
        taken = dict(self._control.execute("select segment, last_id from taken"))
        parts: list[Part] = []
        room = max_bytes
        for number in self._segments():
            after = taken.get(number, 0)
            try:
                new = segment.sizes(self._path(number), after)
            except FileNotFoundError:
                continue
            except segment.DAMAGE:
                self._salvage(number)
                return self._choose(max_bytes)
            last = after
            for id_, _, raw_bytes in new:
                if room < raw_bytes and (parts or last > after):
                    break
                room -= raw_bytes
                last = id_
            if last > after:
                parts.append((number, after + 1, last))
            if new and last < new[-1][0]:
                break
        return parts

    def _fix(self, parts: list[Part]) -> int:
        with control.transaction(self._control):
            number = self._control.execute("insert into batches default values returning number").fetchone()[0]
            self._control.executemany("insert into parts values (?, ?, ?, ?)", [(number, *part) for part in parts])
            query = "insert into taken values (?, ?) on conflict (segment) do update set last_id = excluded.last_id"
            self._control.executemany(query, [(number, last) for number, _, last in parts])
        return int(number)

    def _chunks(self, number: int, first: int, last: int) -> list[Chunk]:
        try:
            return list(segment.chunks(self._path(number), first, last))
        except FileNotFoundError:
            return []  # removed by hand
        except segment.DAMAGE:
            self._salvage(number)
            return []

    def _raw_bytes(self, number: int, first: int, last: int) -> int:
        try:
            return sum(raw for id_, _, raw in segment.sizes(self._path(number), first - 1) if id_ <= last)
        except (FileNotFoundError, *segment.DAMAGE):
            return 0  # whoever reads it will say so

    def _is_done(self, number: int) -> bool:
        """Whether every chunk of the segment is in a batch that is done."""
        if self._control.execute("select 1 from parts where segment = ?", (number,)).fetchone():
            return False
        taken = self._control.execute("select last_id from taken where segment = ?", (number,)).fetchone()
        return not segment.sizes(self._path(number), taken[0] if taken else 0)

    def _drop_segments(self) -> None:
        with self._writing:  # outside of it a segment may just be coming into being
            ended = [number for number in self._segments() if self._live is None or self._live[0] != number]
        for number in ended:
            try:
                if not self._is_done(number):
                    continue
            except FileNotFoundError:
                continue
            except segment.DAMAGE:
                self._salvage(number)
                continue
            segment.delete(self._path(number))
            self._control.execute("delete from taken where segment = ?", (number,))

    def _salvage(self, number: int) -> None:
        """Set a damaged segment aside; what can still be read of it moves to a new one. Chunks that were in a batch
        come again: better twice, which readers see through, than lost."""
        with self._writing:
            if self._live is not None and self._live[0] == number:
                self._end_segment()
        path = self._path(number)
        rows: list[Row] = []
        with contextlib.suppress(*segment.DAMAGE, FileNotFoundError):
            for chunk in segment.chunks(path):
                rows += chunk.rows
        if rows:
            fresh, writer = self._begin_segment()
            segment.append(writer, rows, self._compressor)
            segment.close_without_checkpoint(self._path(fresh), writer)
        _set_aside(path)
        with control.transaction(self._control):
            self._control.execute("delete from parts where segment = ?", (number,))
            self._control.execute("delete from taken where segment = ?", (number,))
        self.set_aside += 1

    def recover(self) -> None:
        """Look at what an earlier process left: damaged segments are set aside, the rest is counted as replayed."""
        for path in [*self.folder.glob("seg-*.db-wal"), *self.folder.glob("seg-*.db-shm")]:
            if not path.with_name(path.name[: path.name.index(".db") + 3]).exists():
                path.unlink()  # a crash in the middle of a deletion
        taken = dict(self._control.execute("select segment, last_id from taken"))
        undone = {number for (number,) in self._control.execute("select segment from parts")}
        for number in self._segments():
            try:
                found = list(segment.chunks(self._path(number)))
            except segment.DAMAGE:
                self._salvage(number)
                continue
            waiting = [c for c in found if number in undone or c.id > taken.get(number, 0)]
            self.replayed += sum(chunk.spans for chunk in waiting)
            self.backlog_bytes += sum(chunk.raw_bytes for chunk in waiting)
        self._drop_segments()


def orphans(root: Path) -> list[Inbox]:
    """Inboxes that no process owns any more; they are owned by this one now."""
    return list(_unowned(root))


def _unowned(root: Path) -> Iterator[Inbox]:
    for folder in folders(root):
        lock = _lock(folder)
        if lock is None:
            continue
        box = Inbox(folder, lock) if control.is_sound(folder) else _reborn(folder, lock)
        box.recover()
        yield box


def _reborn(folder: Path, lock: int) -> Inbox:
    """A new inbox with the segments of one that lost its control file."""
    box = Inbox.create(folder.parent)
    for path in sorted(folder.glob("seg-*.db")):
        segment.move(path, box._path(control.next_segment(box._control)))
    for path in sorted(folder.glob("control.db")):
        _set_aside(path)
        box.set_aside += 1
    segment.sync_folder(box.folder)
    shutil.rmtree(folder)
    os.close(lock)
    return box


def _lock(folder: Path) -> int | None:
    """The locked handle, or None if another process owns the inbox or removes it just now."""
    path = folder / "lock"
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.stat().st_ino == os.fstat(handle).st_ino:
            return handle
    except OSError:
        pass
    os.close(handle)
    return None


def _set_aside(path: Path) -> None:
    damaged = path.parent.parent / DAMAGED
    damaged.mkdir(exist_ok=True)
    segment.move(path, damaged / f"{path.parent.name}-{path.name}")
