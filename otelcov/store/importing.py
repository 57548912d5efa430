"""OTLP files into a store, by the same admission, inbox and commit as what the collector receives.

The inbox is one of its own, so that an import may run beside a collector; whatever hour the spans are of, it has a
partition (traffic of last year is a reason to import, not a sign of a bad clock).
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from collector import admit
from collector.admit import Rules
from collector.config import BadConfig, CollectorConfig, check
from collector.inbox import Inbox, InboxError, Row
from otelcov.ground.config import Collect
from otelcov.ground.errors import ConfigError, StoreError
from otelcov.store import files
from otelcov.store.commit import Committer
from otelcov.store.scan import writable_inbox

_GROUP_BYTES = 8 << 20  # what is made durable at once
_BATCH_BYTES = 64 << 20
_MOST_SPANS, _MOST_ELEMENTS = 1 << 22, 1 << 26  # of one request in a file


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
    paths: Sequence[Path],
    store: str,
    config: Collect,
    inbox: Path | None = None,
    each: Callable[[Path], None] = lambda _: None,
) -> Outcome:
    """Every file's spans and log records into the store; `each` hears of a file before it is read."""
    outcome = Outcome()
    try:
        _take_in(paths, store, config, inbox, each, outcome)
    except (InboxError, sqlite3.Error, OSError) as error:
        raise StoreError(
            f"Couldn't import into {store}: {error}. Is the disk full? What came before is kept: import again once "
            "there is room, a span counts once."
        ) from error
    return outcome


def _take_in(
    paths: Sequence[Path],
    store: str,
    config: Collect,
    inbox: Path | None,
    each: Callable[[Path], None],
    outcome: Outcome,
) -> None:
    with ExitStack() as stack:
        root = writable_inbox(store, inbox) or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="otelcov-")))
        rules = _rules(store, root, config)
        box = Inbox.create(root)
        try:
            committer = Committer(store, box, any_hour=True)
            for group in _groups(row for path in paths for row in _rows(path, rules, outcome, each)):
                box.append(group)
                if box.backlog_bytes >= _BATCH_BYTES:
                    committer.drain()
            committer.drain()
        finally:
            box.retire()


def _rules(store: str, inbox: Path, config: Collect) -> Rules:
    """The collector's rules, redaction included; only the limits are those of a file, which nobody sent to hurt."""
    redaction = {"content": config.content, "drop": tuple(config.drop), "hash": tuple(config.hash)}
    receiver = CollectorConfig(
        store,
        inbox,
        hash_key_env=config.hash_key_env,
        mask_secrets=config.mask_secrets,
        max_request_spans=_MOST_SPANS,
        max_request_elements=_MOST_ELEMENTS,
        **redaction,  # type: ignore[arg-type]
    )
    try:
        check(receiver)
    except BadConfig as error:
        raise ConfigError(f"Couldn't use [collect]: {error}.") from error
    return admit.rules(receiver)


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    group: list[Row] = []
    size = 0
    for row in rows:
        group.append(row)
        size += len(row.body)
        if size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _rows(path: Path, rules: Rules, outcome: Outcome, each: Callable[[Path], None]) -> Iterator[Row]:
    """The admitted requests of a file; what it held else goes to the outcome."""
    each(path)
    held = False
    for request in files.requests(path):
        if isinstance(request, files.NotOtlp):
            outcome.told.append(f"{path}: not OTLP, skipped: {request}")
            continue
        if request == "metrics":
            outcome.metrics += 1
            held = True
            continue
        try:
            admitted = admit.admit(request.signal, request.body, rules, time.time_ns())
        except admit.Refused as error:
            outcome.told.append(f"{path}: not OTLP, skipped: {error}")
            continue
        held = True
        if admitted.rejected:
            outcome.rejected += sum(admitted.rejected.values())
            outcome.told.append(f"{path}: {admitted.message}")
        if admitted.row is None:
            continue
        if request.signal == "traces":
            outcome.spans += admitted.row.spans
        else:
            outcome.logs += admitted.row.spans
        yield admitted.row
    outcome.files += held
