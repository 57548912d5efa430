"""The same results wherever the work runs, also when workers die."""

from __future__ import annotations

import functools
import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from otelcov.engine import engine
from otelcov.engine.pool import Pool
from otelcov.ground.config import Config
from otelcov.ground.errors import UsageError
from otelcov.runs import dealt, slices
from otelcov.runs.reconstruct import reconstruct
from otelcov.store import pieces, scan
from tests.sums.stores import Store, bodies, guest_of

NAMES = ["here", "pool", pytest.param("ray", marks=pytest.mark.full)]


def slowly(n: int) -> int:
    time.sleep(0.2)
    return n * n


def dies_once(task: tuple[str, int]) -> int:
    folder, n = task
    mark = Path(folder) / str(n)
    if n == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return n * n


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    made = Store(tmp_path_factory.mktemp("engines") / "store")
    made.commit([*bodies(), guest_of(bodies())[0]])
    return made


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_divided_reconstruction_gives_the_runs_of_one_process(store, name):
    if name == "ray" and importlib.util.find_spec("ray") is None:
        pytest.skip("ray is not installed")
    whole = scan.read(store.path)
    expected = reconstruct(whole.spans, whole.logs, Config(), 2**62)
    look = slices.Look.of(pieces.look(store.path))
    runner = engine(name, workers=2)
    try:
        found = slices.survey(look, runner.map)
        work = functools.partial(slices.reconstructed, where=found.where, config=Config(), now_ns=2**62)
        parts = slices.parts(look, found.traces, spans=300, places=found.places)
        done = list(dealt.each_part(runner.map, work, parts, workers=1))
    finally:
        runner.close()
    assert len(done) > 3
    alone = slices.joined(done, look, found, Config(), 2**62)
    assert alone.equals(expected)


@pytest.mark.full
def test_parts_read_by_row_groups_are_those_found_in_all_files(tmp_path):
    store = Store(tmp_path / "store")
    sent = bodies()
    for first in range(0, len(sent), 5):  # many files, so that traces lie in several of them
        store.commit(sent[first : first + 5])
    look = slices.Look.of(pieces.look(store.path))
    found = slices.survey(look, map)
    placed = slices.parts(look, found.traces, spans=300, places=found.places)
    sought = [replace(part, groups=None) for part in placed]
    assert max(len(part.groups) for part in placed) > 1
    assert sorted(pl.concat(part.traces for part in placed)["trace_id"]) == sorted(found.traces["trace_id"])
    for one, other in zip(slices.in_a_row(slices.rows_of, placed), map(slices.rows_of, sought), strict=True):
        assert one[0].sort("trace_id", "span_id").equals(other[0].sort("trace_id", "span_id"))


def test_a_killed_worker_changes_nothing():
    pool = Pool(2)
    try:

        def kill() -> None:
            while len(pool.pids()) < 2:
                time.sleep(0.01)
            time.sleep(0.3)
            os.kill(pool.pids()[0], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        assert sorted(pool.map(slowly, range(8))) == [n * n for n in range(8)]
        killer.join()
    finally:
        pool.close()


@pytest.mark.parametrize("name", NAMES[1:])
@pytest.mark.full
def test_workers_that_die_in_the_midst_of_a_task_change_nothing(name, tmp_path):
    if name == "ray" and importlib.util.find_spec("ray") is None:
        pytest.skip("ray is not installed")
    runner = engine(name, workers=2)
    try:
        assert sorted(runner.map(dies_once, [(str(tmp_path), n) for n in range(8)])) == [n * n for n in range(8)]
    finally:
        runner.close()


PARENT = """
import time
from otelcov.engine.pool import Pool
if __name__ == "__main__":
    pool = Pool(2)
    list(pool.map(abs, range(8)))
    print(*pool.pids(), flush=True)
    list(pool.map(time.sleep, [600.0] * 2))
"""


def test_workers_end_with_the_process_that_started_them(tmp_path):
    (tmp_path / "parent.py").write_text(PARENT)
    parent = subprocess.Popen([sys.executable, str(tmp_path / "parent.py")], stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout is not None
        workers = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(workers) == 2 and all(running(pid) for pid in workers)
        parent.kill()
    deadline = time.monotonic() + 20
    while any(running(pid) for pid in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_an_engine_nobody_knows_is_a_usage_error():
    with pytest.raises(UsageError, match='no engine "pol"'):
        engine("pol")
