"""A window's observations: kept sums where they hold, run rows at its edges, and the open traces counted now.

Equal to counting everything now, whatever was kept. Hours that lie in the window whole come from sums; an hour that
the window cuts, a batch that was reopened, and every batch where `--agent` or `--model` asks for what sums do not
tell apart, come from run rows; spans are read of open traces alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import polars as pl

from otelcov.coverage.facts import BUCKET_NS
from otelcov.coverage.observations import EMPTY, Observations, merge, partial
from otelcov.coverage.selection import select
from otelcov.ground.config import Config
from otelcov.ground.selection import Selection
from otelcov.ground.windows import ALL, Window
from otelcov.runs import slices
from otelcov.runs.reconstruct import reconstruct
from otelcov.runs.slices import TRACES, Look
from otelcov.store import pieces
from otelcov.sums import kept as files
from otelcov.sums.build import folder, touches
from otelcov.sums.kept import ODD, Batch
from otelcov.sums.opened import Open, guests, opened

LIVE = 50_000  # spans that a report counts itself; beyond, they are counted once and kept
_KEYS = ("service", "environment", "release", "case")

Quality = dict[str, int | None]


def observed(
    store: str,
    window: Window,
    selection: Selection,
    config: Config,
    now_ns: int,
    count: Callable[[], object] | None = None,
    live: int = LIVE,
) -> tuple[Observations, Quality] | None:
    """None where nothing is kept; then the caller counts by itself.

    `count` brings the kept sums up to date; it is called when more than `live` spans that are committed are not
    counted.
    """
    there = folder(store, config)
    max_run_ns = config.runs.max_run_ns
    look = pieces.look(store)
    kept = files.load(there)
    new = int(look.spans.filter(~pl.col("path").is_in(sorted(kept.spans)))["rows"].sum())
    if new > live and count is not None and (not kept.batches or opened(kept, look, now_ns, max_run_ns).spans > live):
        count()
        look, kept = pieces.look(store), files.load(there)
    if not kept.batches:
        return None
    open_ = opened(kept, look, now_ns, max_run_ns)
    if not open_.kept.batches:
        return None
    open_, live_runs, odd = _live(open_, window, config, now_ns)
    dirty = {key[0]: some["trace_id"] for key, some in open_.reopened.partition_by("batch", as_dict=True).items()}
    sums, runs = _kept(open_, dirty, window, selection)
    runs = [select(frame, selection, config) for frame in (*runs, _inside(live_runs, window))]
    counted = partial(pl.concat(runs), config, selection.agent)
    return _added([*(_selected(some, selection) for some in sums), counted]), _quality(open_, dirty, odd, window)


def _live(open_: Open, window: Window, config: Config, now_ns: int) -> tuple[Open, pl.DataFrame, pl.DataFrame]:
    """The runs of the open traces in reach of the window, and which of their spans are odd."""
    while True:
        spans, logs, odd = slices.each_once(*_rows(open_, window, config.runs.max_run_ns))
        known = set(open_.reopened["trace_id"])
        more = guests(open_, spans)
        more = more.filter(~pl.col("trace_id").is_in(pl.Series(sorted(known), dtype=pl.Binary).implode()))
        if not more.height:
            break
        open_ = replace(open_, reopened=pl.concat([open_.reopened, more]))
    return open_, reconstruct(spans, logs, config, now_ns), odd


def _rows(open_: Open, window: Window, max_run_ns: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    look = Look.of(open_.look)
    reach = _reach(window, max_run_ns)
    counted = replace(look, spans=look.spans.filter(~pl.col("path").is_in(open_.new_spans["path"].implode())))
    held = open_.kept.left_rows()
    of_held = pl.col("trace_id").is_in(held[0]["trace_id"].unique().implode())
    again = pl.concat([open_.left, open_.reopened.select(TRACES.names())]).unique("trace_id").filter(reach)
    apart = again.filter(~of_held)
    parts = [slices.rows_of(part) for part in slices.parts(counted, apart)] if apart.height else []
    fresh = open_.fresh.filter(reach)
    touched = pl.concat([again, fresh]).unique("trace_id") if open_.new_logs.height else fresh
    new = slices.rows_of(slices.Part(replace(look, spans=open_.new_spans), touched)) if fresh.height else None
    parts += [new] if new is not None else []
    ids = pl.concat([again["trace_id"], fresh["trace_id"]]).implode()
    of_open = pl.col("trace_id").is_in(ids)
    new_logs = [] if fresh.height or not open_.new_logs.height else [_logs(replace(look, logs=open_.new_logs), again)]
    spans = pl.concat([*(p[0] for p in parts), open_.held_spans.filter(of_open), held[0].filter(of_open)])
    logs = pl.concat([*(p[1] for p in parts), open_.held_logs.filter(of_open), held[1].filter(of_open), *new_logs])
    return spans, logs


def _logs(look: Look, traces: pl.DataFrame) -> pl.DataFrame:
    return pieces.rows(look.logs_url, "logs", look.logs["path"], pieces.of_traces("logs", traces["trace_id"])).collect()


def _kept(
    open_: Open, dirty: dict[str, pl.Series], window: Window, selection: Selection
) -> tuple[list[Observations], list[pl.DataFrame]]:
    """Sums of whole hours, and run rows of what sums cannot tell."""
    kept = open_.kept
    from_rows = bool(selection.agent or selection.model)
    whole: dict[int | None, set[str]] = {}
    cut: dict[str, set[int | None]] = {}
    for batch in kept.batches:
        for bucket in batch.buckets:
            inside = _whole(bucket, window)
            if inside is None:
                continue
            if inside and not from_rows and batch.id not in dirty:
                whole.setdefault(bucket, set()).add(batch.id)
            else:
                cut.setdefault(batch.id, set()).add(bucket)
    sums = []
    for hour in kept.hours:
        ids = whole.get(hour.bucket, set())
        if hour.batches and set(hour.batches) <= ids:
            sums += kept.sums([f"hour-{hour.id}"])
            ids -= set(hour.batches)
    of: dict[str, list[int | None]] = {}
    for bucket, ids in whole.items():
        for id in ids:
            of.setdefault(id, []).append(bucket)
    for id, buckets in of.items():
        every = set(buckets) == set(kept.by_id[id].buckets)
        sums += kept.sums([f"batch-{id}"], None if every else pl.col("bucket").is_in(buckets, nulls_equal=True))
    return sums, [_run_rows(open_, kept.by_id[id], buckets, dirty.get(id), window) for id, buckets in cut.items()]


def _run_rows(
    open_: Open, batch: Batch, buckets: Iterable[int | None], without: pl.Series | None, window: Window
) -> pl.DataFrame:
    runs = open_.kept.runs(batch)
    bucket = pl.col("start_unix_nano").cast(pl.Int64) // BUCKET_NS * BUCKET_NS
    runs = _inside(runs.filter(bucket.is_in(list(buckets), nulls_equal=True)), window)
    return runs if without is None else runs.filter(~touches(without))


def _whole(bucket: int | None, window: Window) -> bool | None:
    """Whether this hour lies in the window whole, or in part; None: not at all."""
    if bucket is None:
        return True if window == ALL else None
    since = -1 if window.since_ns is None else window.since_ns
    until = bucket + BUCKET_NS if window.until_ns is None else window.until_ns
    if bucket + BUCKET_NS <= since or bucket >= until:
        return None
    return since <= bucket and bucket + BUCKET_NS <= until


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


def _between(at: pl.Expr, window: Window) -> pl.Expr:
    inside = at.is_not_null()
    if window.since_ns is not None:
        inside = inside & (at >= window.since_ns)
    if window.until_ns is not None:
        inside = inside & (at < window.until_ns)
    return inside


def _reach(window: Window, max_run_ns: int) -> pl.Expr:
    near = pl.lit(True)
    if window.since_ns is not None:
        near = near & (pl.col("last") >= max(0, window.since_ns - max_run_ns))
    if window.until_ns is not None:
        near = near & (pl.col("first") < window.until_ns + max_run_ns)
    return near | (pl.col("first") == 0)


def _quality(open_: Open, dirty: dict[str, pl.Series], live: pl.DataFrame, window: Window) -> Quality:
    kept = open_.kept.odd(open_.kept.batches)
    for id, traces in dirty.items():
        kept = kept.filter((pl.col("batch") != id) | ~pl.col("trace_id").is_in(traces.implode()))
    odd = pl.concat([kept.select(ODD.names()), live.select(ODD.names())])
    if window != ALL:
        odd = odd.filter((pl.col("at") > 0) & _between(pl.col("at"), window))
    told = odd.select(pl.col("copies", "differed", "outside").sum()).row(0)
    return dict(zip(("duplicates", "conflicts", "out_of_range"), (int(n) for n in told), strict=True))
