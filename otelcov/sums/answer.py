"""A window's observations: kept sums where they hold, run rows at its edges, and the open traces counted now.

Equal to counting everything now, whatever was kept. Hours that lie in the window whole come from sums; an hour that
the window cuts, a batch that was reopened, and every batch where `--agent` or `--model` asks for what sums do not
tell apart, come from run rows; spans are read of open traces alone, and nothing of the reconstruction is imported
where there are none.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import polars as pl

from otelcov.coverage import brief
from otelcov.coverage.brief import Brief
from otelcov.coverage.facts import BUCKET_NS
from otelcov.coverage.observations import EMPTY, Adding, Observations, merge
from otelcov.coverage.selection import between, inside, select, selected
from otelcov.engine import Gone
from otelcov.ground.config import Config
from otelcov.ground.schemas import no_runs, signed
from otelcov.ground.selection import Selection
from otelcov.ground.windows import ALL, Window
from otelcov.sums import again, beside, glance
from otelcov.sums import kept as files
from otelcov.sums.kept import ODD, Batch, Kept, Stretch, touches
from otelcov.sums.meaning import folder

if TYPE_CHECKING:
    from otelcov.engine.second import Second
    from otelcov.sums.halves import Half

LIVE = 50_000  # spans that a report counts itself; beyond, they are counted once and kept

Quality = dict[str, int | None]
Keep = Callable[[pl.DataFrame], pl.DataFrame]
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Found:
    """What adds up to the window, but for the selection."""

    kept: Kept
    whole: list[str]  # files of sums
    batches: list[tuple[str, pl.Expr | None]]  # whole, or the buckets of them that are in no hour above
    runs: list[pl.DataFrame]
    quality: Quality
    half: Half | None = None  # runs of which a second process tells


def _alone_at_last(ask: Callable[P, R]) -> Callable[P, R]:
    """The same, asked once more without the second process where that has failed."""

    @functools.wraps(ask)
    def asked(*given: P.args, **named: P.kwargs) -> R:
        try:
            return ask(*given, **named)
        except Gone as gone:
            print(f"A second process could not help ({gone}). This report counts by itself.", file=sys.stderr)
            named["second"] = None
            return ask(*given, **named)

    return asked


@_alone_at_last
def observed(
    store: str,
    window: Window,
    selection: Selection,
    config: Config,
    now_ns: int,
    count: Callable[[int, int], object] | None = None,
    live: int = LIVE,
    second: Second | None = None,
) -> tuple[Observations, Quality] | None:
    """None where nothing is kept; then the caller counts by itself.

    `count` brings the kept sums up to date; it is called when more than `live` spans that are committed are not
    counted, with their number and with how many may stay so. A `second` process shares the work of a large inbox.
    """
    adding = Adding(config, selection.agent)
    with beside.asking(folder(store, config)):
        found = _found(store, window, selection, config, now_ns, count, live, second, keep=_into(adding, selection))
        if found is None:
            return None
        sums = [*found.kept.sums(found.whole), *_of_batches(found)]
        counted = _counted(found, adding, window, selection)
        all_ = [*(selected(some, selection, config) for some in sums), *counted]
    return _added(all_), found.quality


@_alone_at_last
def briefly(
    store: str,
    window: Window,
    selection: Selection,
    config: Config,
    now_ns: int,
    count: Callable[[int, int], object] | None = None,
    live: int = LIVE,
    second: Second | None = None,
) -> tuple[Brief, Quality] | None:
    """The same, for a report that tells neither services, releases, models nor agents apart."""
    adding = Adding(config, selection.agent)
    keep = _into(adding, selection)
    with beside.asking(folder(store, config)):
        found = _found(store, window, selection, config, now_ns, count, live, second, days=True, keep=keep)
        if found is None:
            return None
        rest = [*_of_batches(found), *_counted(found, adding, window, selection)]
    told = brief.add([found.kept.briefs(found.whole), *(some.brief() for some in rest)])
    return told.chosen(selection), found.quality


def rows(
    store: str,
    window: Window,
    config: Config,
    now_ns: int,
    count: Callable[[int, int], object] | None = None,
    keep: Keep = lambda runs: runs,
    where: pl.Expr | None = None,
    live: int = LIVE,
) -> tuple[pl.DataFrame, Quality] | None:
    """The runs of a window for which `where` holds and that `keep` keeps of some of them at a time: RUNS without
    content, sorted by (start, run id). None where nothing is kept and the store is small, or nothing can be; then the
    caller reads them itself."""
    with beside.asking(folder(store, config)):
        if not files.load(folder(store, config)).batches and _small(store, live):
            return None
        found = _found(store, window, None, config, now_ns, count, live, keep=keep, where=where)
    if found is None:
        return None
    frames = [files.slim(runs) for runs in found.runs if runs.height]
    return pl.concat([no_runs(), *frames]).sort("start_unix_nano", "run_id", nulls_last=True), found.quality


def _small(store: str, live: int) -> bool:
    from otelcov.store import pieces

    return int(pieces.committed(store).spans["rows"].sum()) <= live


def _found(
    store: str,
    window: Window,
    selection: Selection | None,
    config: Config,
    now_ns: int,
    count: Callable[[int, int], object] | None,
    live: int,
    second: Second | None = None,
    days: bool = False,
    keep: Keep = lambda runs: runs,
    where: pl.Expr | None = None,
) -> Found | None:
    """Without a `selection`, run rows alone."""
    there = folder(store, config)
    kept = files.load(there)
    dirty: dict[str, pl.Series] = {}
    from_rows, whole = selection is None or bool(selection.agent or selection.model), list[str]()
    half = None
    if kept.settled(now_ns) and glance.quiet(store, kept):
        runs, odd = kept.left_runs(now_ns, config.runs.settle_ns)
        if kept.summed is not None and not from_rows and all(_between_ns(at, window) for at in kept.summed):
            runs, whole = runs.clear(), [kept.left]
    elif (note := again.noted(store, kept, window, now_ns, config.runs.settle_ns)) is not None:
        dirty, runs, odd = note.dirty, note.runs, note.odd
    else:
        from otelcov.store import pieces

        inboxes = glance.inboxes(store)
        look = pieces.look(store)
        if second is not None:
            from otelcov.sums.halves import Half

            half = Half.of(second, look)  # it begins while this process imports what reconstructs
        from otelcov.sums import live as counting

        found = counting.found(store, kept, window, config, now_ns, count, live, look, half)
        if found is None:
            return None
        if inboxes is not None:
            again.note(store, found, kept, [inboxes, [look.tables.spans.version, look.tables.logs.version]], now_ns)
        kept, dirty, runs, odd, half = found.kept, found.dirty, found.runs, found.odd, found.half
    quality = _quality(kept, dirty, odd, window)
    stretches, batches, cut = _chosen(kept, dirty, window, from_rows, days)
    some = (_run_rows(kept, kept.by_id[id], buckets, dirty.get(id), window, where) for id, buckets in cut.items())
    rows = [keep(frame) for frame in some]
    runs = inside(runs, window)
    rows.append(keep(runs if where is None else runs.filter(where)))
    whole += [stretch.file for stretch in stretches]
    return Found(kept, whole, batches, rows, quality, half)


def _of_batches(found: Found) -> list[Observations]:
    return [some for id, where in found.batches for some in found.kept.sums([f"batch-{id}"], where)]


def _into(adding: Adding, selection: Selection) -> Keep:
    """Adds the runs up and keeps none."""

    def add(runs: pl.DataFrame) -> pl.DataFrame:
        adding.add(select(runs, selection, adding.config))
        return runs.clear()

    return add


def _counted(found: Found, adding: Adding, window: Window, selection: Selection) -> list[Observations]:
    if found.half is not None:
        found.half.add_up(window, selection, adding.config)
    own = adding.sum()
    return [own] if found.half is None else [own, found.half.observed()]


def _chosen(
    kept: Kept, dirty: dict[str, pl.Series], window: Window, from_rows: bool, days: bool
) -> tuple[list[Stretch], list[tuple[str, pl.Expr | None]], dict[str, set[int | None]]]:
    """Whole hours (and `days`), whole batches (in part where these have the rest), and buckets of batches for which
    sums cannot tell."""
    whole: dict[int | None, set[str]] = {}
    cut: dict[str, set[int | None]] = {}
    for batch in kept.batches:
        for bucket in batch.buckets:
            inside = _whole(batch, bucket, window)
            if inside is None:
                continue
            if inside and not from_rows and batch.id not in dirty:
                whole.setdefault(bucket, set()).add(batch.id)
            else:
                cut.setdefault(batch.id, set()).add(bucket)
    stretches, by_id = [], kept.by_id
    longest = 24 if days else 1
    for stretch in sorted((s for s in kept.rolled if s.hours <= longest), key=lambda stretch: -stretch.hours):
        has = [(bucket, id) for id in stretch.batches for bucket in by_id[id].buckets if stretch.holds(bucket)]
        if has and all(id in whole.get(bucket, ()) for bucket, id in has):
            stretches.append(stretch)
            for bucket, id in has:
                whole[bucket].remove(id)
    of: dict[str, list[int | None]] = {}
    for bucket, ids in whole.items():
        for id in ids:
            of.setdefault(id, []).append(bucket)
    batches: list[tuple[str, pl.Expr | None]] = []
    for id, buckets in of.items():
        every = set(buckets) == set(by_id[id].buckets)
        batches.append((id, None if every else pl.col("bucket").is_in(buckets, nulls_equal=True)))
    return stretches, batches, cut


def _run_rows(
    kept: Kept,
    batch: Batch,
    buckets: Iterable[int | None],
    without: pl.Series | None,
    window: Window,
    where: pl.Expr | None = None,
) -> pl.DataFrame:
    if where is not None and kept.runs(batch, where.meta.root_names()).filter(where).is_empty():
        return no_runs()
    runs = kept.runs(batch) if where is None else kept.runs(batch).filter(where)
    bucket = signed("start_unix_nano") // BUCKET_NS * BUCKET_NS
    runs = inside(runs.filter(bucket.is_in(list(buckets), nulls_equal=True)), window)
    return runs if without is None else runs.filter(~touches(without))


def _whole(batch: Batch, bucket: int | None, window: Window) -> bool | None:
    """Whether what a batch has of this hour lies in the window whole, or in part; None: not at all. So a window that
    ends now cuts no batch of the current hour."""
    if bucket is None:
        return True if window == ALL else None
    first, end = max(bucket, batch.begins[0]), min(bucket + BUCKET_NS, batch.begins[1] + 1)
    since = first if window.since_ns is None else window.since_ns
    until = end if window.until_ns is None else window.until_ns
    if end <= since or first >= until:
        return None
    return since <= first and end <= until


def _added(parts: list[Observations]) -> Observations:
    """The sum; of an hour that only one part knows, its rows are the sum already."""
    hours = [part.rows["bucket"].unique() for part in parts]
    known = pl.concat(hours)
    shared = known.filter(known.is_duplicated()).unique()
    among = pl.col("bucket").is_in(shared.implode(), nulls_equal=True)
    several = merge(*(replace(part, rows=part.rows.filter(among)) for part in parts)) if len(shared) else EMPTY
    rows = pl.concat([several.rows, *(part.rows.filter(~among) for part in parts)])
    return Observations(rows, pl.concat([part.items for part in parts]).unique("item"))


def _between_ns(at: int, window: Window) -> bool:
    since = at if window.since_ns is None else window.since_ns
    return since <= at and (window.until_ns is None or at < window.until_ns)


def _quality(kept: Kept, dirty: dict[str, pl.Series], live: pl.DataFrame, window: Window) -> Quality:
    counted = kept.odd(kept.batches)
    for id, traces in dirty.items():
        counted = counted.filter((pl.col("batch") != id) | ~pl.col("trace_id").is_in(traces.implode()))
    odd = pl.concat([counted.select(ODD.names()), live.select(ODD.names())])
    if window != ALL:
        odd = odd.filter((pl.col("at") > 0) & between(pl.col("at"), window))
    told = odd.select(pl.col("copies", "differed", "outside").sum()).row(0)
    return dict(zip(("duplicates", "conflicts", "out_of_range"), (int(n) for n in told), strict=True))
