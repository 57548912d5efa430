"""A report and a process that counts beside a collector know of each other, and neither keeps the other waiting."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest

from otelcov.cli import beside as counter
from otelcov.engine.here import Here
from otelcov.sums import answer, beside, build, glance
from tests.bench.generate import HOUR
from tests.runs.requests import T0, request, tool
from tests.sums.stores import BEGIN, Store, bodies, equal


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store")


@pytest.mark.full
def test_who_counts_beside_is_waited_for_until_its_step_is_done(store):
    store.commit(bodies(1_000))
    there = store.count().folder
    until = time.monotonic() + 15
    assert not beside.caught_up(there, until)  # nobody is at it
    with beside.asking(there):
        assert not beside.is_asked(there)  # nor would anyone look
    with beside.counting(there), ThreadPoolExecutor(1) as other:
        with beside.asking(there):
            assert beside.is_asked(there)
        assert not beside.is_asked(there)
        waiting = other.submit(beside.caught_up, there, until)
        store.commit(bodies()[:1])
        store.count()
        assert waiting.result(timeout=10)


def taken_in_turn(monkeypatch, *steps) -> None:
    """A process beside counts, and these are its steps, each of which a report waits for."""
    left = list(steps)
    monkeypatch.setattr(beside, "at_it", lambda there: True)
    monkeypatch.setattr(beside, "caught_up", lambda there, until: bool(left) and (left.pop(0)() or True))


@pytest.mark.full
def test_a_report_leaves_a_counter_that_is_behind_alone(store, monkeypatch):
    store.commit(bodies()[::2])
    store.count()
    store.commit(bodies()[1::2])
    asked, called = store.ask(since="all"), []
    taken_in_turn(monkeypatch, lambda: None, store.count)  # the first does not come far
    question = store.path, asked.window, asked.selection, asked.config, asked.now_ns
    assert answer.observed(*question, count=lambda *some: called.append(some), live=10) is not None
    assert not called


@pytest.mark.full
def test_what_comes_while_a_report_waits_is_left_to_the_next(store, monkeypatch):
    store.commit(bodies()[::2])
    store.count()
    store.commit(bodies()[1::2])
    asked = store.ask(since="all")
    question = store.path, asked.window, asked.selection, asked.config, asked.now_ns
    before, new = answer.observed(*question), build.uncounted(store.path, asked.config)
    (build.folder(store.path, asked.config) / glance.NOTE).unlink()  # else it answers at once

    def late():
        store.commit([request([tool(2, 9, "search", trace=7, at=(BEGIN + 2 * HOUR - T0) / 10**9 - 5)])])
        assert build.build(store.path, asked.config, asked.now_ns, Here().map, most=new)

    taken_in_turn(monkeypatch, lambda: None, late)
    found = answer.observed(*question, count=print, live=10)
    assert found is not None and before is not None
    assert found[0].rows.sort(pl.all()).equals(before[0].rows.sort(pl.all()))
    assert build.uncounted(store.path, asked.config) == 1
    monkeypatch.undo()
    equal(store)


@pytest.mark.full
def test_a_counter_lets_a_report_go_first_while_little_is_left_to_count(store, monkeypatch):
    monkeypatch.setattr(counter, "_FEW", 1)
    monkeypatch.setattr(counter, "_IDLE_S", 4.0)
    store.commit(bodies(1_000)[:4])
    config = store.ask().config
    there = build.folder(store.path, config)

    def left() -> int:
        return build.uncounted(store.path, config)

    def counted(seconds: float) -> bool:
        until = time.monotonic() + seconds
        while left() and time.monotonic() < until:
            time.sleep(0.05)
        return not left()

    thread = threading.Thread(target=counter.count, args=(store.path, None), daemon=True)
    thread.start()
    assert counted(20)
    with beside.asking(there):
        store.commit(bodies(1_000)[4:6])
        assert left() and not counted(1.0)
        monkeypatch.setattr(counter, "_ENOUGH", left())
        assert counted(20)  # so many do not wait
        monkeypatch.setattr(counter, "_ENOUGH", 100_000)
        store.commit(bodies(1_000)[6:7])
        assert left() and not counted(1.0)
    assert counted(20)
    thread.join(30)
    assert not thread.is_alive()
