"""What decides how spans become sums, as one short hash: a change of it makes every kept sum another's."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path

from otelcov.ground.config import Config
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
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            seen.update(file.relative_to(_ROOT).as_posix().encode() + b"\0" + file.read_bytes())
    for point in sorted(entry_points(group="otelcov.dialects"), key=lambda p: p.name):
        version = point.dist.version if point.dist else ""
        seen.update(f"{point.name}={point.value} {version}".encode())
    return seen.hexdigest()
