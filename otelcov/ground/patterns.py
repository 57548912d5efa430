"""Patterns that are compiled where they are first used: a command waits for hundreds of them, and most look for what is
not there."""

from __future__ import annotations

import re
from typing import Any, cast


class _Late:
    """Stands for a compiled pattern: what is asked of it is looked up once, and found on this object from then on."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._told = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._told), name)
        setattr(self, name, found)
        return found


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """What `re.compile` gives, but for its type, and an error of the pattern's comes where it is first used."""
    return cast("re.Pattern[str]", _Late(pattern, flags))
