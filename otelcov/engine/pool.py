"""Processes of this machine, one Polars thread each: two of them do more than one process with two threads.

They are spawned, not forked: a forked child of a process that has used Delta or Polars does not run.
"""

from __future__ import annotations

import importlib
import itertools
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import Any, TypeVar

from otelcov.ground.errors import StoreError
from otelcov.ground.processes import ONE_THREAD

T = TypeVar("T")
R = TypeVar("R")

_HEAVY = ("otelcov.runs.slices", "pyarrow.parquet")  # what takes a worker longest to import
_DEATHS = 5  # of workers, before it is no accident


class Pool:
    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._executor: ProcessPoolExecutor | None = None
        self._deaths = 0

    def warm(self) -> None:
        """Have workers start while the caller still finds out what they are to do."""
        with suppress(BrokenProcessPool):  # then `map` starts others
            for _ in range(self.workers):
                self._submit(_import, _HEAVY)

    def map(self, work: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        coming, again = iter(tasks), list[T]()
        running: dict[Future[R], T] = {}
        while True:
            try:
                while len(running) < 2 * self.workers:  # one in hand, one waiting for each
                    again = again or list(itertools.islice(coming, 1))
                    if not again:
                        break
                    running[self._submit(work, again[-1])] = again[-1]
                    again.pop()  # it is on its way
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    result = future.result()
                    del running[future]
                    yield result
            except BrokenProcessPool:
                again += running.values()
                running.clear()
                self._deaths += 1
                self.close()
                if self._deaths > _DEATHS:
                    raise StoreError(
                        f"Couldn't finish: worker processes died {self._deaths} times. Is there enough memory? "
                        "Try --engine here."
                    ) from None

    def close(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None

    def pids(self) -> list[int]:
        """The workers that run now."""
        processes: dict[int, Any] = getattr(self._executor, "_processes", None) or {}
        return sorted(processes)

    def _submit(self, work: Callable[[T], R], task: T) -> Future[R]:
        if self._executor is None:
            spawn = multiprocessing.get_context("spawn")
            self._executor = ProcessPoolExecutor(self.workers, mp_context=spawn, initializer=_end_with_parent)
        before = {name: os.environ.get(name) for name in ONE_THREAD}
        os.environ.update(ONE_THREAD)  # children start while tasks are submitted
        try:
            return self._executor.submit(work, task)
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for its next task for ever."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        parent.join()  # type: ignore[union-attr]
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _import(names: Iterable[str]) -> None:
    for name in names:
        importlib.import_module(name)
