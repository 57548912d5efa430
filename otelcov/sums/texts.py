"""Run rows that are kept, with what users, models and tools said: their traces are read again, some at a time.

What is kept holds no content, so whoever wants that of some runs has these reconstructed anew, from the spans of their
traces alone. Other traces can tell of a run, too - who was asked the same, by which agents they are called - so each
run is held against the row that was kept: where the two differ, the runs around it are read as well.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.schemas import RUNS, no_runs
from otelcov.ground.selection import Selection
from otelcov.ground.windows import Window
from otelcov.runs import slices
from otelcov.runs.load import load
from otelcov.runs.reconstruct import reconstruct
from otelcov.store import pieces
from otelcov.sums.kept import slim

_FIRST, _MOST = 1_000, 100_000  # spans of the first piece, so that something is told soon, and of later ones


def with_content(runs: pl.DataFrame, store: str, config: Config, now_ns: int) -> Iterator[pl.DataFrame]:
    """The same RUNS rows in their order, some at a time. `now_ns` is the clock by which they were told."""
    stored = _Stored(store)
    for some in _pieces(runs):
        found = reconstruct(*stored.rows(some, 0, config.runs.max_run_ns), config, now_ns)
        yield _agreed(some, found, store, config, now_ns)


def rows_of(runs: pl.DataFrame, store: str, config: Config) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The spans and log records of the whole traces of these runs: SPANS and LOGS, as far as `max_run` around them."""
    return _Stored(store).rows(runs, config.runs.max_run_ns, config.runs.max_run_ns)


def _pieces(runs: pl.DataFrame) -> Iterator[pl.DataFrame]:
    sizes, at, most = runs["spans"].fill_null(1).to_list(), 0, _FIRST
    while at < len(sizes):
        end, spans = at, 0
        while end < len(sizes) and (end == at or spans + sizes[end] <= most):
            spans, end = spans + sizes[end], end + 1
        yield runs[at:end]
        at, most = end, min(4 * most, _MOST)


class _Stored:
    """One look at a store, of which runs are read."""

    def __init__(self, store: str) -> None:
        self._look = pieces.look(store)
        self._held = {name: self._look.held(name) for name in ("spans", "logs")}

    def rows(self, runs: pl.DataFrame, *around_ns: int) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The spans and the log records of these runs' traces that lie so near to the runs, each once."""
        ids = runs["trace_ids"].explode().drop_nulls().unique().str.decode("hex")
        look, every = self._look, []
        for table, files, slack in zip(look.tables, (look.spans, look.logs), around_ns, strict=True):
            mine = pieces.of_traces(table.name, ids)
            stored = pieces.rows(table.url, table.name, _near(runs, files, slack), mine).collect()
            every.append(pl.concat([stored, self._held[table.name].filter(mine)]))
        spans, logs, _ = slices.each_once(*every)
        return spans, logs


def _near(runs: pl.DataFrame, files: pl.DataFrame, slack_ns: int) -> list[str]:
    """The files that may tell of these runs."""
    if runs["start_unix_nano"].has_nulls() or runs["end_unix_nano"].has_nulls():
        return files["path"].to_list()
    first, last = runs["start_unix_nano"].min(), runs["end_unix_nano"].max()
    return pieces.between(files, max(0, int(first) - slack_ns), int(last) + slack_ns)  # type: ignore[arg-type]


def _agreed(runs: pl.DataFrame, found: pl.DataFrame, store: str, config: Config, now_ns: int) -> pl.DataFrame:
    """The runs as they were found, where all that is kept of them says the same."""
    ids = runs.select("run_id")
    found = ids.join(found.unique("run_id", keep="first"), on="run_id", how="inner", maintain_order="left")
    found = found.select(RUNS.names())
    bare, known = slim(found), runs.filter(pl.col("run_id").is_in(found["run_id"].implode()))
    if found.height == runs.height and bare.equals(known):
        return found
    same = pl.Series([a == b for a, b in zip(bare.iter_rows(), known.iter_rows(), strict=True)], dtype=pl.Boolean)
    good = found.filter(same)
    others = runs.join(good.select("run_id"), on="run_id", how="anti", maintain_order="left")
    read = [_read_around(run, store, config, now_ns) for run in others.iter_slices(1)]
    return ids.join(pl.concat([no_runs(), good, *read]), on="run_id", maintain_order="left").select(RUNS.names())


def _read_around(run: pl.DataFrame, store: str, config: Config, now_ns: int) -> pl.DataFrame:
    """One run, with all that lies around it in time; as it is kept, where it is no more."""
    start = run["start_unix_nano"].item()
    window = Window(None, None) if start is None else Window(start, start + 1)
    found, _ = load(store, window, Selection(), config, now_ns)
    found = found.filter(pl.col("run_id") == run["run_id"].item())
    return found if found.height else run


__all__ = ["rows_of", "with_content"]
