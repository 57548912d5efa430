"""What runs tools, in a trace of its own, and the model calls before and after it that have no more above them.

Where content is hidden no word and no id joins them. What runs tools says that the answer before was no end; whoever
runs them asks again at once, unless a limit or a tool ended its loop. So of one service, with nothing else under way,
the call before is of the same run, and the call that comes at once after it.
"""

from __future__ import annotations

from otelcov.runs.joining.followers import Unite
from otelcov.runs.joining.fragments import Fragment

_JITTER_NS = 1_000_000
_SOON_NS = 5_000_000_000  # after an answer, how long until its tools run
_AT_ONCE_NS = 50_000_000  # after tools, how long until a model is told of them


def unite_between(parts: list[Fragment], followers: dict[int, Fragment], unite: Unite) -> None:
    """`parts` by start: model calls in traces of their own, and what runs tools."""
    of: dict[str | None, list[Fragment]] = {}
    for p in parts:
        of.setdefault(p.root.span.service, []).append(p)
    for some in of.values():
        if any(p.between for p in some):
            _unite(some, followers, unite)


def _unite(parts: list[Fragment], followers: dict[int, Fragment], unite: Unite) -> None:
    last = 0  # when all before the one before this had ended
    for at, p in enumerate(parts[1:], 1):
        q = parts[at - 1]
        if p.between and not q.between and last <= q.start + _JITTER_NS and _after(q, p, _SOON_NS):
            known = followers.get(id(q))
            if known is None or p.end <= known.start + _JITTER_NS:
                unite(q, p)
                if known is None and (r := _next(parts, at)) is not None:
                    unite(q, r)
                    followers[id(q)] = r
        last = max(last, q.end)


def _next(parts: list[Fragment], at: int) -> Fragment | None:
    """The call that a model is asked at once after these tools, where nothing else is under way then."""
    p, rest = parts[at], parts[at + 1 : at + 3]
    if not rest or rest[0].between or not _after(p, rest[0], _AT_ONCE_NS) or rest[0].calls[0].inputs is not None:
        return None
    return None if any(x.start < rest[0].end - _JITTER_NS for x in rest[1:]) else rest[0]


def _after(one: Fragment, two: Fragment, soon_ns: int) -> bool:
    return one.end - _JITTER_NS <= two.start <= one.end + soon_ns
