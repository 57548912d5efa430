"""Edges: agent -> tool and agent -> agent, allowed, restricted, undeclared; and the obligations that they meet.

Calls of runs that have not settled are kept apart (`open`): they are judged for restricted edges at once, and for
nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from otelcov.coverage import graph, statistics
from otelcov.coverage.brief import EDGES
from otelcov.coverage.dimension import View
from otelcov.coverage.facts import Facts
from otelcov.coverage.graph import Edge
from otelcov.coverage.tally import ASKED, Steps
from otelcov.ground.windows import iso

AGENTS = ("agent", "agent_open")
DIMENSIONS = (*EDGES, "agent")
_SUMS = ("calls", "errors", "requested", "runs")


def observe(facts: Facts) -> list[Steps]:
    """Rows `edge` (tool calls), `edge_tool` (calls of delegating tools), `delegation` and `agent` (runs with it); with
    `_open` those of runs that have not settled."""
    found = []
    for suffix, calls, delegations in (
        ("", facts.calls, facts.delegations),
        ("_open", facts.open_calls, facts.open_delegations),
    ):
        by_tool = delegations.filter(pl.col("tool").is_not_null()).with_columns(item=pl.col("tool"))
        found.append(Steps(f"edge{suffix}", calls, any_evidence=True))
        found.append(Steps(f"edge_tool{suffix}", by_tool, any_evidence=True))
    found.append(Steps("delegation", facts.delegations.filter(pl.col("item").is_not_null()), any_evidence=True))
    settled = pl.col("settled")
    for name, some in zip(AGENTS, (settled, ~settled), strict=True):
        seen = facts.runs.filter(some).select("rid", item="agents").explode("item").drop_nulls("item")
        seen = seen.filter(facts.mine(pl.col("item"))).with_columns(agent=pl.lit(None, pl.String))
        found.append(Steps(name, seen.unique()))
    return found


@dataclass(frozen=True)
class Traffic:
    """What was called: {(agent or None where unknown, tool or agent): sums}."""

    tools: dict[tuple[str | None, str], dict[str, Any]]  # settled, delegating tools included
    attempts: dict[tuple[str | None, str], dict[str, Any]]  # the same with runs that have not settled
    plain: dict[tuple[str | None, str], dict[str, Any]]  # settled, without delegating tools
    delegations: dict[tuple[str | None, str], dict[str, Any]]
    agents: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, rows: pl.DataFrame) -> Traffic:
        def sums(*dimensions: str) -> dict[tuple[str | None, str], dict[str, Any]]:
            named = [*dimensions, *(f"{name}{ASKED}" for name in dimensions)]
            chosen = rows.filter(pl.col("dimension").is_in(named))
            summed = chosen.group_by("agent", "item").agg(
                pl.col(*_SUMS).sum(),
                pl.col("first_seen").min(),
                pl.col("last_seen").max(),
                pl.col("example_trace").min(),
            )
            return {(row.pop("agent"), row.pop("item")): row for row in summed.to_dicts()}

        agents = {item: row for (_, item), row in sums("agent").items()}
        return cls(
            tools=sums("edge", "edge_tool"),
            attempts=sums("edge", "edge_tool", "edge_open", "edge_tool_open"),
            plain=sums("edge"),
            delegations=sums("delegation"),
            agents=agents,
        )


@dataclass(frozen=True)
class Targets:
    """The four numbers of the tool-edge gate. An empty or undeclared set makes its number null."""

    allowed_pct: float | None
    restricted_attempts: int | None
    delegation_pct: float | None

    def as_far_as_seen(self, tools: bool, delegations: bool) -> Targets:
        """Null where no run could show tool calls, or delegations: a number would be an invention."""
        seen = tools or bool(self.restricted_attempts)  # a violation that was seen stays one
        return Targets(
            self.allowed_pct if tools or self.allowed_pct else None,
            self.restricted_attempts if seen else None,
            self.delegation_pct if delegations or self.delegation_pct else None,
        )

    @property
    def gate_passed(self) -> int | None:
        return None if self.restricted_attempts is None else int(self.restricted_attempts == 0)

    def as_json(self) -> dict[str, float | None]:
        return {
            "allowed_pct": self.allowed_pct,
            "restricted_attempts": self.restricted_attempts,
            "delegation_pct": self.delegation_pct,
            "gate_passed": self.gate_passed,
        }


def targets(traffic: Traffic, allowed: list[Edge], restricted: list[Edge], delegations: list[Edge]) -> Targets:
    """The tool-edge gate's numbers of this traffic: an errored call exercises, a requested one does not."""

    def share(edges: list[Edge], seen: dict[tuple[str | None, str], dict[str, Any]]) -> float | None:
        done = sum(any(row["calls"] for row in matching(edge, seen)) for edge in edges)
        return 100 * done / len(edges) if edges else None

    attempts = {key: row for edge in restricted for key, row in _matches(edge, traffic.attempts)}  # each call once
    return Targets(
        share(allowed, traffic.tools),
        sum(row["calls"] + row["requested"] for row in attempts.values()) if restricted else None,
        share(delegations, traffic.delegations),
    )


def matching(edge: Edge, seen: dict[tuple[str | None, str], dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for _, row in _matches(edge, seen)]


def measure(view: View) -> dict[str, Any]:
    """The `edges` part of a snapshot."""
    config, traffic = view.config, Traffic.of(view.of(*DIMENSIONS))
    allowed, restricted = graph.allowed(config, view.agents), graph.restricted(config, view.agents)
    delegations = graph.delegations(config, view.agents)
    able = view.shown.get("tool", 0)
    numbers = targets(traffic, allowed, restricted, delegations)
    numbers = numbers.as_far_as_seen(bool(able), bool(view.shown.get("delegation", 0)))
    declared_tools = set(allowed) | set(restricted)
    loose = [(Edge(*key), row, "tool") for key, row in traffic.plain.items() if Edge(*key) not in declared_tools] + [
        (Edge(*key), row, "to") for key, row in traffic.delegations.items() if Edge(*key) not in set(delegations)
    ]
    obligations = [
        _obligation(o, traffic) for o in graph.obligations(config) if not view.agents or o.agent in view.agents
    ]
    return numbers.as_json() | {
        "allowed": [_edge(e, matching(e, traffic.tools), "tool") for e in allowed],
        "restricted": [
            _edge(e, matching(e, traffic.attempts), "tool") | {"status": _probed(e, traffic)} for e in restricted
        ],
        "delegations": [_edge(e, matching(e, traffic.delegations), "to") for e in delegations],
        "undeclared": sorted(
            (_edge(e, [row], kind) for e, row, kind in loose),
            key=lambda row: ("to" in row, row["agent"] or "", row.get("tool") or row.get("to") or ""),
        ),
        "obligations": obligations,
        "obligation_counts": _counts(obligations),
        "restricted_bound": None
        if not restricted or numbers.restricted_attempts != 0
        else {"runs": able, "upper": statistics.zero_bound(able), "level": 0.95},
    }


def _matches(
    edge: Edge, seen: dict[tuple[str | None, str], dict[str, Any]]
) -> Iterable[tuple[tuple[str | None, str], dict[str, Any]]]:
    if edge.agent is None:
        return ((key, row) for key, row in seen.items() if key[1] == edge.to)
    slashed = f"{edge.agent}/{edge.to}"  # an MCP server's tool may itself be called "server/tool"
    return ((key, row) for key, row in seen.items() if key == (edge.agent, edge.to) or key[1] == slashed)


def _edge(edge: Edge, rows: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return {"agent": edge.agent, kind: edge.to} | {c: sum(r[c] for r in rows) for c in _SUMS} | _seen(rows)


def _seen(rows: list[dict[str, Any]]) -> dict[str, Any]:
    first = min((r["first_seen"] for r in rows if r["first_seen"] is not None), default=None)
    last = max((r["last_seen"] for r in rows if r["last_seen"] is not None), default=None)
    return {
        "first_seen": None if first is None else iso(first),
        "last_seen": None if last is None else iso(last),
        "example_trace": min((r["example_trace"] for r in rows if r["example_trace"] is not None), default=None),
    }


def _probed(edge: Edge, traffic: Traffic) -> str:
    rows = matching(edge, traffic.attempts)
    if any(row["calls"] for row in rows):
        return "violated"
    return "resisted" if any(row["requested"] for row in rows) else "never_probed"


def _obligation(o: graph.Obligation, traffic: Traffic) -> dict[str, Any]:
    if o.kind == "reach":
        rows = [traffic.agents[o.agent]] if o.agent in traffic.agents else []
        status = "covered" if rows else "missing"
    else:
        edge = Edge(o.agent, o.to or "")
        seen = {"use": traffic.tools, "restricted": traffic.attempts, "delegate": traffic.delegations}[o.kind]
        rows = matching(edge, seen)
        status = (
            _probed(edge, traffic)
            if o.kind == "restricted"
            else "covered"
            if any(r["calls"] for r in rows)
            else "missing"
        )
        if status == "missing":
            rows = []
    return {
        "kind": o.kind,
        "agent": o.agent,
        "tool": o.to if o.kind in ("use", "restricted") else None,
        "to": o.to if o.kind == "delegate" else None,
        "status": status,
        "runs": sum(r["runs"] for r in rows),
    } | _seen(rows)


def _counts(obligations: list[dict[str, Any]]) -> dict[str, int]:
    counts = {"total": len(obligations)}
    for o in obligations:
        for name in (o["kind"], o["status"]):
            counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))
