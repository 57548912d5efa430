"""Steps that two instrumentations of one kit told beside each other, each under spans of its own.

Callbacks and trace processors keep trees by themselves (Langfuse's handler beside OpenInference for LangChain, Logfire
beside OpenInference for OpenAI's agents). Two spans of different scopes that begin and end together and tell of the
same tool with the same arguments, of the same agent, or of an answer of as many tokens to it, are one step: the later
is laid under the earlier, as if it had been within, where one step counts once. Those that tell the same word for word
may begin and end further apart: a busy machine holds up whichever of them comes second.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

from otelcov.dialects.base import AGENT, CHAIN, LLM, TOOL
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.tools.executions import span_call_id, span_name
from otelcov.runs.trace.tree import Node, Trace, by_time, failure, same_step, spelling

_JITTER_NS = 20_000_000  # what one of them may take to note that a step began or ended, while the other waits
_HELD_UP_NS = 1_000_000_000  # … on a busy machine, where both tell the same word for word
_AT_ONCE = 64  # steps alike under way at one time


def lay_together(trace: Trace) -> None:
    """Lay what is told again under what told it first."""
    if len({n.span.scope for n in trace.nodes}) < 2:
        return
    alike: dict[tuple[str, str | None, object], list[Node]] = {}
    for node in trace.nodes:
        key = _key(node)
        if key is not None:
            alike.setdefault(key, []).append(node)
    moved = False
    for nodes in alike.values():
        if len({n.span.scope for n in nodes}) > 1:
            for first, again in _pairs(nodes):
                moved |= _lay(again, first)
    if moved:
        _in_order(trace)


def _key(node: Node) -> tuple[str, str | None, object] | None:
    """What spans of one step have in common, of steps that can be told again."""
    if node.kind == TOOL:
        name = span_name([node])
        return (TOOL, spelling(name), None) if name else None
    if node.kind == LLM:
        counted = node.span.input_tokens, node.span.output_tokens
        if None not in counted:
            return LLM, node.agent, counted
        return (LLM, node.agent, None) if failure(node) is not None else None
    return (AGENT, node.own_agent, None) if node.own_agent and node.kind in (AGENT, CHAIN) else None


def _pairs(nodes: list[Node]) -> list[tuple[Node, Node]]:
    """Those that tell of one step, each with the nearest in time, the earlier first."""
    open_: list[Node] = []
    found: list[tuple[int, int, Node, Node]] = []
    for n in sorted(nodes, key=lambda n: (n.start, -n.end)):
        apart = _JITTER_NS if n.kind in (AGENT, CHAIN) else _HELD_UP_NS
        open_ = [m for m in open_ if m.end >= n.start and n.start - m.start <= apart][-_AT_ONCE:]
        for m in open_:
            if m.span.scope != n.span.scope and _together(m, n) and _may_be_one(m, n):
                found.append((n.start - m.start + abs(n.end - m.end), len(found), m, n))
        open_.append(n)
    starts: dict[str, list[int]] = {}
    for n in sorted(nodes, key=lambda n: n.start):
        starts.setdefault(n.span.scope, []).append(n.start)
    taken: set[tuple[int, str]] = set()
    out = []
    for *_, m, n in sorted(found, key=lambda pair: pair[:2]):
        if m.kind == TOOL and not _equal(m, n) and any(_near(starts[x.span.scope], x.start) > 1 for x in (m, n)):
            continue  # by its name alone it may be any of them
        if (id(m), n.span.scope) not in taken and (id(n), m.span.scope) not in taken:
            taken |= {(id(m), n.span.scope), (id(n), m.span.scope)}
            out.append((m, n))
    return out


def _near(starts: list[int], start: int) -> int:
    """How many of these began about then."""
    return bisect_right(starts, start + _JITTER_NS) - bisect_left(starts, start - _JITTER_NS)


def _together(one: Node, two: Node) -> bool:
    """Do these end together, and share most of their time? One that failed in no time is followed by the next."""
    shared, shorter = min(one.end, two.end) - max(one.start, two.start), min(n.end - n.start for n in (one, two))
    apart = max(abs(two.start - one.start), abs(two.end - one.end))
    if apart > _JITTER_NS and (apart > _HELD_UP_NS or not _alike(one, two)):
        return False
    return 2 * shared >= shorter


def _alike(one: Node, two: Node) -> bool:
    """Do both tell the same of what a tool was given, or of what came of a model call: the answer's id, those of what
    it asked for, or its words?"""
    if one.kind != LLM:  # tools that both tell the call's id are one without this
        return one.kind == TOOL and _equal(one, two) and None in [span_call_id([n]) for n in (one, two)]
    if one.span.response_id is not None and one.span.response_id == two.span.response_id:
        return True
    a, b = (ModelCall(n, [n]) for n in (one, two))
    asked = [{r.id for r in c.asked} for c in (a, b)]
    if asked[0] or asked[1]:
        return asked[0] == asked[1] and None not in asked[0]
    noted = min(abs(two.start - one.start), abs(two.end - one.end)) <= _JITTER_NS  # words alone may be anyone's
    return noted and bool(a.text) and a.text == b.text


def _may_be_one(one: Node, two: Node) -> bool:
    a, b = one.span, two.span
    if a.service != b.service or _holds(one, two) or _holds(two, one):
        return False
    if one.kind == TOOL:
        return all(pair[0] == pair[1] for pair in _said(one, two))
    if one.kind == LLM:
        if a.response_id and b.response_id and a.response_id != b.response_id:
            return False
        models = {m.rpartition("/")[2] for m in (a.request_model, b.request_model) if m}
        if len(models) > 1:
            return False
        calls = [ModelCall(n, [n]) for n in (one, two)]
        asked = [sorted((r.name or "", r.id or "") for r in c.asked) for c in calls if c.outputs is not None]
        return len(asked) < 2 or asked[0] == asked[1]
    return True


def _holds(outer: Node, inner: Node) -> bool:
    node: Node | None = inner
    while node is not None and node.depth > outer.depth:
        node = node.parent
    return node is outer


def _said(one: Node, two: Node) -> list[list[Any]]:
    """The ids and the arguments of a tool, as far as both spans tell them."""
    ids, given = [span_call_id([n]) for n in (one, two)], [arguments_of(n.span.arguments)[0] for n in (one, two)]
    return [pair for pair in (ids, given) if None not in pair]


def _equal(one: Node, two: Node) -> bool:
    told = _said(one, two)
    return bool(told) and all(pair[0] == pair[1] for pair in told)


def _lay(node: Node, first: Node) -> bool:
    """Lay a span under another; under the innermost of those that tell of one answer."""
    above = first
    while node.kind == LLM:
        inner = [n for n in above.below() if n.kind == LLM and same_step(n, LLM) is above]
        if len(inner) != 1:
            break
        above = inner[0]
    if above is node or any(n is node for n in above.ancestors()) or node.parent is above:
        return False
    if node.parent is not None:
        node.parent.children.remove(node)
    node.parent = above
    above.children.append(node)
    return True


def _in_order(trace: Trace) -> None:
    trace.roots = [n for n in trace.nodes if n.parent is None]
    for root in trace.roots:
        root.depth, root.since = 0, root.start
        for node in (root, *root.below()):
            for child in node.children:
                child.depth, child.since = node.depth + 1, max(child.start, node.since)
    trace.nodes.sort(key=by_time)
    for node in trace.nodes:
        node.children.sort(key=by_time)
