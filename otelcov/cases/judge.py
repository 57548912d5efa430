"""Cases over runs: which runs each case is about, what they showed, what that makes of the case.

A case without a run is *not observed*; one whose runs cannot tell, or are too few, is *not enough data*. Neither is a
pass. What was counted is in `summary`, what each run showed in `judged`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import polars as pl

from otelcov.cases import checks, selectors
from otelcov.cases.checks import Check
from otelcov.cases.figures import figures
from otelcov.cases.format import Case
from otelcov.ground import errors
from otelcov.ground.config import Config

BATCH = 20_000  # runs that are Python objects at one time

Verdict = Literal["pass", "fail", "no_data", "not_observed"]


@dataclass(frozen=True)
class Judged:
    """One run held against one turn of a case."""

    row: int  # of the frame of figures
    result: checks.Result
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class TurnResult:
    """A case of one turn, or one turn of a conversation, over all its runs."""

    number: int | None  # from 1; None for a case of one turn
    result: Verdict
    reason: str | None
    judged: list[Judged]
    counts: bool = True  # a turn that expects nothing only carries the conversation on


@dataclass(frozen=True)
class CaseResult:
    case: Case
    result: Verdict
    reason: str | None
    turns: list[TurnResult]
    units: list[checks.Result]  # of each run, or of each conversation as a whole
    unit_rows: list[list[int]]  # the runs of each


@dataclass(frozen=True)
class Judgement:
    """All cases, and the runs (rows of `figures`, with their side) that `Judged.row` speaks of."""

    cases: list[CaseResult]
    runs: pl.DataFrame

    @property
    def result(self) -> Literal["pass", "fail", "no_data"]:
        results = {c.result for c in self.cases}
        return "fail" if "fail" in results else "no_data" if results - {"pass"} else "pass"

    @property
    def exit_code(self) -> int:
        return {"pass": errors.GOOD, "fail": errors.GATE_FAILED, "no_data": errors.NO_DATA}[self.result]


def needed(cases: Sequence[Case], runs: pl.DataFrame, config: Config) -> pl.DataFrame:
    """Of these runs (RUNS, without content) those whose content `judge` needs, to tell the same as of all: the runs
    that cases name; all of them, where one is to be sought by what was said."""
    index = selectors.Index(figures(runs, config), config)
    found = set[int]()
    for case in cases:
        rows = selectors.told_by_ids(case, index)
        if rows is None:
            return runs
        found.update(rows)
    ids = index.frame["run_id"]
    chosen = ids[sorted(found)] if found else ids.head(1)  # that there are runs is told, too
    return runs.filter(pl.col("run_id").is_in(chosen.implode()))


def judge(
    cases: Sequence[Case], runs: pl.DataFrame, config: Config | None = None, agents: Sequence[str] = ()
) -> Judgement:
    """The cases over these runs (columns RUNS). With `agents`, only their calls are looked at."""
    config = config or Config()
    index = selectors.Index(figures(runs, config), config)
    found: list[CaseResult] = []
    for some in _batches([(case, _units(case, index)) for case in cases]):
        rows = _rows(index, [row for _, units in some for unit in units for row in unit if row is not None])
        found += [_case(case, units, rows, index, agents) for case, units in some]
    return Judgement(found, index.frame)


Unit = list[int | None]  # the run of each turn
Selected = tuple[Case, list[Unit]]


def _units(case: Case, index: selectors.Index) -> list[Unit]:
    return (
        [[row] for row in selectors.single(case, index)] if case.turns is None else selectors.conversations(case, index)
    )


def _batches(selected: list[Selected]) -> Iterator[list[Selected]]:
    """Cases whose runs together are Python objects at one time."""
    batch: list[Selected] = []
    size = 0
    for case, units in selected:
        batch.append((case, units))
        size += len(units)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _rows(index: selectors.Index, wanted: list[int]) -> dict[int, dict[str, Any]]:
    """What cases look at of these rows, as Python values."""
    numbers = sorted(set(wanted))
    part = index.looked_at[numbers] if len(numbers) < index.frame.height else index.looked_at
    return dict(zip(numbers, part.iter_rows(named=True), strict=True))


def _case(
    case: Case, units: list[Unit], rows: dict[int, dict[str, Any]], index: selectors.Index, agents: Sequence[str]
) -> CaseResult:
    parts = case.parts()
    if agents:
        parts = [part if part.agent else part.model_copy(update={"agent": list(agents)}) for part in parts]
    expected = [checks.Expected.of(part, case.recipe) for part in parts]
    held = [
        [None if row is None else _held(asked, row, rows[row]) for asked, row in zip(expected, unit, strict=True)]
        for unit in units
    ]
    turns = [
        _turn(case, None if case.turns is None else k + 1, part.asks(), [unit[k] for unit in held])
        for k, part in enumerate(parts)
    ]
    whole = [checks.worst(["no_data" if j is None else j.result for j in unit]) for unit in held]
    result, reason = _ruled(case, whole)
    if result != "pass":
        told = next((t for t in turns if t.result == result), None)
        if told is not None and told.reason is not None:
            reason = told.reason if told.number is None else f"turn {told.number}: {told.reason}"
    if result == "not_observed":
        reason = _unseen(case, index)
        turns = [replace(turn, reason=reason) for turn in turns]
    return CaseResult(case, result, reason, turns, whole, [[r for r in unit if r is not None] for unit in units])


def _held(expected: checks.Expected, row: int, run: dict[str, Any]) -> Judged:
    found = tuple(checks.check(expected, run))
    return Judged(row, checks.worst([c.result for c in found]), found)


def _turn(case: Case, number: int | None, asks: bool, held: list[Judged | None]) -> TurnResult:
    judged = [j for j in held if j is not None]
    if not judged:
        return TurnResult(number, "not_observed", "not observed", [], asks)
    result, reason = _ruled(case, ["no_data" if j is None else j.result for j in held])
    if result != "pass":
        first = next((c for j in judged for c in j.checks if c.result == result), None)
        if first is not None:
            reason = f"{first.reason}" if len(held) == 1 else f"{reason}; {first.reason}"
        elif len(judged) < len(held):
            reason = "not observed in every conversation"
    return TurnResult(number, result, reason, judged, asks)


def _ruled(case: Case, results: Sequence[checks.Result]) -> tuple[Verdict, str | None]:
    """The pass rule over what the runs showed. What has not been seen yet may still pass, or not."""
    if not results:
        return "not_observed", None
    runs = max(len(results), case.needed())
    needed = case.to_pass(runs)
    passed, failed = results.count("pass"), results.count("fail")
    said = f"{passed} of {len(results)} passed, {needed} needed"
    if passed >= needed and (case.pass_ != "all" or len(results) >= case.needed()):
        return "pass", None if passed == len(results) else said
    if runs - failed < needed:
        return "fail", said
    if len(results) < runs:
        return "no_data", f"{len(results)} of {runs} runs observed"
    return "no_data", said


def _unseen(case: Case, index: selectors.Index) -> str:
    if index.frame.is_empty():
        return "no run in the window"
    if case.input is not None and not index.by_input:
        return "the runs carry no input text; name the test case on the root span (test.case.name)"
    return "no run of this case"


__all__ = ["CaseResult", "Judged", "Judgement", "TurnResult", "Verdict", "judge"]
