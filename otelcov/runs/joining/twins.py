"""Model calls that each stand in a trace of their own: which of them tell of one call."""

from __future__ import annotations

from otelcov.runs.joining.followers import Unite
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.llm.twins import echo

_AT_ONCE = 64  # streams that may wait to be told

_STREAMS_TWICE = ("litellm",)
"""Scopes that tell of a stream before its last piece came, with a guess of what was used, and after it (1.55)."""


def unite_twins(loose: list[Fragment], unite: Unite) -> None:
    """Two instrumentations of one client, each with a trace of its own: the answer's id is the same, or - where not
    both tell one - one lies within the other's time, or ends a little later with the same tokens (of a stream)."""
    answers: dict[str, Fragment] = {}
    last: dict[str | None, list[Fragment]] = {}
    for p in loose:
        if not p.calls:
            continue
        answer = _answer(p)
        twin = answers.setdefault(answer, p) if answer else p
        if twin is p:
            recent = last.setdefault(p.root.span.service, [])
            fitting = [q for q in recent if q.calls and (_nested(q, p) or _overlap(q, p)) and _one_call(q, p)]
            twin = fitting[0] if len(fitting) == 1 else p
            last[p.root.span.service] = [q for q in recent if q.end >= p.start] + [p]
        again = twin.root.span.scope == p.root.span.scope
        if twin is p or (again and (twin.start != p.start or p.root.span.scope not in _STREAMS_TWICE)):
            continue
        keep, drop = (p, twin) if twin.calls and _tells(p) > _tells(twin) else (twin, p)
        if again:
            keep, drop = (p, twin) if p.end > twin.end else (twin, p)
        if keep.calls and drop.calls:
            keep.calls = [ModelCall(keep.calls[0].node, [*keep.calls[0].layers, *drop.calls[0].layers])]
            drop.calls = []
            if answer:
                answers[answer] = keep
            unite(keep, drop)


def unite_echoes(loose: list[Fragment], unite: Unite) -> None:
    """What came of a stream, told in a trace of its own when it was read."""
    waiting: dict[str | None, list[Fragment]] = {}
    for p in loose:
        if len(p.calls) != 1:
            continue
        recent = waiting.setdefault(p.root.span.service, [])
        told_later = p.root.start == p.root.end
        first = next((q for q in reversed(recent) if echo(p.root, q.root)), None) if told_later else None
        if first is not None:
            first.calls = [ModelCall(first.calls[0].node, [*first.calls[0].layers, p.root])]
            p.calls = []
            unite(first, p)
            recent.remove(first)
        elif p.root.span.output_messages is None:
            recent.append(p)
            del recent[:-_AT_ONCE]


def _answer(p: Fragment) -> str | None:
    """The id of the answer, which a span within a call's own may tell (what Anthropic's client tells of itself)."""
    spans = [p.root.span, *(n.span for n in p.calls[0].layers)]
    return next((s.response_id for s in spans if s.response_id), None)


def _nested(q: Fragment, p: Fragment) -> bool:
    """Does one of these lie within the other's time? JavaScript's begin at whole milliseconds, together perhaps."""
    return q.end >= p.end or q.start == p.start


def _tells(p: Fragment) -> tuple[bool, bool]:
    """How much a call's own span tells: what came of it, then by which id. Who knows that knows who answered."""
    return bool(p.calls[0].outputs), bool(p.root.span.response_id)


def _one_call(outer: Fragment, inner: Fragment) -> bool:
    """May these two, one within the other's time, tell of one call? Where one knows the answer's id, both count the
    same tokens."""
    a, b = outer.root.span, inner.root.span
    if a.scope == b.scope:
        return False
    if not a.response_id and not b.response_id:
        return True
    return _count_alike(outer, inner) and not (a.response_id and b.response_id)


def _overlap(first: Fragment, second: Fragment) -> bool:
    """Do these count the same tokens, in the same time for the most part?"""
    return (first.end - second.start) * 2 > second.end - second.start and _count_alike(first, second)


def _count_alike(one: Fragment, two: Fragment) -> bool:
    a, b = one.root.span, two.root.span
    counted = None not in (a.input_tokens, a.output_tokens)
    return counted and (a.input_tokens, a.output_tokens) == (b.input_tokens, b.output_tokens)
