"""What lies inside a tool's span: whose work, and of which kinds."""

from __future__ import annotations

from otelcov.dialects.base import LLM, TOOL
from otelcov.runs.agents.scene import Scene
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.trace.tree import Node


def agent_below(node: Node, caller: str | None, scene: Scene) -> Node | None:
    """The first other agent, and no name around its run, whose work lies inside a tool's span. Of tools that hold but
    one span each, in each other, it is the same."""
    known, way = scene.others_below, list[int]()
    while (id(node), caller) not in known:
        way.append(id(node))
        if len(node.children) != 1 or _is_others(node.children[0], caller, scene):
            known[id(node), caller] = _first_below(node, caller, scene)
        else:
            node = node.children[0]
    found = known[id(node), caller]
    known.update(((passed, caller), found) for passed in way)
    return found


def _first_below(node: Node, caller: str | None, scene: Scene) -> Node | None:
    queue = list(node.children)
    for n in queue:
        if _is_others(n, caller, scene):
            return n
        queue.extend(n.children)
    return None


def _is_others(node: Node, caller: str | None, scene: Scene) -> bool:
    if node.own_agent is not None and node.own_agent != caller and node.own_agent not in scene.around:
        return True
    return node.kind in (LLM, TOOL) and node.agent is not None and caller is not None and node.agent != caller


def nameless_below(call: ToolCall) -> list[Node]:
    """What is in a tool's span and has no agent's name, but for that call's own."""
    layers = {id(n) for n in call.nodes}
    return [n for n in call.nodes[0].below() if n.own_agent is None and id(n) not in layers]


def kinds_below(call: ToolCall, scene: Scene) -> frozenset[str | None]:
    """The kinds of that."""
    if len(call.nodes) > 1:
        return frozenset(n.kind for n in nameless_below(call))
    known, unread = scene.kinds_below, [call.nodes[0]]
    while unread:
        node = unread[-1]
        missing = [n for n in node.children if id(n) not in known]
        if missing:
            unread += missing
            continue
        unread.pop()
        own = (n.kind for n in node.children if n.own_agent is None)
        known[id(node)] = frozenset(own).union(*(known[id(n)] for n in node.children))
    return known[id(call.nodes[0])]
