"""A judgement as JSON: what `otelcov test --format json` prints and every other format is made from."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from otelcov.cases.format import Rule
from otelcov.cases.judge import CaseResult, Judged, Judgement, TurnResult
from otelcov.cases.summary import confusion, summary
from otelcov.ground.selection import Selection
from otelcov.ground.windows import ALL, Window, iso

# 1: the first.
FORMAT = 1

LISTED = 50  # runs that are told of one by one for each turn, those that failed first
_ORDER = {"fail": 0, "no_data": 1, "pass": 2}
_FIGURES = ("latency_ms", "input_tokens", "output_tokens", "llm_calls", "tool_calls", "errors", "cost")


def as_json(
    judgement: Judgement, window: Window = ALL, selection: Selection | None = None, runs: int | None = None
) -> dict[str, Any]:
    """The result as a document; `runs`: how many have settled in the window, where not all of them were looked at."""
    since, until = window.since_ns, window.until_ns
    return {
        "format": FORMAT,
        "window": {"since": None if since is None else iso(since), "until": None if until is None else iso(until)},
        "selection": (selection or Selection()).as_json(),
        "runs": judgement.runs.height if runs is None else runs,
        "result": judgement.result,
        "cases": [_case(found, judgement) for found in judgement.cases],
        "summary": summary(judgement),
        "recorded": confusion(judgement),
    }


def _case(found: CaseResult, judgement: Judgement) -> dict[str, Any]:
    case = found.case
    given = case.pass_
    rule = given if isinstance(given, str) else _worded(given)
    return {
        "name": case.name,
        "description": case.description,
        "kind": "single_turn" if case.turns is None else "multi_turn",
        "result": found.result,
        "reason": found.reason,
        "rule": rule,
        "observed": len(found.units),
        "needed": case.needed(),
        "passed": found.units.count("pass"),
        "failed": found.units.count("fail"),
        "turns": [_turn(turn, found, judgement) for turn in found.turns],
    }


def _worded(rule: Rule) -> str:
    return f"{rule.at_least} of {rule.of}" if rule.of else f"at least {rule.at_least}"


def _turn(turn: TurnResult, found: CaseResult, judgement: Judgement) -> dict[str, Any]:
    part = found.case if turn.number is None or found.case.turns is None else found.case.turns[turn.number - 1]
    shown = sorted(turn.judged, key=lambda j: _ORDER[j.result])[:LISTED]
    return {
        "turn": turn.number,
        "input": part.input,
        "expects": turn.counts,
        "result": turn.result,
        "reason": turn.reason,
        "passed": sum(j.result == "pass" for j in turn.judged),
        "observed": len(turn.judged),
        "judged": [_judged(j, judgement) for j in shown],
        "not_listed": len(turn.judged) - len(shown),
    }


def _judged(judged: Judged, judgement: Judgement) -> dict[str, Any]:
    run = judgement.runs.row(judged.row, named=True)
    start = run["start_unix_nano"]
    return {
        "run_id": run["run_id"],
        "trace_ids": run["trace_ids"],
        "conversation_id": run["conversation_id"],
        "start": None if start is None else iso(start),
        "models": run["models"],
        "release": run["release"],
        "result": judged.result,
        "checks": [
            {
                "check": c.name,
                "result": c.result,
                "reason": c.reason,
                "soft_errors": c.soft,
                "difference": [asdict(row) for row in c.rows],
            }
            for c in judged.checks
        ],
        **{name: run[name] for name in _FIGURES},
    }
