"""A store on an object store: the same promises as in a folder, on a real S3-compatible server."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake._internal import DeltaFileSystemHandler
from typer.testing import CliRunner

from collector.inbox import Inbox, orphans
from otelcov.cli.commands import app
from otelcov.ground.errors import StoreError
from otelcov.store import remote, scan, tables, upkeep
from otelcov.store.commit import Committer
from otelcov.store.sizes import size
from tests.bench.generate import Traffic, requests
from tests.store import s3
from tests.store.otlp import HOUR, NOW, logs, span, trace_request, traces
from tests.store.together import SPAWN, ids, together

OTELCOV = [sys.executable, "-m", "otelcov"]
BEGIN = 1_767_225_600_000_000_000  # 2026-01-01
WINDOW = ["--since", "2026-01-01T00:00:00Z", "--until", "2026-01-01T02:00:00Z", "--now", "2026-01-02T00:00:00Z"]


@pytest.fixture(scope="module")
def variables() -> Iterator[dict[str, str]]:
    pytest.importorskip("moto", reason="moto is not installed: nothing was tested on S3")
    with s3.server() as variables:
        yield variables


@pytest.fixture
def store(variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in {**variables, "XDG_CACHE_HOME": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(name, value)
    return f"s3://{s3.BUCKET}/{uuid.uuid4().hex}"


def otelcov(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.stdout


def keep(store: str, inbox: Path, *rows: Any) -> None:
    box = Inbox.create(inbox)
    box.append(rows)
    Committer(store, box).drain()
    box.retire()


@pytest.mark.full
def test_hours_are_rewritten_dropped_and_erased_as_in_a_folder(store: str, tmp_path: Path) -> None:
    old = (NOW // HOUR - 5) * HOUR
    for n in range(3):
        keep(store, tmp_path, traces(span(n, trace=9 - n, start=old), span(50, start=old)), logs("same", at=old))
    keep(store, tmp_path, traces(span(60), span(61, trace=7)))
    told = scan.quality(store)
    weight = size(tables.open_(store).spans)
    assert weight is not None and (weight.rows, weight.new_files) == (8, 4)
    assert upkeep.tidy(store, NOW) == 2
    assert sorted(tables.open_(store).spans.files()["num_records"]) == [2, 4]
    assert ids(store) == [0, 1, 2, 50, 60, 61]
    assert scan.quality(store) == told
    assert upkeep.erase(store, [(7).to_bytes(16, "big")], tmp_path) == upkeep.Removed(2)
    assert ids(store) == [0, 1, 50, 60]
    assert upkeep.drop_before(store, old + HOUR) == upkeep.Removed(3, 1)
    assert ids(store) == [60]


@pytest.mark.full
def test_two_writers_and_two_upkeep_processes_lose_and_double_nothing_in_25_rounds(store: str, tmp_path: Path) -> None:
    together(store, tmp_path, rounds=25)


@pytest.mark.full
def test_every_command_says_of_it_what_it_says_of_a_folder(store: str, tmp_path: Path) -> None:
    """Also once sums are kept, and after upkeep has given the files other names."""
    for n, request in enumerate(requests(Traffic(700, request_spans=64, length_ns=int(1.5 * HOUR)))):
        (tmp_path / f"{n:03d}.pb").write_bytes(request.body)
    folder = str(tmp_path / "folder")
    files = sorted(str(path) for path in tmp_path.glob("*.pb"))
    half = len(files) // 2
    for some in (files[:half], files[half:]):
        otelcov("import", *some, "--store", folder)
        otelcov("import", *some, "--store", store, "--inbox", str(tmp_path / "inbox"))
    for words in (["runs", "--format", "jsonl"], ["report", "--format", "json"], ["undeclared", "--format", "json"]):
        assert otelcov(*words, *WINDOW, "--store", store) == otelcov(*words, *WINDOW, "--store", folder), words

    from otelcov.cli.measuring import Question
    from otelcov.engine.here import Here
    from otelcov.sums import build, kept

    asked = Question.of(store, since="all", now="2026-01-02T00:00:00Z")
    assert build.build(store, asked.config, asked.now_ns, Here().map)
    assert kept.load(build.folder(store, asked.config)).batches
    expected = otelcov("report", "--format", "json", *WINDOW, "--store", folder)
    assert otelcov("report", "--format", "json", *WINDOW, "--store", store) == expected
    otelcov("import", files[0], "--store", store, "--inbox", str(tmp_path / "inbox"))  # a file that is not counted
    assert upkeep.tidy(store, asked.now_ns) == 0 or upkeep.tidy(store, 2 * NOW) >= 0
    again = json.loads(otelcov("report", "--format", "json", *WINDOW, "--store", store))
    assert again["coverage"] == json.loads(expected)["coverage"]
    removed = otelcov("prune", "--older-than", "2026-01-01T01:00:00Z", "--store", store)
    assert removed == ""
    left = [json.loads(line) for line in otelcov("runs", "--format", "jsonl", *WINDOW, "--store", store).splitlines()]
    assert left and all(run["start_unix_nano"] >= BEGIN + HOUR for run in left)


@pytest.mark.full
def test_a_remote_store_needs_an_inbox_on_this_machine(store: str) -> None:
    done = CliRunner().invoke(app, ["collect", "--store", store])
    assert (done.exit_code, "--inbox DIR" in done.stderr) == (2, True)


def test_a_store_that_is_not_there_and_one_of_no_kind_are_told(store: str) -> None:
    done = CliRunner().invoke(app, ["report", "--store", store])
    assert (done.exit_code, "There is no store in s3://" in done.stderr) == (4, True)
    done = CliRunner().invoke(app, ["report", "--store", "s4://bucket/x"])
    assert (done.exit_code, "az://" in done.stderr) == (2, True)


def test_delta_and_polars_are_told_the_same_and_puts_stay_conditional(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("AWS_", "GOOGLE_", "AZURE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_S3_ALLOW_UNSAFE_RENAME", "true")
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", "key.json")
    safe = {"aws_conditional_put": "etag", "aws_s3_allow_unsafe_rename": "false"}
    assert remote.options("s3://bucket/store") == {"aws_region": "eu-west-1", **safe}
    assert remote.options("gs://bucket/store") == {"google_service_account": "key.json"}
    assert remote.options("az://container/store") == {}
    assert remote.options("/a/folder") is None


# Two collectors and two writers under load, one of them killed.


@dataclass
class Running:
    process: subprocess.Popen[bytes]
    port: int


def collector(store: str, inbox: Path, stack: ExitStack) -> Running:
    words = ["collect", "--store", store, "--inbox", str(inbox), "--grpc-port", "0", "--http-port", "0"]
    said = inbox.parent / f"{uuid.uuid4().hex}.said"
    with said.open("w") as out:
        process = subprocess.Popen([*OTELCOV, *words], stderr=out)
    stack.callback(process.wait)
    stack.callback(process.kill)
    until(lambda: "\n" in said.read_text())
    return Running(process, json.loads(said.read_text().splitlines()[0])["http"])


def post(running: Running, body: bytes) -> bool:
    """Whether it was acknowledged."""
    address = f"http://127.0.0.1:{running.port}/v1/traces"
    request = urllib.request.Request(address, body, {"Content-Type": "application/x-protobuf"})
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def write(store: str, inbox: Path, said: Path, first: int, rounds: int) -> None:
    """A writer that is no collector; it says what it has on disk."""
    box = Inbox.open(inbox)
    committer = Committer(store, box)
    for n in range(first, first + rounds):
        box.append([traces(span(n, trace=n))])
        with said.open("a") as out:
            out.write(f"{n}\n")
        committer.drain()
    box.retire()


def under_load(store: str, folder: Path, seconds: float, senders: int) -> None:
    tables.create(store)
    said = [folder / "said0", folder / "said1"]
    for file in said:
        file.touch()
    acknowledged: list[int] = []
    counter, stop = itertools.count(1), threading.Event()
    current: dict[int, Running] = {}

    def send() -> None:
        """Traces of two spans, one to each collector; what is refused is not sent again."""
        while not stop.is_set():
            trace = next(counter)
            for which in (0, 1):
                if post(current[which], trace_request(span(2 * trace + which, trace=trace))):
                    acknowledged.append(2 * trace + which)

    def writer(which: int, first: int, rounds: int) -> Any:
        process = SPAWN.Process(target=write, args=(store, folder / f"box{which}", said[which], first, rounds))
        process.start()
        return process

    with ExitStack() as stack:
        for which in (0, 1):
            current[which] = collector(store, folder / f"inbox{which}", stack)
        stays, killed = writer(0, 50_000_000, 2 * senders), writer(1, 60_000_000, 1_000_000)
        pool = ThreadPoolExecutor(senders)
        sending = [pool.submit(send) for _ in range(senders)]
        until(lambda: len(acknowledged) > 15 * senders and len(said[1].read_text()) > 20)
        time.sleep(seconds)
        os.kill(current[1].process.pid, signal.SIGKILL)  # between an answer and its commit, or in the midst of one
        current[1].process.wait()
        killed.kill()
        killed.join()
        # Others take over what the two had on disk.
        current[1] = collector(store, folder / "inbox1", stack)
        takes_over = writer(1, 70_000_000, 2)
        time.sleep(seconds)
        stop.set()
        for sender in sending:
            sender.result()
        for process in (stays, takes_over):
            process.join(120)
            assert process.exitcode == 0
        for running in current.values():
            running.process.send_signal(signal.SIGTERM)
            assert running.process.wait(60) == 0
        for which in (0, 1):  # what a collector could not commit in its last two seconds
            for box in orphans(folder / f"inbox{which}"):
                Committer(store, box).drain()
                box.retire()

    known = set(acknowledged) | {int(line) for file in said for line in file.read_text().splitlines()}
    found = ids(store)
    assert known <= set(found)
    assert len(set(found)) == len(found)
    assert sum(tables.open_(store).spans.files()["num_records"]) == len(found)  # not even as a copy
    assert scan.quality(store).duplicates == 0
    assert len(set(found) - known) <= senders + 1  # on disk, and killed before it was said


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_two_collectors_and_two_writers_with_one_of_each_killed_lose_and_double_nothing(
    store: str, tmp_path: Path
) -> None:
    under_load(store, tmp_path, seconds=0.5, senders=2)


@pytest.mark.full
def test_two_collectors_and_two_writers_with_one_of_each_killed_lose_and_double_nothing_for_long(
    store: str, tmp_path: Path
) -> None:
    under_load(store, tmp_path, seconds=15, senders=6)


def test_files_without_a_log_are_no_new_store_there_either(store: str, tmp_path: Path) -> None:
    keep(store, tmp_path, traces(span(1)))
    url = f"{store}/spans"
    there: Any = DeltaFileSystemHandler(url, remote.options(url))
    for path in remote.paths(url):
        if path.endswith(".json"):
            there.delete_file(path)
    with pytest.raises(StoreError, match="no log that lists them"):
        tables.create(store)
