"""The declared graph: agents, the tools that each may and must not call, and to whom it may delegate.

Obligations are derived from it as in arXiv:2605.26521: reach each agent, use each allowed edge, never use (and
better: probe) each restricted edge, take each delegation. Restricted edges are declared, never assumed;
`restricted = "complement"` reproduces the paper, where every pair that is not allowed is restricted.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from otelcov.ground.config import Config


class Edge(NamedTuple):
    """agent -> tool, or agent -> agent for a delegation; no agent means any agent."""

    agent: str | None
    to: str


class Obligation(NamedTuple):
    kind: str  # reach | use | restricted | delegate
    agent: str
    to: str | None


def allowed(config: Config, agents: Collection[str] = ()) -> list[Edge]:
    return _edges({name: agent.tools for name, agent in config.agents.items()}, agents)


def restricted(config: Config, agents: Collection[str] = ()) -> list[Edge]:
    listed = {name: agent.restricted for name, agent in config.agents.items()}
    if config.coverage.restricted == "complement":
        tools = {edge.to for edge in allowed(config)} | set(config.tools)
        may = set(allowed(config))
        listed = {
            name: [*(listed[name] or []), *(t for t in tools if Edge(name, t) not in may)] for name in config.agents
        }
    return _edges(listed, agents)


def delegations(config: Config, agents: Collection[str] = ()) -> list[Edge]:
    return _edges({name: agent.delegates_to for name, agent in config.agents.items()}, agents)


def obligations(config: Config) -> list[Obligation]:
    found = [Obligation("reach", name, None) for name in config.agents]
    for kind, edges in (
        ("use", allowed(config)),
        ("restricted", restricted(config)),
        ("delegate", delegations(config)),
    ):
        found += [Obligation(kind, edge.agent or "", edge.to) for edge in edges]
    kinds = ("reach", "use", "restricted", "delegate")
    return sorted(found, key=lambda o: (kinds.index(o.kind), o.agent, o.to or ""))


def declared_tools(config: Config, agents: Collection[str] = ()) -> frozenset[str] | None:
    """The tools that may be called; None where nothing is declared.

    A tool that is restricted and allowed to nobody is no part of it: that it was not called is no gap.
    """
    lists = [agent.tools for name, agent in config.agents.items() if not agents or name in agents]
    may = {tool for tools in lists for tool in tools or []}
    if agents:
        return None if all(tools is None for tools in lists) else frozenset(may)
    if all(tools is None for tools in lists) and not config.tools:
        return None
    forbidden = {tool for agent in config.agents.values() for tool in agent.restricted or []} - may
    return frozenset(may | (set(config.tools) - forbidden))


def _edges(listed: dict[str, list[str] | None], agents: Collection[str]) -> list[Edge]:
    names = [name for name in listed if not agents or name in agents]
    return sorted({Edge(name, to) for name in names for to in listed[name] or []}, key=lambda e: (e.agent or "", e.to))
