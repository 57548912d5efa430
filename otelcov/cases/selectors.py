"""Which runs a case is about.

A case that does not say takes the runs that carry its name as their test case (an attribute or baggage of the root
span); if the window holds none, the runs with its input. Turns are the runs of one conversation, in order of time. One
that was held again under the same id, or at another service, is a further one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import polars as pl

from otelcov.cases.figures import FIGURES
from otelcov.cases.format import Case, Input, Select
from otelcov.ground.config import Config


class Index:
    """The settled runs of a window (rows of `figures`), found by what cases select them by."""

    def __init__(self, figures: pl.DataFrame, config: Config) -> None:
        from otelcov.coverage.selection import side_of
        from otelcov.ground.models import ModelNames

        self.names = ModelNames(config)
        ordered = figures.filter(pl.col("settled").fill_null(True)).sort("start_unix_nano", "run_id", nulls_last=True)
        self.frame = ordered.with_columns(side_of(ordered, config))

    @cached_property
    def looked_at(self) -> pl.DataFrame:
        """What checks read."""
        call = pl.element().struct
        fields = [call.field(name) for name in ("name", "agent", "status", "error_kind", "arguments", "turn")]
        calls = pl.col("calls").list.eval(pl.struct(fields))
        return self.frame.select("output", "delegating", *FIGURES, calls=calls)

    @cached_property
    def by_case(self) -> dict[str, list[int]]:
        return _by(self.frame["case"].to_list())

    @cached_property
    def by_conversation(self) -> dict[str, list[int]]:
        return _by(self.frame["conversation_id"].to_list())

    @cached_property
    def services(self) -> list[str | None]:
        return self.frame["service"].to_list()

    @cached_property
    def by_run(self) -> dict[str, list[int]]:
        return _by(self.frame["run_id"].to_list())

    @cached_property
    def by_trace(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for row, traces in enumerate(self.frame["trace_ids"].to_list()):
            for trace in traces or ():
                found.setdefault(trace, []).append(row)
        return found

    @cached_property
    def by_input(self) -> dict[str, list[int]]:
        return _by(self.inputs)

    @cached_property
    def inputs(self) -> list[str | None]:
        return [None if text is None else text.strip() for text in self.frame["input"].to_list()]

    def with_input(self, rule: Input) -> list[int]:
        if rule.exact is not None:
            return self.by_input.get(rule.exact.strip(), [])
        text = pl.col("input")
        hit = text.str.contains(rule.contains, literal=True) if rule.contains is not None else None
        if hit is not None:
            return self.frame.with_row_index("row").filter(hit.fill_null(False))["row"].to_list()
        pattern = re.compile(rule.regex or "")
        return [row for row, value in enumerate(self.inputs) if value is not None and pattern.search(value)]


def single(case: Case, index: Index) -> list[int]:
    """The rows of a case of one turn."""
    select = case.select
    if _names_runs(select):
        rows = _chosen(select, index)
        return rows if select.input is None else _both(rows, index.with_input(select.input))
    if select.input is not None:
        return _narrow(index.with_input(select.input), select, index)
    named = _narrow(index.by_case.get(case.name, []), select, index)
    if named or case.input is None:
        return named
    return _narrow(index.by_input.get(case.input.strip(), []), select, index)


def conversations(case: Case, index: Index) -> list[list[int | None]]:
    """For each conversation of a case with turns: the row of each turn, None where it was not observed."""
    select = case.select
    if _names_runs(select):
        found = [unit for rows in _grouped(_chosen(select, index), index) for unit in _held(case, rows, index, True)]
    else:
        named = _narrow(index.by_case.get(case.name, []), select, index)
        if named:
            found = [unit for rows in _grouped(named, index) for unit in _held(case, rows, index, True)]
        else:
            found = [unit for rows in _beginning(case, index) for unit in _held(case, rows, index, False)]
    whole = [rows for rows in found if None not in rows]
    some = [rows for rows in found if any(row is not None for row in rows)]
    return whole or some


def told_by_ids(case: Case, index: Index) -> list[int] | None:
    """The rows that a case may be about where nobody looks at what was said; None: its input must be sought in all."""
    if _names_runs(case.select):
        return _chosen(case.select, index)
    if case.select.input is not None:
        return None
    named = _narrow(index.by_case.get(case.name, []), case.select, index)
    asks = case.input is not None if case.turns is None else _said(case, 0) is not None
    return None if asks and not named else named


def _beginning(case: Case, index: Index) -> Iterable[list[int]]:
    """The conversations in which someone said what the case's first turn says."""
    first = case.select.input or _said(case, 0)
    if first is None:
        return []
    starts = _narrow(index.with_input(first), case.select, index)
    ids = index.frame["conversation_id"].to_list()
    names = dict.fromkeys(ids[row] for row in starts if ids[row] is not None)
    return [_narrow(index.by_conversation[name], case.select, index) for name in names]


def _held(case: Case, rows: list[int], index: Index, chosen: bool) -> list[list[int | None]]:
    """Each time that the turns were gone through, by service; if by none alone, by all together."""
    alone: dict[Any, list[int]] = {}
    for row in rows:
        alone.setdefault(index.services[row], []).append(row)
    found = [unit for some in alone.values() for unit in _again(case, some, index, chosen) if None not in unit]
    return found or _again(case, rows, index, chosen)


def _again(case: Case, rows: list[int], index: Index, chosen: bool) -> list[list[int | None]]:
    """The turns from the first to the last, again and again; if never, what there is of them."""
    found = [_by_turns(case, rows, index, chosen)]
    if all(_said(case, turn) is None for turn in range(len(case.turns or ()))):
        return found  # nothing tells where they begin anew
    while (last := found[-1][-1]) is not None and None not in found[-1]:
        unit = _by_turns(case, rows := rows[rows.index(last) + 1 :], index, False)
        if None in unit:
            break
        found.append(unit)
    return found


def _by_turns(case: Case, rows: list[int], index: Index, chosen: bool) -> list[int | None]:
    """The rows of the turns, in order. Where runs carry no input, a chosen conversation goes by position."""
    turns = case.turns or []
    if chosen and (all(index.inputs[row] is None for row in rows) or all(turn.input is None for turn in turns)):
        return [rows[k] if k < len(rows) else None for k in range(len(turns))]
    found: list[int | None] = []
    at = 0
    for k in range(len(turns)):
        rule = case.select.input if k == 0 and case.select.input is not None else _said(case, k)
        hit = next((p for p in range(at, len(rows)) if rule is None or _is(rule, index.inputs[rows[p]])), None)
        found.append(None if hit is None else rows[hit])
        at = at if hit is None else hit + 1
    return found


def _said(case: Case, turn: int) -> Input | None:
    said = (case.turns or [])[turn]
    if said.input is not None:
        return Input(exact=said.input)
    return said.input_matches


def _is(rule: Input, text: str | None) -> bool:
    if text is None:
        return False
    if rule.exact is not None:
        return text == rule.exact.strip()
    return rule.contains in text if rule.contains is not None else bool(re.search(rule.regex or "", text))


def _grouped(rows: list[int], index: Index) -> list[list[int]]:
    """Rows by conversation; those without one are taken as a single conversation each time they begin anew."""
    ids = index.frame["conversation_id"].to_list()
    groups: dict[Any, list[int]] = {}
    for row in rows:
        groups.setdefault(ids[row], []).append(row)
    loose = groups.pop(None, [])
    if not loose:
        return list(groups.values())
    first = index.inputs[loose[0]]
    cut: list[list[int]] = []
    for row in loose:
        if not cut or (first is not None and index.inputs[row] == first):
            cut.append([])
        cut[-1].append(row)
    return [*groups.values(), *cut]


def _names_runs(select: Select) -> bool:
    return bool(select.case or select.conversation or select.trace or select.run)


def _chosen(select: Select, index: Index) -> list[int]:
    rows: list[int] | None = None
    tables: tuple[tuple[list[str], Callable[[], dict[str, list[int]]]], ...] = (
        (select.run, lambda: index.by_run),
        (select.trace, lambda: index.by_trace),
        (select.conversation, lambda: index.by_conversation),
        (select.case, lambda: index.by_case),
    )
    for wanted, table in tables:
        if wanted:
            found = sorted({row for name in wanted for row in table().get(name, [])})
            rows = found if rows is None else _both(rows, found)
    return _narrow(rows or [], select, index)


def _narrow(rows: list[int], select: Select, index: Index) -> list[int]:
    """Those of the wanted services, environments, releases, sides and models."""
    wanted = {
        name: set(values) for name in ("service", "environment", "release", "side") if (values := getattr(select, name))
    }
    if not rows or not (wanted or select.model):
        return rows
    part = index.frame[rows]
    keep = pl.Series([True] * part.height)
    for name, values in wanted.items():
        keep &= part[name].is_in(sorted(values)).fill_null(False)
    if select.model:
        models = part["models"].to_list()
        asked = index.names.wanted(select.model)
        keep &= pl.Series([bool(asked & set(names or ())) for names in models], dtype=pl.Boolean)
    return [row for row, kept in zip(rows, keep.to_list(), strict=True) if kept]


def _both(a: list[int], b: list[int]) -> list[int]:
    other = set(b)
    return [row for row in a if row in other]


def _by(values: list[str | None]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row, value in enumerate(values):
        if value is not None:
            found.setdefault(value, []).append(row)
    return found
