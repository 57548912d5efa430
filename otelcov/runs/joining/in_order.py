"""Model calls of which nothing is told that another would have to know: no words that were put in, and no ids.

A call that asked for tools is gone on with. Where a service asks one thing after another, so that no call begins before
the last one has ended, it is the next call that does so, if the same model was given more. An agent that gave up before
it asked again is not to be told from one that did not: so what is joined says that it is not sure. A tool without an
id is the last call's that asked for some, in the same way, where it is not told what that asked for. Where calls
overlap, or words are told, order decides nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Container
from itertools import pairwise

from otelcov.dialects.base import LLM, TOOL
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.llm.loops import end_lost
from otelcov.runs.rules.boundaries import asks

_JITTER_NS = 1_000_000
_SOON_NS = 60_000_000_000  # a tool that takes longer leaves time for another request


def unite_in_order(
    loose: list[Fragment],
    followers: dict[int, Fragment],
    joined: Container[int],
    unite: Callable[[Fragment, Fragment], None],
) -> None:
    """Join each call that asked for tools, and that nobody goes on with, to the next, and what ran then. `loose` by
    start; of the tools, those `joined` have found who asked."""
    of: dict[str | None, list[Fragment]] = {}
    ran: dict[str | None, list[Fragment]] = {}
    for p in loose:
        if p.calls and p.root.kind == LLM:
            of.setdefault(p.root.span.service, []).append(p)
        elif p.root.kind == TOOL and not p.calls and id(p) not in joined and _unknown(p):
            ran.setdefault(p.root.span.service, []).append(p)
    led = {id(p) for p in followers.values()}
    for service, calls in of.items():
        ended, alone = 0, list[bool]()
        for p in calls:
            alone.append(p.start >= ended - _JITTER_NS)
            ended = max(ended, p.end)
        alone.append(True)
        for at, (p, q) in enumerate(pairwise(calls)):
            if not (alone[at] and alone[at + 1] and alone[at + 2]):
                continue
            if id(p) not in followers and id(q) not in led and _goes_on(p, q):
                followers[id(p)], q.astray = q, True
                unite(p, q)
        if service in ran:
            _unite_tools(ran[service], calls, alone, unite)


def _unite_tools(
    tools: list[Fragment], calls: list[Fragment], alone: list[bool], unite: Callable[[Fragment, Fragment], None]
) -> None:
    """`alone`: which calls began when those before had ended."""
    starts = [p.start for p in calls]
    for tool in tools:
        at = bisect_right(starts, tool.start) - 1
        if at < 0 or not (alone[at] and alone[at + 1]):
            continue
        p, then = calls[at], calls[at + 1].start if at + 1 < len(calls) else None
        between = p.end <= tool.start + _JITTER_NS and (then is None or tool.end <= then + _JITTER_NS)
        if between and _asked_for(p, tool):
            tool.astray = True
            unite(p, tool)


def _unknown(p: Fragment) -> bool:
    """Has it no id by which another would know it?"""
    return p.root.span.call_id is None and p.root.parent is None


def _asked_for(p: Fragment, tool: Fragment) -> bool:
    """Did this call ask for tools, and may this be one?"""
    asker = p.calls[-1]
    if p.frame is not None or asker.error is not None or tool.start > p.end + _SOON_NS:
        return False
    if asker.inputs is not None or asker.outputs is not None:
        return False
    return asks(asker.finish) and p.root.span.conversation == tool.root.span.conversation


def _goes_on(p: Fragment, q: Fragment) -> bool:
    """Did the first ask for tools, and may the second have been given what came of them?"""
    if p.frame is not None or q.frame is not None:
        return False  # what goes on would stand in the same frame
    one, two = p.calls[-1], q.calls[0]
    told = two.inputs is not None or (one.inputs is not None and two.node.input_messages is None)
    if told or one.error is not None or q.start > p.end + _SOON_NS or one.loops or end_lost(one):
        return False
    if not (asks(one.finish) or one.requests) or p.root.span.conversation != q.root.span.conversation:
        return False
    if one.request_model != two.request_model:
        return False
    counted = one.input_tokens, two.input_tokens
    return counted[0] is None or counted[1] is None or counted[0] < counted[1]
