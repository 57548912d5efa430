"""Whether a store still holds what was counted and nothing else, told by names and sizes alone: no table is opened for
that, and nothing is imported."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otelcov.store import remote

if TYPE_CHECKING:
    from otelcov.sums.kept import Kept

NOTE = "again.json"  # in a folder of sums, see again.py
Sight = list[Any]  # of inboxes and tables, as JSON has it
_TABLES = ("spans", "logs")
_RESTS_NS = 250_000_000  # after something came to an inbox, for what may be coming behind it


def quiet(store: str, kept: Kept) -> bool:
    """True: nothing was committed since the count, and no inbox holds a row. False where that is not sure.

    The inboxes are looked at first: what leaves them meanwhile is a newer version of a table.
    """
    if remote.is_remote(store) or any((Path(store) / "inbox").glob("*/seg-*.db")):
        return False
    return _newest(store, kept.versions)


def inboxes(store: str) -> Sight | None:
    """What waits there: segments only grow until they go as a whole. To be taken before they are read; None where more
    seems to be coming, or they cannot be seen."""
    if remote.is_remote(store):
        return None
    seen = []
    for path in sorted((Path(store) / "inbox").glob("*/seg-*.db*")):
        if path.suffix == ".db-shm":  # readers write there
            continue
        try:
            about = path.stat()
        except OSError:
            return None
        if time.time_ns() - about.st_mtime_ns < _RESTS_NS:
            return None
        seen.append([path.parent.name, path.name, about.st_ino, about.st_size, about.st_mtime_ns])
    return seen


def same(store: str, sight: Sight) -> bool:
    """Whether the store still is as it was: its inboxes, and the versions of its tables."""
    seen, versions = sight
    return inboxes(store) == seen and _newest(store, versions)


def told(store: str) -> bool:
    """Whether a report has noted what it found of the store as it is."""
    for path in (Path(store) / "sums").glob(f"*/{NOTE}"):
        try:
            if same(store, json.loads(path.read_bytes())["sight"]):
                return True
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return False


def _newest(store: str, versions: Sequence[int]) -> bool:
    logs = (Path(store) / name / "_delta_log" for name in _TABLES)
    return all(
        (log / f"{at:020}.json").exists() and not (log / f"{at + 1:020}.json").exists()
        for log, at in zip(logs, versions, strict=True)
    )
