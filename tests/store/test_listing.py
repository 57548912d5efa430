"""What a log lists, read without Delta's library: what the library says, or nothing."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from collector.inbox import Inbox
from otelcov.store import listing, scan, tables, upkeep
from otelcov.store.commit import Committer
from tests.store.otlp import HOUR, NOW, logs, span, traces
from tests.store.test_upkeep import ids, keep

OLD = (NOW // HOUR - 5) * HOUR


def same(store: Path, box: Inbox) -> int:
    """How many versions the two tables have, once both ways have told the same of them."""
    told = 0
    for library, log in zip(tables.open_(store), tables.seen(store), strict=True):
        assert library.listing is None and log.listing is not None
        assert (log.version, log.settings) == (library.version, library.settings)
        assert log.files().sort("path").equals(library.files().sort("path"))
        assert log.committed(box.app_id) == library.committed(box.app_id)
        assert log.committed("another") == library.committed("another") == 0
        told += log.version
    return told


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in (1, 2))])
def test_the_log_tells_what_the_library_tells(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random.Random(seed)
    monkeypatch.setattr(upkeep, "_MANY_SMALL", 3)
    box = Inbox.create(tmp_path / "inbox")
    committer = Committer(tmp_path, box)
    same(tmp_path, box)
    for n in range(24):
        what = chosen.choice(["spans", "spans", "logs", "tidy", "checkpoint", "drop", "erase", "forget"])
        start = chosen.choice([NOW, OLD, OLD + HOUR, 1])
        if what == "spans":
            keep(committer, traces(span(n, trace=n % 5, start=start), span(n + 100, start=NOW), received=NOW))
        elif what == "logs":
            keep(committer, logs("a", at=chosen.choice([NOW, OLD])))
        elif what == "tidy":
            upkeep.tidy(tmp_path, NOW)
        elif what == "checkpoint":
            tables.open_(tmp_path).spans.delta.create_checkpoint()
        elif what == "drop":
            upkeep.drop_before(tmp_path, OLD + HOUR // 2)
        elif what == "erase":
            upkeep.erase(tmp_path, [(n % 5).to_bytes(16, "big")], tmp_path / "inbox" / "none")
        else:
            upkeep._clean_at_once(tables.open_(tmp_path).spans.delta)
        told = same(tmp_path, box)
    assert told > 10
    box.close()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    box = Inbox.create(tmp_path / "inbox")
    committer = Committer(tmp_path, box)
    for n in range(3):
        keep(committer, traces(span(n)))
    box.close()
    return tmp_path


def _append(log: Path, *actions: dict[str, Any]) -> None:
    version = max(int(path.stem) for path in log.glob("*.json")) + 1
    (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)))


@pytest.mark.parametrize(
    "action",
    [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"]}},
        {"domainMetadata": {"domain": "d", "configuration": "", "removed": False}},
        {"add": {"path": "a%20b.parquet", "partitionValues": {}, "size": 1, "modificationTime": 1}},
        {"add": {"path": "a.parquet", "partitionValues": {}, "size": 1, "deletionVector": {"storageType": "u"}}},
        {"remove": {"path": "a.parquet", "deletionVector": {"storageType": "u"}}},
        {"add": {}},
    ],
)
def test_what_ours_do_not_say_is_left_to_the_library(store: Path, action: dict[str, Any]) -> None:
    assert listing.listing(store / "spans") is not None
    _append(store / "spans/_delta_log", {"commitInfo": {}}, action)
    assert listing.listing(store / "spans") is None


def test_a_log_that_is_broken_is_left_to_the_library(store: Path) -> None:
    log = store / "spans/_delta_log"
    names = sorted(path.name for path in log.glob("*.json"))
    second = (log / names[1]).read_bytes()
    (log / names[1]).write_bytes(second[:-9])
    assert listing.listing(store / "spans") is None
    (log / names[1]).unlink()
    assert listing.listing(store / "spans") is None  # the third is there
    (log / names[1]).write_bytes(second)
    assert listing.listing(store / "spans") is not None
    (log / "_last_checkpoint").write_text(json.dumps({"version": 1, "size": 9, "parts": 2}))
    assert listing.listing(store / "spans") is None
    (log / "_last_checkpoint").write_text(json.dumps({"version": 1, "size": 9}))
    assert listing.listing(store / "spans") is None  # there is none
    assert listing.listing(store / "nothing") is None


@pytest.mark.full
def test_no_commit_is_overlooked_while_the_log_is_cleaned(tmp_path: Path) -> None:
    box = Inbox.create(tmp_path / "inbox")
    committer = Committer(tmp_path, box)
    soon = {"delta.logRetentionDuration": "interval 0 seconds"}
    tables.open_(tmp_path).spans.delta.alter.set_table_properties(soon, raise_if_not_exists=False)
    keep(committer, traces(span(0)))
    kept, stop = [0], threading.Event()

    def commit() -> None:
        for n in range(1, 60):
            keep(committer, traces(span(n)))
            kept.append(n)
            if n % 3 == 0:
                upkeep._forget(tables.open_(tmp_path).spans.delta)
        stop.set()

    working = threading.Thread(target=commit)
    working.start()
    looks = 0
    while not stop.is_set():
        least = kept[-1]
        found = listing.listing(tmp_path / "spans")
        assert found is None or len(found.files) > least
        looks += found is not None
    working.join()
    assert looks > 20
    assert len(list((tmp_path / "spans/_delta_log").glob("*.json"))) < 30  # it was cleaned
    assert ids(tmp_path) == list(range(60))
    box.close()


def test_who_only_reads_does_not_load_the_library(store: Path) -> None:
    box = Inbox.create(store / "inbox")
    box.append([traces(span(7))])
    box.close()
    program = f"import sys; from otelcov.store import scan; n = scan.spans({str(store)!r}).collect().height; "
    program += "print(n, 'deltalake' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["4", "False"]
    assert scan.spans(store).collect().height == 4
