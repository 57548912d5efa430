"""`--max-drop`: did a score fall against a baseline by more than is allowed, and by more than chance explains?

A score of listed items (tools, boundaries, models) fell beyond chance if one of its lost items did: Fisher's exact
test on runs with and without it, Benjamini-Hochberg over the items of the dimension. An estimate fell beyond chance
if the difference is greater than 1.645 standard errors (one-sided, 5 %), read off the two intervals.
"""

from __future__ import annotations

from math import hypot
from typing import Any

import polars as pl

from otelcov.coverage import statistics
from otelcov.coverage.exchange import Kept, universes
from otelcov.coverage.observations import Observations
from otelcov.coverage.selection import side_of
from otelcov.coverage.snapshot import snapshot
from otelcov.ground.config import Config
from otelcov.ground.selection import Selection
from otelcov.verdicts.thresholds import Verdict

ALPHA = 0.05
_ONE_SIDED = 1.645


def judge(
    baseline: Kept, observations: Observations, config: Config, selection: Selection, max_drop: float
) -> list[Verdict]:
    """One verdict per dimension that both snapshots know, and one for the overall score."""
    frozen = universes(baseline)
    # Like with like: a baseline of production alone has no tests that its paths could be held against.
    observations = _of_sides(observations, config, baseline.chosen)
    before = snapshot(baseline.observations, config, selection=selection, baseline=frozen)
    after = snapshot(observations, config, selection=selection, baseline=frozen)
    old = {d["dimension"]: d for d in before["coverage"]["dimensions"]}
    new = {d["dimension"]: d for d in after["coverage"]["dimensions"]}
    verdicts, proven = [], False
    for name, was in old.items():
        now = new[name]
        if was["score"] is None:
            continue
        minimum = max(0.0, was["score"] * 100 - max_drop)
        if now["score"] is None:
            verdicts.append(Verdict(f"{name} since the baseline", None, minimum, "no_data", now["reason"]))
            continue
        drop = 100 * (was["score"] - now["score"])
        beyond = drop > max_drop + 1e-9
        sure = beyond and _significant(name, was, now, baseline.observations, observations, config, selection)
        proven |= sure
        reason = (
            None
            if not beyond
            else f"{drop:.1f} points down, beyond chance"
            if sure
            else f"{drop:.1f} points down, may be chance"
        )
        verdicts.append(
            Verdict(f"{name} since the baseline", now["score"] * 100, minimum, "fail" if sure else "pass", reason)
        )
    was_overall, now_overall = before["coverage"]["overall"], after["coverage"]["overall"]
    if was_overall is not None:
        minimum = max(0.0, was_overall * 100 - max_drop)
        if now_overall is None:
            verdicts.append(Verdict("overall since the baseline", None, minimum, "no_data", "the score is not known"))
        else:
            fell = 100 * (was_overall - now_overall) > max_drop + 1e-9
            result = "fail" if fell and proven else "pass"
            verdicts.append(Verdict("overall since the baseline", now_overall * 100, minimum, result))
    return verdicts


def _significant(
    name: str,
    was: dict[str, Any],
    now: dict[str, Any],
    before: Observations,
    after: Observations,
    config: Config,
    selection: Selection,
) -> bool:
    if was["interval"] and now["interval"]:
        errors = [(d["interval"]["high"] - d["interval"]["low"]) / (2 * 1.96) for d in (was, now)]
        spread = hypot(*errors)
        return bool(was["score"] - now["score"] > _ONE_SIDED * spread)
    lost = sorted(set(was["covered_items"]) - set(now["covered_items"]))
    n, m = was["runs"], now["runs"]
    if not lost or not n or not m:
        return False
    seen = _runs_with(before, name, config, selection)
    p_values = [statistics.fisher(min(seen.get(item, 0), n), n - min(seen.get(item, 0), n), 0, m) for item in lost]
    return min(statistics.benjamini_hochberg(p_values)) <= ALPHA


def _of_sides(observations: Observations, config: Config, chosen: Selection) -> Observations:
    if not chosen.side:
        return observations
    rows = observations.rows
    return Observations(rows.filter(side_of(rows, config).is_in(sorted(chosen.side))), observations.items)


def _runs_with(observations: Observations, dimension: str, config: Config, selection: Selection) -> dict[str, int]:
    rows = observations.texts().filter((pl.col("dimension") == dimension) & pl.col("agent").is_null())
    if selection.side:
        rows = rows.filter(side_of(rows, config).is_in(sorted(selection.side)))
    return dict(rows.group_by("item").agg(pl.col("runs").sum()).iter_rows())
