"""What installed packages add by entry points."""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points


def plugins(group: str) -> list[EntryPoint]:
    """Those of a group, by name."""
    return sorted((point for point in _installed(*sys.path) if point.group == group), key=lambda point: point.name)


@lru_cache(maxsize=1)
def _installed(*path: str) -> tuple[EntryPoint, ...]:
    """Those of all groups on this path: whichever is asked for, the metadata of every package is read."""
    found = entry_points()
    return tuple(point for group in found.groups for point in found.select(group=group))
