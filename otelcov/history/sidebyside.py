"""Models (or releases, environments, prompts) side by side on the same cases.

The unit is the run. Pass rates are compared by Fisher's exact test, latency and tokens by Mann-Whitney, each group with
the first; all p-values of one call are adjusted together (Benjamini-Hochberg). Only cases that every group ran count.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from otelcov.cases.summary import rate, spread
from otelcov.coverage import statistics
from otelcov.coverage.observations import partial
from otelcov.coverage.snapshot import snapshot
from otelcov.ground.config import DIMENSIONS, Config
from otelcov.ground.errors import UsageError, did_you_mean
from otelcov.ground.selection import Selection

# 1: the first.
FORMAT = 1

FALSE_DISCOVERIES = 0.05
COMPARED = ("latency_ms", "input_tokens", "output_tokens")
_CASE = ["suite", "case", "turn"]
_EXAMPLES = 3


def side_by_side(
    results: pl.DataFrame,
    runs: pl.DataFrame,
    config: Config,
    by: str,
    baseline: str | None = None,
    agents: tuple[str, ...] = (),
) -> dict[str, Any]:
    """`results` are RESULTS with a column `group`; `runs` (RUNS) those they speak of, as far as they still exist.
    With `agents` the coverage is that of their steps; what was kept of a run speaks of the whole of it."""
    judged = results.filter(pl.col("result").is_in(["pass", "fail"]) & pl.col("group").is_not_null())
    names = sorted(judged["group"].unique())
    if baseline is not None:
        if baseline not in names:
            known = ", ".join(names) or "none"
            raise UsageError(
                f'There is no {by} "{baseline}" among the results: {known}.{did_you_mean(baseline, names)}'
            )
        names = [baseline, *(n for n in names if n != baseline)]
    each = judged.group_by(_CASE).agg(groups=pl.col("group").n_unique()).sort(_CASE, nulls_last=True)
    common = each.filter(pl.col("groups") == len(names)).select(_CASE)
    same = judged.join(common, on=_CASE, how="semi", nulls_equal=True)
    tests: list[dict[str, Any]] = []
    groups = [_group(name, same.filter(pl.col("group") == name), runs, config, agents) for name in names]
    parts = {name: same.filter(pl.col("group") == name) for name in names}
    for group in groups[1:]:
        group["tests"] = _tests(parts[names[0]], parts[group["group"]])
        tests += group["tests"].values()
    cases = [_case(key, same, names) for key in common.iter_rows()]
    tests += [test for case in cases for test in case["tests"].values()]
    tested = [test for test in tests if test["p"] is not None]
    for test, q in zip(tested, statistics.benjamini_hochberg([t["p"] for t in tested]), strict=True):
        test |= {"q": q, "significant": q <= FALSE_DISCOVERIES}
    differ = [c for c in cases if len({g["pass_rate"] for g in c["groups"].values()}) > 1]
    return {
        "format": FORMAT,
        "by": by,
        "baseline": names[0] if names else None,
        "cases": common.height,
        "not_common": [_title(*key) for key in each.filter(pl.col("groups") < len(names)).select(_CASE).iter_rows()],
        "false_discovery_rate": FALSE_DISCOVERIES,
        "groups": groups,
        "disagreements": sorted(differ, key=lambda c: (min(t["p"] for t in c["tests"].values()), c["case"])),
    }


def _group(
    name: str, rows: pl.DataFrame, runs: pl.DataFrame, config: Config, agents: tuple[str, ...]
) -> dict[str, Any]:
    once = rows.unique("run_id", maintain_order=True)
    mine = runs.filter(pl.col("run_id").is_in(once["run_id"].implode()))
    scores: dict[str, float | None] = dict.fromkeys(("overall", *DIMENSIONS))
    if mine.height:
        coverage = snapshot(partial(mine, config, agents), config, selection=Selection(agent=agents))["coverage"]
        scores |= {d["dimension"]: d["score"] for d in coverage["dimensions"]} | {"overall": coverage["overall"]}
    passed = rows.filter(pl.col("result") == "pass").height
    return {
        "group": name,
        "runs": once.height,
        **rate(passed, rows.height),
        **{figure: spread(once[figure]) for figure in COMPARED},
        "cost": spread(once["cost"])["mean"],
        "errors": None if once["errors"].null_count() == once.height else int(once["errors"].sum()),
        "coverage": scores,
        "tests": {},
    }


def _tests(base: pl.DataFrame, other: pl.DataFrame) -> dict[str, dict[str, Any]]:
    found = {"pass_rate": _test(_fisher(base, other))}
    for figure in COMPARED:
        sides = [_counts(side.unique("run_id")[figure]) for side in (base, other)]
        found[figure] = _test(statistics.mann_whitney(*sides))
    return found


def _case(key: tuple[Any, ...], same: pl.DataFrame, names: list[str]) -> dict[str, Any]:
    suite, case, turn = key
    mine = same.filter((pl.col("suite") == suite) & (pl.col("case") == case) & pl.col("turn").eq_missing(turn))
    parts = {name: mine.filter(pl.col("group") == name) for name in names}
    return {
        "suite": suite,
        "case": case,
        "turn": turn,
        "groups": {
            name: rate(part.filter(pl.col("result") == "pass").height, part.height)
            | {"failed_runs": part.filter(pl.col("result") == "fail")["run_id"].sort().head(_EXAMPLES).to_list()}
            for name, part in parts.items()
        },
        "tests": {name: _test(_fisher(parts[names[0]], parts[name])) for name in names[1:]},
    }


def _fisher(base: pl.DataFrame, other: pl.DataFrame) -> float | None:
    if base.is_empty() or other.is_empty():
        return None
    counts = [side.filter(pl.col("result") == result).height for side in (base, other) for result in ("pass", "fail")]
    return statistics.fisher(*counts)


def _test(p: float | None) -> dict[str, Any]:
    return {"p": p, "q": None, "significant": None}


def _counts(values: pl.Series) -> list[tuple[float, int]]:
    return [(float(value), 1) for value in values.drop_nulls()]


def _title(suite: str, case: str, turn: int | None) -> str:
    return f"{case} turn {turn}" if turn is not None else case
