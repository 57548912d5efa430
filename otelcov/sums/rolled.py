"""Sums of hours and of days, so that a report of a month reads some thirty files and not a thousand batches.

An hour has sums of its own once it has been over for a while, or has come in many batches. A day has a brief, no more,
once it is over and nothing of it was counted lately; where it holds little, its hours have no sums, and who asks for
more than the brief, or for a part of the day, reads its batches. A day that was counted at one go need not rest.
"""

from __future__ import annotations

import functools
import time
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from otelcov.coverage import brief
from otelcov.coverage.facts import BUCKET_NS
from otelcov.coverage.observations import Observations, merge
from otelcov.runs.slices import Mapper
from otelcov.sums import kept as files
from otelcov.sums.kept import Batch, Kept, Stretch

Gathered = dict[str, tuple[Batch, list[Batch]]]  # small batches that were put together: the new one, and of which it is

LITTLE = 200_000  # spans of a day
_DAY = 24
_DAY_NS = _DAY * BUCKET_NS
_OFTEN = 8  # batches of an hour that is not over yet, or has not been for long: more of it comes with each count
_RESTS_S = 600.0  # late spans reopen a day's batches one after the other: it is summed anew after the last


def rolled(kept: Kept, now_ns: int, gathered: Gathered, fresh: Collection[str], each: Mapper) -> tuple[Stretch, ...]:
    """The sums of each hour and of each day of these batches; those that still hold are taken over. `fresh` batches
    were counted just now."""
    alive = kept.by_id
    known = [stretch for s in kept.rolled if set((stretch := _renamed(s, gathered)).batches) <= alive.keys()]
    whole = {stretch.bucket: stretch for stretch in known if stretch.hours == _DAY}
    hourly = {stretch.bucket: stretch for stretch in known if stretch.hours == 1}
    days: dict[int, dict[int, set[str]]] = {}
    for batch in kept.batches:
        for bucket in batch.buckets:
            if bucket is not None:
                days.setdefault(bucket // _DAY_NS * _DAY_NS, {}).setdefault(bucket, set()).add(batch.id)
    of = {day: set[str]().union(*hours.values()) for day, hours in days.items()}
    over = {day for day, hours in days.items() if day + _DAY_NS <= now_ns and len(hours) > 1}
    little = {day for day in over if sum(alive[id].spans for id in of[day]) <= LITTLE}
    tasks = [
        _Hour(bucket, hourly.get(bucket), frozenset(ids))
        for day in sorted(days.keys() - little)
        for bucket, ids in sorted(days[day].items())
    ]
    wanted = [task for task in tasks if task.wanted(now_ns)]
    summed = functools.partial(_summed, kept.folder)
    made = (each if len(wanted) > 1 else map)(summed, wanted)
    hourly |= {hour.bucket: hour for hour in made}
    found = []
    for day, hours in sorted(days.items()):
        mine = [hourly[bucket] for bucket in sorted(hours) if bucket in hourly]
        if day in whole and set(whole[day].batches) == of[day]:
            mine.append(whole[day])
        elif day in over and (of[day] <= set(fresh) or _rests(kept, of[day])):
            mine.append(_day(kept, day, mine, of[day]))
        found += mine
    return tuple(found)


@dataclass(frozen=True)
class _Hour:
    """An hour of batches, and what sums it has."""

    bucket: int
    before: Stretch | None
    batches: frozenset[str]

    @property
    def fresh(self) -> list[str]:
        return sorted(self.batches.difference(self.before.batches if self.before else ()))

    def wanted(self, now_ns: int) -> bool:
        rests = self.bucket + BUCKET_NS + int(_RESTS_S * 1e9) <= now_ns
        return len(self.fresh) > (0 if rests else _OFTEN)


def _summed(folder: Path, hour: _Hour) -> Stretch:
    """The sums of an hour; those of before are taken over, so that it costs what came, not the hour."""
    kept = Kept(folder)
    parts = kept.sums([hour.before.file] if hour.before else [])
    parts += kept.sums((f"batch-{id}" for id in hour.fresh), pl.col("bucket") == hour.bucket)
    return _written(kept, parts, hour.bucket, hour.batches)


def _written(kept: Kept, parts: Iterable[Observations], bucket: int, ids: Collection[str]) -> Stretch:
    sums = merge(*parts)
    sums = replace(sums, items=sums.items.join(sums.rows.select("item").unique(), on="item", how="semi"))
    stretch = Stretch(uuid.uuid4().hex, bucket, 1, tuple(sorted(ids)))
    files.write_sums(kept.folder / stretch.file, sums)
    files.write_brief(kept.folder / stretch.file, sums.brief())
    return stretch


def _day(kept: Kept, day: int, hours: Collection[Stretch], ids: Collection[str]) -> Stretch:
    """The brief of a day, from the sums of its hours, and those of batches that are in none of these."""
    stretch = Stretch(uuid.uuid4().hex, day, _DAY, tuple(sorted(ids)))
    has = {hour.bucket: set(hour.batches) for hour in hours}
    parts = list[Observations]()
    for id in stretch.batches:
        left = [b for b in kept.by_id[id].buckets if stretch.holds(b) and id not in has.get(b or 0, ())]
        parts += kept.sums([f"batch-{id}"], pl.col("bucket").is_in(left)) if left else []
    whole = brief.add([kept.briefs(hour.file for hour in hours), *([merge(*parts).brief()] if parts else [])])
    files.write_brief(kept.folder / stretch.file, replace(whole, kinds=brief.summed(whole.kinds)))
    return stretch


def _rests(kept: Kept, ids: Iterable[str]) -> bool:
    return time.time() - kept.written_s(ids) > _RESTS_S


def _renamed(stretch: Stretch, gathered: Gathered) -> Stretch:
    """The stretch with gathered batches in the place of those that became them, where it has all of their sums."""
    batches = set(stretch.batches)
    for whole, group in gathered.values():
        here = {batch.id for batch in group if any(map(stretch.holds, batch.buckets))}
        if here and here <= batches:
            batches = batches - here | {whole.id}
    return replace(stretch, batches=tuple(sorted(batches)))
