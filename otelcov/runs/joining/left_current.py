"""What was laid under a span that was over, as nobody had put it away: requests of their own.

An instrumentation that attaches its span as it begins does not always detach it as it ends: not where a stream was not
read to its end, nor where a step raised. What the same agent is asked next in that task is laid under what is over.
"""

from __future__ import annotations

from collections import Counter

from otelcov.dialects.base import AGENT, LLM, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Message
from otelcov.runs.joining.turns import first_said, goes_on
from otelcov.runs.rules.habits import leaves_current
from otelcov.runs.trace.tree import Node, Trace, by_time, failure

Top = tuple[Node, list[Node]]
"""A step of a trace that has none above it, and all that is below."""


def set_apart(trace: Trace) -> None:
    """Make roots of the requests that were laid under others."""
    left = _after_the_end(trace) + _after_streams(trace) + _after_raising(trace)
    if left:
        trace.roots = sorted([*trace.roots, *left], key=by_time)


def _after_the_end(trace: Trace) -> list[Node]:
    """A team one of whose members is not there, and a workflow that raised, leave theirs current in the program's own
    task (OpenInference for Agno): all that it asks next, of anybody, was laid under what has ended."""
    left = [
        n
        for n in trace.nodes
        if (above := n.parent) is not None
        and n.start > above.end
        and n.span.scope == above.span.scope
        and leaves_current(n.span.scope)
        and _RUN.search(n.span.name) is not None
        and _RUN.search(above.span.name) is not None
    ]
    for n in left:
        if n.parent is not None:
            _cut(n, n.parent)
    return left


_RUN = late(r"\.a?run$")


def _after_streams(trace: Trace) -> list[Node]:
    """A stream that was not read to its end leaves its span current, and what the same agent is asked next is laid
    under it (OpenInference for AutoGen, of `on_messages`)."""
    left = []
    tried = Counter[int]()
    for n in reversed(trace.nodes):  # the last first: what is below another holds no more than its own
        above = n.parent
        if n.kind != AGENT or above is None or above.kind != AGENT or n.own_agent is None:
            continue
        if _agent(n) != _agent(above) or n.span.input == above.span.input:
            continue
        tried[id(above)] += 1
        if tried[id(above)] > _REQUESTS:
            continue
        done = [c for c in above.children if c.start < n.start and c.kind in (LLM, TOOL)]
        if done and all(c.end <= n.start for c in done) and goes_on(first_said(above), first_said(n)):
            _cut(n, above)
            left.append(n)
    return left


def _after_raising(trace: Trace) -> list[Node]:
    """A step that raised leaves its span current, and its agent's run is over (Laminar's and Splunk's of LangChain, of
    what is awaited in one task; LoongSuite's). The same words are another try; where none are told at all, each is as
    it would have been in a trace of its own."""
    left = list[Node]()
    for n in reversed(trace.nodes):
        parent = n.parent
        if n.kind != AGENT or parent is None or n.own_agent is None or n.start <= parent.end:
            continue
        above = next((a for a in n.ancestors() if a.kind == AGENT), None)
        if above is None or _agent(n) != _agent(above) or n.start <= above.end or failure(above) is None:
            continue
        if len(left) >= _REQUESTS:
            break
        before, said = first_said(above), first_said(n)
        apart = before[-1].text != said[-1].text if before and said else _untold(above) and _untold(n)
        if apart:
            _cut(n, parent)
            left.append(n)
    return left


def begun_after(tops: list[Top]) -> list[list[Top]]:
    """The tops of a trace apart from those that are a later request of the same agent, whose own frame never came: it
    was laid under what was left current once the run before it was over, and begins with other words, after the same
    orders. Nothing where none is."""
    whole = [n for n, _ in tops if not n.orphan]
    until = max((n.end for top in whole for n in (top, *top.below())), default=0)
    late = [n for n, _ in tops if n.orphan and n.start > until]
    asked = next((said for n in sorted(late, key=by_time) if (said := first_said(n))), [])
    before = next((said for n in whole if (said := first_said(n))), [])
    if not asked or not before or asked[-1].text == before[-1].text or _orders(asked) != _orders(before):
        return []
    ids = {id(n) for n in late}
    return [[t for t in tops if (id(t[0]) in ids) is later] for later in (False, True)]


def _orders(said: list[Message]) -> list[str | None]:
    return [x.text for x in said if x.role in ("system", "developer")]


def _untold(agent: Node) -> bool:
    """Is nothing told of what was said to this agent and its model?"""
    first = min((x for x in agent.below() if x.kind == LLM), key=lambda x: x.start, default=None)
    told = (agent, first) if first is not None else (agent,)
    return not any(n.input_messages or n.span.input for n in told) and not any(
        n.span.row in n.side.events or n.span.row in n.side.families["flat_input"] for n in told
    )


_REQUESTS = 64  # that were laid under one, at the most


def _agent(node: Node) -> tuple[str | None, str]:
    return node.own_agent, node.span.scope


def _cut(node: Node, parent: Node) -> None:
    parent.children.remove(node)
    node.parent = None
