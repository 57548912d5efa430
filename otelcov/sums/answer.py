"""A window's observations: kept sums where they hold, run rows at its edges, and the open traces counted now.

Equal to counting everything now, whatever was kept. Hours that lie in the window whole come from sums; an hour that
the window cuts, a batch that was reopened, and every batch where `--agent` or `--model` asks for what sums do not
tell apart, come from run rows; spans are read of open traces alone, and nothing of the reconstruction is imported
where there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import polars as pl

from otelcov.coverage import brief
from otelcov.coverage.brief import Brief
from otelcov.coverage.facts import BUCKET_NS
from otelcov.coverage.observations import EMPTY, Observations, merge, partial
from otelcov.coverage.selection import select
from otelcov.ground.config import Config
from otelcov.ground.schemas import signed
from otelcov.ground.selection import Selection
from otelcov.ground.windows import ALL, Window
from otelcov.sums import beside, glance
from otelcov.sums import kept as files
from otelcov.sums.kept import ODD, Batch, Kept, Stretch, touches
from otelcov.sums.meaning import folder

LIVE = 50_000  # spans that a report counts itself; beyond, they are counted once and kept
_KEYS = ("service", "environment", "release", "case")

Quality = dict[str, int | None]


@dataclass(frozen=True)
class Found:
    """What adds up to the window, but for the selection."""

    kept: Kept
    whole: list[str]  # files of sums
    batches: list[tuple[str, pl.Expr | None]]  # whole, or the buckets of them that are in no hour above
    runs: list[pl.DataFrame]
    quality: Quality


def observed(
    store: str,
    window: Window,
    selection: Selection,
    config: Config,
    now_ns: int,
    count: Callable[[int, int], object] | None = None,
    live: int = LIVE,
) -> tuple[Observations, Quality] | None:
    """None where nothing is kept; then the caller counts by itself.

    `count` brings the kept sums up to date; it is called when more than `live` spans that are committed are not
    counted, with their number and with how many may stay so.
    """
    with beside.asking(folder(store, config)):
        found = _found(store, window, selection, config, now_ns, count, live)
        if found is None:
            return None
        sums = [*found.kept.sums(found.whole), *_of_batches(found)]
        all_ = [*(_selected(some, selection) for some in sums), _counted(found, selection, config)]
    return _added(all_), found.quality


def briefly(
    store: str,
    window: Window,
    selection: Selection,
    config: Config,
    now_ns: int,
    count: Callable[[int, int], object] | None = None,
    live: int = LIVE,
) -> tuple[Brief, Quality] | None:
    """The same, for a report that tells neither services, releases, models nor agents apart."""
    with beside.asking(folder(store, config)):
        found = _found(store, window, selection, config, now_ns, count, live, days=True)
        if found is None:
            return None
        rest = [*_of_batches(found), _counted(found, selection, config)]
    told = brief.add([found.kept.briefs(found.whole), *(some.brief() for some in rest)])
    for name in ("environment", "case"):
        if wanted := getattr(selection, name):
            told = told.only(name, wanted)
    return told, found.quality


def _found(
    store: str,
    window: Window,
    selection: Selection,
    config: Config,
    now_ns: int,
    count: Callable[[int, int], object] | None,
    live: int,
    days: bool = False,
) -> Found | None:
    there = folder(store, config)
    kept = files.load(there)
    dirty: dict[str, pl.Series] = {}
    from_rows, whole = bool(selection.agent or selection.model), list[str]()
    if kept.settled(now_ns) and glance.quiet(store, kept):
        runs, odd = kept.left_runs(now_ns, config.runs.settle_ns)
        if kept.summed is not None and not from_rows and all(_between_ns(at, window) for at in kept.summed):
            runs, whole = runs.clear(), [kept.left]
    else:
        from otelcov.sums import live as counting

        found = counting.found(store, kept, window, config, now_ns, count, live)
        if found is None:
            return None
        kept, dirty, runs, odd = found
    quality = _quality(kept, dirty, odd, window)
    stretches, batches, cut = _chosen(kept, dirty, window, from_rows, days)
    rows = [_run_rows(kept, kept.by_id[id], buckets, dirty.get(id), window) for id, buckets in cut.items()]
    whole += [stretch.file for stretch in stretches]
    return Found(kept, whole, batches, [*rows, _inside(runs, window)], quality)


def _of_batches(found: Found) -> list[Observations]:
    return [some for id, where in found.batches for some in found.kept.sums([f"batch-{id}"], where)]


def _counted(found: Found, selection: Selection, config: Config) -> Observations:
    runs = [select(frame, selection, config) for frame in found.runs]
    return partial(pl.concat(runs), config, selection.agent)


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
    kept: Kept, batch: Batch, buckets: Iterable[int | None], without: pl.Series | None, window: Window
) -> pl.DataFrame:
    runs = kept.runs(batch)
    bucket = signed("start_unix_nano") // BUCKET_NS * BUCKET_NS
    runs = _inside(runs.filter(bucket.is_in(list(buckets), nulls_equal=True)), window)
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


def _selected(sums: Observations, selection: Selection) -> Observations:
    rows = sums.rows
    for name in _KEYS:
        if wanted := getattr(selection, name):
            rows = rows.filter(pl.col(name).is_in(sorted(wanted)))
    return replace(sums, rows=rows)


def _inside(runs: pl.DataFrame, window: Window) -> pl.DataFrame:
    if window == ALL:
        return runs
    return runs.filter(_between(pl.col("start_unix_nano"), window))


def _between_ns(at: int, window: Window) -> bool:
    since = at if window.since_ns is None else window.since_ns
    return since <= at and (window.until_ns is None or at < window.until_ns)


def _between(at: pl.Expr, window: Window) -> pl.Expr:
    inside = at.is_not_null()
    if window.since_ns is not None:
        inside = inside & (at >= window.since_ns)
    if window.until_ns is not None:
        inside = inside & (at < window.until_ns)
    return inside


def _quality(kept: Kept, dirty: dict[str, pl.Series], live: pl.DataFrame, window: Window) -> Quality:
    counted = kept.odd(kept.batches)
    for id, traces in dirty.items():
        counted = counted.filter((pl.col("batch") != id) | ~pl.col("trace_id").is_in(traces.implode()))
    odd = pl.concat([counted.select(ODD.names()), live.select(ODD.names())])
    if window != ALL:
        odd = odd.filter((pl.col("at") > 0) & _between(pl.col("at"), window))
    told = odd.select(pl.col("copies", "differed", "outside").sum()).row(0)
    return dict(zip(("duplicates", "conflicts", "out_of_range"), (int(n) for n in told), strict=True))
