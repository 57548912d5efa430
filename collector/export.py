"""The one export() that both transports call: let in, keep, count, answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from collector import admit
from collector.admit import Admitted, Refused, Rules
from collector.answers import ACCEPTED, INVALID_ARGUMENT, OK, RESOURCE_EXHAUSTED, UNAVAILABLE, Answer, Path
from collector.config import CollectorConfig
from collector.group_commit import GroupCommit
from collector.inbox import InboxError
from collector.metrics import Metrics
from collector.wire import Signal

_NO_METRICS = "metrics are not kept: otelcov reads traces and logs; point the metrics exporter elsewhere or turn it off"
_BIG_ONES = 1  # large requests judged at a time: each may need some hundred MiB for a moment
_CODES = {"malformed": INVALID_ARGUMENT, "wrong_signal": INVALID_ARGUMENT, "too_large": RESOURCE_EXHAUSTED}


class Export:
    """Acknowledges what the inbox has on disk, and nothing else."""

    def __init__(self, config: CollectorConfig, commit: GroupCommit, rules: Rules, metrics: Metrics) -> None:
        self._config = config
        self._commit = commit
        self._rules = rules
        self._metrics = metrics
        self._big = asyncio.Semaphore(_BIG_ONES)
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

    async def export(self, path: Path, body: bytes, transport: str, json: bool = False) -> Answer:
        if (busy := self.busy(len(body))) is not None:
            return busy
        self.queue_bytes += len(body)
        self.open += 1
        try:
            if path == "metrics":
                return self._metrics_answer(body, json)
            return await self._keep(path, body, transport, json)
        except Refused as refusal:
            return self._refuse(refusal.reason, Answer(_CODES[refusal.reason], str(refusal)))
        except InboxError as error:
            return self._refuse("inbox_error", Answer(UNAVAILABLE, str(error)[: admit.MESSAGE_BYTES]))
        finally:
            self.queue_bytes -= len(body)
            self.open -= 1

    def refused(self, reason: str) -> None:
        """A transport refused a request by itself."""
        self._metrics.refused.labels(reason).inc()

    async def _keep(self, signal: Signal, body: bytes, transport: str, json: bool) -> Answer:
        judge: Callable[[Signal, bytes, Rules, int], Admitted] = admit.admit_json if json else admit.admit
        now = time.time_ns()
        if len(body) < admit.BIG:
            admitted = judge(signal, body, self._rules, now)
        else:
            async with self._big:
                admitted = await asyncio.to_thread(judge, signal, body, self._rules, now)
        row, rejected, message = admitted
        metrics = self._metrics
        if row is not None:
            await self._commit.commit(row)
            metrics.accepted.labels(signal).inc(row.spans)
            metrics.received_bytes.labels(signal).inc(len(row.body))
            if row.masked:
                metrics.masked.inc(row.masked)
        metrics.requests.labels(transport, signal).inc()
        if not message and not rejected:
            return ACCEPTED
        metrics.partial.labels(signal).inc()
        for rule, count in rejected.items():
            metrics.rejected.labels(signal, rule).inc(count)
        return Answer(OK, message, sum(rejected.values()))

    def _metrics_answer(self, body: bytes, json: bool) -> Answer:
        points = 0 if json else admit.count_data_points(body)
        self.refused("metrics")
        return Answer(OK, _NO_METRICS, points)

    def _refuse(self, reason: str, answer: Answer) -> Answer:
        self.refused(reason)
        return answer
