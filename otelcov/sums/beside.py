"""A process beside a collector that counts as long as spans come: how others know of it and wait for its next step, and
how it knows of those whom it would slow down."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from otelcov.ground import locks
from otelcov.sums.kept import LIST

_ASKED = "asked.lock"
LONGEST_S = 30.0  # that a report waits for a step: who is far behind catches up sooner if left alone
_LOOK_S = 0.1


@contextmanager
def counting(there: Path) -> Iterator[None]:
    """While this lasts, others know that this process counts in that folder; several may."""
    there.mkdir(parents=True, exist_ok=True)
    with locks.shared(there / locks.COUNTING):
        yield


@contextmanager
def asking(there: Path) -> Iterator[None]:
    """While this lasts, who counts there knows that someone waits for an answer."""
    with ExitStack() as held:
        if at_it(there):
            with suppress(OSError):  # whoever may only read is not seen
                held.enter_context(locks.shared(there / _ASKED))
        yield


def caught_up(there: Path, until: float) -> bool:
    """Whether a process that counts there has ended its step meanwhile; it is waited for, `until` then at most
    (time.monotonic, in seconds)."""
    before = _list(there)
    while at_it(there) and time.monotonic() < until:
        time.sleep(_LOOK_S)
        if _list(there) != before:
            return True
    return False


def at_it(there: Path) -> bool:
    """Whether a process counts there."""
    return locks.is_held(there / locks.COUNTING)


def is_asked(there: Path) -> bool:
    """Whether someone waits for an answer of what is counted there."""
    return locks.is_held(there / _ASKED)


def _list(there: Path) -> tuple[int, int]:
    try:
        about = (there / LIST).stat()
    except OSError:
        return 0, 0
    return about.st_ino, about.st_mtime_ns
