"""Obligations of declared graphs, among them the ten workflows of arXiv:2605.26521."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from otelcov.coverage import graph
from otelcov.coverage.observations import partial
from otelcov.coverage.snapshot import snapshot
from otelcov.ground import settings
from otelcov.ground.config import Config
from tests.coverage.build import config, frame, run
from tests.coverage.shared import shared

GRAPHS = sorted(shared("structural_graphs").glob("*.json"))


def _declared(document: dict[str, Any], restricted: str) -> Config:
    agents: dict[str, Any] = {name: {"tools": [], "delegates_to": []} for name in document["agents"]}
    for agent, tool in document["allow"]:
        agents[agent]["tools"].append(tool)
    for source, target, _ in document["delegation"]:
        agents[source]["delegates_to"].append(target)
    agents[document["entry"]]["entry"] = True
    tools: dict[str, Any] = {name: {} for name in document["tools"]}
    return settings.of({"agents": agents, "tools": tools, "coverage": {"restricted": restricted}})


def test_the_ten_published_workflows_have_their_403_obligations() -> None:
    if not GRAPHS:
        pytest.skip("../shared/structural_graphs is absent")
    total: Counter[str] = Counter()
    for path in GRAPHS:
        document = json.loads(path.read_text())
        found = graph.obligations(_declared(document, "complement"))
        kinds = Counter(o.kind for o in found)
        expected = document["expected"]
        assert (kinds["reach"], kinds["use"], kinds["restricted"], kinds["delegate"], len(found)) == tuple(
            expected[k] for k in ("agents", "allowed", "restricted", "delegation", "obligations")
        ), path.stem
        assert {(o.agent, o.to) for o in found if o.kind == "restricted"} == {tuple(e) for e in document["restricted"]}
        total += kinds
        total["tools"] += len(document["tools"])
        assert not any(o.kind == "restricted" for o in graph.obligations(_declared(document, "listed")))
    assert total == {"reach": 49, "tools": 47, "use": 65, "restricted": 248, "delegate": 41}
    assert total["reach"] + total["use"] + total["restricted"] + total["delegate"] == 403


DECLARED = config(
    """
    [agents.planner]
    tools = ["search", "ask_worker"]
    restricted = ["delete", "wipe", "drop"]
    delegates_to = ["worker", "critic"]
    [agents.worker]
    tools = ["book"]
    [agents.critic]
    """
)


def _statuses(*runs: dict[str, Any]) -> dict[tuple[str, str, str | None], str]:
    found = snapshot(partial(frame(*runs), DECLARED), DECLARED)["edges"]["obligations"]
    return {(o["kind"], o["agent"], o["tool"] or o["to"]): o["status"] for o in found}


def test_each_obligation_says_how_it_stands() -> None:
    statuses = _statuses(
        run("planner/search!", "planner/delete", "planner/wipe?", delegates=["planner->worker:ask_worker"]),
    )
    assert statuses == {
        ("reach", "critic", None): "missing",
        ("reach", "planner", None): "covered",
        ("reach", "worker", None): "covered",
        ("use", "planner", "ask_worker"): "covered",  # the delegating tool is its witness
        ("use", "planner", "search"): "covered",  # an errored call exercises
        ("use", "worker", "book"): "missing",
        ("restricted", "planner", "delete"): "violated",
        ("restricted", "planner", "drop"): "never_probed",
        ("restricted", "planner", "wipe"): "resisted",
        ("delegate", "planner", "critic"): "missing",
        ("delegate", "planner", "worker"): "covered",
    }


def test_a_requested_call_exercises_nothing() -> None:
    assert _statuses(run("planner/search?"))["use", "planner", "search"] == "missing"


def test_a_run_that_has_not_settled_counts_for_restricted_edges_alone() -> None:
    statuses = _statuses(run("planner/delete", "planner/search", settled=False))
    assert statuses["restricted", "planner", "delete"] == "violated"
    assert statuses["use", "planner", "search"] == "missing"


def test_zero_violations_come_with_the_bound_that_the_runs_allow() -> None:
    edges = snapshot(partial(frame(*(run("planner/search") for _ in range(59))), DECLARED), DECLARED)["edges"]
    assert edges["restricted_attempts"] == 0
    assert edges["gate_passed"] == 1
    assert edges["restricted_bound"]["runs"] == 59
    assert 0.049 < edges["restricted_bound"]["upper"] < 0.05


def test_a_tool_that_is_only_restricted_is_no_gap() -> None:
    tool = snapshot(partial(frame(run("planner/search")), DECLARED), DECLARED)["coverage"]["dimensions"][0]
    assert tool["known"] == 3
    assert tool["missing"] == ["ask_worker", "book"]
