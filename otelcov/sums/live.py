"""The open traces of a store, counted now: what has come since the count, and what the count left out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.windows import Window
from otelcov.runs import slices
from otelcov.runs.joining.join import joints
from otelcov.runs.reconstruct import meeting
from otelcov.runs.slices import TRACES, Look
from otelcov.store import pieces
from otelcov.sums import beside
from otelcov.sums import kept as files
from otelcov.sums.halves import GLIMPSE, SEEN, Half
from otelcov.sums.kept import Kept
from otelcov.sums.opened import Open, guests, hosting, opened, told_twice

_FIRST = 10  # of a store of which nothing is kept, so many times fewer are counted: it will be asked again
_COMMITS_S = 0.5  # between looks for what is committed
_BESIDE = 2  # times as many are counted here where a process beside is at it: to wait for its step takes as long


@dataclass(frozen=True)
class Counted:
    """What is true of a store now."""

    kept: Kept  # the sums that hold
    dirty: dict[str, pl.Series]  # the traces of each batch for which its sums do not
    runs: pl.DataFrame  # of open traces, RUNS
    odd: pl.DataFrame  # their odd spans
    half: Half | None  # of open traces, too: what a second process adds up
    within: Window | None  # the widest of which all this is true; None where some of what had come was left aside


def found(
    store: str,
    kept: Kept,
    window: Window,
    config: Config,
    now_ns: int,
    count: Callable[[int, int], object] | None,
    most: int,
    look: pieces.Look,
    half: Half | None = None,
) -> Counted | None:
    """None where nothing holds and the store is large: then the window is read and no more. `count` is called when more
    than `most` spans that are committed are not counted; where a collector has them counted beside it, its next steps
    are waited for instead, if they are many more. `half` is what a second process has of what this look shows in
    inboxes; raises Gone where it ends.
    """
    max_run_ns, asked, given = config.runs.max_run_ns, _Asked(store), look
    most = most if kept.batches else most // _FIRST
    if _new(look, kept) > most and count is not None and kept.batches and beside.at_it(kept.folder):
        # Who counted here instead would keep that process from it meanwhile, and leave more to the next report.
        most = most * _BESIDE
        while _new(look, kept) > most and asked.nearer(kept.folder):
            kept, look = asked.again(kept)
    new = _new(look, kept)
    if new > most and count is not None and (not kept.batches or opened(kept, look, now_ns, max_run_ns).spans > most):
        count(new, most)
        kept, look = asked.again(kept)
    if not kept.batches:
        kept = Kept(kept.folder)
        if _new(look, kept) > most:
            return None
    glimpse, all_of_it = None, look is given
    if half is not None:
        half = half.again(look)
        look, glimpse = half.rest, half.glimpse
    open_ = opened(kept, look, now_ns, max_run_ns, glimpse=glimpse)
    if not open_.kept.batches and open_.spans > most:
        return None
    open_, now, odd, half = runs(open_, window, config, now_ns, half)
    dirty = {str(key[0]): some["trace_id"] for key, some in open_.reopened.partition_by("batch", as_dict=True).items()}
    within = _widest(open_, window, max_run_ns) if all_of_it else None
    return Counted(open_.kept, dirty, now, odd, half, within)


class _Asked:
    """What a report is to tell of: all that had come when it was asked for. What comes while it waits for a count is
    left to the next, for it may come as fast as it is counted."""

    def __init__(self, store: str) -> None:
        self._store, self._at_ns, self._until = store, time.time_ns(), time.monotonic() + beside.LONGEST_S
        self._files: frozenset[str] | None = None  # that hold it; None while some of it waits to be committed

    def nearer(self, there: Path) -> bool:
        """Wait for what brings the answer nearer: that all of it is in files, so that it is known which; then a step of
        who counts beside. False where none is made."""
        if self._files is None and time.monotonic() < self._until:
            time.sleep(_COMMITS_S)
            return True
        return beside.caught_up(there, time.monotonic() + beside.LONGEST_S)

    def again(self, kept: Kept) -> tuple[Kept, pieces.Look]:
        """The kept sums of this moment, and of the store only what these know and what was asked for."""
        kept = files.load(kept.folder)  # before the look: of later files a look may not know
        look = pieces.look(self._store)
        there = frozenset(look.spans["path"])
        look = look.came_before(self._at_ns)
        whole = not look.holds() or time.monotonic() >= self._until
        if whole if self._files is None else not self._files <= there:  # upkeep writes files anew
            self._files = there
        if self._files is None or not kept.spans <= there:
            return kept, look
        return kept, replace(look, only=self._files | kept.spans)


def _new(look: pieces.Look, kept: Kept) -> int:
    """Committed spans that are not counted."""
    return int(look.spans.filter(~pl.col("path").is_in(sorted(kept.spans)))["rows"].sum())


def runs(
    open_: Open, window: Window, config: Config, now_ns: int, half: Half | None = None
) -> tuple[Open, pl.DataFrame, pl.DataFrame, Half | None]:
    """The runs of the open traces in reach of the window but for those that a second process has, which of all their
    spans are odd, and that second half, if it is still one."""
    while True:
        spans, logs, glimpse = _rows(open_, window, config.runs.max_run_ns)
        if half is not None:
            spans, logs = half.divided((spans, logs), glimpse)
            glimpse = glimpse.filter(~pl.col("trace_id").is_in(spans["trace_id"].unique().implode()))
        spans, logs, odd = slices.each_once(spans, logs)
        every = pl.concat([frame.select(SEEN) for frame in (spans, glimpse)])
        unknown = ~pl.col("trace_id").is_in(open_.reopened["trace_id"].implode())
        more = guests(open_, every).filter(unknown)
        if not more.height:
            where = joints(every)
            where = replace(where, hosted=where.hosted.union(open_.kept.hosted), guests=set(open_.kept.called))
            where.tellers.update(teller for batch in open_.kept.batches for teller in batch.tellers)
            if half is not None:
                half.begin(where, config, now_ns)
            found, met = meeting(spans, logs, config, now_ns, where, half)
            # Of those that have stayed the same, the count saw whom they may meet.
            some = [guest for guest in met.guests if guest.trace not in open_.same]
            doubtful = met.doubtful.filter(~pl.col("trace_ids").list.first().is_in([x.hex() for x in open_.same]))
            calling = hosting(open_.kept, open_.kept.batches, some, config.runs.max_run_ns)[0]
            more = pl.concat([calling, told_twice(open_.kept, open_.kept.batches, doubtful)[0]]).filter(unknown)
        if not more.height:
            return open_, found, odd if half is None else pl.concat([odd, half.odd]), half
        open_ = replace(open_, touched=pl.concat([open_.touched, more]))
        if half is not None:  # what it has may look otherwise beside these
            rows = pl.concat([open_.held_spans, half.rows()])
            open_, half = replace(open_, held_spans=rows, elsewhere=open_.elsewhere.clear()), None


def _rows(open_: Open, window: Window, max_run_ns: int) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Spans and log records of the open traces, and the glimpse of those spans that another process has."""
    look = Look.of(open_.look)
    reach = _reach(window, max_run_ns)
    counted = replace(look, spans=look.spans.filter(~pl.col("path").is_in(open_.new_spans["path"].implode())))
    held = open_.kept.left_rows()
    of_held = pl.col("trace_id").is_in(held[0]["trace_id"].unique().implode())
    again = pl.concat([open_.left, open_.reopened.select(TRACES.names())]).unique("trace_id").filter(reach)
    apart = again.filter(~of_held)
    parts = [slices.rows_of(part) for part in slices.parts(counted, apart)] if apart.height else []
    fresh = open_.fresh.filter(reach)
    touched = slices.together([again, fresh]) if open_.new_logs.height else fresh
    new = slices.rows_of(slices.Part(replace(look, spans=open_.new_spans), touched)) if fresh.height else None
    parts += [new] if new is not None else []
    ids = pl.concat([again["trace_id"], fresh["trace_id"]]).implode()
    of_open = pl.col("trace_id").is_in(ids)
    new_logs = [] if fresh.height or not open_.new_logs.height else [_logs(replace(look, logs=open_.new_logs), again)]
    spans = pl.concat([*(p[0] for p in parts), open_.held_spans.filter(of_open), held[0].filter(of_open)], rechunk=True)
    logs = pl.concat([*(p[1] for p in parts), open_.held_logs.filter(of_open), held[1].filter(of_open), *new_logs])
    return spans, logs, open_.elsewhere.select(GLIMPSE).filter(of_open)


def _logs(look: Look, traces: pl.DataFrame) -> pl.DataFrame:
    return pieces.rows(look.logs_url, "logs", look.logs["path"], pieces.of_traces("logs", traces["trace_id"])).collect()


def _reach(window: Window, max_run_ns: int) -> pl.Expr:
    near = pl.lit(True)
    if window.since_ns is not None:
        near = near & (pl.col("last") >= max(0, window.since_ns - max_run_ns))
    if window.until_ns is not None:
        near = near & (pl.col("first") < window.until_ns + max_run_ns)
    return near | (pl.col("first") == 0)


def _widest(open_: Open, window: Window, max_run_ns: int) -> Window:
    """The window without those of its ends beyond which no open trace lies."""
    traces = pl.concat([open_.fresh, open_.left, open_.reopened.select(TRACES.names())])
    since, until = (
        traces.select(_reach(side, max_run_ns).all()).item()
        for side in (Window(since_ns=window.since_ns), Window(until_ns=window.until_ns))
    )
    return Window(None if since else window.since_ns, None if until else window.until_ns)
