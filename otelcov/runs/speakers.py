"""Who speaks for a run: the spans around its work and the model calls that its user hears."""

from __future__ import annotations

from otelcov.dialects.base import AGENT, CHAIN, OTHER, TOOL
from otelcov.runs.model_call import ModelCall
from otelcov.runs.tree import Node


def own_calls(root: Node, calls: list[ModelCall]) -> list[ModelCall]:
    """The model calls that speak of the request itself: those of a guardrail or a judge speak about it. Where what
    frames the run is missing, those inside a tool are somebody else's: what an agent called as a tool was asked is not
    what the user asked."""
    calls = [c for c in calls if not any(n.kind == OTHER for n in c.node.ancestors())] or calls
    return [c for c in calls if not any(n.kind == TOOL for n in c.node.ancestors())] if root.orphan else calls


def front_of(root: Node) -> list[Node]:
    """The root and the containers right below it, down to the first agent with input: where a request is written. What
    a tool called whose own frame has not come was not asked by the user."""
    out, level = [root], [root] if root.kind != TOOL or not root.orphan else []
    for _ in range(5):
        level = [c for n in level for c in n.children if c.kind in (AGENT, CHAIN) or c.kind is None]
        out.extend(level[:8])
    return out


def at_work(root: Node, call: ModelCall) -> bool:
    """Has the agent that made this call not ended yet?"""
    return root.orphan and not any(n.kind == AGENT for n in call.node.ancestors())
