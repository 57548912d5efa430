"""Requests of one trace whose workflows never ended, because a step of each raised, or it went on where another had
waited: their spans never come, and what a program asked next was laid under them (LlamaIndex under OpenLLMetry;
OpenAI's kit under Laminar). The first step of each tells it from the others.
"""

from __future__ import annotations

from bisect import bisect_right

from otelcov.ground.patterns import late
from otelcov.runs.joining.sessions import STEPS
from otelcov.runs.trace.tree import Node

_FIRST = late(r"^opentelemetry\.instrumentation\.llamaindex init_run\.task$|^lmnr\.tracer agents\.task$")
"""Scopes, and what the first step of a workflow is called there."""

Part = tuple[Node, list[Node]]
"""The step that a request begins with, and all of its nodes."""


def requests_left_open(roots: list[Node]) -> list[Part]:
    """The requests among the roots of a trace, each by its own workflow; none where there are fewer than two, or where
    they were at work at once, and something lies below a step that never comes: the time alone tells whose that is."""
    begun = [n for n in roots if n.orphan and _begins(n)]
    opened = {n.span.parent_span_id for n in _by_themselves(begun)}
    if not opened:
        return []
    steps: dict[bytes | None, list[Node]] = {}
    next_ones = list[Node]()
    for n in roots:
        if n.span.parent_span_id not in opened:
            continue
        if any(_begins(c) for c in n.children):
            next_ones.append(n)
        else:
            steps.setdefault(n.span.parent_span_id, []).append(n)
    requests = sorted([*([n] for n in next_ones), *steps.values()], key=lambda some: some[0].start)
    strays = [n for n in roots if n.span.parent_span_id not in opened]
    if len(requests) < 2 or (strays and _at_once(requests)):
        return []
    for n in strays:
        before = bisect_right(requests, n.start, key=lambda some: some[0].start)
        requests[max(0, before - 1)].append(n)
    parts = [(some[0], [x for n in some for x in (n, *n.below())]) for some in requests]
    return [(root, nodes) for root, nodes in parts if root.own_agent or any(n.kind in STEPS for n in nodes)]


def _begins(node: Node) -> bool:
    return _FIRST.match(f"{node.span.scope} {node.span.name}") is not None


def _by_themselves(begun: list[Node]) -> list[Node]:
    """Those in whose time no workflow of another frame that never ended was longer at work. That one called them, in a
    step that has not come (Laminar: all requests of a trace lie in the same frame)."""
    if len({n.span.parent_span_id for n in begun}) < 2:
        return begun
    out = list[Node]()
    ends = dict[bytes | None, int]()  # of the two frames whose work lasts longest
    for n in sorted(begun, key=lambda n: (n.start, -n.end)):
        frame = n.span.parent_span_id
        if all(end <= n.end for other, end in ends.items() if other != frame):
            out.append(n)
        ends[frame] = max(ends.get(frame, 0), n.end)
        if len(ends) > 2:
            del ends[min(ends, key=lambda other: ends[other])]
    return out


def _at_once(requests: list[list[Node]]) -> bool:
    """`requests` by their start."""
    until = 0
    for some in requests:
        if some[0].start < until:
            return True
        until = max(n.end for n in some)
    return False
