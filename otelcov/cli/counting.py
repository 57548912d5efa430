"""Counting runs into kept sums, with a bar on stderr where somebody watches."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otelcov.ground.config import Config


def count(store: str, config: Config, now_ns: int, where: str | None = None) -> None:
    """Count what was committed and is not counted, on the engine of that name."""
    from otelcov.engine import engine

    runner = engine(where)
    try:
        runner.warm()
        from otelcov.sums.build import build

        if not sys.stderr.isatty():
            build(store, config, now_ns, runner.map)
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("Counting spans"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=None)
            build(store, config, now_ns, runner.map, lambda done, all: bar.update(task, completed=done, total=all))
    finally:
        runner.close()
