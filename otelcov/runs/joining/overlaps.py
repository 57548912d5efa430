"""What was at the time of what, by keys: as many rows as there are, however many share a key."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Generic, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from otelcov.ground.schemas import LATEST_NS

JITTER_NS = 20_000_000  # by which one wrapper around a call may begin or end before another that is inside it
Numbers = npt.NDArray[np.int64]
Found = TypeVar("Found")


class Timed(Protocol):
    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


def overlap(one: Timed, two: Timed) -> bool:
    return one.start <= two.end + JITTER_NS and two.start <= one.end + JITTER_NS


def enclosed(one: Timed, two: Timed) -> bool:
    outer, inner = sorted((one, two), key=lambda c: c.start - c.end)
    return outer.start <= inner.start + JITTER_NS and inner.end <= outer.end + JITTER_NS


class Times(Generic[Found]):
    """What was found, by when it was: the `time` of each."""

    def __init__(self, found: list[Found], time: Callable[[Found], Timed]) -> None:
        self._found = sorted(found, key=lambda one: time(one).start)
        self._starts = [time(one).start for one in self._found]
        self._longest = max((time(one).end - time(one).start for one in found), default=0)

    def at(self, when: Timed) -> list[Found]:
        """Those that may be at the time of this one."""
        low = bisect_left(self._starts, when.start - JITTER_NS - self._longest)
        return self._found[low : bisect_right(self._starts, when.end + JITTER_NS)]


def overlapping(rows: pl.DataFrame, found: pl.DataFrame, keys: Sequence[str] = (), slack_ns: int = 0) -> pl.Series:
    """For each row (`start_unix_nano` and `end_unix_nano`, signed; one that is unknown stands at 0) whether one of
    these times (`low`, `high`), which bears the same keys, begins at the latest `slack_ns` after its end and ends at
    the earliest as much before its start. A key that is unknown equals another that is."""
    if not rows.height or not found.height:
        return pl.repeat(value=False, n=rows.height, eager=True)
    start, end = (rows[side].fill_null(0).to_numpy() for side in ("start_unix_nano", "end_unix_nano"))
    low, high = found["low"].to_numpy(), found["high"].to_numpy()
    times = np.unique(np.concatenate([low, high]))
    of_rows, of_found = _numbered(rows, found, keys)

    def place(group: Numbers, time: Numbers, side: Literal["left", "right"] = "left") -> Numbers:
        """By group, and in it by time."""
        return group * (len(times) + 1) + np.searchsorted(times, time, side)

    until = np.minimum(end, LATEST_NS - slack_ns) + slack_ns
    begun = np.searchsorted(np.sort(place(of_found, low)), place(of_rows, until, "right"))
    over = np.searchsorted(np.sort(place(of_found, high)), place(of_rows, start - slack_ns))
    return pl.Series(begun > over, dtype=pl.Boolean)


def _numbered(one: pl.DataFrame, two: pl.DataFrame, keys: Sequence[str]) -> list[Numbers]:
    """For each row of two frames the number of its keys."""
    if not keys:
        return [np.zeros(frame.height, dtype=np.int64) for frame in (one, two)]
    numbers = two.select(keys).unique().with_row_index("number")
    found = (
        frame.select(keys).join(numbers, on=keys, how="left", nulls_equal=True, maintain_order="left")["number"]
        for frame in (one, two)
    )
    return [series.cast(pl.Int64).fill_null(numbers.height).to_numpy() for series in found]
