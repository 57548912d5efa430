"""The step that a run begins with."""

from __future__ import annotations

from otelcov.dialects.base import AGENT, LLM, TOOL
from otelcov.runs.agents.delegation import Delegation
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.trace.tree import Node


def root_of(group: list[Fragment]) -> Node:
    """The step the run begins with: the root of its earliest fragment, what another told of it with less last, one with
    an agent before loose model calls, these before a gateway's telling of them, and one that called before one that was
    called (whose root lies below a step of it)."""

    def place(f: Fragment) -> tuple[object, ...]:
        return (
            f.again,
            f.loose,
            f.gateway and not f.calls,
            f.root.parent is not None,
            f.root.orphan,
            f.start,
            f.trace_id,
        )

    return min(group, key=place).root


def first_step(group: list[Fragment], handed: list[Delegation]) -> Node:
    """The step the run begins with, which is no agent that a step of another called, whose own span has not come: the
    answer of who was called is not the run's."""
    root = root_of(group)
    if not root.orphan:
        return root
    called: dict[str | None, Delegation] = {}
    for d in handed:  # by time
        if d.target is not None and _caller(d) is not None:
            called.setdefault(d.target, d)
    if not _was_called(root, called):
        return root
    tops = [n for f in group for n in f.nodes if n.parent is None and n.kind in (AGENT, LLM, TOOL)]
    found = [n for n in tops if not _was_called(n, called)]
    return min(found, key=lambda n: (n.orphan and n.kind != AGENT, n.start, n.span.span_id), default=root)


def _caller(d: Delegation) -> Node | None:
    """The tool that called an agent, else the model that asked for it."""
    if d.call is None:
        return None
    return d.call.nodes[0] if d.call.nodes else d.call.asked_by.node if d.call.asked_by is not None else None


def _was_called(agent: Node, called: dict[str | None, Delegation]) -> bool:
    d = called.get(agent.own_agent)
    caller = _caller(d) if d is not None else None
    if d is None or caller is None or d.start > agent.start:
        return False
    return caller is not agent and all(above is not agent for above in caller.ancestors())
