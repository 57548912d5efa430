"""Agents whose span holds nothing, though they were at work: what they did stands in traces of its own.

An instrumentation that gives an agent's stream to the caller and ends the agent's span when that is read (Traceloop's
for Agno) cannot be found by what runs meanwhile. A model call belongs to such an agent if it was asked the agent's own
words within its time; a tool, told by the same instrumentation, if one such agent alone was at work - or if one alone
asked a model that asked for this tool. Nearness in time decides nothing: what several may have done stays by itself,
and says so, and none of these is told to have done no more than what is known of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from otelcov.dialects.base import AGENT, LLM, TOOL
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.joining.lone_tools import ran_for
from otelcov.runs.trace.tree import Node

_JITTER_NS = 1_000_000
_AT_ONCE = 64  # such agents that are at work at one time


class _Hollow(NamedTuple):
    start: int
    end: int
    part: Fragment
    node: Node


def unite_hollow(parts: list[Fragment], unite: Callable[[Fragment, Fragment], None]) -> None:
    """Join what stands in traces of its own with the agents that did it. `parts` by start."""
    empty = sorted((h for p in parts for h in _hollow(p)), key=lambda h: h.start)
    if not empty:
        return
    asking: dict[int, list[Fragment]] = {}  # the model calls of each such part
    tools: list[tuple[Fragment, list[_Hollow]]] = []
    for p, beside in _at_work(parts, empty):
        if p.root.kind == TOOL:
            tools.append((p, beside))
        elif (host := _only([h for h in beside if _words(h, p)])) is not None:
            _lay(host, p, unite)
            asking.setdefault(id(host.part), []).append(p)
        else:
            p.astray = True
    left = []
    for p, beside in tools:
        asked = [h for h in beside if any(ran_for(p, q) for q in asking.get(id(h.part), ()))]
        if (host := _only(asked)) is not None:
            _lay(host, p, unite)
        else:
            left.append((p, beside))
    several = {id(h.part) for _, beside in left if _only(beside) is None for h in beside}
    for p, beside in left:
        host = _only(beside)
        if host is None or id(host.part) in several:
            p.astray = True
        else:
            _lay(host, p, unite)


def _hollow(part: Fragment) -> Iterator[_Hollow]:
    """The agents of a whole trace in which nobody does anything."""
    if part.loose or part.calls or part.root.orphan or any(n.kind in (LLM, TOOL) for n in part.nodes):
        return
    for n in part.nodes:
        if n.kind == AGENT and n.start and not any(c.kind == AGENT for c in n.below()):
            yield _Hollow(n.start, n.end, part, n)


def _at_work(parts: list[Fragment], empty: list[_Hollow]) -> Iterator[tuple[Fragment, list[_Hollow]]]:
    """What stands alone, each with the agents within whose time it lies that may have done it."""
    open_: list[_Hollow] = []
    begun = 0
    for p in parts:
        while begun < len(empty) and empty[begun].start <= p.start + _JITTER_NS:
            open_.append(empty[begun])
            begun += 1
        exact = bool(p.start % _JITTER_NS)  # else its clock may have cut off the rest
        open_ = [h for h in open_ if h.end >= p.start][-_AT_ONCE:]
        if not open_ or not (p.loose or p.holds) or p.root.orphan or p.root.kind not in (LLM, TOOL):
            continue
        beside = [h for h in open_ if p.end <= h.end + _JITTER_NS and h.node.span.service == p.root.span.service]
        beside = [h for h in beside if not exact or h.start <= p.start]
        if p.root.kind == TOOL:
            beside = [h for h in beside if h.node.span.scope == p.root.span.scope]
        if beside:
            yield p, beside


def _only(some: list[_Hollow]) -> _Hollow | None:
    return some[0] if len({id(h.part) for h in some}) == 1 else None


def _words(host: _Hollow, p: Fragment) -> bool:
    """Was the model asked what the agent was asked?"""
    asked = host.node.span.input
    if not asked or not p.calls:
        return False
    told = next((x.text for x in reversed(p.calls[0].inputs or ()) if x.role == "user" and x.text), None)
    return told is not None and told.strip() == asked.strip()


def _lay(host: _Hollow, p: Fragment, unite: Callable[[Fragment, Fragment], None]) -> None:
    unite(host.part, p)
    p.root.parent = host.node
    host.node.children.append(p.root)
    for n in p.nodes:
        n.agent = n.agent or host.node.agent
