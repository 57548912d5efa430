"""Gaps and differences on planted data: what is there is found, what is not is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from otelcov.coverage import compare
from otelcov.coverage.observations import Observations, partial
from tests.coverage.build import config, frame, run

CONFIG = config()
TOOLS = ["search", "read", "book", "pay", "mail", "rate"]


def _traffic(rng: np.random.Generator, n: int, rare: float, new: float) -> Observations:
    """n runs of one or two everyday tools; `audit` is in a share `rare` of them, `export` in a share `new`."""
    rows: list[dict[str, Any]] = []
    chances = np.array([8, 6, 5, 4, 3, 2]) / 28
    for _ in range(n):
        calls = sorted(rng.choice(TOOLS, size=rng.integers(1, 3), replace=False, p=chances))
        calls += ["audit"] * bool(rng.random() < rare) + ["export"] * bool(rng.random() < new)
        rows.append(run(*(f"planner/{c}" for c in calls), took=float(rng.exponential(2)) + 0.1))
    return partial(frame(*rows), CONFIG)


def _found(diff: dict[str, Any]) -> set[tuple[str, str]]:
    return {(f["kind"], f["item"]) for f in diff["findings"] if f["dimension"] == "tool"}


def _repeat(repeats: int) -> tuple[int, int, int]:
    shifted = appeared = false_alarms = 0
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        before, after = _traffic(rng, 1000, 0.05, 0), _traffic(rng, 1000, 0.10, 0.02)
        tools = _found(compare.diff(before, after))
        shifted += ("shifted", "audit") in tools
        appeared += ("new", "export") in tools
        again = compare.diff(_traffic(rng, 1000, 0.05, 0), _traffic(rng, 1000, 0.05, 0))
        false_alarms += bool(again["findings"] or any(m["significant"] for m in again["metrics"]))
    return shifted, appeared, false_alarms


def test_planted_differences_are_found_and_identical_sides_are_quiet() -> None:
    assert _repeat(1) == (1, 1, 0)


@pytest.mark.full
def test_planted_differences_are_found_in_95_of_100_and_false_alarms_in_5_at_most() -> None:
    shifted, appeared, false_alarms = _repeat(100)
    assert shifted >= 95
    assert appeared >= 95
    assert false_alarms <= 5


def test_every_behaviour_of_production_that_tests_left_out_is_a_gap() -> None:
    rng = np.random.default_rng(3)
    tests = [run("planner/search", environment="ci") for _ in range(5)]
    rare = {f"rare_{i}": 10 for i in range(8)}
    prod = [run("planner/search") for _ in range(900)] + [
        run(f"planner/{n}") for n, k in rare.items() for _ in range(k)
    ]
    rng.shuffle(prod)  # type: ignore[arg-type]
    found = compare.gaps(partial(frame(*tests, *prod), CONFIG), CONFIG)
    tool = next(d for d in found["dimensions"] if d["dimension"] == "tool")
    assert tool["share"] == 900 / 980
    assert [u["item"] for u in tool["uncovered"]] == sorted(rare)
    assert all(u["share"] == 10 / 980 and len(u["example_traces"]) >= 1 for u in tool["uncovered"])
    path = next(d for d in found["dimensions"] if d["dimension"] == "path")
    assert {u["item"] for u in path["uncovered"]} == {f"planner/{n}" for n in rare}


def test_what_no_test_could_show_is_no_gap() -> None:
    unseen = {"tool_calls": None, "boundaries_unknown": ["tool_failure"]}
    tests = [run(environment="ci", **unseen) for _ in range(3)]
    found = compare.gaps(partial(frame(*tests, run("planner/search!"), run("planner/search")), CONFIG), CONFIG)
    told = {d["dimension"]: (d["share"], d["uncovered"], d["reason"]) for d in found["dimensions"]}
    assert told["tool"] == (None, [], "no run that is held against it can show its tool calls")
    assert told["path"] == (None, [], "no run that is held against it can show its path")
    left_out = "left out, because no run that is held against it could show it: tool_failure"
    assert told["boundary"] == (None, [], left_out)
    seeing = compare.gaps(
        partial(frame(*tests, run("planner/search", environment="ci"), run("planner/pay!")), CONFIG), CONFIG
    )
    assert [u["item"] for d in seeing["dimensions"] if d["dimension"] == "boundary" for u in d["uncovered"]] == [
        "tool_failure"
    ]


def test_what_a_run_only_asked_for_it_did_not_do_whatever_ran_beside_it() -> None:
    runs = [run("planner/pay"), run("planner/pay?"), run("planner/search"), run("planner/search", environment="ci")]
    apart = [run("planner/pay?", at=7200)]
    for others in (runs, [r for r in runs if r is not runs[1]] + apart):
        found = compare.gaps(partial(frame(*others), CONFIG), CONFIG)
        told = {
            d["dimension"]: (d["share"], [(u["item"], u["share"]) for u in d["uncovered"]]) for d in found["dimensions"]
        }
        assert told["edge"] == (0.5, [("planner/pay", 1 / 3)])
        assert told["tool"] == (0.5, [("pay", 1 / 3)])


def test_a_boundary_that_one_side_cannot_show_is_not_lost() -> None:
    failing = partial(frame(*(run("planner/pay!") for _ in range(30))), CONFIG)
    blind = partial(frame(*(run(tool_calls=None, boundaries_unknown=["tool_failure"]) for _ in range(30))), CONFIG)
    healthy = partial(frame(*(run("planner/pay") for _ in range(30))), CONFIG)
    assert not [f for f in compare.diff(failing, blind)["findings"] if f["dimension"] == "boundary"]
    assert [f["item"] for f in compare.diff(failing, healthy)["findings"] if f["dimension"] == "boundary"] == [
        "tool_failure"
    ]


def test_a_conversation_is_one_observation_when_runs_are_clustered() -> None:
    rows = [run("planner/search", conversation_id=f"c{i // 5}") for i in range(20)]
    assert compare.diff(*[partial(frame(*rows), CONFIG)] * 2)["runs"] == {"a": 20, "b": 20}
    clustered = partial(frame(*rows), CONFIG, cluster="conversation_id")
    assert compare.diff(clustered, clustered)["runs"] == {"a": 4, "b": 4}
    alone = partial(frame(*(run("a/b") for _ in range(3))), CONFIG, cluster="conversation_id")
    assert compare.diff(alone, alone)["runs"] == {"a": 3, "b": 3}


def test_what_too_few_runs_showed_is_counted_and_not_claimed() -> None:
    a, b = partial(frame(run("planner/x")), CONFIG), partial(frame(run("planner/y")), CONFIG)
    found = compare.diff(a, b)
    assert found["findings"] == []
    assert found["unproven"]["new"] > 0 and found["unproven"]["lost"] > 0
