"""What installed packages add by entry points."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, entry_points


def plugins(group: str) -> list[EntryPoint]:
    """Those of a group, by name."""
    return sorted((point for point in installed() if point.group == group), key=lambda point: point.name)


def installed() -> tuple[EntryPoint, ...]:
    """Those of all groups: whichever is asked for, the metadata of every package is read."""
    path = tuple(sys.path)
    if path not in _FOUND:
        found = entry_points()
        _FOUND[path] = tuple(point for group in found.groups for point in found.select(group=group))
    return _FOUND[path]


def know(points: tuple[EntryPoint, ...]) -> None:
    """Take these for what is installed: a process that works for another knows what that one knows."""
    _FOUND[tuple(sys.path)] = points


_FOUND: dict[tuple[str, ...], tuple[EntryPoint, ...]] = {}  # by sys.path
