"""Agents that ran in traces of their own: who leads such a part, and whether a tool's call is what it was asked and
answered."""

from __future__ import annotations

import json

from otelcov.dialects.base import AGENT, CHAIN
from otelcov.runs.agents.charge import alone_within
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.trace.tree import Node, failure


def lead(part: Fragment) -> Node | None:
    """The agent that leads a part, at its top."""
    root = served(part) or part.root
    if root.kind == CHAIN:
        root = alone_within(root) or root  # a framework's own frame around the agent
    return root if root.kind == AGENT and root.own_agent is not None else None


def framed(part: Fragment) -> Node | None:
    """The agent that all lies in, below frames, or as a graph."""
    node = part.root
    for _ in range(_FRAMES):
        if node.own_agent is not None or (inner := alone_within(node)) is None:
            break
        node = inner
    return node if node.kind in (AGENT, CHAIN) and node.own_agent is not None else None


def served(part: Fragment) -> Node | None:
    """The one agent in a request that a server of the program's own took in (A2A's kit for Python), below spans that
    nobody explains."""
    node = part.root
    for _ in range(_FRAMES):
        if node.kind is not None:
            break
        holding = [c for c in node.children if c.kind is not None or any(n.kind == AGENT for n in c.below())]
        if len(holding) != 1:
            return None
        node = holding[0]
    return node if node is not part.root and node.kind == AGENT else None


_FRAMES = 8  # in each other, at the most


def said_to(node: Node, guest: Fragment) -> bool:
    """Is what this was asked in what a tool was given?"""
    words = next((x.text for c in guest.calls[:1] for x in c.inputs or [] if x.role == "user" and x.text), None)
    raw = node.span.arguments
    if raw is None:
        raw = next(
            (str(a.get("content")) for e, a in node.side.events.get(node.span.row, ()) if e == "gen_ai.tool.message"),
            None,
        )
    return bool(words and raw and words.strip() in raw)


def heard_from(node: Node, guest: Fragment) -> bool:
    """Is what a tool gave what this answered, or did both fail?"""
    said = guest.calls[-1].text if guest.calls else None
    if said and said.strip():
        return json.dumps(said.strip())[1:-1] in json.dumps(node.span.result or "")
    return failure(node) is not None and failure(framed(guest) or guest.root) is not None
