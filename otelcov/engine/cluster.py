"""A Ray cluster: that of RAY_ADDRESS, else one on this machine for as long as the work takes. `otelcov[ray]`."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from otelcov.ground.errors import UsageError

T = TypeVar("T")
R = TypeVar("R")


class Cluster:
    def __init__(self, workers: int) -> None:
        # Started by `uv run`, Ray would have each worker do the same, and install what is installed.
        os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
        try:
            import ray
        except ImportError as error:
            raise UsageError("--engine ray needs Ray, which is an extra: pip install 'otelcov[ray]'.") from error
        self.ray: Any = ray
        self.workers = workers
        self.mine = not ray.is_initialized()
        if self.mine:
            address = os.environ.get("RAY_ADDRESS")
            where: dict[str, Any] = {"address": address} if address else {"num_cpus": workers}
            ray.init(
                **where,
                include_dashboard=False if not address else None,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={"env_vars": {"POLARS_MAX_THREADS": "1"}},
            )

    def map(self, work: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        remote = self.ray.remote(max_retries=5, num_cpus=1)(_call)
        shared = self.ray.put(work)  # it may carry what all tasks need: sent once
        coming = iter(tasks)
        running: list[Any] = []
        while True:
            room = 2 * self.workers - len(running)
            running += [remote.remote(shared, task) for task in itertools.islice(coming, room)]
            if not running:
                return
            done, running = self.ray.wait(running, num_returns=1)
            yield from self.ray.get(done)

    def warm(self) -> None:
        pass

    def close(self) -> None:
        if self.mine:
            self.ray.shutdown()


def _call(work: Callable[[T], R], task: T) -> R:
    return work(task)
