"""Group commit: all requests that wait while one fsync runs share the next.

A thread of its own takes what has queued up, has the inbox make it durable, and wakes the waiting requests in the
event loop with one call.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from typing import NamedTuple

from collector.inbox import Inbox, InboxError, Row
from collector.metrics import Metrics

GROUP_BYTES = 8 * 2**20  # of one commit: more only lengthens the wait of the first
GROUP_ROWS = 4096


class _Waiting(NamedTuple):
    row: Row
    done: asyncio.Future[None]


class GroupCommit:
    """`await commit(row)`: on disk when it returns, InboxError when it could not be kept."""

    def __init__(self, inbox: Inbox, metrics: Metrics) -> None:
        self.inbox = inbox
        self._metrics = metrics
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="otelcov-inbox", daemon=True)
        self._thread.start()

    def commit(self, row: Row) -> asyncio.Future[None]:
        waiting = _Waiting(row, self._loop.create_future())
        self._queue.put(waiting)
        return waiting.done

    def close(self) -> None:
        """Returns when everything queued is on disk or has failed."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while group := self._next_group():
            rows = [waiting.row for waiting in group]
            began = time.perf_counter()
            error: InboxError | None = None
            try:
                self.inbox.append(rows)
            except InboxError as failure:
                error = failure
                self._metrics.inbox_errors.inc()
            self._metrics.fsync_seconds.observe(time.perf_counter() - began)
            self._loop.call_soon_threadsafe(_settle, group, error)

    def _next_group(self) -> list[_Waiting]:
        """Blocks for the first; what is there already joins it. Empty: closed."""
        first = self._queue.get()
        if first is None:
            return []
        group, size = [first], len(first.row.body)
        while size < GROUP_BYTES and len(group) < GROUP_ROWS:
            try:
                more = self._queue.get_nowait()
            except queue.Empty:
                break
            if more is None:
                self._queue.put(None)  # close after this group
                break
            group.append(more)
            size += len(more.row.body)
        return group


def _settle(group: list[_Waiting], error: InboxError | None) -> None:
    for _, done in group:
        if done.cancelled():
            continue  # the sender hung up; its rows may stay
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
