"""Count what has settled: traces into batches, on any engine; then the sums of hours and days (rolled.py).

    committed files -> open traces -> parts -> engine: spans -> runs -> batch files -> the list

A batch is written by the worker that counted it; only the list makes it count, and one process at a time writes that.
A worker that dies leaves files that nobody lists.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from otelcov.coverage.facts import BUCKET_NS
from otelcov.coverage.observations import merge, partial
from otelcov.ground.config import Config
from otelcov.ground.schemas import no_runs
from otelcov.runs import dealt, slices
from otelcov.runs.joining.join import Guest, Joints, continued
from otelcov.runs.joining.told_again import told_again, twofold
from otelcov.runs.reconstruct import reconstruct
from otelcov.runs.slices import TRACES, Look, Mapper
from otelcov.runs.whole.unknowns import NO_ROOT
from otelcov.store import pieces, remote
from otelcov.store.groups import compact
from otelcov.sums import joined
from otelcov.sums import kept as files
from otelcov.sums.kept import LINKS, ODD, Batch, Kept, alone, touches
from otelcov.sums.meaning import everything, folder
from otelcov.sums.opened import Open, doubtful, hosting, named, opened, told_twice
from otelcov.sums.rolled import rolled

SMALL = 9_000  # spans; smaller batches of an hour that is over are put together
LARGE = 360_000  # spans of a batch, about at most: a late span costs to sum so many again
MANY = 32  # batches of an hour; where more are, larger ones are put together, too
_BACK_NS = 300 * 10**9
_BATCH = 132_000  # spans: to sum a small batch costs hardly less than a large one
_NEW = 132_000  # of what came since the last count: that is read by one worker
_FEW = 2  # parts in a row: what is left of more is copied, so that it does not hold on to all of them
_AT_ONCE = 3  # groups of a count, that none takes long; one where it is a step of many
HELD = 250_000, 250_000_000  # spans and bytes of traces that are left, kept beside the list: nobody seeks them again
TOLD = 5_000  # spans of traces that are left, whose runs are kept too: a quiet store's report needs no reconstruction
_SHARE = 100  # of what was counted, one in so many spans may be of these where that is more


_EVER_NS = 2**63 - 1
REST_NS = 2_000_000_000  # after the end of a run whose root has come, for what other senders still hold of it


@dataclass(frozen=True)
class Settled:
    """What came of a part: what has settled, and the rest."""

    runs: pl.DataFrame  # RUNS without content
    traces: pl.DataFrame  # TRACES
    odd: pl.DataFrame  # ODD
    links: pl.DataFrame  # LINKS: of what settled
    settled_by: int
    left: pl.DataFrame  # TRACES
    rows: tuple[pl.DataFrame, pl.DataFrame]  # spans and log records of what was left
    guests: list[Guest]  # agents among these that a tool call of another trace may have called


@dataclass(frozen=True)
class Counted:
    """What came of some parts."""

    batch: Batch | None
    left: pl.DataFrame
    rows: list[tuple[pl.DataFrame, pl.DataFrame]]
    guests: list[Guest]


def build(
    store: str,
    config: Config,
    now_ns: int,
    each: Mapper,
    progress: Callable[[int, int], None] = lambda done, all: None,
    wait: bool = True,
    most: int | None = None,
    few: int = 0,
    tell: bool = True,
) -> bool:
    """Bring the kept sums of a store up to its last commit; False if another process does it, or none may be kept here.
    Raises Unkept where they cannot be written.

    Of more than `most` committed spans the newest are left for another time. `few` and fewer are not counted: then
    whoever counted meanwhile has left no more than the caller counts himself. Who will soon count more need not `tell`
    of the runs of what is left."""
    there = folder(store, config)
    try:
        there.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False  # whoever may only read counts for every report
    with alone(there, wait) as mine:
        if mine and not (few and uncounted(store, config) <= few):
            began = time.time()
            try:
                try:
                    _build(there, store, config, now_ns, each, progress, most, tell)
                except files.Lost:
                    files.drop(there)
                    _build(there, store, config, now_ns, each, progress, most, tell)
            except files.Unkept:
                files.sweep(files.load(there), since=began)  # a disk that is full should not get fuller
                raise
        return mine


def uncounted(store: str, config: Config) -> int:
    """Committed spans that the kept sums do not know yet."""
    known = files.load(folder(store, config)).spans
    return int(pieces.committed(store).spans.filter(~pl.col("path").is_in(sorted(known)))["rows"].sum())


def count(parts: list[slices.Part], one: Callable[..., Settled], config: Config, there: Path) -> list[Counted]:
    """Stage one (`settled`) of some parts in a row, and their batches."""
    work = functools.partial(one, own=compact if len(parts) > _FEW else pl.DataFrame.rechunk)
    some, found = list[Settled](), list[Counted]()
    for part in slices.one_by_one(work, parts):
        if some and sum(int(each.traces["spans"].sum()) for each in [*some, part]) > _BATCH:
            found.append(_batched(some, config, there))
            some = []
        some.append(part)
    return [*found, *([_batched(some, config, there)] if some else [])]


def _batched(some: list[Settled], config: Config, there: Path) -> Counted:
    runs, traces = pl.concat(each.runs for each in some), pl.concat(each.traces for each in some)
    batch = None
    if traces.height:
        odd, links = pl.concat(each.odd for each in some), pl.concat(each.links for each in some)
        settled_by = max(each.settled_by for each in some)
        batch = files.batch_of(there, runs, traces, odd, links, partial(runs, config), settled_by)
    left, guests = pl.concat(each.left for each in some), [guest for each in some for guest in each.guests]
    return Counted(batch, left, [each.rows for each in some], guests)


def settled(
    part: slices.Part,
    where: Joints,
    config: Config,
    now_ns: int,
    quiet_ns: int,
    linked: frozenset[bytes],
    own: Callable[[pl.DataFrame], pl.DataFrame] = compact,
) -> Settled:
    """Stage one of a part: the runs that have settled and share no trace with one that has not.

    Nothing is waited for but a root that has not come: what comes late reopens its trace, whenever it does. A trace
    that has no root yet and is not quiet, as those are that ended by `quiet_ns`, has no run that has settled; it is put
    back as it is. What is left may hold on to all that was read with it, unless `own` gives it memory of its own.
    """
    rows = slices.rows_of(part)
    none, odd, links = no_runs(), ODD.to_frame(), LINKS.to_frame()
    awake = part.traces.filter(pl.col("rooted") | (pl.col("end") <= quiet_ns))
    if not awake.height:
        return Settled(none, TRACES.to_frame(), odd, links, 0, part.traces, (own(rows[0]), own(rows[1])), [])
    whole_rows = rows if awake.height == part.traces.height else (_of(awake, rows[0]), _of(awake, rows[1]))
    done = slices.of_rows(whole_rows, where, config, now_ns)
    rest_ns = max(quiet_ns, now_ns - REST_NS)
    rootless = pl.col("incomplete").list.contains(NO_ROOT)  # the others have settled by any clock
    by = pl.when(rootless).then(quiet_ns).otherwise(rest_ns)
    runs = done.runs.with_columns(_ok=pl.col("settled") & (pl.col("end_unix_nano") <= by).fill_null(True))
    whole = runs.filter("_ok")["trace_ids"].explode().drop_nulls().unique().str.decode("hex")
    restless = set(runs.filter(~pl.col("_ok"))["trace_ids"].explode().drop_nulls().unique().to_list())
    out = done.waiting | where.linked | linked | {bytes.fromhex(trace) for trace in restless}
    rests = pl.col("end") <= pl.when(pl.col("trace_id").is_in(whole.implode())).then(rest_ns).otherwise(quiet_ns)
    waits = pl.col("trace_id").is_in(pl.Series(sorted(out), dtype=pl.Binary).implode()) | ~rests
    left, traces = part.traces.filter(waits), part.traces.filter(~waits)
    again = own(_of(left, rows[0])), own(_of(left, rows[1]))
    if not traces.height:
        return Settled(none, traces, odd, links, 0, left, again, done.guests)
    names = traces["trace_id"].bin.encode("hex")
    runs = files.slim(runs.filter(pl.col("trace_ids").list.first().is_in(names.implode())))
    odd = done.odd.join(traces.select("trace_id"), on="trace_id", how="semi").select(ODD.names())
    links = _of(traces, continued(whole_rows[0])).select(LINKS.names()).unique()
    quiet = runs.filter(rootless & (pl.col("end_unix_nano") <= quiet_ns))["end_unix_nano"]
    settled_by = int(quiet.max() or 0) + config.runs.settle_ns if len(quiet) else 0  # type: ignore[arg-type]
    return Settled(runs, traces, odd, links, settled_by, left, again, done.guests)


def _of(traces: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(rows["trace_id"].is_in(traces["trace_id"].implode()))


def _build(
    there: Path,
    store: str,
    config: Config,
    now_ns: int,
    each: Mapper,
    progress: Callable[[int, int], None],
    most: int | None,
    tell: bool,
) -> None:
    kept = files.load(there)
    look, before_ns = _oldest(pieces.committed(store), kept, most)
    quiet_ns = max(0, min(now_ns - config.runs.settle_ns, before_ns))
    every = Look.of(look)
    if kept.versions[0] < 0 or not kept.batches:
        kept = Kept(there)
        found = slices.survey(every, each)
        dirty: dict[str, pl.DataFrame] = {}
        same = frozenset[bytes]()
        parts = slices.parts(every, found.traces, places=found.places)
    else:
        open_ = opened(kept, look, now_ns, config.runs.max_run_ns, with_inbox=False)
        if open_.kept.versions[0] < 0:
            kept, found, dirty, same = Kept(there), slices.survey(every, each), {}, frozenset()
            parts = slices.parts(every, found.traces, places=found.places)
        else:
            kept, same = open_.kept, open_.same
            if not (open_.new_spans.height or open_.new_logs.height or open_.left.height):
                return
            found, parts = _of_open(every, open_, each)
            more = _named(kept, open_, found, config.runs.max_run_ns)
            if more.height:
                open_ = replace(open_, touched=pl.concat([open_.touched, more]))
                found, parts = _of_open(every, open_, each)
            dirty = {key[0]: some for key, some in open_.touched.partition_by("batch", as_dict=True).items()}
    where = replace(found.where, hosted=found.where.hosted.union(kept.hosted), guests=set(kept.called))
    linked = frozenset(found.linked.to_list())
    one = functools.partial(settled, where=where, config=config, now_ns=now_ns, quiet_ns=quiet_ns, linked=linked)
    work = functools.partial(count, one=one, config=config, there=there)
    total, done = int(found.traces["spans"].sum()), 0
    del found  # the traces of a large store are many, and the parts have them
    progress(done, total)
    batches, left, held, guests = [], [TRACES.to_frame()], (0, 0), list[Guest]()
    rows: list[tuple[pl.DataFrame, pl.DataFrame]] = [(pieces.empty_rows("spans"), pieces.empty_rows("logs"))]
    for counted in dealt.each_row(each, work, parts):
        batches += [counted.batch] if counted.batch is not None else []
        left.append(counted.left)
        guests += counted.guests
        for spans, logs in counted.rows:
            held = held[0] + spans.height, held[1] + int(spans.estimated_size())
            if held[0] <= HELD[0] and held[1] <= HELD[1]:
                rows.append((spans, logs))
        done += (counted.batch.spans if counted.batch else 0) + int(counted.left["spans"].sum())
        progress(done, total)
    old = [b if b.id not in dirty else _without(kept, b, dirty[b.id], config) for b in kept.batches]
    new = [guest for guest in guests if guest.trace not in same]  # who may have called those, the last count saw
    pairs = [hosting(kept, batches, guests, config.runs.max_run_ns)]
    pairs.append(hosting(kept, [b for b in old if b is not None], new, config.runs.max_run_ns))
    twice = _told_twice(kept, [b for b in old if b is not None], batches)
    callers, names = pl.concat([twice, *(traces for traces, _ in pairs)]), pairs[0][1] | pairs[1][1]
    fresh = {batch.id for batch in batches}
    batches = [*(b for b in old if b is not None), *batches]
    if callers.height:  # they are counted with those whom they may have called, or who tell the same
        calling = {key[0]: some for key, some in callers.partition_by("batch", as_dict=True).items()}
        fewer = (b if b.id not in calling else _without(kept, b, calling[b.id], config) for b in batches)
        batches = [batch for batch in fewer if batch is not None]
        left.append(callers.select(TRACES.names()))
    batches, gathered = _gathered(kept, batches, config, now_ns, _AT_ONCE if most is None else 1)
    fresh |= {whole.id for whole, group in gathered.values() if all(batch.id in fresh for batch in group)}
    name = files.left_name()
    spans, logs = (pl.concat(some) for some in zip(*rows, strict=True))
    waits = pl.concat(left).unique("trace_id", maintain_order=True)
    if tell:  # not while a backlog is counted: this can wait
        until_ns = min(now_ns, before_ns) - config.runs.max_run_ns - config.runs.settle_ns - joined.LATE_NS
        closed, waits = joined.close(there, waits, (spans, logs), every, config, now_ns, until_ns)
        if closed:
            spans, logs = _of(waits, spans), _of(waits, logs)
            batches, fresh = [*batches, *closed], fresh | {batch.id for batch in closed}
    files.write_left(there / name, waits, spans, logs)
    waiting = int(waits["spans"].sum())
    whole = not callers.height and held[0] <= HELD[0] and held[1] <= HELD[1]
    told = tell and whole and waiting <= max(TOLD, total // _SHARE)
    summed = None
    if told:
        spans, logs, odd = slices.each_once(spans, logs)
        runs = reconstruct(spans, logs, config, now_ns)
        summed = files.write_told(there / name, runs, odd, partial(runs, config))
    kept = replace(
        kept,
        # Of the newest version all is counted; where some files wait, a reader must look what there is.
        versions=(look.tables.spans.version - (look.only is not None), look.tables.logs.version),
        spans=frozenset(look.spans["path"]),
        logs=frozenset(look.logs["path"]),
        batches=tuple(batches),
        left=name,
        told_ns=now_ns if told else None,
        hosted=tuple(sorted(where.hosted)),
        called=tuple(sorted(names.union(kept.called))),
        summed=summed,
    )
    files.save(replace(kept, rolled=rolled(kept, now_ns, gathered, fresh, each)))


def _oldest(look: pieces.Look, kept: Kept, most: int | None) -> tuple[pieces.Look, int]:
    """The same look without the newest files, if more than `most` spans are not counted; and the time from which on
    these have spans: a trace that goes on until then may go on in them."""
    new = look.spans.filter(~pl.col("path").is_in(sorted(kept.spans)))
    new = new.sort("written_ms", "last_ns", "path", nulls_last=False)  # as they came: a trace's end after its beginning
    if most is None or int(new["rows"].sum()) <= most:
        return look, _EVER_NS
    later = new.filter(pl.col("rows").cum_sum().shift(1, fill_value=0) >= most)
    first_ns = int(later["first_ns"].fill_null(0).min() or 0)  # type: ignore[arg-type]
    return replace(look, only=frozenset(look.spans["path"]) - frozenset(later["path"])), first_ns


def _of_open(every: Look, open_: Open, each: Mapper) -> tuple[slices.Survey, list[slices.Part]]:
    """The survey of open traces alone, and their parts. What the last count left is held, so that only new files are
    read; but for traces that were reopened, or of which not all is held, the files of their time are."""
    local, reopened = not remote.is_remote(every.spans_url), open_.touched.drop("batch")
    held = open_.kept.left_rows()[0] if local else pieces.empty_rows("spans")
    known = open_.left["trace_id"].is_in(held["trace_id"].unique().implode()) & ~open_.left["outside"]
    held = _of(open_.left.filter(known).join(reopened, on="trace_id", how="anti"), held)
    again = pl.concat([open_.left.filter(~known), reopened]).unique("trace_id")
    old = every.spans.filter(~pl.col("path").is_in(open_.new_spans["path"].implode()))
    if not again["outside"].any() and again.height:
        first, last = int(again["first"].min()), int(again["last"].max())  # type: ignore[arg-type]
        old = old.filter(pl.col("path").is_in(pieces.between(old, first, last)))
    sought = slices.seen(replace(every, spans=old), each, again["trace_id"]) if again.height else []
    found = slices.surveyed([*open_.seen, *sought, slices.seen_in(held)])
    apart = found.traces["trace_id"].is_in(again["trace_id"].implode()) | found.traces["outside"]
    if not local:
        return found, slices.parts(every, found.traces)
    seldom = slices.parts(every, found.traces.filter(apart), _NEW, places=found.places)
    return found, [*seldom, *slices.parts(every, found.traces.filter(~apart), _NEW, places=found.places, held=held)]


def _named(kept: Kept, open_: Open, found: slices.Survey, max_run_ns: int) -> pl.DataFrame:
    """The counted runs whose agents bear a name by which no tool call had called one before."""
    times = pl.concat([found.traces["first"], found.traces["end"]])
    more = named(kept, found.where.hosted.difference(kept.hosted), times, max_run_ns)
    return more.filter(~pl.col("trace_id").is_in(open_.touched["trace_id"].implode()))


def _told_twice(kept: Kept, old: list[Batch], new: list[Batch]) -> pl.DataFrame:
    """TRACES and batch of the runs that a new batch and any other may both tell of (see joining.told_again)."""
    services = twofold(teller for batch in (*old, *new) for teller in batch.tellers)
    if not services:
        return kept.traces([])
    runs = doubtful(kept, new, services)
    counted, met = told_twice(kept, old, runs)
    ids = pl.Series(sorted(met | told_again(runs)), dtype=pl.String).str.decode("hex")
    return pl.concat([counted, kept.traces(new, ids)])


def _without(kept: Kept, batch: Batch, again: pl.DataFrame, config: Config) -> Batch | None:
    """A batch summed anew from its run rows, without some traces."""
    gone = again["trace_id"]
    runs = kept.runs(batch).filter(~touches(gone))
    traces = kept.traces([batch]).filter(~pl.col("trace_id").is_in(gone.implode()))
    odd, links = (
        some.filter(~pl.col("trace_id").is_in(gone.implode())) for some in (kept.odd([batch]), kept.links([batch]))
    )
    if not traces.height:
        return None
    sums, by = partial(runs, config), batch.settled_by
    return files.batch_of(kept.folder, runs, traces, odd, links, sums, by, batch.together)


def _gathered(
    kept: Kept, batches: list[Batch], config: Config, now_ns: int, at_once: int
) -> tuple[list[Batch], dict[str, tuple[Batch, list[Batch]]]]:
    """Small batches put together: merged sums, run rows one after the other; and by its id what each new one is of."""
    of: dict[str, tuple[Batch, list[Batch]]] = {}
    for group in _groups(batches, config, now_ns)[:at_once]:
        sums = merge(*kept.sums(f"batch-{b.id}" for b in group))
        runs = pl.concat(kept.runs(b) for b in group)
        odd = kept.odd(group).select(ODD.names())
        settled_by = max(batch.settled_by for batch in group)
        traces, links, together = kept.traces(group), kept.links(group), group[0].together
        whole = files.batch_of(kept.folder, runs, traces, odd, links, sums, settled_by, together)
        of[whole.id] = whole, group
    gone = {batch.id for _, group in of.values() for batch in group}
    return [*(b for b in batches if b.id not in gone), *(whole for whole, _ in of.values())], of


def _groups(batches: list[Batch], config: Config, now_ns: int) -> list[list[Batch]]:
    """The batches that become one: small ones of an hour that is over; where an hour has many, also larger ones that
    lie a while back."""
    over = (now_ns - config.runs.settle_ns) // BUCKET_NS
    hours: dict[tuple[int, bool], list[Batch]] = {}
    for batch in sorted(batches, key=lambda batch: batch.first):
        if batch.spans < LARGE // 2 and batch.buckets and None not in batch.buckets:
            hours.setdefault((batch.first // BUCKET_NS, batch.together), []).append(batch)
    groups: list[list[Batch]] = []
    for (hour, _), some in hours.items():
        many = len(some) > MANY
        if many:
            some = [batch for batch in some if batch.last < now_ns - _BACK_NS]
        else:
            some = [
                batch for batch in some if batch.spans < SMALL and max(b or 0 for b in batch.buckets) < over * BUCKET_NS
            ]
        group: list[Batch] = []
        for batch in some:
            group.append(batch)
            if many and sum(b.spans for b in group) >= LARGE:
                groups.append(group)
                group = []
        if hour < over:
            groups.append(group)
    return [group for group in groups if len(group) >= 4]


__all__ = ["ODD", "alone", "build", "count", "everything", "folder", "touches"]
