"""Thresholds and --max-drop."""

from __future__ import annotations

from typing import Any

import pytest

from otelcov.coverage.exchange import Kept
from otelcov.coverage.observations import partial
from otelcov.coverage.snapshot import grouped, snapshot
from otelcov.ground.selection import Selection
from otelcov.verdicts import drops, thresholds
from tests.coverage.build import config, frame, run

CONFIG = config(
    """
    [agents.planner]
    tools = ["a", "b", "c", "d"]
    [agents.worker]
    tools = ["e"]
    [thresholds]
    tool = 80
    [thresholds.agents.planner]
    tool = 75
    [thresholds.agents.worker]
    tool = 100
    """
)


def test_thresholds_hold_for_the_whole_and_for_each_agent() -> None:
    observations = partial(frame(run("planner/a", "planner/b", "planner/c", "worker/e")), CONFIG)
    verdicts = thresholds.judge(
        snapshot(observations, CONFIG), CONFIG.thresholds, grouped(observations, CONFIG, "agent"), 50
    )
    assert {(v.target, v.result) for v in verdicts} == {
        ("overall", "pass"),
        ("tool", "pass"),
        ("planner.tool", "pass"),
        ("worker.tool", "pass"),
    } - {("overall", "pass")} | {("overall", "fail")}  # no boundary was reached, so the mean is 0
    assert thresholds.exit_code(verdicts) == 1


def test_a_score_that_nobody_knows_is_no_data() -> None:
    verdicts = thresholds.judge(snapshot(partial(frame(), CONFIG), CONFIG), CONFIG.thresholds, (), 10)
    assert {v.result for v in verdicts} == {"no_data"}
    assert thresholds.exit_code(verdicts) == 3


def test_an_agent_that_no_run_shows_is_no_data() -> None:
    observations = partial(frame(run("planner/a", "planner/b", "planner/c", "planner/d")), CONFIG)
    shot, agents = snapshot(observations, CONFIG), grouped(observations, CONFIG, "agent")
    verdicts = thresholds.judge(shot, CONFIG.thresholds, agents)
    assert [(v.target, v.result) for v in verdicts][-1] == ("worker.tool", "no_data")
    chosen = thresholds.judge(shot, CONFIG.thresholds, agents, only=("planner",))
    assert [v.target for v in chosen] == ["tool", "planner.tool"]


def test_noise_of_floats_decides_nothing() -> None:
    assert thresholds.verdict("x", 0.29, 29).result == "pass"
    assert thresholds.verdict("x", 0.7, 70).result == "pass"
    assert thresholds.verdict("x", 0.6999, 70).result == "fail"


def _drop(before: list[dict[str, Any]], after: list[dict[str, Any]], most: float) -> dict[str, str]:
    kept = Kept(partial(frame(*before), CONFIG), ((None, None),), {}, {}, frozenset())
    verdicts = drops.judge(kept, partial(frame(*after), CONFIG), CONFIG, Selection(), most)
    return {v.target.split()[0]: v.result for v in verdicts}


@pytest.mark.parametrize(("runs", "result"), [(100, "fail"), (3, "pass")])
def test_a_lost_tool_fails_only_if_chance_does_not_explain_it(runs: int, result: str) -> None:
    """`b` was in a tenth of the earlier runs: its absence from 100 runs means something, from 3 nothing."""
    before = [run("planner/a", "planner/b") for _ in range(10)] + [run("planner/a") for _ in range(90)]
    assert _drop(before, [run("planner/a") for _ in range(runs)], 5)["tool"] == result


def test_a_drop_within_the_tolerance_passes() -> None:
    before = [run("planner/a", "planner/b") for _ in range(50)]
    assert _drop(before, [run("planner/a") for _ in range(50)], 30)["tool"] == "pass"


def test_nothing_to_compare_with_is_no_data() -> None:
    assert _drop([run("planner/a")], [], 5)["tool"] == "no_data"
