"""The conversations of a window for a judgement: of a large store read again from its spans, some at a time."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from otelcov.cli.counting import watched
from otelcov.cli.measuring import Listed
from otelcov.engine import engine
from otelcov.ground.config import Config
from otelcov.ground.windows import Window
from otelcov.judge.hearing import Heard, Held, Talks, hear, of_chosen, together
from otelcov.judge.metrics import Metric
from otelcov.judge.turns import Conversation, conversations, only
from otelcov.runs.dialogue import dialogues, evaluations
from otelcov.store import scan
from otelcov.store.partitions import HOUR_NS
from otelcov.sums import texts

_PIECE = 30_000  # spans of whole conversations that are held at one time
_FEW = 3  # pieces are heard here as soon as by processes that have yet to start


def talks(listed: Listed, window: Window) -> Talks:
    """The conversations of these runs."""
    asked = listed.question
    if not listed.full:
        return _Stored(listed.rows, _There(asked.store, asked.config, asked.now_ns, asked.selection.agent))
    rows = scan.read(asked.store, window, asked.config.runs.max_run_ns)
    told = _told(listed.rows, rows.spans.collect(), rows.logs.collect(), asked.config, asked.selection.agent)
    return Held(told, asked.config)


def _told(
    runs: pl.DataFrame, spans: pl.DataFrame, logs: pl.DataFrame, config: Config, agents: tuple[str, ...]
) -> list[Conversation]:
    return only(conversations(runs, dialogues(spans, logs, config), config, evaluations(spans, logs)), agents)


@dataclass(frozen=True)
class _There:
    """Where conversations are read, and as what."""

    store: str
    config: Config
    now_ns: int
    agents: tuple[str, ...]

    def read(self, runs: pl.DataFrame) -> list[Conversation]:
        stored = _looked(self.store, self.now_ns)
        rows = texts.rows_of(runs, stored, self.config)
        found = texts.told(runs, rows, stored, self.config, self.now_ns)
        return _told(found, *rows, self.config, self.agents)


@functools.lru_cache(maxsize=1)
def _looked(store: str, now_ns: int) -> texts.Stored:
    """One look of this process's for all that is asked at one time."""
    return texts.Stored(store)


class _Task(NamedTuple):
    there: _There
    runs: pl.DataFrame
    metrics: Sequence[Metric]


def _heard(task: _Task) -> Heard:
    return hear(task.there.read(task.runs), task.metrics, task.there.config)


class _Stored:
    def __init__(self, runs: pl.DataFrame, there: _There) -> None:
        self._runs, self._order, self._there = runs, _by_conversation(runs), there
        _looked.cache_clear()

    def heard(self, metrics: Sequence[Metric]) -> Heard:
        pieces = list(_pieces(self._order))
        tasks = (_Task(self._there, self._runs[rows], metrics) for rows in pieces)
        runner = engine("here" if len(pieces) <= _FEW else None)
        try:
            coming = runner.map(_heard, tasks)
            parts = list(watched("Reading runs", coming, lambda part: part.runs, self._runs.height))
        finally:
            runner.close()
        begun = dict(self._order.select("first", "begun").iter_rows())
        return together([hear([], metrics, self._there.config), *parts], lambda outline: begun[outline.first])

    def some(self, chosen: Collection[str] | None) -> Iterator[Sequence[Conversation]]:
        order = self._order
        if chosen is not None:
            order = order.filter(pl.col("first").is_in(pl.Series(sorted(chosen), dtype=pl.String).implode()))
        for rows in _pieces(order):
            yield of_chosen(self._there.read(self._runs[rows]), chosen)


def _by_conversation(runs: pl.DataFrame) -> pl.DataFrame:
    """The runs (row, spans), those of one conversation after each other, and the conversations of one hour by trace, as
    the files of closed hours hold them; `first` is the first run of each one's, `begun` tells the order in which they
    begin."""
    talk = pl.col("service"), pl.coalesce(pl.col("conversation_id").replace("", None), "run_id")
    first = {
        "begun": pl.col("begun"),
        "first": pl.col("run_id"),
        "trace": pl.col("trace_ids").list.first(),
        "hour": pl.col("start_unix_nano") // HOUR_NS,
    }
    return (
        runs.select("run_id", "service", "conversation_id", "trace_ids", "start_unix_nano", "spans")
        .with_row_index("row")
        .sort("start_unix_nano", "run_id", nulls_last=True)
        .with_row_index("begun")
        .select("row", pl.col("spans").fill_null(1), *(e.first().over(*talk).alias(name) for name, e in first.items()))
        .sort("hour", "trace", "begun", maintain_order=True)
    )


def _pieces(order: pl.DataFrame) -> Iterator[pl.Series]:
    """The rows of whole conversations, as many as have so many spans together."""
    last = pl.col("first") != pl.col("first").shift(-1).fill_null("")
    table = order.select(pl.col("spans").cum_sum(), last=last)
    at, before = 0, 0
    for k, (spans, ends) in enumerate(table.iter_rows(), 1):
        if ends and spans - before >= _PIECE:
            yield order["row"][at:k]
            at, before = k, spans
    if at < order.height:
        yield order["row"][at:]
