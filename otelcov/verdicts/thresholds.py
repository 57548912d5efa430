"""The least percentages that a report must show: `--fail-under` and `[thresholds]` of the config."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from otelcov.ground import errors
from otelcov.ground.config import DIMENSIONS, AllThresholds, Thresholds


@dataclass(frozen=True)
class Verdict:
    """One rule and how it ended: pass, fail or no_data."""

    target: str
    value: float | None
    minimum: float
    result: str
    reason: str | None = None


def judge(
    snapshot: dict[str, Any],
    thresholds: AllThresholds,
    agents: Iterable[dict[str, Any]] = (),
    fail_under: float | None = None,
    only: tuple[str, ...] = (),
) -> list[Verdict]:
    """Every threshold against this snapshot; `agents` are the snapshots of single agents. With `only`, no others are
    asked for: nobody else's steps were counted."""
    verdicts = []
    if fail_under is not None:
        verdicts.append(verdict("overall", snapshot["coverage"]["overall"], fail_under))
    verdicts += _of(snapshot, thresholds, "")
    parts = {part["group"]: part for part in agents}
    for name, least in sorted(thresholds.agents.items()):
        if only and name not in only:
            continue
        verdicts += _of(parts.get(name), least, f"{name}.")
    return verdicts


def verdict(target: str, score: float | None, minimum: float, reason: str | None = None) -> Verdict:
    """A score of 0..1 against a percentage."""
    if score is None:
        return Verdict(target, None, minimum, "no_data", reason or "the score is not known")
    # 0.7 * 100 is 70.00000000000001 and 0.29 * 100 is 28.999999999999996: noise of floats decides nothing.
    result = "pass" if score * 100 >= minimum - 1e-9 else "fail"
    return Verdict(target, score * 100, minimum, result)


def exit_code(verdicts: Iterable[Verdict]) -> int:
    codes = {"pass": errors.GOOD, "fail": errors.GATE_FAILED, "no_data": errors.NO_DATA}
    return errors.worst(codes[v.result] for v in verdicts)


def _of(snapshot: dict[str, Any] | None, thresholds: Thresholds, prefix: str) -> list[Verdict]:
    scores: dict[str, tuple[float | None, str | None]] = {}
    if snapshot is not None:
        coverage = snapshot["coverage"]
        scores = {"overall": (coverage["overall"], None)}
        scores |= {d["dimension"]: (d["score"], d["reason"]) for d in coverage["dimensions"]}
    found = []
    for name in ("overall", *DIMENSIONS):
        if (minimum := getattr(thresholds, name)) is not None:
            score, reason = scores.get(name, (None, "no run shows this agent"))
            found.append(verdict(prefix + name, score, minimum, reason))
    return found
