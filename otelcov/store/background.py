"""What runs beside a collector: its inbox into the tables every few seconds, now and then upkeep.

Nothing here may lose a span or stop for a reason that may pass: what cannot be committed stays in the inbox and is
tried again. A bug does stop it, and with it the collector. The work itself is done by a process beside (worker.py);
what is decided here costs a few milliseconds a batch.
"""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from collector.inbox import Fixed, Inbox, InboxError, orphans
from otelcov.ground.errors import StoreError
from otelcov.store.commit import Written
from otelcov.store.worker import Damaged, Ended, Worker

_OVERLOAD = 4  # batches that wait: then all cores are for commits, and what runs beside waits until there are fewer
_TICK_S = 0.1
_LAST_S = 2.0  # for the rest of the inbox once the collector has stopped; what is left waits for the next start
_RETRY_S = 5.0
# A process of its own: an hour's rewrite takes memory and the interpreter's lock, and may be stopped at any moment.
_UPKEEP = "import os, sys, time; os.nice(10); from otelcov.store.upkeep import tidy; tidy(sys.argv[1], time.time_ns())"


@dataclass
class Beside:
    """A command that is started now and then, never twice at a time; it takes the store as its last word."""

    command: Sequence[str]
    every_s: float
    first_s: float | None = None  # after which it is started first; None: every_s
    _next: float = field(default=0.0, init=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._next = time.monotonic() + (self.every_s if self.first_s is None else self.first_s)

    def look(self, store: str) -> None:
        now = time.monotonic()
        ended = self._process is None or self._process.poll() is not None  # asked each time: none stays a zombie
        if now >= self._next and ended:
            self._next = now + self.every_s
            self._process = subprocess.Popen([*self.command, store], stdout=subprocess.DEVNULL)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()  # its transactions are whole or not there
            self._process.wait()


@dataclass
class Background:
    """Follows one inbox until `stop` is set, then commits what it can in two seconds."""

    store: str
    root: Path  # of all inboxes
    interval_s: float
    batch_bytes: int
    on_written: Callable[[Written], None] = lambda _: None
    on_failure: Callable[[str], None] = lambda _: None
    beside: Sequence[Beside] = field(default_factory=lambda: [Beside((sys.executable, "-c", _UPKEEP), 300.0)])
    _behind_since: float | None = field(default=None, init=False)

    def follow(self, box: Inbox, stop: threading.Event) -> None:
        self._adopt(stop)
        committed = time.monotonic()
        with _Steps(self, box) as steps:
            steps.warm()
            while not stop.wait(0 if steps.behind() else _TICK_S):
                now = time.monotonic()
                if box.backlog_bytes and self._behind_since is None:
                    self._behind_since = now
                if now - committed >= self.interval_s or steps.behind():
                    committed = now
                    if not steps.one(stop.is_set):
                        stop.wait(_RETRY_S)
                overloaded = box.backlog_bytes > _OVERLOAD * self.batch_bytes
                for each in self.beside:
                    if overloaded:
                        each.stop()
                    else:
                        each.look(self.store)
            for each in self.beside:
                each.stop()
            until = time.monotonic() + _LAST_S
            while box.backlog_bytes and steps.one(lambda: time.monotonic() > until):
                pass

    def lag_s(self) -> float:
        """For how long something acknowledged has waited for the tables."""
        since = self._behind_since
        return 0.0 if since is None else time.monotonic() - since

    def _adopt(self, stop: threading.Event) -> None:
        """What processes that are gone have left in inboxes of their own."""
        for box in orphans(self.root):
            with _Steps(self, box) as steps:
                while box.backlog_bytes and steps.one(stop.is_set):
                    pass
            box.retire()


class _Steps:
    """One inbox, a batch at a time, through a process that is replaced when it ends."""

    def __init__(self, background: Background, box: Inbox) -> None:
        self._background, self._box = background, box
        self._worker: Worker | None = None
        self._asked: Fixed | None = None

    def __enter__(self) -> _Steps:
        return self

    def __exit__(self, *_: object) -> None:
        self._dismiss()

    def warm(self) -> None:
        """Start the process before there is work: a collector that is stopped soon has no time to wait for it."""
        with contextlib.suppress(OSError):  # the first batch tries again, and says why
            self._worker = Worker(self._background.store, self._box)

    def behind(self) -> bool:
        return self._box.backlog_bytes >= self._background.batch_bytes

    def one(self, given_up: Callable[[], bool]) -> bool:
        """One batch; False if it failed, and is to be tried again, or was given up."""
        background = self._background
        try:
            fixed = self._asked or self._ask()
            if fixed is None:
                return not self._box.backlog_bytes
            assert self._worker is not None
            while (outcome := self._worker.answer(_TICK_S)) is None:
                if given_up():
                    return False
            self._asked = None
            self._box.done(fixed)
        except Damaged:
            self._asked = None
            self._box.next_batch(background.batch_bytes)  # reads it, and sets the damaged file aside
            return True
        except (Ended, StoreError, OSError, InboxError, sqlite3.Error) as error:
            self._asked = None
            if isinstance(error, Ended):
                self._dismiss()
            background.on_failure(str(error))
            return False
        written, until_ns = outcome
        background.on_written(written)
        background._behind_since = None
        if self._box.backlog_bytes and until_ns:  # what waits now came after that
            background._behind_since = time.monotonic() - max(0, time.time_ns() - until_ns) / 1e9
        return True

    def _ask(self) -> Fixed | None:
        fixed = self._box.fix(self._background.batch_bytes)
        if fixed is not None:
            self._worker = self._worker or Worker(self._background.store, self._box)
            self._worker.ask(fixed)
            self._asked = fixed
        return fixed

    def _dismiss(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None
