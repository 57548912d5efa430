"""What all cases together say: passed of how many, with an interval; latency, tokens, calls and errors of their runs.

Counted as the recipe counts: a case of one turn is one test, and so is each turn of a conversation. `runs` tells the
same of single runs, where a pass rule lets some fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from otelcov.cases.judge import CaseResult, Judgement
from otelcov.coverage import statistics

KINDS = ("single_turn", "multi_turn", "overall")


def summary(judgement: Judgement) -> dict[str, dict[str, Any]]:
    """By single-turn, multi-turn and overall."""
    single = [c for c in judgement.cases if c.case.turns is None]
    multi = [c for c in judgement.cases if c.case.turns is not None]
    groups = dict(zip(KINDS, (single, multi, judgement.cases), strict=True))
    return {kind: _of(cases, judgement.runs) for kind, cases in groups.items()}


def confusion(judgement: Judgement) -> dict[str, Any] | None:
    """Verdict against what was recorded of the same runs by someone else, where a case says so."""
    counts = dict.fromkeys(("pass_match", "pass_nomatch", "fail_match", "fail_nomatch", "no_data"), 0)
    ids = judgement.runs.select("run_id", "trace_ids", "conversation_id")
    for found in judgement.cases:
        if found.case.recorded is None:
            continue
        for result, rows in zip(found.units, found.unit_rows, strict=True):
            said = _recorded(found.case.recorded, [ids.row(row, named=True) for row in rows])
            if said is None:
                continue
            if result == "no_data":
                counts["no_data"] += 1
            else:
                counts[f"{'pass' if said else 'fail'}_{'match' if result == 'pass' else 'nomatch'}"] += 1
    total = sum(counts.values())
    if not total:
        return None
    judged = total - counts["no_data"]
    agreed = counts["pass_match"] + counts["fail_nomatch"]
    return counts | {"agreement": agreed / judged if judged else None}


def rate(passed: int, total: int) -> dict[str, Any]:
    """A share and its interval (Wilson 1927)."""
    interval = statistics.wilson(passed, total)
    return {
        "passed": passed,
        "total": total,
        "pass_rate": passed / total if total else None,
        "interval": None if interval is None else {"low": interval.low, "high": interval.high, "level": 0.95},
    }


def spread(values: pl.Series) -> dict[str, float | None]:
    """Mean, p50 and p95 (nearest rank) of what is known."""
    known = values.drop_nulls().sort()
    if known.is_empty():
        return {"mean": None, "p50": None, "p95": None}
    found = {"mean": float(known.sum()) / len(known)}
    found |= {f"p{q}": float(known[-(-q * len(known) // 100) - 1]) for q in (50, 95)}
    return {name: round(number, 3) for name, number in found.items()}


def _of(cases: Sequence[CaseResult], runs: pl.DataFrame) -> dict[str, Any]:
    counted = [turn for case in cases for turn in case.turns if turn.counts]
    results = [turn.result for turn in counted]
    judged = [j for turn in counted for j in turn.judged]
    seen = runs[sorted({j.row for case in cases for turn in case.turns for j in turn.judged})]
    known = [j.result for j in judged if j.result != "no_data"]
    return {
        **rate(results.count("pass"), sum(r in ("pass", "fail") for r in results)),
        "failed": results.count("fail"),
        "not_observed": results.count("not_observed"),
        "no_data": results.count("no_data"),
        "runs": rate(known.count("pass"), len(known)),
        "soft_errors": sum(c.soft for j in judged for c in j.checks),
        "latency_ms": spread(seen["latency_ms"]),
        **{name: _total(seen[name]) for name in ("input_tokens", "output_tokens", "tokens")},
        **{name: _sum(seen[name]) for name in ("llm_calls", "tool_calls", "errors")},
        "cost": _sum(seen["cost"]),
    }


def _total(values: pl.Series) -> dict[str, Any]:
    mean = values.mean()
    return {"sum": _sum(values), "mean": None if mean is None else round(float(mean), 2)}  # type: ignore[arg-type]


def _sum(values: pl.Series) -> Any:
    """Null where no run told."""
    known = values.drop_nulls()
    return None if known.is_empty() else known.sum()


def _recorded(recorded: Any, runs: Iterable[dict[str, Any]]) -> bool | None:
    if isinstance(recorded, dict):
        for run in runs:
            for name in (run["run_id"], *(run["trace_ids"] or ()), run["conversation_id"]):
                if name in recorded:
                    return _good(recorded[name])
        return None
    return _good(recorded)


def _good(value: bool | float | str) -> bool:
    """A verdict in words, or a reward: 1 and above is success."""
    return value.lower() in ("pass", "passed", "ok", "success", "true") if isinstance(value, str) else value >= 1


__all__ = ["KINDS", "confusion", "rate", "spread", "summary"]
