"""Attempts: a call that a framework makes again, of itself, is one call that went as the last of them did."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable
from itertools import islice

from otelcov.dialects.base import CHAIN
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.rules.habits import drops_tools
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.executions import span_fact
from otelcov.runs.trace.tree import Node, failure, spelling, waiting

_NEAR = 8  # calls of one tool beside another that are looked at
_NEXT = 64  # calls after one that waited


def gone_on(calls: list[ToolCall]) -> list[ToolCall]:
    """With the calls that waited for somebody, and were run again from their beginning then, each once (LlamaIndex)."""
    calls = _named_since(calls)
    unasked = _by_start((c for c in calls if c.asked_by is None and c.nodes), lambda c: c.agent)
    if not unasked:
        return calls
    again = set[int]()
    for c in calls:
        if id(c) in again or not c.nodes or not all(waiting(n) for n in c.nodes):
            continue
        later, starts = unasked.get((c.agent, spelling(c.name or "")), ([], []))
        near = islice(later, bisect_left(starts, c.end), bisect_left(starts, c.end) + _NEAR)
        done = next((x for x in near if x is not c and id(x) not in again and not differ(c.nodes, x.nodes)), None)
        if done is not None:
            again.add(id(done))
            c.nodes, c.start, c.end = done.nodes, done.start, done.end
    return [c for c in calls if id(c) not in again]


def _named_since(calls: list[ToolCall]) -> list[ToolCall]:
    """Without those that waited or failed and whose span tells no name, where the next that was given the same does, or
    failed, too, or the one before did (Traceloop of LangChain for JavaScript names a tool by what it brought)."""
    nameless = [c for c in calls if c.name is None and c.nodes and (_failed(c) or all(waiting(n) for n in c.nodes))]
    if not nameless:
        return calls
    ran = sorted((c for c in calls if c.nodes and (c.name is not None or _failed(c))), key=_start)
    again = set[int]()
    for c in nameless:
        since, until = bisect_left(ran, c.end, key=_start), bisect_left(ran, c.start, key=_start)
        before = (x for x in ran[max(until - _NEXT, 0) : until] if x.name is not None and in_vain(x.nodes, c.nodes))
        if any(x is not c and _given_alike(c, x) for x in (*ran[since : since + _NEXT], *before)):
            again.add(id(c))
    return [c for c in calls if id(c) not in again]


def _start(call: ToolCall) -> int:
    return call.start


def _given_alike(one: ToolCall, other: ToolCall) -> bool:
    given = arguments_of(span_fact(one.nodes, "arguments"))[0]
    return given is not None and not differ(one.nodes, other.nodes) and one.turn in (None, other.turn)


def without_vain(calls: list[ToolCall]) -> list[ToolCall]:
    """Without attempts that failed beside another with the same arguments, for which a model had asked: before it, or
    after it, if that failed, too (LangChain's retries under OpenInference, where the result alone tells an id)."""
    unasked = [c for c in calls if c.asked_by is None and _failed(c)]
    if not unasked:
        return calls
    asked = _by_start((c for c in calls if c.nodes and (c.asked_by is not None or _only_done(c))), _beside)
    vain = set[int]()
    for c in unasked:
        others, starts = asked.get((_beside(c), spelling(c.name or "")), ([], []))
        at, until = bisect_left(starts, c.end), bisect_left(starts, c.start)
        before = (x for x in others[max(until - _NEAR, 0) : until] if x.end <= c.start and _failed(x))
        turn = c.position if c.turn is None else c.turn
        near = (x for x in (*others[at : at + _NEAR], *before) if x.turn == turn)
        if any(not differ(c.nodes, x.nodes) for x in near):
            vain.add(id(c))
    return [c for c in calls if id(c) not in vain]


def _beside(call: ToolCall) -> tuple[int, str]:
    return held(call.nodes[0])


def held(node: Node) -> tuple[int, str]:
    """What holds a tool's span or, where that is a step which does nothing else and is made again as a whole
    (LangGraph's tasks, Temporal's activities), what holds steps of this name."""
    step = node.parent
    if step is None or step.kind not in (CHAIN, None) or len(step.children) > 1 or step.parent is None:
        return id(step), ""
    return id(step.parent), step.span.name


def _by_start(
    calls: Iterable[ToolCall], whose: Callable[[ToolCall], Hashable]
) -> dict[tuple[Hashable, str], tuple[list[ToolCall], list[int]]]:
    """Calls by whose they are and by tool, each with when they began, in that order."""
    found: dict[tuple[Hashable, str], tuple[list[ToolCall], list[int]]] = {}
    for c in sorted(calls, key=lambda c: c.start):
        some, starts = found.setdefault((whose(c), spelling(c.name or "")), ([], []))
        some.append(c)
        starts.append(c.start)
    return found


def _failed(call: ToolCall) -> bool:
    return bool(call.nodes) and all(failure(n) is not None or _left(n) for n in call.nodes)


def _only_done(call: ToolCall) -> bool:
    """Was this run once, at most, by a tracer that leaves out what it did in vain, so that each step is an attempt?"""
    return any(drops_tools(n.span.scope) for n in call.nodes) and not _failed(call)


def _left(node: Node) -> bool:
    """Is this a step around a tool whose own span was left out, because it threw or waits?"""
    return drops_tools(node.span.scope) and node.span.result is None and not node.children


def in_vain(before: list[Node], nodes: list[Node]) -> bool:
    """Did an attempt fail, after which these spans, beside its own, were the next?"""
    beside = held(nodes[0]) == held(before[0]) and nodes[0].start >= before[0].end
    return beside and all(failure(n) is not None or n.span.tool_error == "true" for n in before)


def differ(some: list[Node], others: list[Node]) -> bool:
    """Did these spans run a tool with other arguments than those?"""
    given = [arguments_of(span_fact(nodes, "arguments"))[0] for nodes in (some, others)]
    return None not in given and given[0] != given[1]
