"""What decides how spans become sums, as one short hash: a change of it makes every kept sum another's."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from otelcov.ground.config import Config
from otelcov.ground.plugins import plugins
from otelcov.store import remote

_ROOT = Path(__file__).parent.parent
_READERS = (
    "dialects",
    "runs",
    "coverage",
    "sums",
    "store/duplicates.py",
    "store/layout.py",
    "ground/models.py",
    "ground/schemas.py",
)


def folder(store: str, config: Config) -> Path:
    """Where the sums of a store lie; those of a remote store in a cache on this machine."""
    return everything(store) / meaning(config)


def everything(store: str) -> Path:
    """The sums of all meanings."""
    return (remote.cache(store) if remote.is_remote(store) else Path(store)) / "sums"


def meaning(config: Config) -> str:
    text = json.dumps(_looked_at(config), default=vars, sort_keys=True)
    return hashlib.sha256(f"{_readers()}\n{text}".encode()).hexdigest()[:16]


def _looked_at(config: Config) -> dict[str, object]:
    """What of the config the reconstruction and the observations look at; all else is read when a report is made."""
    return {
        "agents": config.agents,
        "tools": config.tools,
        "models": {name: (model.aliases, model.context) for name, model in config.models.items()},
        "state_attributes": config.coverage.state_attributes,
        "runs": config.runs,
    }


@lru_cache(maxsize=1)
def _readers() -> str:
    """The code itself: a number that somebody must remember to raise is forgotten one day."""
    seen = hashlib.sha256()
    for name in _READERS:
        path = _ROOT / name
        for file in _sources(str(path)) if path.is_dir() else [str(path)]:
            with open(file, "rb", buffering=0) as source:  # noqa: PTH123  there are hundreds, and a report waits for it
                seen.update(file.removeprefix(str(_ROOT)).encode() + b"\0" + source.read())
    for point in plugins("otelcov.dialects"):
        version = point.dist.version if point.dist else ""
        seen.update(f"{point.name}={point.value} {version}".encode())
    return seen.hexdigest()


def _sources(folder: str) -> Iterator[str]:
    with os.scandir(folder) as found:
        for entry in sorted(found, key=lambda entry: entry.name):
            if entry.is_dir():
                yield from _sources(entry.path)
            elif entry.name.endswith(".py"):
                yield entry.path
