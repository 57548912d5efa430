"""OTLP files into a store, by the same admission, inbox and commit as what the collector receives.

The inbox is one of its own, so that an import may run beside a collector; whatever hour the spans are of, it has a
partition (traffic of last year is a reason to import, not a sign of a bad clock).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from collector.inbox import Inbox, Row
from otelcov.store import files
from otelcov.store.commit import Committer
from otelcov.store.scan import inbox_root

_GROUP_BYTES = 8 << 20  # what is made durable at once
_BATCH_BYTES = 64 << 20


@dataclass
class Outcome:
    """What an import did."""

    files: int = 0  # that held OTLP
    spans: int = 0
    logs: int = 0
    metrics: int = 0  # documents of metrics, skipped
    rejected: int = 0  # spans and log records that admission refused
    told: list[str] = field(default_factory=list)  # what was skipped, and why


def take_in(
    paths: Sequence[Path], store: str, inbox: Path | None = None, each: Callable[[Path], None] = lambda _: None
) -> Outcome:
    """Every file's spans and log records into the store; `each` hears of a file before it is read."""
    outcome = Outcome()
    with ExitStack() as stack:
        root = inbox_root(store, inbox) or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="otelcov-")))
        box = Inbox.create(root)
        try:
            committer = Committer(store, box, any_hour=True)
            group: list[Row] = []
            for path in paths:
                each(path)
                group += _rows(path, outcome)
                if sum(len(row.body) for row in group) >= _GROUP_BYTES:
                    box.append(group)
                    group = []
                if box.backlog_bytes >= _BATCH_BYTES:
                    committer.drain()
            box.append(group)
            committer.drain()
        finally:
            box.retire()
    return outcome


def _rows(path: Path, outcome: Outcome) -> list[Row]:
    rows, held = [], False
    for request in files.requests(path):
        if isinstance(request, files.NotOtlp):
            outcome.told.append(f"{path}: not OTLP, skipped: {request}")
            continue
        if request == "metrics":
            outcome.metrics += 1
            held = True
            continue
        row = _admit(request)
        if isinstance(row, str):
            outcome.told.append(f"{path}: not OTLP, skipped: {row}")
            continue
        held = True
        rows.append(row)
        if row.signal == "traces":
            outcome.spans += row.spans
        else:
            outcome.logs += row.spans
    outcome.files += held
    return rows


def _admit(request: files.Request) -> Row | str:
    from collector import wire

    try:
        message = wire.parse(request.signal, request.body)
    except wire.Undecodable as error:
        return str(error)
    if request.signal == "traces":
        count = sum(len(ss.spans) for rs in message.resource_spans for ss in rs.scope_spans)
    else:
        count = sum(len(sl.log_records) for rl in message.resource_logs for sl in rl.scope_logs)
    return Row(request.signal, time.time_ns(), count, 0, request.body)
