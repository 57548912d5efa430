"""What runs beside a collector."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from collector.inbox import Inbox, orphans
from otelcov.store import commit, scan, tables, worker
from otelcov.store.background import Background, Beside
from otelcov.store.commit import Written
from tests.store.otlp import span, traces


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def followed(background: Background, box: Inbox) -> tuple[threading.Thread, threading.Event]:
    stop = threading.Event()
    thread = threading.Thread(target=background.follow, args=(box, stop))
    thread.start()
    return thread, stop


def test_an_inbox_is_committed_within_the_interval_and_once_more_at_the_end(tmp_path: Path) -> None:
    left = Inbox.create(tmp_path / "inbox")  # by a process that is gone
    left.append([traces(span(9))])
    left.close()
    box = Inbox.create(tmp_path / "inbox")
    written: list[Written] = []
    background = Background(str(tmp_path), tmp_path / "inbox", 0.1, 64 << 20, on_written=written.append)
    thread, stop = followed(background, box)
    until(lambda: written == [Written(1, 0)])
    box.append([traces(span(1))])
    until(lambda: written == [Written(1, 0)] * 2 and background.lag_s() == 0)
    background.interval_s = 1000
    box.append([traces(span(2))])
    until(lambda: background.lag_s() > 0)
    stop.set()
    thread.join()
    assert written == [Written(1, 0)] * 3
    box.retire()
    assert list((tmp_path / "inbox").iterdir()) == []
    assert scan.spans(tmp_path).collect().height == 3


def test_a_commit_that_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("otelcov.store.background._RETRY_S", 0.05)
    box = Inbox.create(tmp_path / "inbox")
    box.append([traces(span(1))])
    tables.create(tmp_path)
    (tmp_path / "spans").rename(tmp_path / "elsewhere")
    (tmp_path / "spans").write_text("in the way")
    said: list[str] = []
    background = Background(str(tmp_path), tmp_path / "inbox", 0.05, 64 << 20, on_failure=said.append)
    thread, stop = followed(background, box)
    until(lambda: len(said) >= 2)
    (tmp_path / "spans").unlink()
    (tmp_path / "elsewhere").rename(tmp_path / "spans")
    until(lambda: not box.backlog_bytes)
    stop.set()
    thread.join()
    box.close()
    assert all("spans" in text for text in said)
    assert scan.spans(tmp_path).collect().height == 1


def test_a_killed_worker_is_replaced_and_its_batch_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("otelcov.store.background._RETRY_S", 0.05)
    workers: list[worker.Worker] = []

    class Watched(worker.Worker):
        def __init__(self, store: str, box: Inbox) -> None:
            super().__init__(store, box)
            workers.append(self)

    monkeypatch.setattr("otelcov.store.background.Worker", Watched)
    box = Inbox.create(tmp_path / "inbox")
    said: list[str] = []
    written: list[Written] = []
    background = Background(
        str(tmp_path), tmp_path / "inbox", 0.01, 64 << 20, on_written=written.append, on_failure=said.append
    )
    thread, stop = followed(background, box)
    for round_ in range(4):
        box.append([traces(span(round_ + 1))])
        until(lambda: len(written) > round_)  # noqa: B023
        os.kill(workers[-1].pid, signal.SIGKILL)
    box.append([traces(span(5))])
    until(lambda: not box.backlog_bytes)
    stop.set()
    thread.join()
    box.close()
    assert len(workers) == 5 and said and all("another one goes on" in text for text in said)
    assert scan.spans(tmp_path).collect().height == 5


def test_a_damaged_file_is_set_aside_by_the_inboxs_owner(tmp_path: Path) -> None:
    box = Inbox.create(tmp_path / "inbox")
    box.append([traces(span(1))])
    fixed = box.fix()
    assert fixed is not None
    with sqlite3.connect(box.folder / "seg-00000001.db") as live:
        live.execute("update chunks set body = x'00'")
    live.close()
    background = Background(str(tmp_path), tmp_path / "inbox", 0.05, 64 << 20)
    thread, stop = followed(background, box)
    until(lambda: box.set_aside == 1)
    box.append([traces(span(2))])
    until(lambda: (tmp_path / "spans" / "_delta_log" / f"{1:020}.json").exists())
    stop.set()
    thread.join()
    box.close()
    assert scan.spans(tmp_path).collect().height == 1


@pytest.mark.usefixtures("connections_end_with_their_test")
def test_nobody_takes_over_an_inbox_that_a_worker_still_works_on(tmp_path: Path) -> None:
    box = Inbox.create(tmp_path / "inbox")
    at_work = worker.Worker(str(tmp_path), box)
    box.close()
    assert orphans(tmp_path / "inbox") == []
    at_work.close()
    assert [orphan.app_id for orphan in orphans(tmp_path / "inbox")] == [box.app_id]


def test_a_store_may_lie_behind_a_url(tmp_path: Path) -> None:
    """A folder by its URL goes the way of an object store: no path, the inbox elsewhere."""
    store, inbox = f"file://{tmp_path}/far", tmp_path / "inbox"
    box = Inbox.create(inbox)
    box.append([traces(span(1), span(2))])
    committer = commit.Committer(store, box)
    assert tables.open_(store).spans.local is None
    assert committer.drain() == Written(2, 0)
    box.append([traces(span(3))])
    assert scan.spans(store).collect().height == 2
    assert scan.spans(store, inbox=inbox).collect().height == 3
    box.close()


def test_what_runs_beside_is_started_now_and_then_and_never_twice(tmp_path: Path) -> None:
    said = tmp_path / "said"
    program = f"import sys, time; open({str(said)!r}, 'a').write(sys.argv[1] + chr(10)); time.sleep(60)"
    each = Beside([sys.executable, "-c", program], every_s=0.0, first_s=0.0)
    each.look("store")
    until(lambda: said.exists() and said.read_text() == "store\n")
    each.look("store")
    each.stop()
    assert said.read_text() == "store\n"
    each.look("store")  # it has ended, so the next may start
    until(lambda: said.read_text() == "store\n" * 2)
    each.stop()
    later = Beside([sys.executable, "-c", program], every_s=1000.0)
    later.look("store")
    later.stop()
    assert said.read_text() == "store\n" * 2


@pytest.mark.full
def test_what_runs_beside_makes_room_while_commits_are_far_behind(tmp_path: Path) -> None:
    """Here they are because the store cannot be written: a file lies in its place."""
    (tmp_path / "store").touch()
    started = tmp_path / "started"
    program = f"import time; open({str(started)!r}, 'a').write('.'); time.sleep(60)"
    beside = Beside([sys.executable, "-c", program], every_s=0.1, first_s=0.0)
    box = Inbox.create(tmp_path / "inbox")
    background = Background(str(tmp_path / "store"), tmp_path / "inbox", 60.0, 1 << 20, beside=[beside])
    thread, stop = followed(background, box)
    until(started.exists)
    process = beside._process
    assert process is not None and process.poll() is None
    background.batch_bytes = 1
    box.append([traces(span(1))])
    until(lambda: process.poll() is not None)
    stop.set()
    thread.join()
    box.close()
    assert started.read_text() == "."
