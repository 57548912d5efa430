"""A second process for a report whose store has much waiting in its inbox, started before anything else is known."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from otelcov.ground import locks
from otelcov.ground.processes import MEMORY, ONE_THREAD, cores
from otelcov.sums import glance

if TYPE_CHECKING:
    from otelcov.engine.second import Second

STORE = "./.otelcov"
_MUCH = 2_000_000  # bytes of segments, some 15,000 spans: less is counted here about as soon
_NEEDS = (  # in steps, between which it looks whether it is called: what decodes first
    "otelcov.store.pieces",
    "collector.wire:prepare",
    "otelcov.store.layout",
    "otelcov.dialects.facts",
    "otelcov.runs",
    "otelcov.sums.live",
)

_begun: list[tuple[str, Second]] = []  # for which store


def begin(arguments: Sequence[str]) -> None:
    """Start it for a command of these arguments: it has much to import, and so has who reads them."""
    store = os.environ.get("OTELCOV_STORE") or STORE
    for at, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name == "--store":
            store = value if equals else next(iter(arguments[at + 1 :]), store)
    if (second := _second(store)) is not None:
        _begun.append((store, second))
        for name, value in MEMORY.items():  # Polars is not imported yet, and has one large table to make
            os.environ.setdefault(name, value)


@contextmanager
def helped(store: str) -> Iterator[Second | None]:
    """A second process, where it would help."""
    second = None
    while _begun:
        named, begun = _begun.pop()
        if named == store:
            second = begun
        else:
            begun.close()
    second = second or _second(store)
    try:
        yield second
    finally:
        if second is not None:
            second.close()


def _second(store: str) -> Second | None:
    with suppress(OSError):  # what is wrong with the store, the command will say
        if _waits(Path(store)) >= _MUCH and not glance.told(store) and _idle(Path(store)):
            from otelcov.engine.second import Second

            return Second(_NEEDS, ONE_THREAD)
    return None


def _waits(store: Path) -> int:
    """Bytes of the segments in the inboxes of a store on a local disk."""
    size = 0
    for path in (store / "inbox").glob("*/seg-*.db*"):
        with suppress(OSError):
            size += path.stat().st_size
    return size


def _idle(store: Path) -> bool:
    """Whether a core has nothing to do at this moment; where that cannot be told, one has if there are several. Who
    counts beside a collector may just be waiting: then the last minute tells."""
    counting = any(locks.is_held(path) for path in (store / "sums").glob(f"*/{locks.COUNTING}"))
    if counting and os.getloadavg()[0] >= cores() / 2:
        return False
    try:
        running = int(Path("/proc/loadavg").read_text().split()[3].split("/")[0])
    except (OSError, ValueError, IndexError):
        running = 1
    return running < cores()
