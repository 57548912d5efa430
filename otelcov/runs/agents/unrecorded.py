"""What lies below a delegating tool is the work of the agent it names, also where that has no span of its own."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from otelcov.runs.agents.delegation import Delegation
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.trace.above import Above
from otelcov.runs.trace.tree import Node


def give_to_the_unrecorded(found: list[Delegation], calls: list[ToolCall], model_calls: list[ModelCall]) -> None:
    """Where no name is told, nobody knows whose that work is. Of tools in tools the inner one is the last to say."""
    holders = [(d, d.call.nodes[0]) for d in found if d.call is not None and d.call.nodes and d.node is None]
    if not holders:
        return
    places = _places([node for _, node in holders])
    work: dict[str | None, list[tuple[int, ToolCall | ModelCall]]] = defaultdict(list)
    steps: list[tuple[Node | None, ToolCall | ModelCall]] = [*((_where(c), c) for c in calls)]
    for node, one in [*steps, *((c.node, c) for c in model_calls)]:
        if node is not None and id(node) in places:
            work[one.agent].append((places[id(node)][0], one))
    for some in work.values():
        some.sort(key=_place)
    by_call: dict[int, list[Delegation]] = defaultdict(list)
    for d in found:
        if d.call is not None:
            by_call[id(d.call)].append(d)
    others = [(places[id(node)][0], d) for d, node in _misplaced(found) if id(node) in places]
    for d, node in holders:
        first, end = places[id(node)]
        for place, other in others:
            if first < place < end and other.call is not None and other.call.agent in (d.source, None):
                other.source = d.target
        for agent in {d.source, None} - {d.target}:
            some = work[agent]
            begin, until = bisect_left(some, first + 1, key=_place), bisect_left(some, end, key=_place)
            moved = some[begin:until]
            if not moved:
                continue
            del some[begin:until]
            work[d.target] = sorted([*work[d.target], *moved], key=_place)
            for _, one in moved:
                one.agent = d.target
                for other in by_call.get(id(one), ()):
                    other.source = d.target


def _place(told: tuple[int, object]) -> int:
    return told[0]


def _misplaced(found: list[Delegation]) -> list[tuple[Delegation, Node]]:
    """Those said to be another's than the calls that they are."""
    odd = ((d, _where(d.call)) for d in found if d.call is not None and d.call.agent != d.source)
    return [(d, node) for d, node in odd if node is not None]


def _where(call: ToolCall) -> Node | None:
    """The span that ran a call, else the one that asked for it."""
    return call.nodes[0] if call.nodes else call.asked_by.node if call.asked_by is not None else None


def _places(nodes: list[Node]) -> dict[int, tuple[int, int]]:
    """Each of these, and what is below, by id: its number, parents before children, and the first that is not below."""
    known = {id(n) for n in nodes}
    held = Above(lambda above, within: within or id(above) in known, False)
    stack: list[tuple[Node, bool]] = [(n, True) for n in {id(n): n for n in nodes}.values() if not held(n)]
    found, number = dict[int, tuple[int, int]](), 0
    while stack:
        node, entered = stack.pop()
        if entered:
            found[id(node)] = number, number
            number += 1
            stack.append((node, False))
            stack += [(n, True) for n in node.children]
        else:
            found[id(node)] = found[id(node)][0], number
    return found
