"""Two writers and two upkeep processes on one store, wherever it lies: nothing lost, nothing doubled."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

from collector.inbox import Inbox
from otelcov.ground.windows import Window
from otelcov.store import scan, tables, upkeep
from otelcov.store.commit import Committer
from otelcov.store.scan import Quality
from tests.store.otlp import HOUR, NOW, logs, span, traces

SPAWN = multiprocessing.get_context("spawn")


def ids(store: str | Path, window: Window | None = None) -> list[int]:
    frame = scan.spans(store) if window is None else scan.spans(store, window, max_run_ns=0)
    return sorted(int.from_bytes(i, "big") for i in frame.collect()["span_id"])


def together(store: str, folder: Path, rounds: int) -> None:
    tables.create(store)
    done = folder / "done"
    writers = [SPAWN.Process(target=_write, args=(store, folder / "inbox", NOW, w, rounds)) for w in (1, 2)]
    keepers = [SPAWN.Process(target=_tidy, args=(store, done)) for _ in range(2)]
    for process in writers + keepers:
        process.start()
    for process in writers:
        process.join(500)
    done.touch()
    for process in keepers:
        process.join(100)
    assert [process.exitcode for process in writers + keepers] == [0] * 4

    own = [w * 10_000 + n for w in (1, 2) for n in range(rounds)]
    shared = [1_000_000 + n for n in range(rounds)]
    for _ in range(2):
        assert ids(store) == sorted(own + shared)
        assert scan.quality(store) == Quality(3 * rounds, rounds, 0, 0, 0)
        assert scan.logs(store).collect().height == 2 * rounds
        upkeep.tidy(store, NOW)
    for table in tables.open_(store):
        assert table.files()["path"].is_unique().all()
        assert table.files().height <= 2


def _write(store: str, inbox: Path, now: int, writer: int, rounds: int) -> None:
    box = Inbox.create(inbox)
    committer = Committer(store, box)
    for n in range(rounds):
        shared = span(1_000_000 + n, start=now - 3 * HOUR)
        mine = span(writer * 10_000 + n, start=now - (3 + n % 2) * HOUR)
        box.append([traces(mine, shared), logs(f"{writer} {n}", at=now - 3 * HOUR)])
        committer.drain()
    box.retire()


def _tidy(store: str, done: Path) -> None:
    upkeep._MANY_SMALL = 2  # put together what they can, too
    while not done.exists():
        upkeep.tidy(store, NOW)
