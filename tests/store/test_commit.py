"""From the inbox into the tables exactly once, and visible all the way."""

from __future__ import annotations

import os
import random
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from collector.inbox import Inbox, Row, orphans
from otelcov.ground.errors import StoreError
from otelcov.ground.windows import Window
from otelcov.store import commit, partitions, scan, tables
from otelcov.store.commit import Committer, Written
from otelcov.store.scan import Quality
from tests.store.otlp import HOUR, NOW, logs, span, traces
from tests.store.together import SPAWN, ids, together


def test_what_was_acknowledged_is_visible_before_and_after_the_commit(tmp_path: Path) -> None:
    tables.create(tmp_path)
    box = Inbox.create(tmp_path / "inbox")
    box.append([traces(span(1), span(2)), logs("a")])
    seen = [(ids(tmp_path), scan.logs(tmp_path).collect().height)]
    batch = box.next_batch()
    assert batch is not None
    store = tables.open_(tmp_path)
    seen.append((ids(tmp_path), scan.logs(tmp_path).collect().height))
    assert commit.commit(store, batch.app_id, batch.number, batch.rows) == Written(2, 1)
    seen.append((ids(tmp_path), scan.logs(tmp_path).collect().height))
    assert scan.quality(tmp_path) == Quality(2, 0, 0, 0, 0)  # in both places, and no duplicate
    box.done(batch)
    seen.append((ids(tmp_path), scan.logs(tmp_path).collect().height))
    box.close()
    seen.append((ids(tmp_path), scan.logs(tmp_path).collect().height))
    assert seen == [([1, 2], 1)] * 5


def test_a_batch_committed_while_a_reader_looks_is_seen_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    box = Inbox.create(tmp_path / "inbox")
    committer = Committer(tmp_path, box)
    box.append([traces(span(1)), logs("a")])
    open_tables, opened = scan.seen, []

    def commit_first(store: str | Path) -> tables.Tables:
        committer.drain()  # after the look into the inbox, before the look at the tables
        opened.append(store)
        return open_tables(store)

    monkeypatch.setattr(scan, "seen", commit_first)
    assert scan.quality(tmp_path) == Quality(1, 0, 0, 0, 0)
    assert len(opened) == 2  # it looked again
    box.append([traces(span(2))])
    assert box.next_batch() is not None  # fixed before the look: its number tells
    opened.clear()
    assert scan.quality(tmp_path) == Quality(2, 0, 0, 0, 0)
    assert len(opened) == 1
    box.close()


def test_two_may_create_one_store_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        for n in range(5):
            list(pool.map(tables.create, [tmp_path / str(n)] * 4))


def test_a_batch_that_comes_again_is_skipped(tmp_path: Path) -> None:
    """Killed between the commit and the deletion from the inbox."""
    box = Inbox.create(tmp_path / "inbox")
    box.append([traces(span(1)), logs("a")])
    batch = box.next_batch()
    assert batch is not None
    commit.commit(tables.create(tmp_path), batch.app_id, batch.number, batch.rows)
    box.close()
    (again,) = orphans(tmp_path / "inbox")
    again.append([traces(span(2))])
    assert Committer(tmp_path, again).drain() == Written(1, 0)
    again.retire()
    assert sum(tables.open_(tmp_path).spans.files()["num_records"]) == 2
    assert scan.quality(tmp_path) == Quality(2, 0, 0, 0, 0)


def test_a_batch_whose_logs_were_not_committed_brings_only_them(tmp_path: Path) -> None:
    box = Inbox.create(tmp_path / "inbox")
    box.append([traces(span(1)), logs("a")])
    batch = box.next_batch()
    assert batch is not None
    store = tables.create(tmp_path)
    only_spans = [row for row in batch.rows if row.signal == "traces"]
    commit.commit(store, batch.app_id, batch.number, only_spans)  # and killed
    assert commit.commit(store, batch.app_id, batch.number, batch.rows) == Written(0, 1)
    box.close()


def test_an_inbox_deleted_by_hand_takes_nothing_that_was_committed_along(tmp_path: Path) -> None:
    box = Inbox.create(tmp_path / "inbox")
    box.append([traces(span(1))])
    Committer(tmp_path, box).drain()
    box.close()
    shutil.rmtree(tmp_path / "inbox")
    fresh = Inbox.open(tmp_path / "inbox")
    for n in (2, 3):  # its numbers begin anew, its app id does not
        fresh.append([traces(span(n))])
        assert Committer(tmp_path, fresh).drain() == Written(1, 0)
    fresh.close()
    assert ids(tmp_path) == [1, 2, 3]


def test_an_inbox_drained_and_refilled_goes_on_counting(tmp_path: Path) -> None:
    for n in range(4):
        box = Inbox.open(tmp_path / "inbox")
        box.append([traces(span(n))])
        assert Committer(tmp_path, box).drain() == Written(1, 0)
        box.close()
    assert ids(tmp_path) == [0, 1, 2, 3]
    assert len(list((tmp_path / "inbox").iterdir())) == 1  # one inbox, taken over each time


def test_a_request_that_cannot_be_decoded_holds_up_no_other(tmp_path: Path) -> None:
    box = Inbox.create(tmp_path / "inbox")
    box.append([traces(span(1)), Row("traces", NOW, 1, 0, b"\xff\xff"), Row("logs", NOW, 1, 0, b"\xff"), logs("a")])
    committer = Committer(tmp_path, box)
    assert committer.drain() == Written(1, 1)
    assert committer.set_aside == 2
    assert sorted(file.read_bytes() for file in (tmp_path / "inbox" / ".damaged").iterdir()) == [b"\xff", b"\xff\xff"]
    assert ids(tmp_path) == [1]
    box.close()


def test_a_window_is_what_starts_in_it(tmp_path: Path) -> None:
    box = Inbox.create(tmp_path / "inbox")
    starts = [NOW - 30 * HOUR, NOW - HOUR - 1, NOW - HOUR, NOW - 1, NOW, 0, 2**64 - 1]
    rows = [traces(span(n, start=start, end=start)) for n, start in enumerate(starts)]
    tables.create(tmp_path)
    for place in ("inbox", "tables"):
        if place == "inbox":
            box.append(rows)
        else:
            Committer(tmp_path, box).drain()
        assert ids(tmp_path) == [0, 1, 2, 3, 4, 5, 6], place
        # a span without any time may belong to a run of any window
        assert ids(tmp_path, Window(NOW - HOUR, NOW)) == [2, 3, 5], place
        assert ids(tmp_path, Window(None, NOW)) == [0, 1, 2, 3, 5], place
        assert ids(tmp_path, Window(NOW, None)) == [4, 5, 6], place
        around = scan.spans(tmp_path, Window(NOW - HOUR, NOW), max_run_ns=1).collect()
        assert sorted(int.from_bytes(i, "big") for i in around["span_id"]) == [1, 2, 3, 4, 5], place
        assert scan.quality(tmp_path, Window(NOW - HOUR, NOW)).spans == 2, place
    last = scan.spans(tmp_path).collect().sort("span_id")["start_time_unix_nano"][-1]
    assert last == 2**64 - 1
    box.close()


def test_a_hostile_request_cannot_open_a_partition_an_hour(tmp_path: Path) -> None:
    box = Inbox.create(tmp_path / "inbox")
    box.append([traces(*[span(n, start=n * HOUR + 1) for n in range(3000)], received=NOW), traces(span(9999))])
    committer = Committer(tmp_path, box)
    committer.drain()
    assert sorted(committer.tables.spans.files()["day"].unique())[1:] == ["out-of-range"]
    assert committer.tables.spans.files().height == 2
    assert scan.quality(tmp_path) == Quality(3001, 0, 0, 3000, 0)
    box.close()


def test_an_import_may_be_of_any_hour_but_of_so_many_at_most(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(partitions, "_MOST_HOURS", 3)
    box = Inbox.create(tmp_path / "inbox")
    box.append([traces(*[span(n, start=(n % 5) * HOUR + 1) for n in range(13)])])
    committer = Committer(tmp_path, box, any_hour=True)
    committer.drain()
    files = committer.tables.spans.files().sort("day", "hour")
    assert files.select("day", "num_records").rows() == [("1970-01-01", 3)] * 3 + [("out-of-range", 4)]
    box.close()


def test_what_was_masked_is_counted_once_a_request(tmp_path: Path) -> None:
    box = Inbox.create(tmp_path / "inbox")
    box.append([traces(span(1), span(2), masked=3), traces(span(3), masked=0), traces(span(4), masked=4)])
    Committer(tmp_path, box).drain()
    assert scan.quality(tmp_path).masked == 7
    box.close()


def test_a_missing_store_and_a_newer_store_are_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no store in") as missing:
        scan.spans(tmp_path / "nowhere")
    assert missing.value.exit_code == 4
    made = tables.create(tmp_path)
    made.spans.delta.alter.set_table_properties({"otelcov.format": "99"}, raise_if_not_exists=False)
    with pytest.raises(StoreError, match="format 99"):
        scan.spans(tmp_path)
    with pytest.raises(StoreError, match="format 99"):
        tables.create(tmp_path)


def test_an_older_store_is_brought_to_this_format(tmp_path: Path) -> None:
    made = tables.create(tmp_path)
    for table in made:
        table.delta.alter.set_table_properties({"otelcov.format": "0"}, raise_if_not_exists=False)
    scan.spans(tmp_path)  # can be read as it is
    found = [t.delta.metadata().configuration["otelcov.format"] for t in tables.create(tmp_path)]
    assert found == [str(tables.FORMAT)] * 2


def _one_committed_one_not(store: Path) -> Inbox:
    box = Inbox.create(store / "inbox")
    box.append([traces(span(1))])
    Committer(store, box).drain()
    box.append([traces(span(2))])
    return box


@pytest.mark.parametrize("closed", [True, False])
def test_a_store_that_may_only_be_read_can_be_read(tmp_path: Path, closed: bool) -> None:
    store, warm = tmp_path / "store", tmp_path / "warm"
    box = _one_committed_one_not(store)
    _one_committed_one_not(warm).close()
    if closed:
        box.close()
    places = [store, *store.rglob("*")]
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    reader = SPAWN.Process(target=_read_as_nobody, args=(store, warm))
    reader.start()
    reader.join(60)
    for place in places:
        place.chmod(0o755)
    assert reader.exitcode == 0
    if not closed:
        box.close()


def _read_as_nobody(store: Path, warm: Path) -> None:
    if os.getuid() == 0:
        assert ids(warm) == [1, 2]  # Python itself may lie where nobody may read: import all before
        for folder in store.resolve().parents:  # what pytest makes for itself alone
            if str(folder).startswith("/tmp/"):
                folder.chmod(folder.stat().st_mode | 0o555)
        os.setgid(65534)
        os.setuid(65534)
    assert ids(store) == [1, 2]


def test_two_writers_and_two_upkeep_processes_lose_and_double_nothing(tmp_path: Path) -> None:
    together(str(tmp_path), tmp_path, rounds=3)


@pytest.mark.full
def test_two_writers_and_two_upkeep_processes_lose_and_double_nothing_in_100_rounds(tmp_path: Path) -> None:
    together(str(tmp_path), tmp_path, rounds=100)


# A kill at any moment.


def _acknowledge(store: Path, said: Path, first: int) -> None:
    box = Inbox.open(store / "inbox")
    committer = Committer(store, box)
    with said.open("a", buffering=1) as out:
        for n in range(first, first + 10_000):
            box.append([traces(span(n), span(n + 5_000_000))])
            out.write(f"{n}\n")  # acknowledged
            if n % 3 == 0:
                committer.step()


def _killed(store: Path, rounds: int) -> None:
    tables.create(store)
    said = store / "said"
    said.touch()
    for n in range(rounds):
        before = said.stat().st_size
        writer = SPAWN.Process(target=_acknowledge, args=(store, said, n * 10_000))
        writer.start()
        while said.stat().st_size == before:
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.5))
        writer.kill()
        writer.join()
    acknowledged = {int(line) for line in said.read_text().split("\n")[:-1]}
    for drained in (False, True):
        found = [n for n in ids(store) if n < 5_000_000]
        assert len(set(found)) == len(found)
        assert acknowledged <= set(found)
        assert len(set(found) - acknowledged) <= rounds  # on disk, and killed before it was said
        assert scan.quality(store).duplicates == 0
        if not drained:
            for box in orphans(store / "inbox"):
                Committer(store, box).drain()
                box.retire()
    assert sum(tables.open_(store).spans.files()["num_records"]) == 2 * len(found)


def test_a_kill_at_any_moment_loses_and_doubles_nothing(tmp_path: Path) -> None:
    _killed(tmp_path, rounds=2)


@pytest.mark.full
def test_twenty_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    _killed(tmp_path, rounds=20)
