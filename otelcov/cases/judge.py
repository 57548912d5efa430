"""Cases over runs: which runs each case is about, what they showed, what that makes of the case.

A case without a run is *not observed*; one whose runs cannot tell, or are too few, is *not enough data*. Neither is a
pass. What was counted is in `summary`, what each run showed in `judged`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from otelcov.cases import checks, selectors
from otelcov.cases.checks import Check
from otelcov.cases.figures import figures
from otelcov.cases.format import Case
from otelcov.ground import errors
from otelcov.ground.config import Config

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


def judge(
    cases: Sequence[Case], runs: pl.DataFrame, config: Config | None = None, agents: Sequence[str] = ()
) -> Judgement:
    """The cases over these runs (columns RUNS). With `agents`, only their calls are looked at."""
    config = config or Config()
    index = selectors.Index(figures(runs, config), config)
    judged = _Rows(index, tuple(agents))
    return Judgement([_case(case, judged) for case in cases], index.frame)


class _Rows:
    """The rows that cases look at, turned into Python values once each."""

    def __init__(self, index: selectors.Index, agents: tuple[str, ...]) -> None:
        self.index = index
        self.agents = agents
        self._seen: dict[int, dict[str, Any]] = {}

    def take(self, rows: Sequence[int]) -> None:
        self._seen = {}
        wanted = sorted(set(rows))
        part = self.index.frame[wanted] if len(wanted) < self.index.frame.height else self.index.frame
        self._seen = dict(zip(wanted, part.iter_rows(named=True), strict=True))

    def __getitem__(self, row: int) -> dict[str, Any]:
        return self._seen[row]


def _case(case: Case, rows: _Rows) -> CaseResult:
    if case.turns is None:
        units: list[list[int | None]] = [[row] for row in selectors.single(case, rows.index)]
    else:
        units = selectors.conversations(case, rows.index)
    rows.take([row for unit in units for row in unit if row is not None])
    parts = case.parts()
    if rows.agents:
        parts = [part if part.agent else part.model_copy(update={"agent": list(rows.agents)}) for part in parts]
    held: list[list[Judged | None]] = []
    for unit in units:
        held.append(
            [
                None if row is None else _held(part, row, rows[row], case.recipe)
                for part, row in zip(parts, unit, strict=True)
            ]
        )
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
        reason = _unseen(case, rows.index)
    return CaseResult(case, result, reason, turns, whole, [[r for r in unit if r is not None] for unit in units])


def _held(part: Any, row: int, run: dict[str, Any], recipe: bool) -> Judged:
    found = tuple(checks.check(part, run, recipe))
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
