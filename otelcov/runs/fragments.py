"""From traces to the pieces of runs: what of a trace is one request, and which pieces of several traces are.

A trace is usually one run. It is several where one script's span covers several requests to the same agent, and it is
a part of one where an instrumentation opens a trace for each model call, or a message queue carries the work on by a
span link. Parts are joined by what the conversation itself says: a call that brings results for tools another call
asked for continues it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from otelcov.dialects.base import AGENT, CHAIN, HANDOFF, LLM, SETUP, TOOL
from otelcov.runs import messages as m
from otelcov.runs.delegations import _ASK, _TO
from otelcov.runs.models import ModelCall, model_calls
from otelcov.runs.spans import Side
from otelcov.runs.tree import Node, Trace, placeholder

_STEPS = (AGENT, LLM, TOOL, HANDOFF)


class Fragment:
    """What one trace holds of one run. `loose` fragments are model calls without anything above them."""

    __slots__ = ("calls", "end", "loose", "nodes", "root", "side", "start", "trace_id")

    def __init__(self, trace: Trace, root: Node, nodes: list[Node]) -> None:
        self.trace_id, self.side, self.root, self.nodes = trace.trace_id, trace.side, root, nodes
        self.calls: list[ModelCall] = model_calls(nodes, trace.side)
        self.start = min((n.start for n in nodes if n.start), default=0)
        self.end = max((n.end for n in nodes), default=0)
        self.loose = False


def fragments(trace: Trace) -> list[Fragment]:
    """The runs, or parts of runs, in a trace. A trace without a step has none."""
    tops = [(root, [root, *root.below()]) for root in trace.roots]
    tops = [(root, nodes) for root, nodes in tops if any(n.kind in _STEPS for n in nodes)]
    if not tops:
        return []
    parts = _split(tops)
    out = []
    for root, nodes in parts:
        nodes.sort(key=lambda n: (n.start, n.span.span_id))
        fragment = Fragment(trace, root, nodes)
        fragment.loose = len({n.kind for n in nodes if n.kind is not None} - {LLM, "other"}) == 0 and root.kind == LLM
        if not fragment.loose and root.kind == TOOL and not fragment.calls and not any(n.kind == AGENT for n in nodes):
            fragment.loose = True
        out.append(fragment)
    return out


def _split(tops: list[tuple[Node, list[Node]]]) -> list[tuple[Node, list[Node]]]:
    if len(tops) > 1:
        entries = [_entries(root) for root, _ in tops]
        whole = [root for root, _ in tops if not root.orphan]
        if len(whole) == len(tops) and all(len(e) == 1 and e[0].kind == AGENT for e in entries) and len({e[0].own_agent for e in entries}) == 1:
            return tops
        first = min(tops, key=lambda t: (t[0].orphan and t[0].kind != AGENT, t[0].start, t[0].span.span_id))[0]
        return [(first, [n for _, nodes in tops for n in nodes])]
    root, nodes = tops[0]
    entries = _entries(root)
    if entries == [root] or len(entries) < 2 or root.span.span_kind in (2, 5) or root.span.conversation or root.span.case:
        return tops
    names = {e.own_agent for e in entries}
    cases = {e.span.case for e in entries}
    same = len(names) == 1 and None not in names and all(e.kind == AGENT for e in entries)
    if not same and not (len(cases) == len(entries) and None not in cases):
        return tops
    shared = {id(n) for n in nodes} - {id(n) for e in entries for n in (e, *e.below())}
    parts = [(e, [e, *e.below()]) for e in entries]
    parts[0][1].extend(n for n in nodes if id(n) in shared)
    return parts


def _entries(root: Node) -> list[Node]:
    """The topmost nodes that a dialect explains."""
    out, stack = [], [root]
    while stack:
        node = stack.pop()
        if node.kind in (AGENT, CHAIN, LLM, TOOL, HANDOFF):
            if node.kind == CHAIN and node.span.scope == "langfuse-sdk":
                stack.extend(node.children)
                continue
            out.append(node)
        elif node.kind != SETUP:
            stack.extend(node.children)
    out.sort(key=lambda n: (n.start, n.span.span_id))
    return out


def join(parts: list[Fragment]) -> list[list[Fragment]]:
    """Groups of fragments, one a run; most are alone."""
    group = {id(p): [p] for p in parts}

    def unite(a: Fragment, b: Fragment) -> None:
        one, two = group[id(a)], group[id(b)]
        if one is two:
            return
        one.extend(two)
        for p in two:
            group[id(p)] = one

    _join_links(parts, unite)
    loose = sorted((p for p in parts if p.loose), key=lambda p: (p.start, p.trace_id))
    if len(loose) > 1:
        followers = _join_continued(loose, unite)
        _join_children(loose, followers, unite)
    seen: set[int] = set()
    out = []
    for p in parts:
        g = group[id(p)]
        if id(g) not in seen:
            seen.add(id(g))
            g.sort(key=lambda f: (f.start, f.trace_id))
            out.append(g)
    return out


def _join_links(parts: list[Fragment], unite: object) -> None:
    """A trace whose root links to a span of a running run carries that run on."""
    linked = [(p, p.side.links[p.root.span.row]) for p in parts if p.root.span.row in p.side.links]
    if not linked:
        return
    owner = {(p.trace_id, n.span.span_id): (p, n) for p in parts for n in p.nodes}
    for p, links in linked:
        for trace_id, span_id in links:
            hit = owner.get((trace_id, span_id))
            if hit is None or hit[0] is p:
                continue
            source, node = hit
            if node.start <= p.start <= source.end:
                unite(source, p)  # type: ignore[operator]
                if p.root.parent is None:
                    p.root.parent = node  # for agents and delegations it is a child
                break


def _tail(call: ModelCall) -> tuple[list[str], list[m.Message]] | None:
    """Ids of the results that this call's input ends with, or None where it ends with a new user message."""
    inputs = call.inputs
    if not inputs:
        return None
    last = next((i for i in range(len(inputs) - 1, -1, -1) if inputs[i].role == "assistant" and inputs[i].requests), None)
    if last is None:
        return None
    after = inputs[last + 1 :]
    if any(x.role in ("user", "assistant") and not x.results for x in after):
        return None
    ids = [r.id for x in after for r in x.results if r.id] or [r.id for r in inputs[last].requests if r.id]
    return ids, inputs[: last + 1]


def _join_continued(loose: list[Fragment], unite: object) -> dict[int, Fragment]:
    """Join by results brought for tools asked. Returns the follower of each fragment."""
    asked: dict[str, Fragment] = {}
    openings: dict[str, Fragment] = {}
    followers: dict[int, Fragment] = {}
    for p in loose:
        for call in p.calls:
            ending = _tail(call)
            if ending is not None:
                ids, history = ending
                before = next((asked[i] for i in ids if i in asked), None)
                if before is None and not ids:
                    before = openings.get(_print_of(history))
                if before is not None and before is not p and before.root.span.service == p.root.span.service:
                    followers[id(before)] = p
                    unite(before, p)  # type: ignore[operator]
        for call in p.calls:
            for r in call.requests:
                if r.id:
                    asked[r.id] = p
            if call.requests and not any(r.id for r in call.requests):
                openings[_print_of([*(call.inputs or []), *(call.outputs or [])])] = p
        if p.root.kind == TOOL:
            call_id = p.root.span.call_id
            if call_id and call_id in asked:
                unite(asked[call_id], p)  # type: ignore[operator]
    return followers


def _print_of(history: list[m.Message]) -> str:
    return m.to_json([(x.role, x.text or "", [(r.name, r.arguments) for r in x.requests]) for x in history])


def _join_children(loose: list[Fragment], followers: dict[int, Fragment], unite: object) -> None:
    """Model calls made by a delegation: they fall between a request and the call that brings its result, and their
    user's words are the request's arguments - or cannot be seen, and the tool's name says that it delegates."""
    starts = [p.start for p in loose]
    continued = {id(p) for p in followers.values()}
    for p in loose:
        after = followers.get(id(p))
        if after is None or not p.calls:
            continue
        requests = p.calls[-1].requests
        lo, hi = bisect_left(starts, p.end), bisect_right(starts, after.start)
        for child in loose[lo:hi]:
            if child is after or child is p or id(child) in continued or not child.calls or child.end > after.start + 1_000_000:
                continue
            if child.root.span.service != p.root.span.service:
                continue
            if any(_calls_for(r, child) for r in requests):
                unite(p, child)  # type: ignore[operator]


def _calls_for(request: m.Request, child: Fragment) -> bool:
    name = (request.name or "").replace("-", "_").replace(" ", "_")
    inputs = child.calls[0].inputs
    words = next((x.text for x in inputs or [] if x.role == "user" and x.text), None)
    if words is not None:
        arguments, text = m.arguments(request.arguments)
        said = " ".join(v for v in (arguments or {}).values() if isinstance(v, str)) or (text or "")
        if said.strip():
            return said.strip() in words or words.strip() in said
    return (_TO.match(name) or _ASK.match(name)) is not None


__all__ = ["Fragment", "Side", "fragments", "join", "placeholder"]
