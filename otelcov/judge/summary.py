"""From results to one row a metric, and to a verdict.

A quantitative metric's value is the mean over all turns (or conversations) that have a score; a qualitative one's is
the share of judged turns without a failure, a rule's finding counting as one. What is missing is counted and left out:
it is no zero, no failure and no pass, and where too much of it is missing there is not enough data to hold a threshold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import combinations
from math import fsum
from typing import Any

from otelcov.ground.config import Judge as Settings
from otelcov.judge.judging import Result
from otelcov.judge.metrics import SEVERITIES, Metric
from otelcov.judge.rules import Finding

_EPSILON = 1e-9  # sums of decimal scores


@dataclass
class Tally:
    """What the results of one metric come to; those of some turns add up with those of others."""

    applicable: int = 0
    judged: int = 0
    clean: int = 0  # of these, with a passing label that no rule contradicts
    proved: int = 0  # turns of which a rule proved a failure
    failed: int = 0  # of these, those to which the metric applies
    missing: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    values: list[float] = field(default_factory=list)
    repeated: list[tuple[float | str, ...]] = field(default_factory=list)  # what repeats said

    @classmethod
    def of(cls, metric: Metric, results: Iterable[Result], findings: Iterable[Finding]) -> Tally:
        """`findings` are those of the rules, about the turns of these results."""
        mine = [r for r in results if r.metric == metric.name]
        judged = [r for r in mine if r.missing is None]
        proved = {f.turn for f in findings if f.metric == metric.name}
        return cls(
            len(mine),
            len(judged),
            sum(r.label in metric.passing and r.subject not in proved for r in judged),
            len(proved),
            len(proved & {r.subject for r in mine}),
            Counter(r.missing.partition(":")[0] for r in mine if r.missing is not None),
            Counter(r.label for r in judged if r.label is not None),
            [r.value for r in judged if r.value is not None],
            [r.repeats for r in mine if len(r.repeats) > 1],
        )

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))


def summarize(metric: Metric, tally: Tally) -> dict[str, Any]:
    """The row of one metric."""
    row: dict[str, Any] = {
        "metric": metric.name,
        "kind": metric.kind,
        "per": metric.per,
        "value": None,
        "judged": tally.judged,
        "applicable": tally.applicable,
        "missing": dict(sorted(tally.missing.items())),
        "labels": {},
        "rule_failures": tally.proved if metric.kind == "qualitative" else 0,
        "agreement": agreement(metric, tally.repeated),
    }
    if metric.kind == "quantitative":
        row["value"] = round(fsum(tally.values) / len(tally.values), 9) if tally.values else None
        return row
    row["labels"] = dict(sorted(tally.labels.items()))
    row["value"] = round(tally.clean / tally.judged, 9) if tally.judged else None
    row["at_most"] = round(1 - tally.failed / tally.applicable, 9) if tally.applicable else None
    return row


def agreement(metric: Metric, units: Sequence[tuple[float | str, ...]]) -> dict[str, Any] | None:
    """How far repeats agree: the share of equal pairs, and Krippendorff's alpha (2004), interval or nominal."""
    if not units:
        return None
    pairs = [pair for unit in units for pair in combinations(unit, 2)]
    equal = sum(a == b for a, b in pairs) / len(pairs)
    return {
        "units": len(units),
        "repeats": max(len(u) for u in units),
        "equal": round(equal, 6),
        "alpha": _alpha(units, metric),
    }


def _alpha(units: Sequence[tuple[float | str, ...]], metric: Metric) -> float | None:
    """1 - observed / expected disagreement; None where all values are one, and nothing could have disagreed."""

    def distance(a: Any, b: Any) -> float:
        return (a - b) ** 2 if metric.kind == "quantitative" else float(a != b)

    n = sum(len(u) for u in units)
    observed = sum(2 * sum(distance(a, b) for a, b in combinations(u, 2)) / (len(u) - 1) for u in units) / n
    counts = Counter(v for u in units for v in u)
    expected = 2 * sum(counts[a] * counts[b] * distance(a, b) for a, b in combinations(counts, 2)) / (n * (n - 1))
    return round(1 - observed / expected, 6) if expected else None


def hold(
    row: dict[str, Any] | None, name: str, minimum: float, settings: Settings, not_asked: str | None
) -> dict[str, Any]:
    """One threshold: pass, fail or not enough data."""
    check = {"metric": name, "minimum": minimum, "value": row["value"] if row else None}
    if row is None:
        return check | {"result": "no_data", "reason": "this metric did not run"}
    ceiling = row.get("at_most")
    if ceiling is not None and ceiling < minimum - _EPSILON:
        return check | {"result": "fail", "reason": f"the rules alone leave {ceiling:g} at most"}
    if row["value"] is None and row["missing"].get("not_run"):
        return check | {"result": "no_data", "reason": f"this metric did not run: {not_asked}"}
    if row["value"] is None:
        why = ", ".join(f"{n} {word}" for word, n in row["missing"].items()) or "no turn to judge"
        return check | {"result": "no_data", "reason": why}
    if row["judged"] < settings.min_turns:
        return check | {"result": "no_data", "reason": f"{row['judged']} judged, fewer than {settings.min_turns}"}
    if 100 * row["judged"] < settings.min_judged_pct * row["applicable"] - _EPSILON:
        told = f"{row['judged']} of {row['applicable']} judged, less than {settings.min_judged_pct:g}%"
        return check | {"result": "no_data", "reason": told}
    passed = row["value"] >= minimum - _EPSILON
    return check | {"result": "pass" if passed else "fail", "reason": None}


def severe(
    errors: Sequence[Mapping[str, Any]], rows: Sequence[dict[str, Any]], settings: Settings, asked: bool
) -> dict[str, Any]:
    """The severity gate. Where a judge was to look for failures and answered too seldom, it cannot see."""
    level = SEVERITIES.index(settings.fail_on_error_severity)
    hits = [e for e in errors if SEVERITIES.index(e["severity"]) >= level]
    gate: dict[str, Any] = {"severity": settings.fail_on_error_severity, "errors": [e["id"] for e in hits]}
    if hits:
        worst = (
            f"{len(hits)} error{'s' if len(hits) > 1 else ''} of severity {settings.fail_on_error_severity} or above"
        )
        return gate | {"result": "fail", "reason": worst}
    if asked:
        for row in rows:
            blind = row["kind"] == "qualitative" and row["applicable"]
            if blind and 100 * row["judged"] < settings.min_judged_pct * row["applicable"]:
                told = f"{row['metric']}: {row['judged']} of {row['applicable']} judged"
                return gate | {"result": "no_data", "reason": told}
    return gate | {"result": "pass", "reason": None if asked else "by rules alone: no judge was asked"}


def verdict(checks: Sequence[Mapping[str, Any]]) -> str:
    """A violation that was seen fails even where other things could not be seen."""
    results = {check["result"] for check in checks}
    return "fail" if "fail" in results else "no_data" if "no_data" in results or not results else "pass"
