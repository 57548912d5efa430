"""Sums of hours and of days, so that a report of a month reads some thirty files and not a thousand batches.

An hour has sums of its own once it is over, or has come in many batches. A day has a brief, no more, once it is over
and nothing of it was counted lately; where it holds little, its hours have no sums, and who asks for more than the
brief, or for a part of the day, reads its batches.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Iterable
from dataclasses import replace

import polars as pl

from otelcov.coverage import brief
from otelcov.coverage.facts import BUCKET_NS
from otelcov.coverage.observations import Observations, merge
from otelcov.sums import kept as files
from otelcov.sums.kept import Batch, Kept, Stretch

Gathered = dict[str, tuple[Batch, list[Batch]]]  # small batches that were put together: the new one, and of which it is

LITTLE = 200_000  # spans of a day
_DAY = 24
_DAY_NS = _DAY * BUCKET_NS
_OFTEN = 8  # batches of an hour that is not over yet
_RESTS_S = 600.0  # late spans reopen a day's batches one after the other: it is summed anew after the last


def rolled(kept: Kept, now_ns: int, gathered: Gathered, anew: bool) -> tuple[Stretch, ...]:
    """The sums of each hour and of each day of these batches; those that still hold are taken over. `anew`: all of the
    batches were counted just now."""
    alive = kept.by_id
    known = [stretch for s in kept.rolled if set((stretch := _renamed(s, gathered)).batches) <= alive.keys()]
    whole = {stretch.bucket: stretch for stretch in known if stretch.hours == _DAY}
    hourly = {stretch.bucket: stretch for stretch in known if stretch.hours == 1}
    days: dict[int, dict[int, set[str]]] = {}
    for batch in kept.batches:
        for bucket in batch.buckets:
            if bucket is not None:
                days.setdefault(bucket // _DAY_NS * _DAY_NS, {}).setdefault(bucket, set()).add(batch.id)
    found = []
    for day, hours in sorted(days.items()):
        ids = set[str]().union(*hours.values())
        over = day + _DAY_NS <= now_ns and len(hours) > 1
        little = over and sum(alive[id].spans for id in ids) <= LITTLE
        if not little:
            made = (_hour(kept, hourly.get(bucket), bucket, here, now_ns) for bucket, here in sorted(hours.items()))
            hourly |= {hour.bucket: hour for hour in made if hour is not None}
        mine = [hourly[bucket] for bucket in sorted(hours) if bucket in hourly]
        if day in whole and set(whole[day].batches) == ids:
            mine.append(whole[day])
        elif over and (anew or _rests(kept, ids)):
            mine.append(_day(kept, day, mine, ids))
        found += mine
    return tuple(found)


def _hour(kept: Kept, before: Stretch | None, bucket: int, ids: set[str], now_ns: int) -> Stretch | None:
    """The sums of an hour; those of before are taken over, so that it costs what came, not the hour."""
    fresh = sorted(ids.difference(before.batches if before else ()))
    if not (fresh and bucket + BUCKET_NS <= now_ns) and len(fresh) <= _OFTEN:
        return before
    parts = kept.sums([before.file] if before else [])
    parts += kept.sums((f"batch-{id}" for id in fresh), pl.col("bucket") == bucket)
    return _written(kept, parts, bucket, ids)


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
    written = max((kept.folder / f"batch-{id}.sums.parquet").stat().st_mtime for id in ids)
    return time.time() - written > _RESTS_S


def _renamed(stretch: Stretch, gathered: Gathered) -> Stretch:
    """The stretch with gathered batches in the place of those that became them, where it has all of their sums."""
    batches = set(stretch.batches)
    for whole, group in gathered.values():
        here = {batch.id for batch in group if any(map(stretch.holds, batch.buckets))}
        if here and here <= batches:
            batches = batches - here | {whole.id}
    return replace(stretch, batches=tuple(sorted(batches)))
