"""An inbox's control file: batch numbers, their members, what was taken of each segment (SQLite)."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from collector import segment


class InboxError(Exception):
    """The inbox could not keep the rows (full disk, I/O error, closed): the sender should try again."""


def create(folder: Path, app_id: str) -> None:
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


def connect(folder: Path) -> sqlite3.Connection:
    control = sqlite3.connect(folder / "control.db", timeout=30, isolation_level=None, check_same_thread=False)
    control.execute("pragma synchronous=full")
    return control


def next_segment(control: sqlite3.Connection) -> int:
    return int(control.execute("insert into segments default values returning number").fetchone()[0])


def is_sound(folder: Path) -> bool:
    path = folder / "control.db"
    if not path.exists():
        return False
    try:
        control = connect(folder)
        try:
            sound = control.execute("pragma quick_check").fetchone() == ("ok",)
            return bool(sound and control.execute("select id from app").fetchone() == (folder.name,))
        finally:
            control.close()
    except sqlite3.DatabaseError:
        return False


@contextlib.contextmanager
def transaction(control: sqlite3.Connection) -> Iterator[None]:
    try:
        control.execute("begin immediate")
        yield
        control.execute("commit")
    except sqlite3.Error as error:
        raise InboxError(f"could not write to the inbox's control file: {error}") from error
    finally:
        if control.in_transaction:
            control.rollback()
