"""The same results wherever the work runs, also when workers die."""

from __future__ import annotations

import functools
import importlib.util
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from otelcov.engine import engine
from otelcov.engine.pool import Pool
from otelcov.ground.config import Config
from otelcov.ground.errors import UsageError
from otelcov.runs import slices
from otelcov.runs.reconstruct import reconstruct
from otelcov.store import pieces, scan
from tests.sums.test_equal import Store, bodies

NAMES = ["here", "pool", pytest.param("ray", marks=pytest.mark.full)]


def slowly(n: int) -> int:
    time.sleep(0.2)
    return n * n


def dies_once(task: tuple[str, int]) -> int:
    folder, n = task
    mark = Path(folder) / str(n)
    if n % 4 == 0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return n * n


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    made = Store(tmp_path_factory.mktemp("engines") / "store")
    made.commit(bodies())
    return made


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
        done = list(runner.map(work, slices.parts(look, found.traces, spans=300)))
    finally:
        runner.close()
    assert len(done) > 3
    alone = slices.joined(done, look, found, Config(), 2**62)
    assert alone.equals(expected)


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
def test_workers_that_die_in_the_midst_of_a_task_change_nothing(name, tmp_path):
    if name == "ray" and importlib.util.find_spec("ray") is None:
        pytest.skip("ray is not installed")
    runner = engine(name, workers=2)
    try:
        assert sorted(runner.map(dies_once, [(str(tmp_path), n) for n in range(8)])) == [n * n for n in range(8)]
    finally:
        runner.close()


def test_an_engine_nobody_knows_is_a_usage_error():
    with pytest.raises(UsageError, match='no engine "pol"'):
        engine("pol")
