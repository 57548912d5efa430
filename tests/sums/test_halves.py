"""What two processes make of an inbox is what one makes of it, also when the second one dies on the way."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from collector.inbox import Inbox
from collector.segment import Row
from otelcov.cli import ahead
from otelcov.cli.commands import app
from otelcov.engine import Gone, serving
from otelcov.engine.second import Second
from otelcov.ground import plugins
from otelcov.ground.processes import MEMORY
from otelcov.sums import beside, halves
from tests.runs.requests import T0, agent, chat, request, tool
from tests.store.otlp import log_request
from tests.sums.stores import BEGIN, NOW, QUESTIONS, Store, bodies, equal, guest_of
from tests.sums.stores import store as store
from tests.sums.test_joined import AT, exchange, handed_on, served, twice

CALLS = 7  # that a report makes of the second process, at most


class Sure(Second):
    """One that may not fail: whoever asks would count by himself, and a test see nothing."""

    def answer(self):
        try:
            return super().answer()
        except Gone as gone:
            raise AssertionError(gone) from gone


@pytest.fixture(scope="module")
def second() -> Iterator[Second]:
    made = Sure()
    yield made
    made.close()


@pytest.fixture
def shared(monkeypatch) -> list[int]:
    """How many traces the second process tells of, report by report."""
    told = []
    observed = halves.Half.observed

    def noted(half):
        told.append(len(half.traces))
        return observed(half)

    monkeypatch.setattr(halves.Half, "observed", noted)
    return told


class Dying(Second):
    """One that is killed before it gives its nth answer."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.left = calls

    def answer(self):
        if not self.left:
            os.kill(self.pid, signal.SIGKILL)
        self.left -= 1
        return super().answer()


def wait_in_inbox(store: Store, sent: list[bytes], logs: list[bytes] = ()) -> None:
    box = Inbox.create(Path(store.path) / "inbox")
    box.append([Row("traces", BEGIN, 1, 0, body) for body in sent] + [Row("logs", BEGIN, 1, 0, body) for body in logs])
    box.close()


def partly_counted(store: Store, sent: list[bytes], first: int) -> None:
    """The first so many requests are counted, the others wait."""
    store.commit(sent[:first])
    store.count()
    wait_in_inbox(store, sent[first:])


def test_two_processes_give_the_report_of_one(store, second, shared):
    partly_counted(store, bodies(), 10)
    equal(store, questions=QUESTIONS, second=second)
    assert min(shared) > 20


@pytest.mark.full
def test_copies_of_spans_in_both_halves_are_told_once(store, second, shared):
    sent = bodies(600)
    store.commit(sent[:3])
    store.count()
    wait_in_inbox(store, [*sent, *sent])
    equal(store, second=second)
    wait_in_inbox(store, sent)
    equal(store, second=second)


@pytest.mark.full
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, 6))])
def test_what_several_traces_hold_is_one_run_in_whichever_halves_they_lie(store, second, shared, seed):
    chance = random.Random(seed)
    sent = bodies(300)
    for number in range(6):
        for some in (exchange, handed_on, served):
            sent += some(number, chance.uniform(0, 80_000))
    sent.append(guest_of(bodies())[0])
    sent += [body for body in bodies() if body not in sent][:20]
    chance.shuffle(sent)
    early, now = chance.randint(5, 40), "2026-01-04T00:00:00Z"
    store.commit(sent[:early])
    store.count(now)
    late = sent[early:] + [body for number in range(6) for body in twice(number, chance.uniform(0, 80_000))]
    chance.shuffle(late)
    wait_in_inbox(store, late)
    equal(store, now, second=second)
    assert bool(shared) == (seed != 4)  # there it has to give back all it has


@pytest.mark.full
@pytest.mark.parametrize("call_is_kept", [True, pytest.param(False, marks=pytest.mark.full)])
def test_a_call_that_was_counted_is_told_with_an_agent_that_the_second_process_has(store, second, shared, call_is_kept):
    sent = bodies()
    guest, host = guest_of(sent)
    store.commit(sent if call_is_kept else [guest, sent[0]])
    store.count()
    wait_in_inbox(store, [sent[0], guest] if call_is_kept else sent)
    equal(store, second=second)
    runs = store.ask(since="all").runs()[0]
    together = runs.filter(pl.col("trace_ids").list.contains(host))["trace_ids"].to_list()
    assert together == [sorted([host, (b"g" * 16).hex()])]


@pytest.mark.full
def test_log_records_are_told_with_spans_that_the_second_process_has(store, second, shared):
    store.commit(bodies(300))
    store.count()
    spans = [
        request([agent(1, "planner", trace=n, at=AT + n, took=3), tool(2, 1, "search", trace=n, at=AT + n + 1)])
        for n in range(40)
    ]
    wait_in_inbox(store, spans, [log_request("told", at=BEGIN)])
    equal(store, second=second)
    assert shared[0] > 10


@pytest.mark.full
def test_spans_of_no_time_are_told_by_the_second_process_too(store, second, shared):
    store.commit(bodies(300))
    store.count()
    odd = [request([chat(1, None, "hello", trace=50 + n, at=-T0 // 10**9 if n % 2 else AT + n)]) for n in range(20)]
    wait_in_inbox(store, odd)
    equal(store, second=second)


@pytest.mark.full
@pytest.mark.parametrize("answers", [3, *(pytest.param(n, marks=pytest.mark.full) for n in (0, 1, 2, 4, 5, 6))])
def test_a_second_process_that_dies_changes_nothing_and_is_told_of(store, shared, capsys, answers):
    partly_counted(store, [*bodies(900), *exchange(1, 500)], 4)
    dying = Dying(answers)
    try:
        equal(store, questions=QUESTIONS[1:2], second=dying)
        assert "A second process could not help (it has ended)." in capsys.readouterr().err
        with pytest.raises(Gone):
            for _ in range(CALLS):
                dying.ask(os.getpid)
    finally:
        dying.close()


@pytest.mark.full
def test_a_report_takes_a_second_process_where_much_waits_and_a_core_is_idle(store, shared, monkeypatch):
    partly_counted(store, bodies(), 10)
    told = {}
    for much, idle in [(1, True), (1, False), (10**9, True)]:
        monkeypatch.setattr(ahead, "_MUCH", much)
        monkeypatch.setattr(ahead, "_idle", lambda store, idle=idle: idle)
        before = len(shared)
        for format in ("json", "html"):
            asked = ["report", "--store", store.path, "--since", "all", "--now", NOW, "--format", format]
            found = CliRunner().invoke(app, asked)
            assert found.exit_code == 0, found.output
            assert told.setdefault(format, found.output) == found.output
        assert len(shared) - before == (2 if much == 1 and idle else 0)


@pytest.mark.parametrize("named", [["--store", "{}"], ["--store={}"], ["--since", "all"]])
def test_a_second_process_is_begun_before_the_options_are_read(store, monkeypatch, named):
    wait_in_inbox(store, bodies()[:3])
    monkeypatch.setattr(ahead, "_MUCH", 1)
    monkeypatch.setattr(ahead, "_idle", lambda store: True)
    monkeypatch.setenv("OTELCOV_STORE", store.path)
    ahead.begin(["--json", *(word.format(store.path) for word in named)])
    [(where, begun)] = ahead._begun
    assert where == store.path
    with ahead.helped(store.path) as second:
        assert second is begun and second.ask(os.getpid) == begun.pid
    ahead.begin(named[:1])  # not all of the line was written
    with ahead.helped("elsewhere") as second:
        assert second is None
    assert not ahead._begun and begun._process.returncode is not None


@pytest.mark.full
def test_who_reads_an_inbox_does_not_wait_for_functions_of_arrow_that_nobody_calls(store):
    partly_counted(store, bodies(), 4)
    asked = ["otelcov", "report", "--store", store.path, "--since", "all", "--format", "json"]
    program = f"import atexit, sys; sys.argv = {asked}; from otelcov.cli import main; "
    program += "modules = 'collector.wire', 'otelcov.runs.shortcut.run_rows', 'pyarrow.compute'; "
    program += "atexit.register(lambda: print(*(name in sys.modules for name in modules), file=sys.stderr)); main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr.split()) == (0, ["True", "True", "False"])


def test_no_second_process_works_against_one_that_counts(tmp_path, monkeypatch):
    there = tmp_path / "sums" / "meaning"
    monkeypatch.setattr(os, "getloadavg", lambda: (64.0, 0.0, 0.0))
    with beside.counting(there):
        assert not ahead._idle(tmp_path)


def test_what_fails_in_a_second_process_is_told_and_it_goes_on():
    second = Second()
    with pytest.raises(Gone, match="ZeroDivisionError"):
        second.ask(divmod, 1, 0)
    assert second.ask(divmod, 7, 2) == (3, 1)
    second.call(divmod, 1, 0)
    second.call(divmod, 9, 2)
    second.forget()  # who asked was stopped meanwhile
    os.kill(second.pid, signal.SIGINT)  # as a terminal sends it to both
    assert second.ask(os.getpid) == second.pid
    second.close()


def test_a_second_process_ends_with_the_first():
    alone = Second()
    assert alone.ask(print, "this is no answer") is None
    alone.close()
    assert alone._process.returncode is not None


@pytest.mark.parametrize("need", ahead._NEEDS)
def test_what_the_second_process_is_to_prepare_is_there(need):
    serving._prepare(need)


@pytest.mark.parametrize("begun", [None, "a second process"])
def test_memory_is_kept_for_some_seconds_where_a_second_process_has_begun(monkeypatch, begun):
    monkeypatch.setattr(ahead, "_second", lambda store: begun)
    monkeypatch.setattr(ahead, "_begun", [])
    monkeypatch.setattr(os, "environ", {})
    ahead.begin(["--store", "there"])
    assert os.environ == ({} if begun is None else MEMORY)
    assert ahead._begun == ([] if begun is None else [("there", begun)])


def test_a_second_process_takes_those_plugins_for_installed_that_the_first_knows():
    """To look for them by itself takes a while, and it may find others from where it runs."""
    point = EntryPoint("acme", "acme:ACME", "otelcov.dialects")
    second = Second()
    try:
        second.ask(halves._take, [], (point,))
        assert second.ask(plugins.plugins, "otelcov.dialects") == [point]
    finally:
        second.close()
