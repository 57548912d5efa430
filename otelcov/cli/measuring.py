"""From the shared options to observations: what every command that measures does first."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from otelcov.cli.options import selection_of, window_of
from otelcov.ground.selection import Selection
from otelcov.ground.windows import Window

if TYPE_CHECKING:
    import polars as pl

    from otelcov.coverage.observations import Observations
    from otelcov.ground.config import Config


@dataclass(frozen=True)
class Question:
    """What was asked: which store, window and runs, under which config."""

    store: str
    config: Config
    window: Window
    now_ns: int
    selection: Selection

    @classmethod
    def of(
        cls,
        store: str,
        config: Path | None,
        since: str | None,
        until: str | None,
        now: str | None,
        **selected: list[str] | None,
    ) -> Question:
        from otelcov.ground import config as settings

        window, now_ns = window_of(since, until, now)
        return cls(store, settings.load(config), window, now_ns, selection_of(**selected))

    def runs(self) -> tuple[pl.DataFrame, dict[str, int | None]]:
        """The runs of the window that the selection keeps, whatever their side; and what only the store can count."""
        from otelcov import runs
        from otelcov.coverage.selection import select

        loaded = runs.load(self.store, self.window, self.selection, self.config, self.now_ns)
        frame, quality = loaded if isinstance(loaded, tuple) else (loaded, {})
        return select(frame, self.selection, self.config), quality

    def observed(self) -> tuple[Observations, dict[str, int | None]]:
        from otelcov.coverage.observations import partial

        frame, quality = self.runs()
        return partial(frame, self.config, self.selection.agent), quality


def out(text: str) -> None:
    """Text to stdout as UTF-8, whatever the locale."""
    typer.echo(text.removesuffix("\n"))


def terminal() -> dict[str, Any]:
    """Width and colour for text: those of the terminal, else 80 columns and none."""
    import os
    import shutil

    listening = sys.stdout.isatty()
    width = shutil.get_terminal_size((80, 24)).columns if listening or "COLUMNS" in os.environ else 80
    return {"width": max(40, width), "color": True if listening else None}
