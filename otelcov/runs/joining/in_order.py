"""Model calls of which nothing is told that another would have to know: no words that were put in, and no ids.

A call that asked for tools is gone on with. Where a service asks one thing after another, so that no call begins before
the last one has ended, it is the next call that does so, if the same model was given more. An agent that gave up before
it asked again is not to be told from one that did not: so what is joined says that it is not sure. Where calls overlap,
or words are told, order decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from otelcov.dialects.base import LLM
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.llm.loops import end_lost
from otelcov.runs.rules.boundaries import asks

_JITTER_NS = 1_000_000
_SOON_NS = 60_000_000_000  # a tool that takes longer leaves time for another request


def unite_in_order(
    loose: list[Fragment], followers: dict[int, Fragment], unite: Callable[[Fragment, Fragment], None]
) -> None:
    """Join each call that asked for tools, and that nobody goes on with, to the next. `loose` by start."""
    of: dict[str | None, list[Fragment]] = {}
    for p in loose:
        if p.calls and p.root.kind == LLM:
            of.setdefault(p.root.span.service, []).append(p)
    led = {id(p) for p in followers.values()}
    for calls in of.values():
        ended, alone = 0, list[bool]()
        for p in calls:
            alone.append(p.start >= ended - _JITTER_NS)
            ended = max(ended, p.end)
        for at, (p, q) in enumerate(pairwise(calls)):
            if not (alone[at] and alone[at + 1] and (at + 2 == len(calls) or alone[at + 2])):
                continue
            if id(p) not in followers and id(q) not in led and _goes_on(p, q):
                followers[id(p)], q.astray = q, True
                unite(p, q)


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
