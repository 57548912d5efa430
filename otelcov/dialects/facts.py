"""The one pass that turns attributes into facts."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Any

import numpy as np
import polars as pl

from otelcov.dialects.answers import CONTEXT, Answer, Present
from otelcov.dialects.asked import Table
from otelcov.dialects.asked import asked as asked_of
from otelcov.dialects.base import NUMBERS

_MOST = 2**40  # no model counts more tokens, and sums of them stay exact; what is beyond is no count
_HEADS, _FEW, _FEWER = (512, 4096), 256, 64  # a column is taken to have few values if so many spans have so many


def facts(attributes: pl.DataFrame, table: Table | None = None) -> pl.DataFrame:
    """One column per fact, one row per span. `attributes` has a text column per key that occurs, and `CONTEXT`.
    `table`: what these dialects tell, not all that are installed.

    Most answers are attributes as they are, and cost nothing. Of the others most ask for names and kinds, of which
    there are few, so they are worked out once for each distinct row of these; the rest only where those leave gaps.
    """
    present = set(attributes.columns)
    asked = asked_of(Present.of(attributes), table)
    few = _few(attributes, [a for some in asked.values() for a in some if not a.plain]) or [CONTEXT[0]]
    begins = _begins(attributes, few)
    rows = attributes.select(few)[begins.unique().sort()]
    idle = _idle(rows, present, {answer for some in asked.values() for answer in some})
    asked = {fact: [a for a in some if a not in idle] for fact, some in asked.items()}
    steps = {fact: _steps(fact, some, present, few) for fact, some in asked.items()}
    frame = _with_once(attributes, rows, begins, [step for some in steps.values() for step in some])
    columns = set(frame.columns)
    steps = {fact: [step for step in some if step.once.keys() <= columns] for fact, some in steps.items()}
    cheap = {fact: list(takewhile(lambda step: step.cheap, some)) for fact, some in steps.items()}
    height = CONTEXT[0]  # as many, also where every answer is null
    found = frame.select(height, **{fact: _first(fact, some) for fact, some in cheap.items()}).drop(height)
    gaps = [fact for fact, some in steps.items() if len(some) > len(cheap[fact]) and found[fact].null_count()]
    if gaps:
        every = _with_absent(frame, present, [a for fact in gaps for a in asked[fact]])
        found = found.with_columns(every.select(**{fact: _first(fact, steps[fact]) for fact in gaps}))
    return found


@dataclass(frozen=True)
class _Step:
    """Some answers in a row."""

    expr: pl.Expr  # over the frame
    once: dict[str, list[Answer]]  # over distinct rows, by the name of the frame's column
    cheap: bool


def _steps(fact: str, answers: list[Answer], present: set[str], few: Collection[str]) -> list[_Step]:
    def cost(answer: Answer) -> int:
        return 0 if answer.plain else 1 if all(r in few for r in answer.roots if r in present) else 2

    steps, asked = [], set[str]()  # an attribute that was not there before is not there later
    for at, (height, some) in enumerate(groupby(answers, cost)):
        group = list(some)
        if height == 0:
            roots = dict.fromkeys(root for answer in group for root in answer.roots if root in present)
            named = [pl.col(root) for root in roots if root not in asked]
            asked.update(roots)
            if not named:
                continue
            steps.append(_Step(named[0] if len(named) == 1 else pl.coalesce(named), {}, True))
        elif height == 1:
            steps.append(_Step(pl.col(f"{fact} {at}"), {f"{fact} {at}": group}, True))
        else:
            steps.append(_Step(pl.coalesce([answer.expr for answer in group]), {}, False))
    return steps


def _first(fact: str, steps: list[_Step]) -> pl.Expr:
    exprs = [step.expr for step in steps] or [pl.lit(None, dtype=pl.String)]
    column = exprs[0] if len(exprs) == 1 else pl.coalesce(exprs)
    if fact not in NUMBERS:
        return column
    number = column.cast(pl.Float64, strict=False)
    return pl.when(number.is_between(0, _MOST)).then(number).cast(pl.Int64, strict=False)


def _few(attributes: pl.DataFrame, answers: list[Answer]) -> list[str]:
    """Those of the columns that they ask for that seem to have few values: a column on which nothing depends but what
    is told must have fewer, for seldom is it told."""
    names = sorted({root for answer in answers for root in answer.roots}.intersection(attributes.columns))
    for height in _HEADS:
        head = attributes.head(height)
        counts = {name: count for name in names if (count := head[name].n_unique()) <= _FEW}
        names = list(counts)
    doubtful = {name for name, count in counts.items() if count > _FEWER}
    doubtful -= {root for answer in answers if not doubtful.isdisjoint(answer.roots) for root in answer.deciding}
    return [name for name in names if name not in doubtful]


def _begins(attributes: pl.DataFrame, few: list[str]) -> pl.Series:
    """Of each row, the first that is like it in these columns."""
    numbered = attributes.select(few).with_row_index("_row")
    return numbered.select(pl.col("_row").first().over(few)).to_series()


def _idle(rows: pl.DataFrame, present: Collection[str], answers: Iterable[Answer]) -> set[Answer]:
    """Those that tell nothing, as the distinct rows of columns of few values show: what they ask for never holds."""
    known = {name for answer in answers for name in answer.roots if name not in present} | set(rows.columns)
    asked: dict[Answer, list[pl.Expr]] = {}
    for answer in answers:
        if answer.plain or known.issuperset(answer.roots) or answer.conditions is None:
            continue
        told = [[c for c in some if known.issuperset(c.meta.root_names())] for some in answer.conditions]
        if all(told):
            asked[answer] = [pl.all_horizontal(some) for some in told]
    if not asked:
        return set()
    frame = _with_absent(rows, set(rows.columns), asked)
    held = frame.select(pl.any_horizontal(some).any().alias(str(i)) for i, some in enumerate(asked.values())).row(0)
    return {answer for answer, holds in zip(asked, held, strict=True) if not holds}


def _with_once(attributes: pl.DataFrame, rows: pl.DataFrame, begins: pl.Series, steps: list[_Step]) -> pl.DataFrame:
    """The columns that steps look for, worked out on the distinct `rows`; those that are null are left out."""
    once = {name: answers for step in steps for name, answers in step.once.items()}
    if not once:
        return attributes
    told = _told(rows, once)
    told = told.select(name for name in told.columns if told[name].null_count() < told.height)
    if not told.width:
        return attributes
    place = np.zeros(attributes.height, dtype=np.uint32)
    place[begins.unique().sort().to_numpy()] = np.arange(told.height, dtype=np.uint32)
    return attributes.hstack(told[pl.Series(place[begins.to_numpy()])])


def _told(rows: pl.DataFrame, once: dict[str, list[Answer]]) -> pl.DataFrame:
    """What these answers tell of each row. One batch holds much the same rows as another, so what was told is kept."""
    asked = (*rows.columns, *((name, *answers) for name, answers in once.items()))
    known = _TOLD.get(asked)
    new = rows if known is None else rows.join(known, on=rows.columns, how="anti", nulls_equal=True)
    if known is None or new.height:
        every = _with_absent(new, set(new.columns), [a for some in once.values() for a in some])
        told = new.hstack(every.select(**{name: pl.coalesce([a.expr for a in some]) for name, some in once.items()}))
        known = told if known is None else pl.concat([known, told])
        _keep(asked, told)
    return rows.join(known, on=rows.columns, how="left", nulls_equal=True, maintain_order="left").select(*once)


def _keep(asked: tuple[Any, ...], told: pl.DataFrame) -> None:
    """Add these rows to what is kept for others, where they are few."""
    if told.height > _MOST_ROWS:
        return
    own = pl.DataFrame(told.to_dict(as_series=False), schema=told.schema)  # its texts alone, not all of a batch
    if sum(frame.estimated_size() for frame in [own, *_TOLD.values()]) > _MOST_BYTES:
        _TOLD.clear()
    if own.estimated_size() <= _MOST_BYTES:
        _TOLD[asked] = pl.concat([_TOLD.get(asked, own.clear()), own])


_TOLD: dict[tuple[Any, ...], pl.DataFrame] = {}
_MOST_ROWS, _MOST_BYTES = 2_000, 8 << 20


def _with_absent(frame: pl.DataFrame, present: set[str], answers: Iterable[Answer]) -> pl.DataFrame:
    # Not lazy: to improve a plan of so many expressions takes longer than to carry it out.
    absent = {root for answer in answers for root in answer.roots if root not in present}
    return frame.with_columns([pl.lit(None, dtype=pl.String).alias(name) for name in sorted(absent)])
