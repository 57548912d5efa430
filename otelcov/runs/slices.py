"""The reconstruction divided: a survey of all traces, parts of them that fit into memory, and stage one of a part.

A part is some whole traces that begin in the same hour; its spans are read from the files of that hour, and from
those of later hours where its traces go on. What a part must know of all others (`Joints`) the survey finds out.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.schemas import LOGS, SPANS, no_runs
from otelcov.runs.joining.join import Guest, Joints, hosts, joints
from otelcov.runs.joining.told_again import of_services, tellers, told_again, twofold
from otelcov.runs.reconstruct import reconstruct, stage_one
from otelcov.store import duplicates, partitions, pieces
from otelcov.store.groups import Group, Shelf
from otelcov.store.partitions import HOUR_NS

T = TypeVar("T")

PART = 60_000  # spans, so that a worker stays below six hundred megabytes
_LIGHT_ROWS = 250_000  # of a task of the survey

_JOINING = ("trace_id", "name", "scope", "start_time_unix_nano", "end_time_unix_nano", "links")
_LIGHT = ("parent_span_id", *_JOINING)
TRACES = pl.Schema(
    {
        "trace_id": pl.Binary,
        "start": pl.UInt64,  # the least start as it was sent, 0 among them
        "first": pl.UInt64,  # the least time that says in which hour a span lies
        "last": pl.UInt64,
        "end": pl.UInt64,
        "spans": pl.Int64,
        "outside": pl.Boolean,  # has spans in no hour of their own
        "rooted": pl.Boolean,  # has a span that names no parent
    }
)

PLACES = pl.Schema({"trace_id": pl.Binary, "path": pl.String, "group": pl.UInt32, "last": pl.UInt64})

Mapper = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]


@dataclass(frozen=True)
class Look:
    """Some files of one look at a store, as a worker is told of them."""

    spans_url: str
    logs_url: str
    spans: pl.DataFrame  # pieces.FILES
    logs: pl.DataFrame

    @classmethod
    def of(cls, look: pieces.Look) -> Look:
        return cls(look.tables.spans.url, look.tables.logs.url, look.spans, look.logs)


@dataclass(frozen=True)
class Seen:
    """What some rows tell of a survey."""

    traces: pl.DataFrame  # TRACES
    linking: pl.DataFrame  # the spans with links
    names: list[str]  # of all spans
    places: pl.DataFrame  # PLACES


@dataclass(frozen=True)
class Survey:
    traces: pl.DataFrame  # TRACES
    where: Joints
    linked: pl.Series  # traces that spans link to
    places: pl.DataFrame  # PLACES, of the traces that lie in local files


@dataclass(frozen=True)
class Part:
    """Whole traces, and from which files to read them."""

    look: Look
    traces: pl.DataFrame  # TRACES
    groups: tuple[Group, ...] | None = None  # the row groups that hold the spans; None: to be found by reading
    whole: frozenset[Group] = frozenset()  # those among them that hold all spans of a trace
    spread: pl.DataFrame | None = None  # trace_id, path and group of the traces that lie in several of them
    shelf: Shelf | None = None  # what a part before has read
    held: pl.DataFrame | None = None  # spans that are known already, and in none of these row groups


@dataclass(frozen=True)
class Done:
    """Stage one of a part."""

    runs: pl.DataFrame  # RUNS, in no order
    waiting: set[bytes]  # traces that may be parts of larger runs
    guests: list[Guest]  # agents among these that a tool call of another trace may have called
    odd: pl.DataFrame  # the spans that have copies or lie out of range


def survey(look: Look, each: Mapper) -> Survey:
    """One look over the few columns that tell which traces there are."""
    return surveyed(seen(look, each))


def seen(look: Look, each: Mapper, traces: pl.Series | None = None) -> list[Seen]:
    """What some files tell of a survey; `traces`: of these alone."""
    tasks = [(look.spans_url, files["path"].to_list(), traces) for files in _heaps(look.spans)]
    return list(each(_light, tasks))


def seen_in(rows: pl.DataFrame) -> Seen:
    """The same of rows that are in no file."""
    return _summed(rows.lazy())


def surveyed(found: Sequence[Seen]) -> Survey:
    """The survey of what was seen."""
    merged = together(f.traces for f in found).sort("first", "trace_id")
    links = [f.linking["links"].explode().struct.field("trace_id") for f in found if f.linking.height]
    linked = pl.concat([pl.Series("trace_id", [], pl.Binary), *(s.rename("trace_id") for s in links)])
    places = pl.concat([PLACES.to_frame(), *(f.places for f in found)])
    return Survey(merged, _where(merged, found), linked.drop_nulls().unique(), places)


def together(found: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """TRACES of several places as those of all of them."""
    every = pl.concat([TRACES.to_frame(), *found]).group_by("trace_id")
    whole = every.agg(
        pl.col("start", "first").min(),
        pl.col("last", "end").max(),
        pl.col("spans").sum(),
        pl.col("outside", "rooted").any(),
    )
    return whole.select(TRACES.names())


def parts(
    look: Look,
    traces: pl.DataFrame,
    spans: int = PART,
    places: pl.DataFrame | None = None,
    held: pl.DataFrame | None = None,
) -> list[Part]:
    """Whole traces in parts of about so many spans, each of one hour, or of several where these hold few. `places`
    (PLACES) of them all, if they are known, say what to read; then traces are together that end in the same row group.
    `held` are the spans of them that lie in none of these places."""
    groups = _numbered(places) if places is not None and (places.height or held is not None) else None
    home = pl.lit(0, pl.UInt32).alias("home")
    if groups is not None:
        homes = groups.group_by("trace_id").agg(home=pl.col("number").max())
        traces, home = traces.join(homes, on="trace_id", how="left", maintain_order="left"), pl.col("home").fill_null(0)
    hours = [pl.col(name) // HOUR_NS for name in ("first", "last")]
    late = hours[1] == hours[0] + 1  # its end lies in the files of the next hour, as all of that hour's traces do
    hour = pl.when("outside").then(None).otherwise(hours[0] + late.cast(pl.UInt64)).alias("hour")
    out = []
    for some in _of_hours(traces.with_columns(home, hour), spans):
        some = some.sort("home", "first", "trace_id")
        for part in _cut(some, spans).partition_by("part", maintain_order=True):
            out.append(_near(look, part.select(TRACES.names())))
    out = out if groups is None else _placed(out, groups)
    return out if held is None else _holding(out, held)


def in_a_row(work: Callable[[Part], T], parts: list[Part]) -> list[T]:
    """`work` on each of these parts, which reads no row group twice."""
    return list(one_by_one(work, parts))


def one_by_one(work: Callable[[Part], T], parts: list[Part]) -> Iterator[T]:
    """The same for who need not hold all results at once."""
    shelf = Shelf(Counter(group for part in parts for group in part.groups or ()))
    parts = [part if part.shelf is not None else replace(part, shelf=shelf) for part in parts]
    gc.freeze()  # so that the passes below look at little more than what they are to free
    try:
        for part in parts:
            yield work(part)
            gc.collect()  # a cycle that holds on to one text holds on to all texts of its row group
    finally:
        gc.unfreeze()


def rows_of(part: Part) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The spans and the log records of a part, copies and all."""
    frames = [pieces.empty_rows("spans"), *([] if part.held is None else [part.held])]
    ids = part.traces["trace_id"]
    if part.groups is None:
        frames += _found(part)
    else:
        shelf = Shelf() if part.shelf is None else part.shelf
        read = (shelf.rows(group, pieces.COLUMNS["spans"], ids) for group in part.groups)
        frames += [rows.with_columns(pl.lit(False).alias(pieces.OUTSIDE)) for rows in read if rows.height]
    return pl.concat(frames, rechunk=True), _logs(part.look, ids)


def each_once(spans: pl.DataFrame, logs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The same rows without copies, in the columns of SPANS and LOGS; the spans that are odd beside them."""
    spans = duplicates.unique("spans", spans)
    odd = spans.filter((pl.col("copies") > 0) | pl.col("differed") | pl.col(pieces.OUTSIDE)).select(
        "trace_id", "copies", "differed", pl.col(pieces.OUTSIDE).alias("outside"), at=partitions.moment("spans")
    )
    return spans.select(SPANS.names()), duplicates.unique("logs", logs).select(LOGS.names()), odd


def reconstructed(part: Part, where: Joints, config: Config, now_ns: int) -> Done:
    return of_rows(rows_of(part), where, config, now_ns)


def of_rows(rows: tuple[pl.DataFrame, pl.DataFrame], where: Joints, config: Config, now_ns: int) -> Done:
    """Stage one of the spans and log records of whole traces."""
    spans, logs, odd = each_once(*rows)
    return Done(*stage_one(spans, logs, config, now_ns, where), odd)


def joined(done: Iterable[Done], look: Look, found: Survey, config: Config, now_ns: int) -> pl.DataFrame:
    """Stage two: all runs of the parts, with those that several traces hold; RUNS, in their order."""
    every = list(done)
    runs = pl.concat([no_runs(), *(part.runs for part in every)])
    called = hosts(runs, [guest for part in every for guest in part.guests])["trace_ids"].list.first()
    met = pl.Series(sorted({*called, *told_again(of_services(runs, twofold(tellers(runs))))}), dtype=pl.String)
    frames = [runs.filter(~pl.col("trace_ids").list.first().is_in(met.implode()))]
    waiting = set(met.str.decode("hex")).union(*(part.waiting for part in every))
    ids = pl.Series(sorted(waiting), dtype=pl.Binary)
    some = found.traces.filter(pl.col("trace_id").is_in(ids.implode()))
    rows = in_a_row(rows_of, parts(look, some, places=found.places))
    if rows:
        spans, logs, _ = each_once(*(pl.concat(frames) for frames in zip(*rows, strict=True)))
        frames.append(reconstruct(spans, logs, config, now_ns, found.where))
    return pl.concat([no_runs(), *frames]).sort("start_unix_nano", "run_id", nulls_last=True)


def _numbered(places: pl.DataFrame) -> pl.DataFrame:
    """trace_id, path, group, and the group's number: about in the order of their arrival, which no file tells."""
    files = places.group_by("path").agg(pl.col("last").median()).sort("last", "path").select("path")
    every = files.with_row_index("file").join(places, on="path", how="inner")
    number = pl.struct("file", "group").rank("dense").cast(pl.UInt32)
    return every.select("trace_id", "path", "group", number=number)


def _of_hours(traces: pl.DataFrame, spans: int) -> list[pl.DataFrame]:
    """The traces of each `hour`, or of some hours in a row that do not hold so many spans together."""
    stretch, room, stretches = 0, 0, dict[int | None, int]()
    for hour, total in traces.group_by("hour").agg(pl.col("spans").sum()).sort("hour").iter_rows():
        if hour is None or total > room:
            stretch, room = stretch + 1, 0 if hour is None else spans
        stretches[hour], room = stretch, room - total
    number = pl.col("hour").replace_strict(list(stretches), list(stretches.values()), return_dtype=pl.Int64)
    return traces.with_columns(stretch=number).partition_by("stretch", maintain_order=True, include_key=False)


def _cut(traces: pl.DataFrame, spans: int) -> pl.DataFrame:
    """The number of its `part` beside each trace: some whole homes together, or a share of a large one."""
    homes = traces.group_by("home", maintain_order=True).agg(total=pl.col("spans").sum())
    begins, shares, part, room = [], [], 0, spans
    for total in homes["total"].to_list():
        share = max(1, round(total / spans))
        if share > 1 or total > room:  # it begins a part of its own
            part, room = part + 1, spans
        begins.append(part)
        shares.append(share)
        part, room = part + share - 1, room - total if share == 1 else 0
    homes = homes.with_columns(begin=pl.Series(begins, dtype=pl.Int64), share=pl.Series(shares, dtype=pl.Int64))
    within = (pl.col("spans").cum_sum().over("home") - 1) * pl.col("share") // pl.col("total")
    return traces.join(homes, on="home", maintain_order="left").with_columns(part=pl.col("begin") + within)


def _near(look: Look, traces: pl.DataFrame) -> Part:
    """These traces with the files that may hold them."""
    if traces["outside"].any():
        return Part(look, traces)
    first = int(traces["first"].min())  # type: ignore[arg-type]
    last, end = (int(traces[name].max()) for name in ("last", "end"))  # type: ignore[arg-type]
    spans = _among(look.spans, first, last, outside=False)
    return Part(
        replace(look, spans=spans, logs=_among(look.logs, first - HOUR_NS, end + HOUR_NS, outside=True)), traces
    )


def _placed(parts: list[Part], groups: pl.DataFrame) -> list[Part]:
    """The same parts with the row groups to read, where no span of them lies out of range."""
    if not parts:
        return []
    frames = [part.traces.select("trace_id", part=pl.lit(at, pl.UInt32)) for at, part in enumerate(parts)]
    found = pl.concat(frames).join(groups.unique(), on="trace_id")
    found = found.with_columns(several=pl.len().over("trace_id") > 1)
    read = found.group_by("part", "path", "group", "number").agg(whole=~pl.col("several").all())
    of: list[list[Group]] = [[] for _ in parts]
    whole: list[set[Group]] = [set() for _ in parts]
    for at, path, group, some in read.sort("number").select("part", "path", "group", "whole").iter_rows():
        of[at].append(Group(path, group))
        whole[at] |= {of[at][-1]} if some else set()
    several = found.filter("several").partition_by("part", as_dict=True, include_key=False)
    none = found.clear().drop("part")
    return [
        part
        if part.traces["outside"].any()
        else replace(
            part,
            groups=tuple(of[at]),
            whole=frozenset(whole[at]),
            spread=several.get((at,), none).select("trace_id", "path", "group"),
        )
        for at, part in enumerate(parts)
    ]


def _holding(parts: list[Part], held: pl.DataFrame) -> list[Part]:
    """The same parts with the spans of theirs that are held."""
    if not held.height:
        return parts
    of = (held.filter(held["trace_id"].is_in(part.traces["trace_id"].implode())) for part in parts)
    return [replace(part, held=some) for part, some in zip(parts, of, strict=True)]


def _found(part: Part) -> list[pl.DataFrame]:
    """The spans of a part, sought in all of its files."""
    look, traces = part.look, part.traces
    frames = []
    for files in look.spans.partition_by("hour") if look.spans.height else []:
        hour = int(files["hour"][0])
        here = pl.lit(True)
        some = traces
        if hour >= 0:
            some = traces.filter((pl.col("last") // HOUR_NS >= hour) & (pl.col("first") // HOUR_NS <= hour))
            if some.height and int(some["start"].min()) > 0:  # type: ignore[arg-type]
                # Files in order of arrival are skipped by this, sorted ones by the trace ids.
                start = pl.col("start_time_unix_nano")
                here = (start >= int(some["start"].min())) & (start <= int(some["last"].max()))  # type: ignore[arg-type]
        if some.height:
            kept = here & pieces.of_traces("spans", some["trace_id"])
            frames.append(pieces.rows(look.spans_url, "spans", files["path"], kept).collect())
    return frames


def _heaps(files: pl.DataFrame) -> list[pl.DataFrame]:
    """Some files each, for a task of the survey; those out of range apart."""
    heap = (pl.col("rows").cum_sum() - 1) // _LIGHT_ROWS
    return (
        files.sort("hour", "path").with_columns(heap=heap.over("hour")).partition_by("hour", "heap")
        if files.height
        else []
    )


def _light(task: tuple[str, list[str], pl.Series | None]) -> Seen:
    url, paths, traces = task
    kept = pl.lit(True) if traces is None else pieces.of_traces("spans", traces)
    frames = []
    for path in paths:
        frame = pieces.light(url, path, [name for name in _LIGHT if name != "links"])
        if frame is None:
            return _summed(pieces.rows(url, "spans", paths, kept))
        frames.append(frame.with_columns(path=pl.lit(f"{url}/{path}")))
    return _summed(pl.concat(frames).lazy().filter(kept))


def _summed(rows: pl.LazyFrame) -> Seen:
    placed = ("path", "group") if "group" in rows.collect_schema() else ()
    frame = rows.select(*_LIGHT, *placed, pieces.OUTSIDE, at=partitions.moment("spans")).collect()
    traces = frame.group_by("trace_id").agg(
        start=pl.col("start_time_unix_nano").min(),
        first=pl.col("at").min(),
        last=pl.col("at").max(),
        end=pl.max_horizontal("end_time_unix_nano", "start_time_unix_nano").max(),
        spans=pl.len().cast(pl.Int64),
        outside=pl.col(pieces.OUTSIDE).any(),
        rooted=(pl.col("parent_span_id").is_null() | (pl.col("parent_span_id").bin.size() == 0)).any(),
    )
    linking = frame.filter(pl.col("links").list.len() > 0).select(_JOINING)
    places = PLACES.to_frame()
    if placed:
        places = frame.group_by("path", "group", "trace_id").agg(last=pl.col("at").max()).select(PLACES.names())
    return Seen(traces.select(TRACES.names()), linking, frame["name"].unique().to_list(), places)


def _where(traces: pl.DataFrame, found: Sequence[Seen]) -> Joints:
    names = sorted({name for some in found for name in some.names if name is not None})
    linking = pl.concat([f.linking for f in found]) if found else pieces.empty_rows("spans").select(_JOINING)
    links = linking.schema["links"]
    none = pl.lit(None, links).alias("links")
    times = [pl.col("first").alias("start_time_unix_nano"), pl.col("end").alias("end_time_unix_nano")]
    nowhere = pl.lit(None, pl.Binary).alias("scope")
    ends = traces.select("trace_id", pl.lit(None, pl.String).alias("name"), nowhere, *times, none)
    named = pl.DataFrame({"name": pl.Series(names, dtype=pl.String)}).select(
        pl.lit(None, pl.Binary).alias("trace_id"),
        "name",
        nowhere,
        pl.lit(0, pl.UInt64).alias("start_time_unix_nano"),
        pl.lit(0, pl.UInt64).alias("end_time_unix_nano"),
        none,
    )
    return joints(pl.concat([linking, ends if linking.height else ends.clear(), named]))


def _among(files: pl.DataFrame, first_ns: int, last_ns: int, outside: bool) -> pl.DataFrame:
    near = files.filter(pl.col("path").is_in(pieces.between(files, first_ns, last_ns)))
    return near if outside else near.filter(pl.col("hour") >= 0)


def _logs(look: Look, traces: pl.Series) -> pl.DataFrame:
    if not look.logs.height:
        return pieces.empty_rows("logs")
    return pieces.rows(look.logs_url, "logs", look.logs["path"], pieces.of_traces("logs", traces)).collect()
