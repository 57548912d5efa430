"""Whether a store holds what was counted and nothing else, told by names alone: no table is opened for that."""

from __future__ import annotations

from pathlib import Path

from otelcov.store import remote
from otelcov.sums.kept import Kept


def quiet(store: str, kept: Kept) -> bool:
    """True: nothing was committed since the count, and no inbox holds a row. False where that is not sure.

    The inboxes are looked at first: what leaves them meanwhile is a newer version of a table.
    """
    if remote.is_remote(store):
        return False
    root = Path(store)
    if any((root / "inbox").glob("*/seg-*.db")):
        return False
    return all(
        _newest(root / name / "_delta_log", at) for name, at in zip(("spans", "logs"), kept.versions, strict=True)
    )


def _newest(log: Path, version: int) -> bool:
    return (log / f"{version:020}.json").exists() and not (log / f"{version + 1:020}.json").exists()
