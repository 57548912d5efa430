"""Parts dealt out to workers: some neighbours in a row to each, so that every row group is read by one of them, once.

A trace may lie in the row groups of two rows, as those do that were under way when a file ended. No worker waits for
another: whoever reads such a group hands the trace's spans out, and once all of them have come, the trace is taken by
itself. Where many traces lie so (they last for long, or files are small), rows read again what others read: what is
handed out has to fit into one process.
"""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

import polars as pl

from otelcov.runs.slices import PART, TRACES, Look, Mapper, Part, in_a_row
from otelcov.store import pieces
from otelcov.store.groups import Group, Shelf, compact

T = TypeVar("T")

_ROW = 2, 10  # parts that one worker takes in a row, at least and at most
_MOST = 0.1  # of all spans are handed out
_TOGETHER = PART // 5  # spans that were handed out and are counted at one go, about: neighbours, and soon


class Row(NamedTuple):
    """What one worker takes: parts, and the traces whose spans it hands out."""

    number: int | None  # None: of spans that were handed out
    parts: list[Part]
    handed: dict[Group, pl.Series]


def each_part(each: Mapper, work: Callable[[Part], T], parts: list[Part], workers: int | None = None) -> Iterator[T]:
    """`work` on every part."""
    yield from each_row(each, functools.partial(in_a_row, work), parts, workers)


def each_row(
    each: Mapper, work: Callable[[list[Part]], list[T]], parts: list[Part], workers: int | None = None
) -> Iterator[T]:
    """`work` on several parts in a row: parts that are next to each other mostly lie in the same row groups."""
    rows, waiting = dealt(_lengths(parts, workers or os.cpu_count() or 1))
    worked = functools.partial(_worked, work)
    for number, results, spans in each(worked, waiting.between(rows)):
        waiting.take(number, spans)
        yield from results
    for _, results, _ in each(worked, waiting.rest()):
        yield from results


def _lengths(parts: list[Part], workers: int) -> list[list[Part]]:
    """The parts in rows. The first ones are short, so that something is soon to be seen; the last ones get shorter, so
    that all workers end at about the same time."""
    rows, at = list[list[Part]](), 0
    while at < len(parts):
        length = min(_ROW[1], max(_ROW[0], (len(parts) - at) * 2 // (3 * workers)))
        length = _ROW[0] if len(rows) < workers else length
        rows.append(parts[at : at + length])
        at += length
    return rows


def dealt(rows: list[list[Part]]) -> tuple[list[Row], Waiting]:
    """These rows without the traces that lie in row groups which another reads, and those traces, if they are few."""
    whole = [Row(number, row, {}) for number, row in enumerate(rows)]
    readers: dict[Group, set[int]] = {}
    spread = [_SPREAD.to_frame()]
    for number, row in enumerate(rows):
        for part in row:
            for group in part.whole:
                readers.setdefault(group, set()).add(number)
            if part.spread is not None:
                spread.append(part.spread.with_columns(row=pl.lit(number, pl.UInt32)))
    every = pl.concat(spread)
    if not every.height:
        return whole, Waiting()
    places = every.select("path", "group", "row").unique(maintain_order=True)
    for path, group, number in places.iter_rows():  # what nobody reads for more, the first of those reads who need it
        readers.setdefault(Group(path, group), {number})
    reading = [(group.path, group.number, number) for group, those in readers.items() for number in those]
    read = pl.DataFrame(reading, schema=dict(zip(places.columns, places.dtypes, strict=True)), orient="row")
    apart = every.join(read, on=["path", "group", "row"], how="anti")["trace_id"].unique().implode()
    parts = [part for row in rows for part in row]
    many = sum(int(part.traces.filter(pl.col("trace_id").is_in(apart))["spans"].sum()) for part in parts)
    if not many or many > _MOST * sum(int(part.traces["spans"].sum()) for part in parts):
        return whole, Waiting()
    owner = read.group_by("path", "group").agg(row=pl.col("row").min())
    owned = every.filter(pl.col("trace_id").is_in(apart)).drop("row").join(owner, on=["path", "group"])
    handed: dict[int, dict[Group, pl.Series]] = {}
    for (path, group, number), some in owned.partition_by("path", "group", "row", as_dict=True).items():
        handed.setdefault(number, {})[Group(path, group)] = some["trace_id"]
    due = owned.group_by("trace_id").agg(row=pl.col("row").max())
    waiting = Waiting(*_together(parts, apart), due)
    kept = [[left for part in row if (left := _without(part, apart)).traces.height] for row in rows]
    return [Row(number, row, handed.get(number, {})) for number, row in enumerate(kept)], waiting


_SPREAD = pl.Schema({"trace_id": pl.Binary, "path": pl.String, "group": pl.UInt32, "row": pl.UInt32})


def _without(part: Part, traces: pl.Series) -> Part:
    """A part without some of the traces that lie in several row groups."""
    if part.spread is None or not (gone := part.spread["trace_id"].is_in(traces)).any():
        return part
    spread = part.spread.filter(~gone)
    there = {*part.whole, *(Group(path, group) for _, path, group in spread.iter_rows())}
    groups = tuple(group for group in part.groups or () if group in there)
    left, held = part.traces.filter(~pl.col("trace_id").is_in(traces)), part.held
    held = None if held is None else held.filter(~pl.col("trace_id").is_in(traces))
    return replace(part, traces=left, groups=groups, spread=spread, held=held)


def _together(parts: list[Part], traces: pl.Series) -> tuple[Part, list[pl.DataFrame]]:
    """A part of these traces alone that has no row group to read, and what is held of their spans."""
    of = pl.col("trace_id").is_in(traces)
    found = [part for part in parts if part.traces["trace_id"].is_in(traces).any()]
    look = found[0].look
    spans, logs = (pl.concat(some).unique() for some in zip(*((p.look.spans, p.look.logs) for p in found), strict=True))
    every = pl.concat(part.traces.filter(of) for part in found)
    held = [part.held.filter(of) for part in found if part.held is not None]
    return Part(Look(look.spans_url, look.logs_url, spans, logs), every, groups=()), held


@dataclass
class Waiting:
    """Traces whose spans several workers read, until all of these have come."""

    part: Part | None = None  # all of these traces
    frames: list[pl.DataFrame] = field(default_factory=list)  # their spans
    due: pl.DataFrame = field(default_factory=pl.DataFrame)  # trace_id, and the last `row` that hands spans of it out
    done: set[int] = field(default_factory=set)  # rows
    before: int = 0  # all rows before this one are done

    def take(self, row: int | None, spans: pl.DataFrame) -> None:
        """What this row has handed out."""
        if row is not None:
            self.done.add(row)
            self.frames.append(spans)

    def between(self, rows: list[Row]) -> Iterator[Row]:
        """These rows, and among them others of what came meanwhile."""
        for row in rows:
            yield row
            yield from self._whole(_TOGETHER)

    def rest(self) -> Iterator[Row]:
        """Of what has come and was not counted."""
        yield from self._whole(1)

    def _whole(self, least: int) -> Iterator[Row]:
        if self.part is None:
            return
        while self.before in self.done:
            self.before += 1
        ids = self.due.filter(pl.col("row") < self.before)["trace_id"]
        mine = self.part.traces["trace_id"].is_in(ids.implode())
        if int(self.part.traces.filter(mine)["spans"].sum()) < least:
            return
        every = pl.concat(self.frames)
        ready = every["trace_id"].is_in(ids.implode())
        traces, spans, self.frames = self.part.traces.filter(mine), every.filter(ready), [compact(every.filter(~ready))]
        left = replace(self.part, traces=self.part.traces.filter(~mine))
        share = (traces["spans"].cum_sum() - 1) // PART
        for some in traces.with_columns(share=share).partition_by("share", include_key=False, maintain_order=True):
            of = spans["trace_id"].is_in(some["trace_id"].implode())
            yield Row(None, [replace(self.part, traces=some.select(TRACES.names()), held=spans.filter(of))], {})
        self.part = left


def _worked(work: Callable[[list[Part]], list[T]], row: Row) -> tuple[int | None, list[T], pl.DataFrame]:
    """`work` on the parts of a row, and what is handed out."""
    asks = Counter(group for part in row.parts for group in part.groups or ())
    shelf = Shelf(asks + Counter(row.handed.keys()))
    results = work([replace(part, shelf=shelf) for part in row.parts])
    columns = pieces.COLUMNS["spans"]
    handed = [shelf.rows(group, columns, traces) for group, traces in row.handed.items()]
    out = [rows.with_columns(pl.lit(False).alias(pieces.OUTSIDE)) for rows in handed]
    return row.number, results, compact(pl.concat([pieces.empty_rows("spans"), *out]))
