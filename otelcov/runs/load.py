"""The runs of a store's window: what is stored, read and reconstructed in one go."""

from __future__ import annotations

from dataclasses import asdict

import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.selection import Selection
from otelcov.ground.windows import ALL, Window
from otelcov.runs.reconstruct import reconstruct


def load(
    store: str, window: Window, selection: Selection, config: Config, now_ns: int
) -> tuple[pl.DataFrame, dict[str, int | None]]:
    """The RUNS rows that start in the window, before any selection, and what only the store can count.

    Spans are read up to `max_run` beyond the window on both sides: a run's later spans, and the earlier ones that show
    that a run began before the window.
    """
    from otelcov.store import damage, scan

    with damage.told(store):
        rows = scan.read(store, window, config.runs.max_run_ns)
        runs, quality = reconstruct(rows.spans, rows.logs, config, now_ns), rows.quality
    if window != ALL:
        start = pl.col("start_unix_nano")
        inside = pl.lit(True)
        if window.since_ns is not None:
            inside = start >= window.since_ns
        if window.until_ns is not None:
            inside = inside & (start < window.until_ns)
        runs = runs.filter(inside)
    return runs, dict(asdict(quality))
