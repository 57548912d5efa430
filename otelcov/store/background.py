"""What runs beside a collector: its inbox into the tables every few seconds, now and then upkeep.

Nothing here may lose a span or stop for a reason that may pass: what cannot be committed stays in the inbox and is
tried again. A store of a newer format or a bug does stop it, and with it the collector.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from collector.inbox import Inbox, orphans
from otelcov.ground.errors import StoreError
from otelcov.store.commit import Committer, Written

_TICK_S = 0.1
_LAST_S = 2.0  # for the rest of the inbox once the collector has stopped; what is left waits for the next start
_RETRY_S = 5.0
_UPKEEP_S = 300.0
# A process of its own: an hour's rewrite takes memory and the interpreter's lock, and may be stopped at any moment.
_UPKEEP = "import os, sys, time; os.nice(10); from otelcov.store.upkeep import tidy; tidy(sys.argv[1], time.time_ns())"


@dataclass
class Background:
    """Follows one inbox until `stop` is set, then commits what it can in two seconds."""

    store: str
    root: Path  # of all inboxes
    interval_s: float
    batch_bytes: int
    on_written: Callable[[Written], None] = lambda _: None
    on_failure: Callable[[str], None] = lambda _: None
    _behind_since: float | None = field(default=None, init=False)

    def follow(self, box: Inbox, stop: threading.Event) -> None:
        committer = Committer(self.store, box)
        self._adopt(stop)
        upkeep: subprocess.Popen[bytes] | None = None
        committed = tidied = time.monotonic()
        while not stop.wait(_TICK_S):
            now = time.monotonic()
            if box.backlog_bytes and self._behind_since is None:
                self._behind_since = now
            if now - committed >= self.interval_s or box.backlog_bytes >= self.batch_bytes:
                committed = now
                if not self._step(committer):
                    stop.wait(_RETRY_S)
            if now - tidied >= _UPKEEP_S and (upkeep is None or upkeep.poll() is not None):
                tidied = now
                upkeep = subprocess.Popen([sys.executable, "-c", _UPKEEP, self.store], stdout=subprocess.DEVNULL)
        if upkeep is not None:
            upkeep.terminate()  # its transactions are whole or not there
            upkeep.wait()
        until = time.monotonic() + _LAST_S
        while box.backlog_bytes and time.monotonic() < until and self._step(committer):
            pass

    def lag_s(self) -> float:
        """For how long something acknowledged has waited for the tables."""
        since = self._behind_since
        return 0.0 if since is None else time.monotonic() - since

    def _adopt(self, stop: threading.Event) -> None:
        """What processes that are gone have left in inboxes of their own."""
        for box in orphans(self.root):
            committer = Committer(self.store, box)
            while not stop.is_set() and box.backlog_bytes and self._step(committer):
                pass
            box.retire()

    def _step(self, committer: Committer) -> bool:
        """One batch; False if it failed and is to be tried again."""
        try:
            written = committer.step(self.batch_bytes)
        except (StoreError, OSError, sqlite3.Error) as error:
            self.on_failure(str(error))
            return False
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # a panic of the Rust side, which derives from BaseException
                raise
            self.on_failure(f"Couldn't commit to {self.store}: {error}")
            return False
        if written is not None:
            self.on_written(written)
        if not committer.box.backlog_bytes:
            self._behind_since = None
        return True
