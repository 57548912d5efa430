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
    fixed = box.fix(max_bytes); rows(…)       the same batch by its name alone, for a process that reads it by itself
    box.close()                               keeps what is left for the next owner
    box.retire()                              close, and remove the folder if nothing is left (import, orphans)
    orphans(root) -> [Inbox]                  inboxes of processes that are gone: drain them, then retire()
    pending(root) -> [Row]                    everything not yet dropped in all inboxes, for readers: takes no lock,
                                              tolerates segments that vanish meanwhile (then Delta has their rows),
                                              so read this first and open the tables after it
    waiting(root) -> [Waiting]                the same rows without those that are surely in the tables, each with the
                                              number of the batch that fixed it: a reader can tell which it has twice

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

from collector import segment
from collector.segment import Chunk, Row

__all__ = ["Batch", "Fixed", "Inbox", "InboxError", "Row", "Waiting", "orphans", "pending", "rows", "waiting"]

Part = tuple[int, int, int]  # segment, first and last chunk

SEGMENT_SPANS = 32_768
SEGMENT_BYTES = 64 * 2**20
DAMAGED = ".damaged"


class InboxError(Exception):
    """The inbox could not keep the rows (full disk, I/O error, closed): the sender should try again."""


class Batch(NamedTuple):
    app_id: str
    number: int
    rows: list[Row]


class Fixed(NamedTuple):
    """A batch whose members are fixed on disk, without them."""

    app_id: str
    number: int
    parts: list[Part]


class Waiting(NamedTuple):
    """What one inbox still holds, as a reader sees it."""

    app_id: str
    last_number: int  # the greatest number a batch had by then: rows without one are in no batch up to it
    rows: list[tuple[int | None, Row]]  # with the number of the batch, if they are in one


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
        self._control = _open_control(folder)
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
            _create_control(newborn, app_id)
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
        with _transaction(self._control):
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
        return _segment(self.folder, number)

    def _segments(self) -> list[int]:
        return sorted(int(path.stem[4:]) for path in self.folder.glob("seg-*.db"))

    def _count(self, raw_bytes: int) -> None:
        with self._counting:
            self.backlog_bytes = max(0, self.backlog_bytes + raw_bytes)

    def _begin_segment(self) -> tuple[int, sqlite3.Connection]:
        control = _open_control(self.folder)  # the other one belongs to the thread that takes batches
        try:
            number = _next_segment(control)
        finally:
            control.close()
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
        with _transaction(self._control):
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
        with _transaction(self._control):
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


def rows(folder: Path, parts: Sequence[Part]) -> list[Row]:
    """What these parts of an inbox hold; raises one of segment.DAMAGE where a file cannot be read."""
    found: list[Row] = []
    for number, first, last in parts:
        with contextlib.suppress(FileNotFoundError):  # removed by hand
            for chunk in segment.chunks(_segment(folder, number), first, last):
                found += chunk.rows
    return found


def pending(root: Path) -> list[Row]:
    """Every row of every inbox that is not yet dropped, committed or not."""
    rows: list[Row] = []
    for folder in _folders(root):
        for path in sorted(folder.glob("seg-*.db")):
            with contextlib.suppress(
                FileNotFoundError, *segment.DAMAGE
            ):  # dropped meanwhile; damaged: its owner says so
                for chunk in segment.chunks(path):
                    rows += chunk.rows
    return rows


def waiting(root: Path) -> list[Waiting]:
    """What the inboxes hold and the tables may lack; like `pending` it takes no lock."""
    return [_waiting(folder) for folder in _folders(root)]


def _waiting(folder: Path) -> Waiting:
    taken: dict[int, int] = {}
    parts: list[tuple[int, int, int, int]] = []
    last_number = 2**62  # without a control file nobody can tell: take every row as new
    with contextlib.suppress(FileNotFoundError, *segment.DAMAGE), segment.readable(folder / "control.db") as control:
        control.execute("begin")  # the three of one moment
        taken = dict(control.execute("select segment, last_id from taken"))
        parts = control.execute("select batch, segment, first_id, last_id from parts").fetchall()
        fixed = control.execute("select seq from sqlite_sequence where name = 'batches'").fetchone()
        last_number = fixed[0] if fixed else 0
    rows: list[tuple[int | None, Row]] = []
    for path in sorted(folder.glob("seg-*.db")):
        number = int(path.stem[4:])
        with contextlib.suppress(FileNotFoundError, *segment.DAMAGE):
            for chunk in segment.chunks(path):
                batch = next((b for b, s, first, last in parts if s == number and first <= chunk.id <= last), None)
                if batch is not None or chunk.id > taken.get(number, 0):
                    rows += [(batch, row) for row in chunk.rows]
    return Waiting(folder.name, last_number, rows)


def _unowned(root: Path) -> Iterator[Inbox]:
    for folder in _folders(root):
        lock = _lock(folder)
        if lock is None:
            continue
        box = Inbox(folder, lock) if _control_is_sound(folder) else _reborn(folder, lock)
        box.recover()
        yield box


def _reborn(folder: Path, lock: int) -> Inbox:
    """A new inbox with the segments of one that lost its control file."""
    box = Inbox.create(folder.parent)
    for path in sorted(folder.glob("seg-*.db")):
        segment.move(path, box._path(_next_segment(box._control)))
    for path in sorted(folder.glob("control.db")):
        _set_aside(path)
        box.set_aside += 1
    segment.sync_folder(box.folder)
    shutil.rmtree(folder)
    os.close(lock)
    return box


def _segment(folder: Path, number: int) -> Path:
    return folder / f"seg-{number:08d}.db"


def _folders(root: Path) -> list[Path]:
    if not root.is_dir():
        return []
    return sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))


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


def _create_control(folder: Path, app_id: str) -> None:
    with contextlib.closing(sqlite3.connect(folder / "control.db", isolation_level=None)) as control:
        control.executescript(
            f"""
            pragma journal_mode=wal;
            pragma synchronous=full;
            pragma user_version={segment.FORMAT};
            begin;
            create table app (id text not null);
            create table segments (number integer primary key autoincrement);
            create table batches (number integer primary key autoincrement);
            create table parts (batch integer not null, segment integer not null, first_id integer, last_id integer);
            create table taken (segment integer primary key, last_id integer not null);
            insert into app values ('{app_id}');
            commit;
            """
        )
    segment.sync_folder(folder)


def _open_control(folder: Path) -> sqlite3.Connection:
    control = sqlite3.connect(folder / "control.db", timeout=30, isolation_level=None, check_same_thread=False)
    control.execute("pragma synchronous=full")
    return control


def _next_segment(control: sqlite3.Connection) -> int:
    return int(control.execute("insert into segments default values returning number").fetchone()[0])


def _control_is_sound(folder: Path) -> bool:
    path = folder / "control.db"
    if not path.exists():
        return False
    try:
        control = _open_control(folder)
        try:
            sound = control.execute("pragma quick_check").fetchone() == ("ok",)
            return bool(sound and control.execute("select id from app").fetchone() == (folder.name,))
        finally:
            control.close()
    except sqlite3.DatabaseError:
        return False


@contextlib.contextmanager
def _transaction(control: sqlite3.Connection) -> Iterator[None]:
    try:
        control.execute("begin immediate")
        yield
        control.execute("commit")
    except sqlite3.Error as error:
        raise InboxError(f"could not write to the inbox's control file: {error}") from error
    finally:
        if control.in_transaction:
            control.rollback()
