"""The one way in that both transports take: let in, keep, count, answer.

No task and no future a request: what a small one costs is mostly those. A request is judged where it arrives, and a
call back says its answer, at once or when its group is on disk.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from collector import admit
from collector.admit import Admitted, Refused, Rules
from collector.answers import ACCEPTED, INTERNAL, INVALID_ARGUMENT, OK, RESOURCE_EXHAUSTED, UNAVAILABLE, Answer, Path
from collector.config import CollectorConfig
from collector.group_commit import GroupCommit
from collector.inbox import InboxError
from collector.metrics import Metrics
from collector.wire import Signal

_NO_METRICS = "metrics are not kept: otelcov reads traces and logs; point the metrics exporter elsewhere or turn it off"
_BIG_ONES = 1  # large requests judged at a time: each may need some hundred MiB for a moment
_CODES = {"malformed": INVALID_ARGUMENT, "wrong_signal": INVALID_ARGUMENT, "too_large": RESOURCE_EXHAUSTED}

Answered = Callable[[Answer], None]


class Export:
    """Acknowledges what the inbox has on disk, and nothing else."""

    def __init__(self, config: CollectorConfig, commit: GroupCommit, rules: Rules, metrics: Metrics) -> None:
        self._config = config
        self._commit = commit
        self._rules = rules
        self._metrics = metrics
        self._counters = {
            (transport, signal): (
                metrics.requests.labels(transport, signal),
                metrics.accepted.labels(signal),
                metrics.received_bytes.labels(signal),
            )
            for transport in ("http", "grpc")
            for signal in ("traces", "logs")
        }
        self._big = asyncio.Semaphore(_BIG_ONES)
        self._tasks: set[asyncio.Task[None]] = set()  # the loop itself holds them weakly
        self.queue_bytes = 0  # received and not yet answered
        self.open = 0
        self.draining = False

    def busy(self, size: int) -> Answer | None:
        """The answer for a request of that size that there is no room for."""
        if self.draining:
            return self._refuse("draining", Answer(UNAVAILABLE, "the collector is stopping"))
        if self.queue_bytes + size > self._config.max_queue_bytes and self.open:
            return self._refuse("queue_full", Answer(UNAVAILABLE, "too many bytes wait for the disk"))
        if self._commit.inbox.backlog_bytes > self._config.max_inbox_bytes:
            return self._refuse("inbox_full", Answer(UNAVAILABLE, "the inbox is full: the store does not keep up"))
        return None

    def take(self, path: Path, body: bytes, transport: str, answered: Answered, json: bool = False) -> None:
        """One request. `answered` is called once, at once or later."""
        size = len(body)
        if (busy := self.busy(size)) is not None:
            answered(busy)
            return
        if path == "metrics":
            answered(self._metrics_answer(body, json))
            return
        call = _Call(self, path, transport, size, answered)
        judge = admit.admit_json if json else admit.admit
        if size >= admit.BIG:
            self.spawn(self._take_big(judge, call, body))
            return
        with self._judged(call):
            call.admitted = judge(path, body, self._rules, time.time_ns())

    def refused(self, reason: str) -> None:
        """A transport refused a request by itself."""
        self._metrics.refused.labels(reason).inc()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """What is too long for the event loop."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _take_big(self, judge: Callable[[Signal, bytes, Rules, int], Admitted], call: _Call, body: bytes) -> None:
        with self._judged(call):
            async with self._big:
                call.admitted = await asyncio.to_thread(judge, call.signal, body, self._rules, time.time_ns())

    @contextmanager
    def _judged(self, call: _Call) -> Iterator[None]:
        """What is admitted within is kept, or the refusal answered."""
        try:
            yield
        except Refused as refusal:
            call.end(self._refusal(refusal))
        except Exception as error:  # ours: told, answered, and no other request of the connection suffers
            asyncio.get_running_loop().call_exception_handler({"message": "a request failed", "exception": error})
            call.end(self._refuse("internal", Answer(INTERNAL, "the collector failed on this request")))
        except BaseException:
            call.forget()
            raise
        else:
            self._keep(call)

    def _keep(self, call: _Call) -> None:
        row = call.admitted.row
        if row is None:
            call.kept(None)
        else:
            self._commit.commit(row, call.kept)

    def _counted(self, signal: Signal, transport: str, admitted: Admitted) -> Answer:
        """What was taken is on disk."""
        row, rejected, message = admitted
        requests, accepted, received_bytes = self._counters[transport, signal]
        if row is not None:
            accepted.inc(row.spans)
            received_bytes.inc(len(row.body))
            if row.masked:
                self._metrics.masked.inc(row.masked)
        requests.inc()
        if not message and not rejected:
            return ACCEPTED
        self._metrics.partial.labels(signal).inc()
        for rule, count in rejected.items():
            self._metrics.rejected.labels(signal, rule).inc(count)
        return Answer(OK, message, sum(rejected.values()))

    def _metrics_answer(self, body: bytes, json: bool) -> Answer:
        try:
            points = admit.count_data_points(body, json)
        except Refused as refusal:
            return self._refusal(refusal)
        self.refused("metrics")
        return Answer(OK, _NO_METRICS, points)

    def _refusal(self, refusal: Refused) -> Answer:
        return self._refuse(refusal.reason, Answer(_CODES[refusal.reason], str(refusal)))

    def _refuse(self, reason: str, answer: Answer) -> Answer:
        self.refused(reason)
        return answer


class _Call:
    """One request that is not answered yet."""

    __slots__ = ("_answered", "_export", "_size", "_transport", "admitted", "signal")

    def __init__(self, export: Export, signal: Signal, transport: str, size: int, answered: Answered) -> None:
        self._export, self._transport, self._size, self._answered = export, transport, size, answered
        self.signal = signal
        self.admitted: Admitted
        export.queue_bytes += size
        export.open += 1

    def kept(self, error: InboxError | None) -> None:
        export = self._export
        if error is not None:
            self.end(export._refuse("inbox_error", Answer(UNAVAILABLE, str(error)[: admit.MESSAGE_BYTES])))
            return
        self.end(export._counted(self.signal, self._transport, self.admitted))

    def end(self, answer: Answer) -> None:
        self.forget()
        self._answered(answer)

    def forget(self) -> None:
        self._export.queue_bytes -= self._size
        self._export.open -= 1
