"""Counting runs into kept sums, with a bar on stderr where somebody watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

    from otelcov.engine import Engine
    from otelcov.ground.config import Config


T = TypeVar("T")

_ALONE = 100_000  # spans; fewer are counted here about as soon as by workers that have yet to start


def count(store: str, config: Config, now_ns: int, where: str | None, new: int, few: int) -> None:
    """Count what was committed and is not counted, about `new` spans, on the engine of that name; `few` are left."""
    from otelcov.engine import engine
    from otelcov.sums.kept import Unkept

    runner = engine(where or ("here" if new < _ALONE else None))
    try:
        runner.warm()
        _build(store, config, now_ns, runner, few)
    except Unkept as error:
        print(f"{error} This report counts for itself; the next one has to count again.", file=sys.stderr)
    finally:
        runner.close()


def _build(store: str, config: Config, now_ns: int, runner: Engine, few: int) -> None:
    from otelcov.sums.build import build

    if not sys.stderr.isatty():
        build(store, config, now_ns, runner.map, few=few)
        return
    with _bar("Counting spans") as bar:
        task = bar.add_task("", total=None)

        def show(done: int, every: int) -> None:
            bar.update(task, completed=done, total=every)

        build(store, config, now_ns, runner.map, show, few=few)


def watched(label: str, parts: Iterable[T], sizes: Callable[[T], int], every: int) -> Iterator[T]:
    """These parts as they come, with a bar on stderr where somebody watches: so much of `every` has come."""
    if not sys.stderr.isatty():
        yield from parts
        return
    with _bar(label) as bar:
        task = bar.add_task("", total=every)
        for part in parts:
            bar.advance(task, sizes(part))
            yield part


def _bar(label: str) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
