"""What a Delta table's log lists, read without the library that writes it: to load that one takes a tenth of a second,
of which a report has few. A log with anything in it that ours have not is left to the library.

The log is that of the Delta protocol: numbered commits, and now and then a checkpoint that stands for all before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

_TRIES = 3
_NEWER = ("sidecar", "checkpointMetadata")  # of checkpoints in several files
_ACTIONS = frozenset({"add", "remove", "txn", "metaData", "protocol", "commitInfo"})
_COLUMNS = ("add", "txn", "metaData", "protocol")
Action = dict[str, Any]


@dataclass(frozen=True)
class Listing:
    """One version of a table."""

    version: int
    files: dict[str, Action]  # the `add` of each path
    batches: dict[str, int]  # the last number of each application
    settings: dict[str, str]


def listing(table: Path) -> Listing | None:
    """The newest version of a table on a local disk; None where only the library can tell."""
    log = table / "_delta_log"
    try:
        for _ in range(_TRIES):
            begins = _checkpoint(log)
            found = _read(log, begins)
            if found is None or _checkpoint(log) <= found.version:
                return found
            # Commits that a checkpoint stands for may be removed: what seemed the newest was not.
    except (OSError, ValueError, KeyError, TypeError, AttributeError, pl.exceptions.PolarsError):
        pass
    return None


def rows(found: Listing, column: str) -> pl.DataFrame:
    """The files as Delta's library tells of them: path, size_bytes, num_records, modification_time (milliseconds),
    partition.day, partition.hour, and `min.`, `max.` of this column."""
    told = [(add, json.loads(add.get("stats") or "{}")) for add in found.files.values()]
    data: dict[str, tuple[Any, list[Any]]] = {
        "path": (pl.String, [add["path"] for add, _ in told]),
        "size_bytes": (pl.Int64, [add["size"] for add, _ in told]),
        "num_records": (pl.Int64, [stats.get("numRecords") for _, stats in told]),
        "modification_time": (pl.Int64, [add["modificationTime"] for add, _ in told]),
        **{f"partition.{name}": (pl.String, [add["partitionValues"][name] for add, _ in told]) for name in _PARTITION},
        **{
            f"{end}.{column}": (pl.Int64, [stats.get(f"{end}Values", {}).get(column) for _, stats in told])
            for end in _ENDS
        },
    }
    return pl.DataFrame({name: pl.Series(values, dtype=kind) for name, (kind, values) in data.items()})


_PARTITION, _ENDS = ("day", "hour"), ("min", "max")


def _checkpoint(log: Path) -> int:
    """The version of the newest checkpoint, -1 for none. Raises ValueError for one in several parts."""
    try:
        told = json.loads((log / "_last_checkpoint").read_bytes())
    except FileNotFoundError:
        return -1
    if told.get("parts") or told.get("v2Checkpoint"):
        raise ValueError("a checkpoint of several files")
    return int(told["version"])


def _read(log: Path, checkpoint: int) -> Listing | None:
    found = Listing(checkpoint, {}, {}, {})
    for version, actions in _commits(log, checkpoint):
        if not all(action.keys() <= _ACTIONS and _plain(action) for action in actions):
            return None
        for action in actions:
            if "remove" in action:
                found.files.pop(action["remove"]["path"], None)
            elif "txn" in action:
                found.batches[action["txn"]["appId"]] = int(action["txn"]["version"])
            elif "metaData" in action:
                found = replace(found, settings=dict(action["metaData"]["configuration"]))
        found.files.update((action["add"]["path"], action["add"]) for action in actions if "add" in action)
        found = replace(found, version=version)
    return found if found.version >= 0 and not _torn(log, found.version) else None


def _torn(log: Path, version: int) -> bool:
    """Are there commits beyond this version, but not the next one?"""
    newer = [number for path in log.glob("*.json") if path.stem.isdigit() and (number := int(path.stem)) > version]
    return bool(newer) and version + 1 not in newer


def _plain(action: Action) -> bool:
    """Does it ask no more of a reader than to read whole files by their names as they stand?"""
    add, protocol = action.get("add") or action.get("remove"), action.get("protocol")
    if protocol is not None:
        return int(protocol["minReaderVersion"]) == 1
    return add is None or (not add.get("deletionVector") and "%" not in add["path"])


def _commits(log: Path, checkpoint: int) -> Iterator[tuple[int, list[Action]]]:
    """Version and actions: of the checkpoint, if there is one, and of each commit after it."""
    if checkpoint >= 0:
        yield checkpoint, _of_checkpoint(log / f"{checkpoint:020}.checkpoint.parquet")
    version = checkpoint + 1
    while True:
        try:
            text = (log / f"{version:020}.json").read_bytes()
        except FileNotFoundError:
            return
        yield version, [json.loads(line) for line in text.splitlines() if line]
        version += 1


def _of_checkpoint(path: Path) -> list[Action]:
    known = (*_COLUMNS, *_NEWER)
    frame = pl.read_parquet(path, columns=[name for name in pl.read_parquet_schema(path) if name in known])
    return [{name: value} for name in frame.columns for value in frame[name].drop_nulls().to_list()]


__all__ = ["Listing", "listing", "rows"]
