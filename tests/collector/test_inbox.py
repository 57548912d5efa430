"""What was acknowledged stays, once, until the store has it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from collector import inbox, segment
from collector.inbox import Inbox, Row, orphans
from collector.waiting import pending

pytestmark = pytest.mark.usefixtures("connections_end_with_their_test")


def row(number: int, size: int = 100, spans: int = 1) -> Row:
    return Row("traces", number, spans, 0, number.to_bytes(4, "big") + bytes(size))


def numbers(rows: list[Row]) -> list[int]:
    return [each.received_unix_nano for each in rows]


def abandon(box: Inbox) -> None:
    """What kill -9 leaves behind."""
    os.close(box._lock_handle)


def test_rows_come_back_as_they_were_given(tmp_path: Path) -> None:
    box = Inbox.open(tmp_path)
    rows = [Row("traces", 1, 3, 2, b"abc"), Row("logs", 2**63, 1, 0, b""), Row("traces", 3, 1, 0, bytes(200_000))]
    box.append(rows)
    assert pending(tmp_path) == rows
    batch = box.next_batch()
    assert batch is not None and batch.rows == rows and batch.app_id == box.app_id


def test_a_batch_is_given_again_equal_until_it_is_done(tmp_path: Path) -> None:
    box = Inbox.open(tmp_path)
    box.append([row(1)])
    first = box.next_batch()
    box.append([row(2)])
    assert box.next_batch() == first
    abandon(box)
    again = Inbox.open(tmp_path)
    assert again.app_id == box.app_id and again.next_batch() == first
    assert first is not None
    again.done(first)
    second = again.next_batch()
    assert second is not None and numbers(second.rows) == [2] and second.number > first.number


def test_batch_numbers_grow_also_when_the_inbox_has_drained(tmp_path: Path) -> None:
    seen = []
    for number in range(3):
        box = Inbox.open(tmp_path)
        box.append([row(number)])
        batch = box.next_batch()
        assert batch is not None
        box.done(batch)
        assert pending(tmp_path) == [] and not list(box.folder.glob("seg-*"))
        seen.append((batch.app_id, batch.number))
        box.close()
    assert len({app for app, _ in seen}) == 1 and [n for _, n in seen] == sorted({n for _, n in seen})


def test_an_owned_inbox_is_not_shared(tmp_path: Path) -> None:
    one, two = Inbox.open(tmp_path), Inbox.open(tmp_path)
    assert one.app_id != two.app_id
    assert orphans(tmp_path) == []


def test_orphans_are_drained_and_retired(tmp_path: Path) -> None:
    left = Inbox.create(tmp_path)
    left.append([row(7)])
    abandon(left)
    own = Inbox.create(tmp_path)
    (found,) = orphans(tmp_path)
    batch = found.next_batch()
    assert batch is not None and numbers(batch.rows) == [7]
    found.done(batch)
    found.retire()
    assert [path.name for path in tmp_path.iterdir()] == [own.app_id]


def test_an_inbox_deleted_by_hand_is_replaced_by_one_with_another_id(tmp_path: Path) -> None:
    box = Inbox.open(tmp_path)
    box.append([row(1)])
    abandon(box)
    shutil.rmtree(box.folder)
    assert Inbox.open(tmp_path).app_id != box.app_id


def test_segments_are_dropped_whole_once_their_batches_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "SEGMENT_SPANS", 10)
    box = Inbox.open(tmp_path)
    for number in range(8):
        box.append([row(number, spans=4)])
    assert len(list(box.folder.glob("seg-*.db"))) >= 2
    seen: list[int] = []
    while batch := box.next_batch(300):
        seen += numbers(batch.rows)
        box.done(batch)
    assert seen == list(range(8))
    assert not list(box.folder.glob("seg-*")) and box.backlog_bytes == 0


def test_readers_see_rows_while_the_writer_goes_on_and_segments_vanish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "SEGMENT_SPANS", 5)
    box = Inbox.open(tmp_path)
    done: set[int] = set()
    written: list[int] = []
    stop = threading.Event()

    def write() -> None:
        for number in range(150):
            box.append([row(number)])
            written.append(number)
        stop.set()

    def take() -> None:
        while not stop.is_set() or box.backlog_bytes:
            batch = box.next_batch(500)
            if batch is not None:
                done.update(numbers(batch.rows))  # the store has them before they leave the inbox
                box.done(batch)

    threads = [threading.Thread(target=work) for work in (write, take)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        acknowledged = set(written)
        seen = set(numbers(pending(tmp_path))) | set(done)
        assert acknowledged <= seen
    assert done == set(range(150))


def test_what_a_killed_process_acknowledged_is_there(tmp_path: Path) -> None:
    program = (
        "import sys, os; from pathlib import Path; from collector.inbox import Inbox, Row\n"
        "box = Inbox.open(Path(sys.argv[1]))\n"
        "for n in range(10**6):\n"
        "    box.append([Row('traces', n, 1, 0, bytes(500))]); os.write(1, b'%d\\n' % n)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    acknowledged = [int(process.stdout.readline()) for _ in range(60)]
    process.kill()
    acknowledged += [int(line) for line in process.stdout.read().split(b"\n") if line]
    process.stdout.close()
    process.wait()
    assert set(acknowledged[:-1]) <= set(numbers(pending(tmp_path)))  # the last line may be half a number
    box = Inbox.open(tmp_path)
    assert box.replayed >= len(acknowledged) - 1


def test_a_damaged_segment_is_set_aside_and_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "SEGMENT_SPANS", 1)
    box = Inbox.open(tmp_path)
    for number in range(3):
        box.append([row(number)])
    abandon(box)
    damaged = sorted(box.folder.glob("seg-*.db"))[1]
    damaged.with_name(damaged.name + "-wal").write_bytes(b"")
    damaged.write_bytes(b"no database" * 1000)

    again = Inbox.open(tmp_path)
    assert again.app_id == box.app_id and again.set_aside == 1
    assert numbers(pending(tmp_path)) == [0, 2]
    assert f"{box.app_id}-{damaged.name}" in [path.name for path in (tmp_path / inbox.DAMAGED).iterdir()]


def test_a_damaged_body_costs_only_its_chunk_and_those_after_it(tmp_path: Path) -> None:
    box = Inbox.open(tmp_path)
    box.append([row(1)])
    box.append([row(2)])
    box.close()
    (path,) = box.folder.glob("seg-*.db")
    with sqlite3.connect(path) as database:
        database.execute("update chunks set body = x'00' where id = 2")
    database.close()
    again = Inbox.open(tmp_path)
    assert again.set_aside == 1 and numbers(pending(tmp_path)) == [1]


@pytest.mark.parametrize("damage", ["missing", "garbage"])
def test_without_its_control_file_an_inbox_gets_a_new_id_and_keeps_its_rows(tmp_path: Path, damage: str) -> None:
    box = Inbox.open(tmp_path)
    box.append([row(1), row(2)])
    abandon(box)
    for path in box.folder.glob("control.db*"):
        path.unlink()
    if damage == "garbage":
        (box.folder / "control.db").write_bytes(b"garbage" * 5000)
    again = Inbox.open(tmp_path)
    assert again.app_id != box.app_id
    assert numbers(pending(tmp_path)) == [1, 2]
    batch = again.next_batch()
    assert batch is not None and numbers(batch.rows) == [1, 2]


def test_half_a_deletion_is_finished_at_the_next_start(tmp_path: Path) -> None:
    box = Inbox.open(tmp_path)
    box.append([row(1)])
    abandon(box)
    (path,) = box.folder.glob("seg-*.db")
    path.unlink()  # the database goes first; then the process dies
    again = Inbox.open(tmp_path)
    assert not list(again.folder.glob("seg-*")) and again.next_batch() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
@pytest.mark.parametrize("state", ["live", "closed"])
def test_another_user_reads_an_inbox_without_write_permission(tmp_path: Path, state: str) -> None:
    box = Inbox.open(tmp_path)
    box.append([row(1), row(2)])
    if state == "closed":
        box.close()
    for path in [tmp_path, box.folder, *box.folder.iterdir()]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        for above in tmp_path.parents:
            if above != Path("/") and above.stat().st_uid == 0:
                above.chmod(above.stat().st_mode | 0o011)
        os.setuid(65534)
        os.write(writing, repr(numbers(pending(tmp_path))).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    assert os.read(reading, 100) == b"[1, 2]"
    os.close(reading)


def test_a_copy_of_a_live_segment_is_a_consistent_database(tmp_path: Path) -> None:
    box = Inbox.open(tmp_path)
    for number in range(5):
        box.append([row(number, size=50_000)])
    (path,) = box.folder.glob("seg-*.db")
    copy = tmp_path / "copy.db"
    shutil.copyfile(path, copy)
    wal = path.with_name(path.name + "-wal").read_bytes()
    copy.with_name("copy.db-wal").write_bytes(wal[: len(wal) - 4000])  # torn in the last write
    assert [chunk.rows[0].received_unix_nano for chunk in segment.chunks(copy)] == [0, 1, 2, 3]
