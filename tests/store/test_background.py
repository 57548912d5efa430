"""What runs beside a collector."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from collector.inbox import Inbox
from otelcov.ground.errors import StoreError
from otelcov.store import commit, scan, tables
from otelcov.store.background import Background
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
    said: list[str] = []
    real, fails = commit.commit, [StoreError("no room"), OSError("broken"), None]

    def sometimes(*given: object) -> Written:
        if failure := fails.pop(0):
            raise failure
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(commit, "commit", sometimes)
    background = Background(str(tmp_path), tmp_path / "inbox", 0.05, 64 << 20, on_failure=said.append)
    thread, stop = followed(background, box)
    until(lambda: not box.backlog_bytes)
    stop.set()
    thread.join()
    box.close()
    assert said == ["no room", "broken"]
    assert scan.spans(tmp_path).collect().height == 1


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
