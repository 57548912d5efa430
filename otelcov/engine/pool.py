"""Processes of this machine, one Polars thread each: two of them do more than one process with two threads.

They are spawned, not forked: a forked child of a process that has used Delta or Polars does not run.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from otelcov.ground.errors import StoreError

T = TypeVar("T")
R = TypeVar("R")

_THREADS = "POLARS_MAX_THREADS"
_DEATHS = 5  # of workers, before it is no accident


class Pool:
    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._executor: ProcessPoolExecutor | None = None
        self._deaths = 0

    def map(self, work: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        left = list(reversed(list(tasks)))
        running: dict[Future[R], T] = {}
        while left or running:
            try:
                while left and len(running) < 2 * self.workers:  # one in hand, one waiting for each
                    task = left.pop()
                    try:
                        running[self._submit(work, task)] = task
                    except BrokenProcessPool:
                        left.append(task)
                        raise
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    result = future.result()
                    del running[future]
                    yield result
            except BrokenProcessPool:
                left += running.values()
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
            self._executor = ProcessPoolExecutor(self.workers, mp_context=spawn)
        before = os.environ.get(_THREADS)
        os.environ[_THREADS] = "1"  # read when a child imports Polars; children start while tasks are submitted
        try:
            return self._executor.submit(work, task)
        finally:
            if before is None:
                del os.environ[_THREADS]
            else:
                os.environ[_THREADS] = before
