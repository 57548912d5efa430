"""Where divided work runs: in this process, in processes of this machine, or on a Ray cluster.

An engine has three methods. `map` calls one function on many tasks and gives the results as they come, in any order;
it takes each task when a worker will soon be free, so that the last may hold what came of the first. `warm` says that
there will be tasks soon, `close` lets go of what the engine holds. The work is a pure function of its task and of the
store's files, which never change, so a worker that dies costs the time of its task and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from otelcov.ground.errors import UsageError, did_you_mean
from otelcov.ground.processes import cores

T = TypeVar("T")
R = TypeVar("R")


class Gone(Exception):
    """Another process (second.py) cannot answer: do without it."""


class Engine(Protocol):
    def map(self, work: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]: ...

    def warm(self) -> None: ...

    def close(self) -> None: ...


def engine(name: str | None = None, workers: int | None = None) -> Engine:
    """`here`, `pool` or `ray`; without a name a pool where the machine has more than one core."""
    workers = workers or cores()
    name = name or ("pool" if workers > 1 else "here")
    if name == "here":
        from otelcov.engine.here import Here

        return Here()
    if name == "pool":
        from otelcov.engine.pool import Pool

        return Pool(workers)
    if name == "ray":
        from otelcov.engine.cluster import Cluster

        return Cluster(workers)
    names = ("here", "pool", "ray")
    raise UsageError(f'There is no engine "{name}": it is one of {", ".join(names)}.{did_you_mean(name, names)}')
