"""Judgements kept in the store, so that the next one can say what is new, ongoing and gone."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from otelcov.ground.errors import StoreError, UsageError
from otelcov.judge.ledger import Ledger

_NAME = re.compile(r"\d{20}-[0-9a-f]{8}\.json")
_TRACE = re.compile(r"\b[0-9a-f]{32}\b")


def folder(store: str, given: Path | None = None) -> Path:
    """Where results lie: `<store>/judge`, beside the tables. A store that is no folder needs one on this disk."""
    if given is not None:
        return given
    if "://" in store and not store.startswith("file://"):
        raise UsageError(f"Couldn't keep paid answers in {store}: give a local folder by --results DIR.")
    return Path(store.removeprefix("file://")) / "judge"


def keep(place: Path, judgement: dict[str, Any], at_ns: int) -> Path:
    """Write a judgement; a reader sees it whole or not at all."""
    digest = sha256(json.dumps([judgement["window"], judgement["selection"]], sort_keys=True).encode()).hexdigest()
    path = place / f"{at_ns:020d}-{digest[:8]}.json"
    try:
        place.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".part")
        with draft.open("w", encoding="utf-8") as file:
            json.dump(judgement, file, ensure_ascii=False, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise StoreError(
            f"Couldn't keep the judgement in {place}: {error.strerror}. Name another place by --results DIR."
        ) from None
    return path


def before(place: Path, judgement: dict[str, Any]) -> dict[str, Any] | None:
    """The newest kept judgement of an earlier window with the same selection."""
    ends = _end(judgement)
    return next(
        (
            old
            for old in _newest(place)
            if old.get("format") == judgement["format"]
            and old["selection"] == judgement["selection"]
            and old["window"] != judgement["window"]
            and _end(old) < ends
        ),
        None,
    )


def forget(place: Path, traces: Iterable[str]) -> int:
    """Erase what was judged of these traces (hex ids): answers, and kept judgements that tell of them.

    Returns how many of both. Reasons quote what was said, so an erased conversation must go from here, too.
    """
    gone = set(traces)
    if not (place / "answers.sqlite").exists():
        return 0
    with Ledger(place) as ledger:
        removed = ledger.forget(gone)
    for path in _judgements(place):
        if gone & set(_TRACE.findall(path.read_text(encoding="utf-8"))):
            path.unlink()
            removed += 1
    return removed


def _newest(place: Path) -> Iterator[dict[str, Any]]:
    found = []
    for path in _judgements(place):
        try:
            found.append((path.name, json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError):
            continue  # half a file of another version is no reason not to judge
    for _, old in sorted(found, key=lambda f: (_end(f[1]), f[0]), reverse=True):
        yield old


def _judgements(place: Path) -> list[Path]:
    """The files that `keep` wrote: the folder is the user's choice, and may hold others."""
    return [path for path in place.glob("*.json") if _NAME.fullmatch(path.name)]


def _end(judgement: dict[str, Any]) -> str:
    """Windows are ISO texts; one without an end ends when it was judged."""
    return str(judgement["window"].get("until") or judgement["judged_at"])
