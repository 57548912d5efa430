"""Run rows that are kept, with what users, models and tools said: their traces are read again, some at a time.

What is kept holds no content, so whoever wants that of some runs has these reconstructed anew, from the spans of their
traces alone. Other traces can tell of a run, too - who was asked the same, by which agents they are called - so each
run is held against the row that was kept: where the two differ, it is read beside what went on at its time, and what
is kept of it is right.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.schemas import RUNS, no_runs
from otelcov.runs import slices
from otelcov.runs.reconstruct import reconstruct
from otelcov.store import partitions, pieces
from otelcov.sums.kept import CALL_CONTENT, CONTENT, slim

_AT_ITS_TIME_NS = 10_000_000_000
_OTHERS = 100_000  # spans of those, at the most
_FEW = 20  # runs of a piece that are read so: each costs as much as a piece
_FIRST, _MOST = 1_000, 100_000  # spans of the first piece, so that something is told soon, and of later ones


def with_content(runs: pl.DataFrame, store: str | Stored, config: Config, now_ns: int) -> Iterator[pl.DataFrame]:
    """The same RUNS rows in their order, some at a time. `now_ns` is the clock by which they were told."""
    stored = Stored(store) if isinstance(store, str) else store
    for some in _pieces(runs):
        yield told(some, stored.rows(some, 0, config.runs.max_run_ns), stored, config, now_ns)


def told(
    runs: pl.DataFrame, rows: tuple[pl.DataFrame, pl.DataFrame], stored: Stored, config: Config, now_ns: int
) -> pl.DataFrame:
    """The same runs with content, as these spans and log records of their traces tell it."""
    return _agreed(runs, reconstruct(*rows, config, now_ns), stored, config, now_ns)


def rows_of(runs: pl.DataFrame, store: str | Stored, config: Config) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The spans and log records of the whole traces of these runs: SPANS and LOGS, as far as `max_run` around them."""
    stored = Stored(store) if isinstance(store, str) else store
    return stored.rows(runs, config.runs.max_run_ns, config.runs.max_run_ns)


def _pieces(runs: pl.DataFrame) -> Iterator[pl.DataFrame]:
    sizes, at, most = runs["spans"].fill_null(1).to_list(), 0, _FIRST
    while at < len(sizes):
        end, spans = at, 0
        while end < len(sizes) and (end == at or spans + sizes[end] <= most):
            spans, end = spans + sizes[end], end + 1
        yield runs[at:end]
        at, most = end, min(4 * most, _MOST)


class Stored:
    """One look at a store, of which runs are read."""

    def __init__(self, store: str) -> None:
        look = pieces.look(store)
        self._tables = {table.name: (table.url, getattr(look, table.name)) for table in look.tables}
        self._held = {name: look.held(name) for name in self._tables}

    def rows(
        self, runs: pl.DataFrame, spans_ns: int, logs_ns: int, others: bool = False
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The spans and log records of these runs' traces that lie so near to the runs, each once; with `others`, spans
        of other traces of their time, too."""
        ids = runs["trace_ids"].explode().drop_nulls().unique().str.decode("hex")
        mine = _of_traces(ids)
        spans, logs = self._read("spans", runs, spans_ns, mine), self._read("logs", runs, logs_ns, mine)
        if others:
            first, last = runs["start_unix_nano"].min(), runs["end_unix_nano"].max()
            near = partitions.moment("spans").is_between(max(0, int(first or 0) - spans_ns), int(last or 0) + spans_ns)  # type: ignore[arg-type]
            spans = pl.concat([spans, self._read("spans", runs, spans_ns, near & ~mine, _OTHERS)])
        return slices.each_once(spans, logs)[:2]

    def _read(
        self, name: str, runs: pl.DataFrame, around_ns: int, wanted: pl.Expr, most: int | None = None
    ) -> pl.DataFrame:
        url, files = self._tables[name]
        stored = pieces.rows(url, name, _near(runs, files, around_ns)).filter(wanted)
        stored = stored if most is None else stored.head(most)
        return pl.concat([stored.collect(), self._held[name].filter(wanted)])


def _of_traces(ids: pl.Series) -> pl.Expr:
    """Rows of these traces; the range of their ids tells which parts of files have none."""
    among = pieces.of_traces("spans", ids)
    return pl.col("trace_id").is_between(ids.min(), ids.max()) & among if len(ids) else among


def _near(runs: pl.DataFrame, files: pl.DataFrame, slack_ns: int) -> list[str]:
    """The files that may tell of these runs."""
    if runs["start_unix_nano"].has_nulls() or runs["end_unix_nano"].has_nulls():
        return files["path"].to_list()
    first, last = runs["start_unix_nano"].min(), runs["end_unix_nano"].max()
    return pieces.between(files, max(0, int(first) - slack_ns), int(last) + slack_ns)  # type: ignore[arg-type]


def _agreed(runs: pl.DataFrame, found: pl.DataFrame, stored: Stored, config: Config, now_ns: int) -> pl.DataFrame:
    """The runs as they were found, where all that is kept of them says the same."""
    ids = runs.select("run_id")
    found = _those(found, ids)
    bare, known = slim(found), runs.join(found.select("run_id"), on="run_id", how="semi", maintain_order="left")
    if found.height == runs.height and bare.equals(known):
        return found
    same = pl.Series([a == b for a, b in zip(bare.iter_rows(), known.iter_rows(), strict=True)], dtype=pl.Boolean)
    good, odd = found.filter(same), found.filter(~same)
    others = runs.join(good.select("run_id"), on="run_id", how="anti", maintain_order="left")
    read = [_with_others(run, odd, stored, config, now_ns) for run in others[:_FEW].iter_slices(1)]
    read += [_in_the_words_of(run, odd) for run in others[_FEW:].iter_slices(1)]
    return _those(pl.concat([no_runs(), good, *read]), ids)


def _those(found: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
    """The first run of each of these ids, in their order."""
    first = found.unique("run_id", keep="first", maintain_order=True)
    return ids.join(first, on="run_id", how="inner", maintain_order="left").select(RUNS.names())


def _with_others(run: pl.DataFrame, alone: pl.DataFrame, stored: Stored, config: Config, now_ns: int) -> pl.DataFrame:
    """One run as it is found beside what went on at its time; else as it is kept, with the words that its own traces
    tell of it (`alone`)."""
    rows = stored.rows(run, _AT_ITS_TIME_NS, config.runs.max_run_ns, others=True)
    found = _those(reconstruct(*rows, config, now_ns), run.select("run_id"))
    return found if slim(found).equals(run) else _in_the_words_of(run, alone)


def _in_the_words_of(run: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """A run with the content of another row of it, if these have one, as far as both know of the same calls."""
    other = _those(others, run.select("run_id"))
    if other.is_empty():
        return run
    mine, told = run.row(0, named=True), other.row(0, named=True)
    calls = [mine["tool_calls"] or [], told["tool_calls"] or []]
    words = {name: told[name] for name in CONTENT}
    if [call["name"] for call in calls[0]] == [call["name"] for call in calls[1]] and mine["tool_calls"]:
        pairs = zip(*calls, strict=True)
        words["tool_calls"] = [one | {name: more[name] for name in CALL_CONTENT} for one, more in pairs]
    return pl.DataFrame([mine | words], schema=RUNS)


__all__ = ["Stored", "rows_of", "told", "with_content"]
