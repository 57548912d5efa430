"""A large inbox halved: a second process decodes the later half of the spans that wait there, and reconstructs and adds
up those of its traces that lie in nothing else; this process does all the rest meanwhile.

    second   tells GLIMPSE of its half, which is what `opened` asks for
    first    finds which traces are open, and takes over those that have spans elsewhere, too
    second   stage one of the others
    first    takes over those of them that may be parts of larger runs
    both     add up their runs

What comes of it is what one process makes of it alone. Who asks is told `Gone` where the second process has ended.

The first has the second begin before it imports what reconstructs: here, only the functions that use that import it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from otelcov.coverage.observations import Observations, partial
from otelcov.coverage.selection import inside, select
from otelcov.ground import plugins
from otelcov.ground.config import Config
from otelcov.ground.schemas import LOGS, SPANS, no_runs
from otelcov.ground.selection import Selection
from otelcov.ground.windows import Window
from otelcov.store import pieces, scan

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from pathlib import Path

    from collector.segment import Row
    from otelcov.engine.second import Second
    from otelcov.runs.joining.join import Guest, Joints
    from otelcov.runs.joining.told_again import Teller

_TIMES = ("start_time_unix_nano", "end_time_unix_nano")
SEEN = ("trace_id", "span_id", "parent_span_id", "name", "scope", *_TIMES, "links")
GLIMPSE = (*SEEN, "received_unix_nano", pieces.OUTSIDE)
_SHARE = 0.5  # of the spans that wait
Rows = tuple[pl.DataFrame, pl.DataFrame]


@dataclass
class Half:
    """The first process's view of what the second one has."""

    second: Second
    whole: pieces.Look  # of which it is a half
    rest: pieces.Look  # the other one
    traces: set[bytes] = field(default_factory=set)  # that it counts
    odd: pl.DataFrame = field(default_factory=pl.DataFrame)  # spans of these and of those that it has given up
    told_by: set[Teller] = field(default_factory=set)  # see reconstruct.Others.tellers

    @classmethod
    def of(cls, second: Second, look: pieces.Look) -> Half:
        """The half that the second process begins to decode. Raises Gone."""
        second.forget()
        rest, requests = look.halved(_SHARE)
        second.call(_take, requests, plugins.installed())
        return cls(second, look, rest)

    def again(self, look: pieces.Look) -> Half:
        """The half of this look, which may be another. Raises Gone."""
        return self if look is self.whole else Half.of(self.second, look)

    def glimpse(self) -> pl.DataFrame:
        """GLIMPSE of its spans, copies and all. Raises Gone."""
        seen: pl.DataFrame = self.second.answer()
        return seen

    def divided(self, rows: Rows, glimpse: pl.DataFrame) -> Rows:
        """The rows (spans and log records) that this process has to count, those taken over among them. `glimpse`: of
        the open traces. Raises Gone."""
        spans, logs = rows
        here = glimpse["trace_id"].unique()
        common = here.filter(here.is_in(spans["trace_id"].unique().implode()))
        apart = here.filter(~here.is_in(common.implode()))
        theirs = logs["trace_id"].is_in(apart.implode()).fill_null(False)
        taken = self.second.ask(_divide, common, apart, logs.filter(theirs))
        self.traces = set(apart)
        return pl.concat([spans, taken]), logs.filter(~theirs)

    def begin(self, where: Joints, config: Config, now_ns: int) -> None:
        self.second.call(_stage_one, where, config, now_ns)

    def loose(self) -> set[bytes]:
        """See reconstruct.Others. Raises Gone."""
        loose: set[bytes]
        loose, self.odd, self.told_by = self.second.answer()
        return loose

    def tellers(self) -> set[Teller]:
        """See reconstruct.Others."""
        return self.told_by

    def of_services(self, services: Collection[str | None]) -> pl.DataFrame:
        """See reconstruct.Others. Raises Gone."""
        runs: pl.DataFrame = self.second.ask(_of_services, services)
        return runs

    def hosts(self, found: list[Guest]) -> set[bytes]:
        """See reconstruct.Others. Raises Gone."""
        return self.second.ask(_hosts, found)

    def given_up(self, traces: Collection[bytes]) -> Rows:
        """See reconstruct.Others. Raises Gone."""
        some = self.traces & set(traces)
        if not some:
            return SPANS.to_frame(), LOGS.to_frame()
        self.traces -= some
        ids = pl.Series(sorted(some), dtype=pl.Binary)
        given: Rows = self.second.ask(_give_up, ids)
        return given

    def rows(self) -> pl.DataFrame:
        """All that it has decoded: it counts none of it. Raises Gone."""
        self.traces = set()
        every: pl.DataFrame = self.second.ask(_give_all)
        return every

    def note(self, path: Path) -> None:
        """Have it write its runs as its part of a note (again.py); `noted` waits for that."""
        self.second.call(_note, path)

    def noted(self) -> bool:
        """Whether that could be done. Raises Gone."""
        done: bool = self.second.answer()
        return done

    def add_up(self, window: Window, selection: Selection, config: Config) -> None:
        self.second.call(_observed, window, selection, config)

    def observed(self) -> Observations:
        """What its runs in the window add up to, once asked for by `add_up`. Raises Gone."""
        told: Observations = self.second.answer()
        return told


# What the second process does, and has.


@dataclass(frozen=True)
class _Held:
    every: pl.DataFrame  # as decoded
    rows: Rows  # to count
    runs: pl.DataFrame


_held: _Held


def _take(requests: list[Row], installed: tuple[EntryPoint, ...]) -> pl.DataFrame:
    global _held
    plugins.know(installed)
    empty = pieces.empty_rows("spans")
    rows = scan.held("spans", requests).select(empty.columns) if requests else empty
    _held = _Held(rows, (rows.clear(), LOGS.to_frame()), no_runs())
    return rows.select(GLIMPSE)


def _divide(common: pl.Series, apart: pl.Series, logs: pl.DataFrame) -> pl.DataFrame:
    """What the other process takes over."""
    global _held
    every = _held.every
    _held = replace(_held, rows=(every.filter(pl.col("trace_id").is_in(apart.implode())), logs))
    return every.filter(pl.col("trace_id").is_in(common.implode()))


def _stage_one(where: Joints, config: Config, now_ns: int) -> tuple[set[bytes], pl.DataFrame, set[Teller]]:
    from otelcov.runs import slices
    from otelcov.runs.joining.told_again import tellers
    from otelcov.runs.reconstruct import stage_one

    global _held
    spans, logs, odd = slices.each_once(*_held.rows)
    runs, loose, _ = stage_one(spans, logs, config, now_ns, where)
    _held = replace(_held, rows=(spans, logs), runs=runs)
    return loose, odd, tellers(runs)


def _hosts(found: list[Guest]) -> set[bytes]:
    from otelcov.runs.joining.join import hosts

    return set(hosts(_held.runs, found)["trace_ids"].list.first().str.decode("hex"))


def _of_services(services: Collection[str | None]) -> pl.DataFrame:
    from otelcov.runs.joining.told_again import of_services

    return of_services(_held.runs, services)


def _give_up(traces: pl.Series) -> Rows:
    global _held
    others = ~pl.col("trace_ids").list.first().is_in(traces.bin.encode("hex").implode())
    _held = replace(_held, runs=_held.runs.filter(others))
    spans, logs = (rows.filter(pl.col("trace_id").is_in(traces.implode())) for rows in _held.rows)
    return spans, logs


def _give_all() -> pl.DataFrame:
    return _held.every


def _note(path: Path) -> bool:
    from otelcov.sums.kept import Unkept, write_runs

    try:
        write_runs(path, 1, _held.runs)
    except Unkept:
        return False
    return True


def _observed(window: Window, selection: Selection, config: Config) -> Observations:
    return partial(select(inside(_held.runs, window), selection, config), config, selection.agent)
