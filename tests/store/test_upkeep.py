"""Closed hours rewritten, old hours dropped, traces erased: nothing lost, nothing doubled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from collector.inbox import Inbox
from otelcov.ground.windows import ALL
from otelcov.store import conversations, scan, tables, upkeep
from otelcov.store.commit import Committer
from otelcov.store.partitions import HOUR_NS
from tests.store.otlp import HOUR, NOW, logs, span, traces

OLD = (NOW // HOUR - 5) * HOUR


@pytest.fixture
def committer(tmp_path: Path) -> Iterator[Committer]:
    box = Inbox.create(tmp_path / "inbox")
    yield Committer(tmp_path, box)
    box.close()


def keep(committer: Committer, *rows: object) -> None:
    committer.box.append(rows)  # type: ignore[arg-type]
    committer.drain()


def ids(store: Path) -> list[int]:
    return sorted(int.from_bytes(i, "big") for i in scan.spans(store).collect()["span_id"])


def test_a_closed_hour_becomes_one_sorted_file_with_each_span_once(committer: Committer, tmp_path: Path) -> None:
    for n in range(4):
        keep(committer, traces(span(n, trace=9 - n, start=OLD), span(50, start=OLD, a="x")), logs("same", at=OLD))
    keep(committer, traces(span(50, start=OLD, a="y")), traces(span(60)))
    before = scan.spans(tmp_path).collect().sort("trace_id", "span_id")
    told = scan.quality(tmp_path)
    assert upkeep.tidy(tmp_path, NOW) == 2  # the hour of the spans, and that of the logs
    files = tables.open_(tmp_path).spans.files().sort("day", "hour")
    assert files["num_records"].to_list() == [5, 1]  # the open hour is left alone
    stored = pl.read_parquet(f"{tmp_path}/spans/{files['path'][0]}")
    assert stored["trace_id"].is_sorted()
    assert scan.spans(tmp_path).collect().sort("trace_id", "span_id").equals(before)
    assert scan.quality(tmp_path) == told == scan.Quality(6, 4, 1, 0, 0)
    assert upkeep.tidy(tmp_path, NOW) == 0  # nothing to do twice


def test_a_rewritten_hour_with_rows_without_a_start_may_hold_rows_of_any_time(
    committer: Committer, tmp_path: Path
) -> None:
    for n in range(2):
        keep(committer, traces(span(n, start=OLD), span(n + 5, start=0, end=OLD), span(n + 9, start=OLD + HOUR)))
    assert upkeep.tidy(tmp_path, NOW) == 2
    files = tables.open_(tmp_path).spans.files().sort("day", "hour")
    assert files.select("first_ns", "last_ns").rows() == [(None, None), (OLD + HOUR, OLD + HOUR)]


def test_an_hour_that_was_touched_meanwhile_stays_as_it_is(
    committer: Committer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(2):
        keep(committer, traces(span(n, start=OLD)))
    day, hour = upkeep._untidy(committer.tables.spans, NOW)[0]
    sorted_ = upkeep._sorted

    def late(*given: object) -> object:
        keep(committer, traces(span(7, start=OLD)))
        return sorted_(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(upkeep, "_sorted", late)
    assert not upkeep.rewrite(tmp_path, "spans", day, hour)
    assert ids(tmp_path) == [0, 1, 7]
    monkeypatch.undo()
    assert upkeep.rewrite(tmp_path, "spans", day, hour)
    assert ids(tmp_path) == [0, 1, 7]


def test_small_files_of_an_open_hour_are_put_together_beside_commits(
    committer: Committer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_MANY_SMALL", 3)
    for n in range(4):
        keep(committer, traces(span(n), span(50)))
    before, told = scan.spans(tmp_path).collect().sort("span_id"), scan.quality(tmp_path)
    assert upkeep.tidy(tmp_path, NOW) == 0  # no hour is over
    assert tables.open_(tmp_path).spans.files()["num_records"].to_list() == [5]
    assert scan.spans(tmp_path).collect().sort("span_id").equals(before)
    assert scan.quality(tmp_path) == told
    for n in range(10, 13):
        keep(committer, traces(span(n)))
    sorted_ = upkeep._sorted

    def late(*given: object) -> object:
        keep(committer, traces(span(20)))
        return sorted_(*given)  # type: ignore[arg-type]

    one, two = (tables.open_(tmp_path).spans for _ in range(2))
    counted = frozenset(one.files()["path"].sort()[:2])
    assert upkeep.gather(one, lambda table: counted) == 0  # neither two nor two are enough
    monkeypatch.setattr(upkeep, "_sorted", late)
    assert upkeep.gather(one) == 4
    monkeypatch.undo()
    monkeypatch.setattr(upkeep, "_MANY_SMALL", 3)
    assert upkeep.gather(two) == 0  # another was quicker
    assert ids(tmp_path) == [0, 1, 2, 3, 10, 11, 12, 20, 50]
    assert tables.open_(tmp_path).spans.files().height == 2


def test_an_hour_that_is_counted_in_part_waits(committer: Committer, tmp_path: Path) -> None:
    for n in range(2):
        keep(committer, traces(span(n, start=OLD)))
    files = committer.tables.spans.reopened().files()["path"]
    assert upkeep.tidy(tmp_path, NOW, lambda table: frozenset(files[:1])) == 0
    assert upkeep.tidy(tmp_path, NOW, lambda table: frozenset(files)) == 1


def test_retention_drops_whole_hours_by_the_start_of_the_span(committer: Committer, tmp_path: Path) -> None:
    keep(committer, traces(span(1, start=OLD - 1), span(2, start=OLD), span(3)), logs("old", at=OLD - 1), logs("new"))
    keep(committer, traces(span(4, start=1), span(5, start=0, end=0), received=NOW))  # out of range
    assert upkeep.drop_before(tmp_path, OLD + HOUR // 2) == upkeep.Removed(spans=2, logs=1)
    assert ids(tmp_path) == [2, 3, 5]  # 5 tells no time: it goes by when it came
    assert scan.logs(tmp_path).collect().height == 1
    assert upkeep.drop_before(tmp_path, NOW + HOUR_NS).spans == 3


def test_an_erased_trace_is_in_no_file_any_more(tmp_path: Path) -> None:
    box = Inbox.create(tmp_path / "inbox")
    committer = Committer(tmp_path, box)
    keep(committer, traces(span(1, trace=1, secret="find-me"), span(2, trace=2)), logs("kept"))
    box.append([traces(span(3, trace=1, secret="find-me-too"), span(4, trace=2))])  # not committed
    box.close()
    assert upkeep.erase(tmp_path, [(1).to_bytes(16, "big")]) == upkeep.Removed(spans=2)
    assert ids(tmp_path) == [2, 4]
    assert scan.logs(tmp_path).collect().height == 1
    for file in tmp_path.rglob("*"):
        if file.suffix == ".parquet":
            told = pl.read_parquet(file, hive_partitioning=False)
            assert "span_id" not in told.columns or not set(told["span_id"]) & {b"\0" * 7 + b"\1", b"\0" * 7 + b"\3"}
        elif file.is_file():
            assert b"find-me" not in file.read_bytes(), file


def test_the_traces_of_a_conversation_are_found_by_what_instrumentations_call_it(
    committer: Committer, tmp_path: Path
) -> None:
    spans = [
        span(1, trace=1, **{"gen_ai.conversation.id": "c1"}),
        span(2, trace=2, **{"langsmith.metadata.thread_id": "c1"}),
        span(3, trace=3, **{"session.id": "c2"}),
        span(4, trace=4, **{"user.id": "c1"}),
    ]
    keep(committer, traces(*spans))
    found = conversations.traces_naming([scan.spans(tmp_path, ALL)], ["c1"])
    assert found == {(1).to_bytes(16, "big"), (2).to_bytes(16, "big")}
