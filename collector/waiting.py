"""What inboxes hold, for readers: no lock is taken, and segments may vanish meanwhile.

Then the tables have their rows: so read this first, and open the tables after it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from collector import segment
from collector.segment import Row

Part = tuple[int, int, int]  # segment, first and last chunk


class Waiting(NamedTuple):
    """What one inbox still holds, as a reader sees it."""

    app_id: str
    last_number: int  # the greatest number a batch had by then: rows without one are in no batch up to it
    rows: list[tuple[int | None, Row]]  # with the number of the batch, if they are in one


def rows(folder: Path, parts: Sequence[Part]) -> list[Row]:
    """What these parts of an inbox hold; raises one of segment.DAMAGE where a file cannot be read."""
    found: list[Row] = []
    for number, first, last in parts:
        with contextlib.suppress(FileNotFoundError):  # removed by hand
            for chunk in segment.chunks(segment_path(folder, number), first, last):
                found += chunk.rows
    return found


def pending(root: Path) -> list[Row]:
    """Every row of every inbox that is not yet dropped, committed or not."""
    rows: list[Row] = []
    for folder in folders(root):
        for path in sorted(folder.glob("seg-*.db")):
            with contextlib.suppress(
                FileNotFoundError, *segment.DAMAGE
            ):  # dropped meanwhile; damaged: its owner says so
                for chunk in segment.chunks(path):
                    rows += chunk.rows
    return rows


def waiting(root: Path) -> list[Waiting]:
    """The same without what is surely in the tables, each with the number of the batch that fixed it: so a reader can
    tell which rows it has twice."""
    return [_waiting(folder) for folder in folders(root)]


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


def segment_path(folder: Path, number: int) -> Path:
    return folder / f"seg-{number:08d}.db"


def folders(root: Path) -> list[Path]:
    if not root.is_dir():
        return []
    return sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
