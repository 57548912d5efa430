"""A report that is asked again before anything has come answers from what the last one found, and then alone."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from collector.inbox import Inbox
from collector.segment import Row
from otelcov.cli import ahead
from otelcov.cli.commands import app
from otelcov.engine.second import Second
from otelcov.ground import windows
from otelcov.sums import answer, glance, kept, live
from otelcov.sums.meaning import folder
from tests.runs.requests import T0, request, tool
from tests.store.otlp import log_request
from tests.sums.stores import BEGIN, NOW, QUESTIONS, Store, bodies, equal, guest_of
from tests.sums.stores import store as store

ALL = ({"since": "all"},)
LATER = "2026-01-01T09:00:00Z"


@pytest.fixture
def found(monkeypatch) -> list[str]:
    """What a report found by itself, one by one."""
    asked = list[str]()

    def noted(store, *given, of=live.found, **named):
        asked.append(store)
        return of(store, *given, **named)

    monkeypatch.setattr(live, "found", noted)
    return asked


@pytest.fixture(scope="module")
def second() -> Iterator[Second]:
    made = Second()
    yield made
    made.close()


def wait_in_inbox(store: Store, sent: list[bytes], ago_s: float = 60) -> Inbox:
    """As a collector leaves it that was killed so long ago."""
    box = Inbox.create(Path(store.path) / "inbox")
    box.append([Row("traces", BEGIN, 1, 0, body) for body in sent])
    box.close()
    rest(store, ago_s)
    return box


def rest(store: Store, ago_s: float = 60) -> None:
    at = time.time() - ago_s
    for path in (Path(store.path) / "inbox").glob("*/seg-*"):
        os.utime(path, (at, at))


def waiting(store: Store) -> None:
    store.commit(bodies()[:10])
    store.count()
    wait_in_inbox(store, bodies()[10:])


def committed(store: Store) -> None:
    store.commit(bodies()[:10])
    store.count()
    store.commit(bodies()[10:])


def nothing_kept(store: Store) -> None:
    store.commit(bodies()[:5])


def reopened(store: Store) -> None:
    guest, _ = guest_of(bodies())
    store.commit(bodies())
    store.count()
    wait_in_inbox(store, [guest, bodies()[3]])


@pytest.mark.parametrize(
    "made", [waiting, *(pytest.param(made, marks=pytest.mark.full) for made in (committed, nothing_kept, reopened))]
)
@pytest.mark.parametrize("halved", [False, pytest.param(True, marks=pytest.mark.full)])
def test_a_report_that_is_asked_again_finds_nothing_anew_and_tells_the_same(store, found, second, made, halved):
    made(store)
    equal(store, questions=ALL, second=second if halved else None)
    assert len(found) == 1
    equal(store, questions=QUESTIONS, second=second if halved else None)
    equal(store, LATER, questions=ALL)
    assert len(found) == 1


def more_in_the_inbox(store: Store) -> None:
    wait_in_inbox(store, bodies(300))


def more_in_the_same_segment(store: Store) -> None:
    [box] = [path for path in (Path(store.path) / "inbox").iterdir() if path.is_dir()]
    wal = next(box.glob("seg-*.db-wal"))
    kept = wal.stat()
    with wal.open("ab") as file:
        file.write(bytes(8))
    os.utime(wal, ns=(kept.st_atime_ns, kept.st_mtime_ns))


def a_commit(store: Store) -> None:
    store.commit(bodies(300))


def a_commit_of_records(store: Store) -> None:
    store.commit([], [log_request("told", at=BEGIN)])


def a_count(store: Store) -> None:
    store.count()


@pytest.mark.parametrize(
    "comes",
    [
        more_in_the_inbox,
        *(pytest.param(x, marks=pytest.mark.full) for x in (more_in_the_same_segment, a_commit, a_commit_of_records)),
        a_count,
    ],
)
def test_whatever_comes_is_found(store, found, comes):
    waiting(store)
    equal(store, questions=ALL)
    comes(store)
    equal(store, questions=ALL)
    assert len(found) == 2


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ({"since": "2026-01-01T01:00:00Z"}, {"since": "2026-01-01T00:30:00Z"}),
        pytest.param({"since": "all", "until": "2026-01-01T00:30:00Z"}, {"since": "all"}, marks=pytest.mark.full),
    ],
)
def test_of_a_wider_window_more_is_found(store, found, monkeypatch, first, then):
    monkeypatch.setattr(live, "_widest", lambda open_, window, max_run_ns: window)  # as if traces lay far beyond
    waiting(store)
    equal(store, questions=[first])
    equal(store, questions=[first])
    assert len(found) == 1
    equal(store, questions=[then])
    assert len(found) == 2


@pytest.mark.parametrize("hours", [pytest.param(1, marks=pytest.mark.full), 30])
def test_a_window_that_moves_on_needs_nothing_anew_and_one_that_moves_back_does(store, found, hours):
    store.commit(bodies()[:10])
    store.count()
    wait_in_inbox(
        store, [*bodies()[10:], request([tool(2, 9, "search", trace=7, at=(BEGIN - T0) / 10**9 - 3_600 * hours)])]
    )
    for since in ("2026-01-01T00:30:00Z", "2026-01-01T00:40:00Z"):
        equal(store, questions=[{"since": since}])
    assert len(found) == 1
    equal(store, questions=ALL)
    assert len(found) == (1 if hours == 1 else 2)


def test_an_earlier_clock_finds_anew(store, found):
    waiting(store)
    equal(store, questions=ALL)
    equal(store, windows.iso(BEGIN + 1_800 * 10**9), questions=ALL)
    assert len(found) == 2


def test_a_run_that_is_found_before_it_has_settled_settles_with_time(store, found):
    store.commit(bodies()[:10])
    store.count()
    wait_in_inbox(store, [request([tool(2, 9, "search", trace=7, at=(BEGIN - T0) / 10**9 + 7_200)])])
    early = windows.iso(BEGIN + 7_210 * 10**9)
    equal(store, early, questions=ALL)
    equal(store, NOW, questions=ALL)
    equal(store, LATER, questions=ALL)
    assert len(found) == 1


def test_while_more_seems_to_be_coming_nothing_is_noted(store, found):
    store.commit(bodies()[:10])
    store.count()
    wait_in_inbox(store, bodies()[10:], ago_s=-60)
    equal(store, questions=ALL)
    assert not list((Path(store.path) / "sums").glob("*/again*"))


def test_what_was_erased_since_it_was_read_is_not_written_down(store, monkeypatch):
    waiting(store)

    def late(*given, of=live.found, **named):
        counted = of(*given, **named)
        store.commit(bodies(300))  # any other version of the tables, as erasure makes one
        return counted

    monkeypatch.setattr(live, "found", late)
    asked = store.ask(since="all")
    assert answer.observed(store.path, asked.window, asked.selection, asked.config, asked.now_ns) is not None
    assert not list((Path(store.path) / "sums").glob("*/again*"))


def test_who_counts_or_erases_meanwhile_is_not_disturbed(store):
    waiting(store)
    with kept.alone(folder(store.path, store.ask().config)):
        equal(store, questions=ALL)
    assert not list((Path(store.path) / "sums").glob("*/again*"))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    "harm", [cut, *(pytest.param(harm, marks=pytest.mark.full) for harm in (Path.unlink, emptied))]
)
@pytest.mark.parametrize(
    "file",
    [
        "again.json",
        "again-*.runs.parquet",
        *(pytest.param(f"again-*.{kind}.parquet", marks=pytest.mark.full) for kind in ("odd", "dirty")),
    ],
)
def test_a_note_that_is_gone_or_cut_is_none(store, found, harm: Callable[[Path], object], file):
    waiting(store)
    equal(store, questions=ALL)
    for path in folder(store.path, store.ask().config).glob(file):
        harm(path)
    equal(store, questions=ALL)
    equal(store, questions=ALL)
    assert len(found) == 2


def test_only_the_last_note_is_kept_and_it_holds_no_content(store):
    waiting(store)
    equal(store, questions=ALL)
    wait_in_inbox(store, bodies(300))
    equal(store, questions=ALL)
    there = folder(store.path, store.ask().config)
    [note] = {path.name.split(".")[0] for path in there.glob("again-*")}
    assert json.loads((there / glance.NOTE).read_bytes())["name"] == note
    runs = pl.concat(pl.read_parquet(path, glob=False) for path in there.glob("again-*.runs.parquet"))
    assert runs.height and runs["input"].null_count() == runs.height
    calls = runs["tool_calls"].explode().struct
    assert calls.field("name").n_unique() > 1 and calls.field("result").drop_nulls().is_empty()


def test_nothing_is_noted_where_nothing_may_be_written(store, found, monkeypatch, capsys, second):
    waiting(store)

    def full(*given, **named):
        raise kept.Unkept("the disk is full")

    monkeypatch.setattr(kept, "write_runs", full)
    for helper in (None, second):
        equal(store, questions=ALL, second=helper)
    assert len(found) == 4 and not capsys.readouterr().err
    assert not list((Path(store.path) / "sums").glob("*/again*"))


def test_no_second_process_is_begun_where_the_answer_is_noted(store, monkeypatch):
    monkeypatch.setattr(ahead, "_MUCH", 1)
    monkeypatch.setattr(ahead, "_idle", lambda store: True)
    waiting(store)
    begun = []
    for _ in range(2):
        with ahead.helped(store.path) as second:
            begun.append(second is not None)
            asked = ["report", "--store", store.path, "--since", "all", "--now", NOW, "--format", "json"]
            begun.append(CliRunner().invoke(app, asked).output)
    assert begun[0] and not begun[2] and begun[1] == begun[3]
