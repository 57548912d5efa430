"""The reconstruction divided: a survey of all traces, parts of them that fit into memory, and stage one of a part.

A part is some whole traces that begin in the same hour; its spans are read from the files of that hour, and from
those of later hours where its traces go on. What a part must know of all others (`Joints`) the survey finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.schemas import LOGS, RUNS, SPANS
from otelcov.runs.joining import Joints, joints
from otelcov.runs.reconstruct import reconstruct, stage_one
from otelcov.store import duplicates, partitions, pieces
from otelcov.store.partitions import HOUR_NS

PART = 60_000  # spans, so that a worker stays below half a gigabyte

_LIGHT = ("trace_id", "name", "start_time_unix_nano", "end_time_unix_nano", "links")
TRACES = pl.Schema(
    {
        "trace_id": pl.Binary,
        "start": pl.UInt64,  # the least start as it was sent, 0 among them
        "first": pl.UInt64,  # the least time that says in which hour a span lies
        "last": pl.UInt64,
        "end": pl.UInt64,
        "spans": pl.Int64,
        "outside": pl.Boolean,  # has spans in no hour of their own
    }
)

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
class Survey:
    traces: pl.DataFrame  # TRACES
    where: Joints
    linked: pl.Series  # traces that spans link to


@dataclass(frozen=True)
class Part:
    """Whole traces, and from which files to read them."""

    look: Look
    traces: pl.DataFrame  # TRACES


@dataclass(frozen=True)
class Done:
    """Stage one of a part."""

    runs: pl.DataFrame  # RUNS, in no order
    waiting: set[bytes]  # traces that may be parts of larger runs
    odd: pl.DataFrame  # the spans that have copies or lie out of range
    rows: tuple[pl.DataFrame, pl.DataFrame]  # the spans and log records as they were read, copies and all


def survey(look: Look, each: Mapper, traces: pl.Series | None = None, more: Iterable[pl.DataFrame] = ()) -> Survey:
    """One look over the few columns that tell which traces there are; `traces`: only these. `more` are rows that are
    in no file yet."""
    hours = look.spans.partition_by("hour") if look.spans.height else []
    tasks = [(look.spans_url, files["path"].to_list(), traces) for files in hours]
    found = [*each(_light, tasks), *(_summed(frame.lazy()) for frame in more)]
    merged = pl.concat([TRACES.to_frame(), *(f[0] for f in found)])
    merged = merged.group_by("trace_id").agg(
        pl.col("start", "first").min(), pl.col("last", "end").max(), pl.col("spans").sum(), pl.col("outside").any()
    )
    merged = merged.select(TRACES.names()).sort("first", "trace_id")
    links = [frame["links"].explode().struct.field("trace_id") for _, frame, _ in found if frame.height]
    linked = pl.concat([pl.Series("trace_id", [], pl.Binary), *(s.rename("trace_id") for s in links)])
    return Survey(merged, _where(merged, found), linked.drop_nulls().unique())


def parts(look: Look, traces: pl.DataFrame, spans: int = PART) -> list[Part]:
    """Whole traces in parts of about so many spans, each of one hour."""
    hour = pl.when("outside").then(None).otherwise(pl.col("first") // HOUR_NS).alias("hour")
    out = []
    for some in traces.with_columns(hour).partition_by("hour", maintain_order=True):
        total = int(some["spans"].sum())
        count = -(-total // spans)
        place = (pl.col("spans").cum_sum() - 1) * count // total
        for part in some.sort("first", "trace_id").with_columns(part=place).partition_by("part", maintain_order=True):
            part = part.drop("hour", "part")
            first, last = int(part["first"].min()), int(part["last"].max())  # type: ignore[arg-type]
            far = bool(part["outside"].any())
            near = (
                look
                if far
                else replace(
                    look,
                    spans=_among(look.spans, first, last, outside=False),
                    logs=_among(look.logs, first - HOUR_NS, int(part["end"].max()) + HOUR_NS, outside=True),  # type: ignore[arg-type]
                )
            )
            out.append(Part(near, part))
    return out


def rows_of(part: Part) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The spans and the log records of a part, copies and all."""
    look, traces = part.look, part.traces
    frames = [pieces.empty_rows("spans")]
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
    return pl.concat(frames), _logs(look, traces["trace_id"])


def each_once(spans: pl.DataFrame, logs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The same rows without copies, in the columns of SPANS and LOGS; the spans that are odd beside them."""
    spans = duplicates.unique("spans", spans)
    odd = spans.filter((pl.col("copies") > 0) | pl.col("differed") | pl.col(pieces.OUTSIDE)).select(
        "trace_id", "copies", "differed", pl.col(pieces.OUTSIDE).alias("outside"), at=partitions.moment("spans")
    )
    return spans.select(SPANS.names()), duplicates.unique("logs", logs).select(LOGS.names()), odd


def reconstructed(part: Part, where: Joints, config: Config, now_ns: int) -> Done:
    rows = rows_of(part)
    spans, logs, odd = each_once(*rows)
    runs, waiting = stage_one(spans, logs, config, now_ns, where)
    return Done(runs, waiting, odd, rows)


def joined(done: Iterable[Done], look: Look, found: Survey, config: Config, now_ns: int) -> pl.DataFrame:
    """Stage two: all runs of the parts, with those that several traces hold; RUNS, in their order."""
    frames, waiting = [], set[bytes]()
    for part in done:
        frames.append(part.runs)
        waiting |= part.waiting
    ids = pl.Series(sorted(waiting), dtype=pl.Binary)
    some = found.traces.filter(pl.col("trace_id").is_in(ids.implode()))
    rows = [rows_of(part) for part in parts(look, some)]
    if rows:
        spans, logs, _ = each_once(*(pl.concat(frames) for frames in zip(*rows, strict=True)))
        frames.append(reconstruct(spans, logs, config, now_ns, found.where))
    return pl.concat([RUNS.to_frame(), *frames]).sort("start_unix_nano", "run_id", nulls_last=True)


def _light(task: tuple[str, list[str], pl.Series | None]) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    url, paths, traces = task
    kept = None if traces is None else pieces.of_traces("spans", traces)
    return _summed(pieces.rows(url, "spans", paths, kept))


def _summed(rows: pl.LazyFrame) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """TRACES, the spans with links, and the names of all spans."""
    frame = rows.select(*_LIGHT, pieces.OUTSIDE, at=partitions.moment("spans")).collect()
    traces = frame.group_by("trace_id").agg(
        start=pl.col("start_time_unix_nano").min(),
        first=pl.col("at").min(),
        last=pl.col("at").max(),
        end=pl.max_horizontal("end_time_unix_nano", "start_time_unix_nano").max(),
        spans=pl.len().cast(pl.Int64),
        outside=pl.col(pieces.OUTSIDE).any(),
    )
    linking = frame.filter(pl.col("links").list.len() > 0).select(_LIGHT)
    return traces.select(TRACES.names()), linking, frame["name"].unique().to_list()


def _where(traces: pl.DataFrame, found: list[tuple[pl.DataFrame, pl.DataFrame, list[str]]]) -> Joints:
    names = sorted({name for _, _, some in found for name in some if name is not None})
    linking = pl.concat([f[1] for f in found]) if found else pieces.empty_rows("spans").select(_LIGHT)
    links = linking.schema["links"]
    none = pl.lit(None, links).alias("links")
    times = [pl.col("first").alias("start_time_unix_nano"), pl.col("end").alias("end_time_unix_nano")]
    ends = traces.select("trace_id", pl.lit(None, pl.String).alias("name"), *times, none)
    named = pl.DataFrame({"name": pl.Series(names, dtype=pl.String)}).select(
        pl.lit(None, pl.Binary).alias("trace_id"),
        "name",
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
