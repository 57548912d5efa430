"""Group commit: all requests that arrive together, or while one fsync runs, share the next.

A small group is written where it is, in the event loop: its fsync takes less time than handing it to another thread and
back, as each hand-over waits for the interpreter lock, and the servers' own threads go on receiving meanwhile. A large
one goes to a thread, since compressing and writing it is worth a core of its own; what comes in the meantime waits and
is the next group.

Where a store takes what is kept, groups come slower once more than `room` waits for it, the slower the more: senders
then wait a moment for their answers instead of filling the inbox until it refuses them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from collector.inbox import Inbox, InboxError, Row
from collector.metrics import Metrics

INLINE_BYTES = 512 * 2**10
GROUP_BYTES = 8 * 2**20  # of one commit: more only lengthens the wait of the first
MOST_SECONDS = 1.0  # between two groups
SLOW_SECONDS = 0.02  # a disk that takes longer must not hold the event loop


Kept = Callable[[InboxError | None], None]
_Waiting = tuple[Row, Kept]


class GroupCommit:
    """`commit(row, kept)`: calls back once the row is on disk, or with the reason why it could not be kept."""

    def __init__(self, inbox: Inbox, metrics: Metrics, room: int | None = None) -> None:
        self.inbox = inbox
        self._room = room  # bytes that may wait for the store before groups come slower
        self._metrics = metrics
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="otelcov-inbox")
        self._waiting: list[_Waiting] = []
        self._busy = False  # a flush is scheduled, or a group is being written
        self._usual_seconds = 0.0  # a moving average

    def commit(self, row: Row, kept: Kept) -> None:
        self._waiting.append((row, kept))
        if not self._busy:
            self._busy = True
            self._loop.call_soon(self._flush)  # after all that is ready now, so that it shares the group

    async def close(self) -> None:
        """Returns when everything handed in is on disk or has failed."""
        while self._busy:
            await asyncio.sleep(0.005)
        self._thread.shutdown()

    def _flush(self) -> None:
        group, size = self._next_group()
        write = self._writer(group)
        if size <= INLINE_BYTES and self._usual_seconds < SLOW_SECONDS:
            self._written(group, write())
            return
        task = self._loop.run_in_executor(self._thread, write)
        task.add_done_callback(lambda done: self._written(group, done.result()))

    def _writer(self, group: list[_Waiting]) -> Callable[[], tuple[float, InboxError | None]]:
        rows = [row for row, _ in group]

        def write() -> tuple[float, InboxError | None]:
            began = time.perf_counter()
            error: InboxError | None = None
            try:
                self.inbox.append(rows)
            except InboxError as failure:
                error = failure
            return time.perf_counter() - began, error

        return write

    def _written(self, group: list[_Waiting], outcome: tuple[float, InboxError | None]) -> None:
        seconds, error = outcome
        self._usual_seconds += (seconds - self._usual_seconds) / 8
        self._metrics.fsync_seconds.observe(seconds)
        if error is not None:
            self._metrics.inbox_errors.inc()
        self._busy = bool(self._waiting)
        if self._busy:
            if (pause := self._pause()) > 0:
                self._loop.call_later(pause, self._flush)
            else:
                self._loop.call_soon(self._flush)
        for _, kept in group:
            kept(error)

    def _pause(self) -> float:
        """Seconds: in balance, as long as the store needs for a group."""
        if not self._room:
            return 0.0
        return min(MOST_SECONDS, (self.inbox.backlog_bytes - self._room) / self._room)

    def _next_group(self) -> tuple[list[_Waiting], int]:
        size = 0
        for index, (row, _) in enumerate(self._waiting):
            size += len(row.body)
            if size >= GROUP_BYTES:
                group = self._waiting[: index + 1]
                del self._waiting[: index + 1]
                return group, size
        group, self._waiting = self._waiting, []
        return group, size
