"""What a report has found of a store beside its kept sums, for the next one: as long as nothing has come, that is so.

    again.json                    of what it was found, in what window and by which clock
    again-<id>.<n>.runs.parquet   the runs of open traces, without content, of each process that counted some
    again-<id>.odd.parquet        which of their spans are odd
    again-<id>.dirty.parquet      the traces of batches whose sums do not hold

A collector that goes on, and any commit, count or upkeep, makes it another store. Of a remote store nothing is noted:
only its tables would tell whether it is the same, and to open them costs more than this saves.
"""

from __future__ import annotations

import json
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from otelcov.ground.windows import Window
from otelcov.sums import glance
from otelcov.sums import kept as files
from otelcov.sums.glance import Sight
from otelcov.sums.kept import ODD, Kept

if TYPE_CHECKING:
    from otelcov.sums.live import Counted

_FORMAT = 1
_DIRTY = pl.Schema({"batch": pl.String, "trace_id": pl.Binary})


@dataclass(frozen=True)
class Note:
    """All of what was found: the runs (RUNS without content) and odd spans of open traces, and the traces of each batch
    for which its sums do not hold."""

    runs: pl.DataFrame
    odd: pl.DataFrame
    dirty: dict[str, pl.Series]


def noted(store: str, kept: Kept, window: Window, now_ns: int, settle_ns: int) -> Note | None:
    """What the last report found, where it found all that this one asks for and nothing has come since."""
    try:
        told = json.loads((kept.folder / glance.NOTE).read_bytes())
        known = told["format"] == _FORMAT and told["kept"] == _named(kept) and told["now_ns"] <= now_ns
        if not known or not _within(window, Window(*told["window"])) or not glance.same(store, told["sight"]):
            return None
        path = kept.folder / told["name"]
        runs = pl.concat(pl.read_parquet(f"{path}.{n}.runs.parquet", glob=False) for n in range(told["parts"]))
        odd, dirty = (pl.read_parquet(f"{path}.{name}.parquet", glob=False) for name in ("odd", "dirty"))
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError):
        return None
    except BaseException as error:
        if not files.is_panic(error):
            raise
        return None
    by_batch = dirty.partition_by("batch", as_dict=True).items()
    dirty_of = {str(key[0]): some["trace_id"] for key, some in by_batch}
    return Note(files.settled_since(runs, now_ns, settle_ns), odd, dirty_of)


def note(store: str, found: Counted, kept: Kept, sight: Sight, now_ns: int) -> None:
    """Keep what was found beside these sums, at this sight of the store, if it is all that there was to find. Where
    that cannot be written, the next report finds it by itself. Raises Gone where a second process has ended.

    Nobody counts or erases meanwhile, and what was erased since it was read is not written down again."""
    sure = all(batch.settled_by <= now_ns for batch in found.kept.batches)  # but for runs without a root, see `noted`
    if found.within is None or not sure or _named(found.kept) != _named(kept):
        return
    path = kept.folder / f"again-{uuid.uuid4().hex}"
    told = {
        "format": _FORMAT,
        "name": path.name,
        "parts": 1 if found.half is None else 2,
        "sight": sight,
        "kept": _named(kept),
        "window": [found.within.since_ns, found.within.until_ns],
        "now_ns": now_ns,
    }
    try:
        kept.folder.mkdir(parents=True, exist_ok=True)
        with files.alone(kept.folder, wait=False) as mine:
            if mine and glance.same(store, sight):
                _write(path, found, told)
    except (OSError, files.Unkept):
        _forget(kept.folder, path.name)


def _write(path: Path, found: Counted, told: dict[str, Any]) -> None:
    if found.half is not None:
        found.half.note(path)
    try:
        files.write_runs(path, 0, found.runs)
    finally:
        others = found.half is None or found.half.noted()
    if not others:
        raise files.Unkept(f"A second process could not write {path.name}.")
    dirty = [pl.DataFrame({"batch": [id] * len(traces), "trace_id": traces}) for id, traces in found.dirty.items()]
    for name, frame in (("odd", found.odd.select(ODD.names())), ("dirty", pl.concat([_DIRTY.to_frame(), *dirty]))):
        files.write(frame, path.with_name(f"{path.name}.{name}.parquet"), compression="lz4")
    new = path.with_name(f"{path.name}.json")
    new.write_text(json.dumps(told))
    new.replace(path.parent / glance.NOTE)
    for old in {file.name.split(".")[0] for file in path.parent.glob("again-*")} - {path.name}:
        _forget(path.parent, old)


def _forget(folder: Path, name: str) -> None:
    """Remove the files of a note; who is about to read them counts by himself."""
    for file in folder.glob(f"{name}.*"):
        with suppress(OSError):
            file.unlink()


def _named(kept: Kept) -> list[Any]:
    """The list itself: each count names what it leaves anew."""
    return [kept.left, sorted(batch.id for batch in kept.batches)]


def _within(window: Window, other: Window) -> bool:
    since = other.since_ns is None or (window.since_ns is not None and window.since_ns >= other.since_ns)
    return since and (other.until_ns is None or (window.until_ns is not None and window.until_ns <= other.until_ns))
