"""The list of what is counted, and the files behind it. Only `build` writes; it replaces the list as a whole."""

from __future__ import annotations

import fcntl
import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from otelcov.coverage import brief
from otelcov.coverage.brief import Brief
from otelcov.coverage.facts import BUCKET_NS
from otelcov.coverage.observations import EMPTY, ITEMS, ROWS, Observations
from otelcov.ground.errors import StoreError
from otelcov.ground.schemas import RUNS, signed

FORMAT = 10
LIST = "kept.json"
_TRACES: dict[str, Any] = {
    "trace_id": pl.Binary,
    "start": pl.UInt64,
    "first": pl.UInt64,
    "last": pl.UInt64,
    "end": pl.UInt64,
    "spans": pl.Int64,
    "outside": pl.Boolean,
    "rooted": pl.Boolean,
}
TRACES = pl.Schema(_TRACES)  # as runs.slices has them; the reconstruction is not imported to read what is kept
_ODD: dict[str, Any] = {
    "trace_id": pl.Binary,
    "copies": pl.UInt32,
    "differed": pl.Boolean,
    "outside": pl.Boolean,
    "at": pl.UInt64,
}
ODD = pl.Schema(_ODD)
LINKS = pl.Schema({"trace_id": pl.Binary, "target": pl.Binary})  # to traces that have not come

_FIRST = 8_192  # paths of a file of sums, those of the greatest mass, are looked up before all others
_OLD_S = 3600  # a report that is running keeps its files for so long
_LEFT = "left-"
_LEFT_S = 300  # the same of what counts have left: it is large, each count writes it anew, and reports read it first
# Texts of users and tools stay where the spans are; sums need none of them.
CONTENT = ("input", "output")
CALL_CONTENT = ("arguments", "arguments_text", "result")


class Lost(StoreError):
    """Something of what is kept is gone or cannot be read. The list counts no more: all is counted again."""


class Unkept(StoreError):
    """Sums could be counted, but not written."""


@dataclass(frozen=True)
class Batch:
    """Some settled runs that share no trace with any run of another."""

    id: str
    runs: int
    spans: int
    first: int  # least and greatest time of its spans
    last: int
    begins: tuple[int, int]  # when its runs start, first and last
    buckets: tuple[int | None, ...]  # hours in which its runs start
    settled_by: int  # at this clock all of its runs have settled
    odd: bool = False
    links: bool = False
    outside: bool = False  # spans of it lie out of range, where their times say nothing
    together: bool = False  # its runs may hold several traces: what touches one touches all
    tellers: tuple[tuple[str | None, str], ...] = ()  # who tells of its runs: services, and scopes


@dataclass(frozen=True)
class Stretch:
    """The sums of an hour of some batches, or the brief of a day."""

    id: str
    bucket: int  # its first hour
    hours: int
    batches: tuple[str, ...]

    @property
    def file(self) -> str:
        return f"rolled-{self.id}"

    def holds(self, bucket: int | None) -> bool:
        return bucket is not None and self.bucket <= bucket < self.bucket + self.hours * BUCKET_NS


@dataclass(frozen=True)
class Kept:
    folder: Path
    versions: tuple[int, int] = (-1, -1)  # of the tables of spans and logs
    spans: frozenset[str] = frozenset()  # files that are counted
    logs: frozenset[str] = frozenset()
    batches: tuple[Batch, ...] = ()
    rolled: tuple[Stretch, ...] = ()
    left: str = ""  # the traces of counted files that are in no batch
    told_ns: int | None = None  # the clock at which the runs of these were told, where they are few
    hosted: tuple[str, ...] = ()  # bare names that some tool call seems to call an agent by
    called: tuple[str, ...] = ()  # those of agents that were called from another trace: calls of them are left
    summed: tuple[int, int] | None = None  # when they start, first and last, where all have settled and are summed too

    @property
    def by_id(self) -> dict[str, Batch]:
        return {batch.id: batch for batch in self.batches}

    def settled(self, now_ns: int) -> bool:
        """Whether at this clock the batches hold, and it is known which runs the traces have that are left."""
        told = self.told_ns is not None and self.told_ns <= now_ns
        return told and bool(self.batches) and all(batch.settled_by <= now_ns for batch in self.batches)

    def runs(self, batch: Batch, columns: list[str] | None = None) -> pl.DataFrame:
        return _read(self.folder / f"batch-{batch.id}.runs.parquet", columns)

    def traces(self, batches: Iterable[Batch], among: pl.Series | None = None) -> pl.DataFrame:
        """TRACES and batch; `among`: of these traces alone, without holding the others in memory."""
        files = {str(self.folder / f"batch-{b.id}.traces.parquet"): b.id for b in batches}
        none = pl.Schema({**_TRACES, "batch": pl.String}).to_frame()
        if among is None or not files:
            return pl.concat([none, *(_read(Path(f)).with_columns(batch=pl.lit(id)) for f, id in files.items())])
        with _reading(self.folder):  # all at once: to open one by itself costs more than what is in it
            every = pl.scan_parquet(list(files), include_file_paths="batch", glob=False)
            found = every.filter(pl.col("trace_id").is_in(among.implode())).collect()
        return found.with_columns(pl.col("batch").replace_strict(files, return_dtype=pl.String)).select(none.columns)

    def odd(self, batches: Iterable[Batch]) -> pl.DataFrame:
        frames = [
            _read(self.folder / f"batch-{b.id}.odd.parquet").with_columns(batch=pl.lit(b.id)) for b in batches if b.odd
        ]
        return pl.concat([pl.Schema({**_ODD, "batch": pl.String}).to_frame(), *frames])

    def links(self, batches: Iterable[Batch]) -> pl.DataFrame:
        files = (self.folder / f"batch-{b.id}.links.parquet" for b in batches if b.links)
        return pl.concat([LINKS.to_frame(), *(_read(file) for file in files)])

    def left_out(self) -> pl.DataFrame:
        return _read(self.folder / f"{self.left}.traces.parquet") if self.left else TRACES.to_frame()

    def left_rows(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The spans and log records of traces that are left, as far as they are kept here."""
        from otelcov.store import pieces

        if not self.left:
            return pieces.empty_rows("spans"), pieces.empty_rows("logs")
        with _reading(self.folder):
            spans, logs = (pl.read_ipc(self.folder / f"{self.left}.{name}.arrow") for name in ("spans", "logs"))
        return spans, logs

    def left_runs(self, now_ns: int, settle_ns: int) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The runs of the traces that are left, as long as nothing joins them, and which of their spans are odd.

        Only what `told_ns` says can be asked for: a run whose root is missing settles with time, nothing else does."""
        runs, odd = (_read(self.folder / f"{self.left}.{name}.parquet") for name in ("runs", "odd"))
        return settled_since(runs, now_ns, settle_ns), odd

    def briefs(self, whole: Iterable[str]) -> Brief:
        """Sums by the names of their files, as far as a report of all of them needs them."""
        names = [str(self.folder / name) for name in whole]
        if not names:
            return brief.add([])

        def of(kind: str) -> pl.DataFrame:
            with _reading(self.folder):
                return pl.scan_parquet([f"{name}.{kind}.parquet" for name in names], glob=False).collect()

        def texts(wanted: pl.Series) -> dict[int, str]:
            found = dict[int, str]()
            for most in (_FIRST, None):  # those that are printed stand first
                files = [pl.scan_parquet(f"{name}.paths.parquet", n_rows=most, glob=False) for name in names]
                chosen = pl.concat(files).filter(pl.col("item").is_in(wanted.implode()))
                with _reading(self.folder):
                    found = dict(chosen.unique("item").collect().iter_rows())
                if len(found) == wanted.n_unique():
                    break
            return found

        return Brief(of("brief"), of("kinds"), (texts,), (lambda: of("sets"),))

    def sums(self, names: Iterable[str], where: pl.Expr | None = None) -> list[Observations]:
        return [read_sums(self.folder / name, where) for name in names]

    def written_s(self, batches: Iterable[str]) -> float:
        """When the last of these was written."""
        with _reading(self.folder):
            return max((self.folder / f"batch-{id}.sums.parquet").stat().st_mtime for id in batches)


@contextmanager
def alone(there: Path, wait: bool = True) -> Iterator[bool]:
    """Whether no other process counts in this folder meanwhile, and this one may."""
    try:
        lock = (there / "kept.lock").open("w")
    except OSError:
        yield False
        return
    with lock as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True


def load(folder: Path) -> Kept:
    """What is kept there; nothing if that cannot be read."""
    try:
        return _listed(folder, json.loads((folder / LIST).read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        return Kept(folder)


def _listed(folder: Path, told: dict[str, Any]) -> Kept:
    if told["format"] != FORMAT:
        return Kept(folder)
    return Kept(
        folder,
        tuple(told["versions"]),
        frozenset(told["spans"]),
        frozenset(told["logs"]),
        tuple(_batch(b) for b in told["batches"]),
        tuple(Stretch(**{**s, "batches": tuple(s["batches"])}) for s in told["rolled"]),
        told["left"],
        told["told_ns"],
        tuple(told["hosted"]),
        tuple(told["called"]),
        tuple(told["summed"]) if told["summed"] else None,
    )


def _batch(told: dict[str, Any]) -> Batch:
    tellers = tuple((service, scope) for service, scope in told["tellers"])
    return Batch(**{**told, "buckets": tuple(told["buckets"]), "begins": tuple(told["begins"]), "tellers": tellers})


def drop(folder: Path) -> None:
    """No list: what was kept counts no more."""
    (folder / LIST).unlink(missing_ok=True)


def save(kept: Kept) -> None:
    """The new list in the place of the old one, at once or not at all; then what is old and not on it goes."""
    told = {
        "format": FORMAT,
        "versions": kept.versions,
        "spans": sorted(kept.spans),
        "logs": sorted(kept.logs),
        "batches": [asdict(batch) for batch in kept.batches],
        "rolled": [asdict(stretch) for stretch in kept.rolled],
        "left": kept.left,
        "told_ns": kept.told_ns,
        "hosted": kept.hosted,
        "called": kept.called,
        "summed": kept.summed,
    }
    gone = _names(load(kept.folder)) - _names(kept)
    new = kept.folder / f"new-{uuid.uuid4().hex}.json"
    with writing(kept.folder):
        with new.open("w") as file:
            json.dump(told, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(kept.folder / LIST)
    for path in kept.folder.iterdir():
        if path.name.split(".")[0] in gone:
            os.utime(path)  # a report that reads by the old list has it for as long as if it were new
    sweep(kept)


def sweep(kept: Kept, since: float | None = None) -> None:
    """Remove what is not on the list and old; or what was written `since`, by who then gave up."""
    alive = {LIST.split(".")[0], "beside", "asked", "again", *_names(kept)}
    for file in kept.folder.iterdir():
        if file.name.split(".")[0] not in alive:
            try:
                written, old = file.stat().st_mtime, _LEFT_S if file.name.startswith(_LEFT) else _OLD_S
                if time.time() - written > old if since is None else written >= since:
                    file.unlink()
            except FileNotFoundError:
                continue  # another process was quicker


def batch_of(
    folder: Path,
    runs: pl.DataFrame,
    traces: pl.DataFrame,
    odd: pl.DataFrame,
    links: pl.DataFrame,
    sums: Observations,
    settled_by: int,
    together: bool = False,
) -> Batch:
    """Write a batch; it counts from the list that names it."""
    id = uuid.uuid4().hex
    write(slim(runs), folder / f"batch-{id}.runs.parquet", compression="zstd", compression_level=1)
    write(traces.select(TRACES.names()), folder / f"batch-{id}.traces.parquet", compression="uncompressed")
    if odd.height:
        write(odd.select(ODD.names()), folder / f"batch-{id}.odd.parquet")
    if links.height:
        write(links.select(LINKS.names()), folder / f"batch-{id}.links.parquet")
    write_sums(folder / f"batch-{id}", sums)
    start = runs["start_unix_nano"].drop_nulls()
    told_by = runs.select("service", "scope").drop_nulls("scope").unique()
    buckets = sorted(set(sums.rows["bucket"].to_list()), key=lambda b: (b is not None, b or 0))
    return Batch(
        id=id,
        runs=runs.height,
        spans=int(traces["spans"].sum()),
        first=int(traces["first"].min() or 0) if traces.height else 0,  # type: ignore[arg-type]
        last=int(traces["last"].max() or 0) if traces.height else 0,  # type: ignore[arg-type]
        begins=(int(start.min() or 0), int(start.max() or 0)) if len(start) else (0, 0),  # type: ignore[arg-type]
        buckets=tuple(buckets),
        settled_by=settled_by,
        odd=bool(odd.height),
        links=bool(links.height),
        outside=bool(traces["outside"].any()),
        together=together,
        tellers=tuple(sorted(told_by.iter_rows(), key=lambda one: (one[0] or "", one[1]))),
    )


def left_name() -> str:
    return f"{_LEFT}{uuid.uuid4().hex}"


def write_left(path: Path, traces: pl.DataFrame, spans: pl.DataFrame, logs: pl.DataFrame) -> None:
    """The traces that a count has left, and their rows in the form that is quickest to write: the next count will."""
    write(traces.select(TRACES.names()), path.with_name(f"{path.name}.traces.parquet"))
    with writing(path.parent):
        for name, rows in (("spans", spans), ("logs", logs)):
            rows.write_ipc(path.with_name(f"{path.name}.{name}.arrow"), compression="lz4")


def write_runs(path: Path, part: int, runs: pl.DataFrame) -> None:
    """What one process of a report has counted, see again.py. Raises Unkept."""
    write(slim(runs), path.with_name(f"{path.name}.{part}.runs.parquet"), compression="lz4")


def settled_since(runs: pl.DataFrame, now_ns: int, settle_ns: int) -> pl.DataFrame:
    """Runs as a later clock finds them where nothing has come."""
    quiet = signed("end_unix_nano") <= now_ns - settle_ns
    return runs.with_columns(pl.col("settled") | quiet)


def touches(traces: pl.Series) -> pl.Expr:
    """Runs of these traces."""
    names = traces.bin.encode("hex").implode()
    return pl.col("trace_ids").list.eval(pl.element().is_in(names)).list.any()


def write_told(path: Path, runs: pl.DataFrame, odd: pl.DataFrame, sums: Observations) -> tuple[int, int] | None:
    """The runs of what is left; where all have settled their sums too, and then when they start."""
    write(slim(runs), path.with_name(f"{path.name}.runs.parquet"))
    write(odd.select(ODD.names()), path.with_name(f"{path.name}.odd.parquet"))
    start = runs["start_unix_nano"]
    if runs.is_empty() or start.has_nulls() or not runs["settled"].all():
        return None
    write_sums(path, sums)
    write_brief(path, sums.brief())
    return int(start.min()), int(start.max())  # type: ignore[arg-type]


def slim(runs: pl.DataFrame) -> pl.DataFrame:
    """Run rows without content, in the same columns."""
    texts = [pl.lit(None, pl.String).alias(name) for name in CONTENT]
    calls = pl.col("tool_calls").list.eval(
        pl.element().struct.with_fields(pl.lit(None, pl.String).alias(name) for name in CALL_CONTENT)
    )
    return runs.with_columns(*texts, calls).select(RUNS.names()).cast(RUNS)


def write_sums(path: Path, sums: Observations) -> None:
    rows = sums.rows.sort("bucket", "dimension", nulls_last=True)
    write(rows, path.with_name(f"{path.name}.sums.parquet"), compression="lz4", row_group_size=1 << 18)
    write(sums.items, path.with_name(f"{path.name}.items.parquet"), compression="lz4")


def write_brief(path: Path, short: Brief) -> None:
    """Of kinds those of the greatest mass come first, and so do their texts: they are the ones that are printed."""
    kinds = short.kinds.sort("dimension", "mass", "item", descending=[False, True, False])
    paths = kinds.filter(pl.col("dimension") == "path").select("item").unique(maintain_order=True)
    texts = paths.with_columns(text=short.named(paths)["item"])
    rows = short.rows.sort("dimension", "bucket", nulls_last=True)
    sets = pl.concat(read() for read in short.sets)
    for name, frame in (("brief", rows), ("kinds", kinds), ("sets", sets)):
        write(frame, path.with_name(f"{path.name}.{name}.parquet"), compression="lz4", row_group_size=1 << 18)
    write(texts, path.with_name(f"{path.name}.paths.parquet"), compression="zstd", row_group_size=_FIRST)


def read_sums(path: Path, where: pl.Expr | None = None) -> Observations:
    items = _read(path.with_name(f"{path.name}.items.parquet"))
    if not items.height:
        return EMPTY
    rows = pl.scan_parquet(path.with_name(f"{path.name}.sums.parquet"), glob=False)
    with _reading(path.parent):
        found = (rows if where is None else rows.filter(where)).collect()
    return Observations(found.select(ROWS.names()), items.cast(ITEMS))


def _read(path: Path, columns: list[str] | None = None) -> pl.DataFrame:
    with _reading(path.parent):
        return pl.read_parquet(path, columns=columns, glob=False)


def _names(kept: Kept) -> set[str]:
    return {kept.left, *(f"batch-{batch.id}" for batch in kept.batches), *(stretch.file for stretch in kept.rolled)}


def write(frame: pl.DataFrame, path: Path, **how: Any) -> None:
    with writing(path.parent):
        frame.write_parquet(path, **how)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        raise Unkept(f"Couldn't keep sums in {folder}: {_why(error)}.") from error


@contextmanager
def _reading(folder: Path) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        if not isinstance(error, OSError | pl.exceptions.PolarsError) and not is_panic(error):
            raise
        raise Lost(
            f"Couldn't read the sums kept in {folder}: {_why(error)}. Remove that folder: its spans are counted again."
        ) from error


def is_panic(error: BaseException) -> bool:
    """Polars panics on some damaged files, with a BaseException that has no public class."""
    return type(error).__name__ == "PanicException"


def _why(error: BaseException) -> str:
    return str(error.strerror or error) if isinstance(error, OSError) else str(error)
