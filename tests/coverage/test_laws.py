"""Laws of the sums: a commutative monoid, blind to order and partition, monotone in the evidence."""

from __future__ import annotations

import json
import random
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otelcov.coverage import observations as module
from otelcov.coverage.agents import observed_of
from otelcov.coverage.brief import EDGES
from otelcov.coverage.facts import digest
from otelcov.coverage.observations import EMPTY, Observations, merge, partial
from otelcov.coverage.snapshot import grouped, snapshot
from otelcov.ground.selection import Selection
from tests.coverage.build import config, frame, run

CONFIG = config(
    """
    [agents.planner]
    tools = ["search", "book"]
    restricted = ["delete"]
    delegates_to = ["worker"]
    [agents.worker]
    tools = ["mail"]
    [models.a]
    [models.b]
    [coverage]
    boundaries = ["timeout", "tool_failure"]
    min_runs = 3
    """
)
_calls = st.sampled_from(
    [
        "planner/search",
        "planner/book",
        "planner/book!",
        "worker/mail",
        "planner/delete?",
        "x/odd",
        "search",
        "worker/mail!",
    ]
)


@st.composite
def some_run(draw: Any, number: int) -> dict[str, Any]:
    calls = draw(st.lists(_calls, max_size=5))
    given = run(
        *calls,
        number=number,
        at=draw(st.integers(0, 200_000)),
        took=draw(st.integers(0, 90)),
        environment=draw(st.sampled_from(["ci", "prod", "staging", None])),
        service=draw(st.sampled_from(["shop", "desk", None])),
        release=draw(st.sampled_from(["1", "2"])),
        case=draw(st.sampled_from([None, "c1", "c2"])),
        models=draw(st.lists(st.sampled_from(["a", "b-2024-01-01", "vendor/b"]), max_size=2)),
        delegates=draw(st.sampled_from([[], ["planner->worker"], ["planner->worker:handover"]])),
        settled=draw(st.booleans()) or draw(st.booleans()),
        tokens=draw(st.sampled_from([(10, 1), (None, None)])),
        incomplete=draw(st.sampled_from([[], ["truncated"]])),
    )
    if draw(st.integers(0, 5)) == 0:
        given |= {"tool_calls": None, "path": None, "states": None}
    return dict(given)


@st.composite
def some_runs(draw: Any, most: int = 12) -> list[dict[str, Any]]:
    return [draw(some_run(number)) for number in range(draw(st.integers(0, most)))]


quick = settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))


def same(a: Observations, b: Observations) -> bool:
    a, b = a.sorted(), b.sorted()
    return a.rows.equals(b.rows) and a.items.equals(b.items)


def observed(runs: list[dict[str, Any]]) -> Observations:
    return partial(frame(*runs), CONFIG)


def told(observations: Observations) -> str:
    shot = snapshot(observations, CONFIG)
    return json.dumps([shot, *(grouped(observations, CONFIG, by) for by in ("agent", "day", "model"))])


@quick
@given(some_runs())
def test_the_empty_observations_change_nothing(runs: list[dict[str, Any]]) -> None:
    whole = observed(runs)
    assert same(merge(whole, EMPTY), whole)
    assert same(merge(EMPTY, whole), whole)


@quick
@given(some_runs(), st.randoms(use_true_random=False))
def test_any_order_and_any_partition_give_the_same_sums_and_the_same_bytes(
    runs: list[dict[str, Any]], chance: random.Random
) -> None:
    whole = observed(runs)
    mixed = list(runs)
    chance.shuffle(mixed)
    assert same(observed(mixed), whole)
    cuts = sorted(chance.randint(0, len(mixed)) for _ in range(2))
    a, b, c = (observed(part) for part in (mixed[: cuts[0]], mixed[cuts[0] : cuts[1]], mixed[cuts[1] :]))
    assert same(merge(merge(a, b), c), whole)
    assert same(merge(a, merge(b, c)), whole)
    assert same(merge(c, a, b), whole)
    assert told(merge(c, b, a)) == told(whole)


@pytest.mark.full
@quick
@given(some_runs(4), st.integers(0, 9))
def test_runs_that_are_alike_count_as_each_of_them_alone_does(runs: list[dict[str, Any]], later: int) -> None:
    copies = [_moved(row, n, n * later * 3600) for row in runs for n in range(4)]
    apart = merge(*(observed([row]) for row in copies))
    few, module.FEW = module.FEW, 0
    try:
        assert same(observed(copies), apart)
    finally:
        module.FEW = few


def _moved(row: dict[str, Any], number: int, seconds: int) -> dict[str, Any]:
    """The same run with another id, later, for another service."""

    def later(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: v + seconds * 10**9 if k.endswith("_unix_nano") and v else later(v) for k, v in value.items()}
        return [later(v) for v in value] if isinstance(value, list) else value

    trace = f"{number}{row['run_id'][1:]}"
    moved: dict[str, Any] = later(row) | {"run_id": trace, "trace_ids": [trace], "service": f"s{number // 2}"}
    return moved


@pytest.mark.full
@quick
@given(some_runs(), some_run(999))
def test_more_evidence_never_lowers_coverage_of_a_declared_universe(
    runs: list[dict[str, Any]], more: dict[str, Any]
) -> None:
    before = snapshot(observed(runs), CONFIG)
    after = snapshot(merge(observed(runs), observed([more])), CONFIG)
    for old, new in zip(before["coverage"]["dimensions"], after["coverage"]["dimensions"], strict=True):
        if old["universe"] == "declared" and old["score"] is not None:
            assert new["score"] >= old["score"]
            assert set(old["covered_items"]) <= set(new["covered_items"])
    for name in ("allowed_pct", "delegation_pct", "restricted_attempts"):
        if before["edges"][name] is not None:
            assert after["edges"][name] >= before["edges"][name]


@pytest.mark.full
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(some_runs(), st.sampled_from(["planner", "worker", "x", "nobody"]))
def test_one_agents_part_of_the_sums_is_what_its_steps_alone_add_up_to(runs: list[dict[str, Any]], agent: str) -> None:
    alone, part = partial(frame(*runs), CONFIG, [agent]), observed_of(observed(runs), agent)
    if not runs:
        assert part.rows.is_empty()
        return
    shared = [c for c in part.rows.columns if c not in ("first_seen", "last_seen", "example_trace")]
    of_all = pl.col("agent").is_null() | pl.col("dimension").is_in(EDGES)
    for columns, where in (
        (shared, of_all),
        (part.rows.columns, of_all & ~pl.col("item").is_in([digest(""), digest("^ > $")])),
        (part.rows.columns, pl.col("agent") == agent),
    ):
        want, got = (some.rows.filter(where).select(columns).sort(columns) for some in (alone, part))
        assert got.equals(want)
    chosen = Selection(agent=(agent,))
    assert snapshot(part, CONFIG, selection=chosen) == snapshot(alone, CONFIG, selection=chosen)
    assert dict(alone.items.iter_rows()).items() <= dict(part.items.iter_rows()).items()


@quick
@given(some_runs(), st.sampled_from(["planner", "worker", "x"]))
def test_one_agent_of_the_sums_is_what_that_agent_alone_gives(runs: list[dict[str, Any]], agent: str) -> None:
    alone = snapshot(partial(frame(*runs), CONFIG, [agent]), CONFIG)
    groups = {g["group"]: g for g in grouped(observed(runs), CONFIG, "agent")}
    if agent in groups:
        mine = groups[agent]
        assert mine["coverage"]["sequences"] == alone["coverage"]["sequences"]
        assert mine["coverage"]["bigrams"] == alone["coverage"]["bigrams"]
        assert mine["runs"] == alone["runs"]
        for a, b in zip(mine["coverage"]["dimensions"], alone["coverage"]["dimensions"], strict=True):
            for part in ("covered_items", "runs", "singletons", "doubletons", "views"):
                if a["dimension"] not in ("tool", "model"):  # whose universe is the agent's own
                    assert a[part] == b[part], (a["dimension"], part)


@quick
@given(some_runs())
def test_no_score_is_one_or_zero_without_a_universe(runs: list[dict[str, Any]]) -> None:
    shot = snapshot(observed(runs), config())
    for d in shot["coverage"]["dimensions"]:
        assert d["score"] is None or (d["known"] or d["universe"] == "estimated")
        assert d["score"] is None or 0 <= d["score"] <= 1
        if d["interval"]:
            assert 0 <= d["interval"]["low"] <= d["interval"]["high"] <= 1
        if d["score"] is None:
            assert d["reason"]


def test_the_sums_hold_nothing_but_whole_numbers() -> None:
    rows = observed([run("planner/search", number=1)]).rows
    kinds = {rows.schema[c] for c in ("runs", "mass", "calls", "errors", "requested", "first_seen", "last_seen")}
    assert kinds == {pl.Int64}
