"""How the work of a reconstruction grows, told by its lines that run: those are the same on any machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import otelcov
from tests.runs.requests import runs

_HERE = str(Path(otelcov.__file__).parent)


def lines(work: Callable[[], object]) -> int:
    """How many lines of otelcov run, those of a loop each time."""
    count = 0

    def within(frame: Any, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return within

    def entered(frame: Any, event: str, _: object) -> Any:
        return within if frame.f_code.co_filename.startswith(_HERE) else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def growth(spans: Callable[[int], Iterable[dict[str, Any]]], few: int = 60) -> float:
    """How many times as much work four times as much of a run is: 4, or a little less where some is done once."""
    once = lines(lambda: runs(*spans(few)))
    return lines(lambda: runs(*spans(4 * few))) / once
