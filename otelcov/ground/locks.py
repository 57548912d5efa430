"""Locks on files that say what a process is at: they go when it does."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

COUNTING = "beside.lock"  # in a folder of kept sums: held by who counts there as long as spans come


@contextmanager
def shared(path: Path) -> Iterator[None]:
    """Hold a lock that several may hold. Raises OSError where the file cannot be written."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def is_held(path: Path) -> bool:
    """Whether a process holds it."""
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False
