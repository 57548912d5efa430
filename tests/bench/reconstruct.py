"""From the stored table to runs: spans a second on the cores of this machine, and the memory of all processes.

    python -m tests.bench.reconstruct --spans 2e6 --workers 2 [--store DIR]       prints JSON

Without --store the traffic is generated (tests/bench/generate.py, with message content) and committed first, which is
not measured.
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import os
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.bench.generate import HOUR, Traffic, requests

_BATCH = 64 << 20


def write_store(store: str, traffic: Traffic) -> None:
    """The traffic as a collector would have committed it."""
    from collector.segment import Row
    from otelcov.store import commit, tables

    there, app, number = tables.create(store), uuid.uuid4().hex, 0
    rows: list[Row] = []
    size = 0
    for request in requests(traffic):
        rows.append(Row("traces", traffic.since_ns, request.spans, 0, request.body))
        size += len(request.body)
        if size > _BATCH:
            number += 1
            commit.commit(there, app, number, rows, any_hour=True)
            rows, size = [], 0
    if rows:
        commit.commit(there, app, number + 1, rows, any_hour=True)


@contextmanager
def watched() -> Iterator[dict[str, float]]:
    """The greatest memory, in MB, of this process and its children together (proportional: shared pages once).

    To add up a process's proportional share the kernel walks all its pages and holds up their owner meanwhile, a tenth
    of a core at ten looks a second: it is asked where the resident sizes, which cost nothing, have grown since.
    """
    peak = {"mb": 0.0}
    done = threading.Event()

    def look() -> None:
        greatest = 0.0
        while not done.wait(0.1):
            family = _family(os.getpid())
            resident = sum(map(_resident, family))
            if resident > greatest * 1.01:
                greatest = resident
                peak["mb"] = max(peak["mb"], sum(map(_memory, family)))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()


def _family(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in task.read_text().split():
                found += _family(int(child))
        except OSError:
            continue
    return found


def _resident(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return 0.0


def _memory(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1000 for line in lines if line.startswith("Pss:")), 0.0)


def measure(store: str, workers: int) -> dict[str, object]:
    from otelcov.engine import engine
    from otelcov.ground.config import Config
    from otelcov.runs import dealt, slices
    from otelcov.store import pieces

    runner = engine("pool" if workers > 1 else "here", workers)
    config, now_ns = Config(), 2**62
    times: dict[str, float] = {}
    runs = spans = waiting = 0
    with watched() as peak:
        try:
            began = at = time.perf_counter()
            runner.warm()
            look = slices.Look.of(pieces.look(store))
            found = slices.survey(look, runner.map)
            times["survey"], at = time.perf_counter() - at, time.perf_counter()
            work = functools.partial(_count, where=found.where, config=config, now_ns=now_ns)
            for n, wait in dealt.each_part(
                runner.map, work, slices.parts(look, found.traces, places=found.places), workers
            ):
                runs, waiting = runs + n, waiting + wait
            times["stage one"] = time.perf_counter() - at
            took = time.perf_counter() - began
        finally:
            runner.close()
    spans = int(found.traces["spans"].sum())
    return {
        "spans": spans,
        "runs": runs,
        "traces for stage two": waiting,
        "workers": workers,
        "seconds": {name: round(t, 2) for name, t in times.items()} | {"all": round(took, 2)},
        "spans_per_second": round(spans / took),
        "peak_mb_all_processes": round(peak["mb"]),
        "load_average": os.getloadavg(),
    }


def _count(part, where, config, now_ns) -> tuple[int, int]:  # type: ignore[no-untyped-def]
    from otelcov.runs import slices

    done = slices.reconstructed(part, where, config, now_ns)
    return done.runs.height, len(done.waiting)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=lambda n: int(float(n)), default=200_000)
    parser.add_argument("--text", type=int, default=120, help="average characters of a message")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--store")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = asked.store or f"{folder}/store"
        if asked.store is None:
            traffic = Traffic(asked.spans, text=asked.text, length_ns=int(24 * HOUR * asked.spans / 1e7))
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as apart:  # its memory is not measured
                apart.submit(write_store, store, traffic).result()
        print(json.dumps(measure(store, asked.workers)))


if __name__ == "__main__":
    main()
