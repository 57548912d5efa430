"""Tools at the top of a trace that hold the work of an agent: who asked for them.

A program that traces the tools of its loop by hand, and nothing around the loop, gives each tool a trace (Langfuse's
observations, decorators of Traceloop's). Where a tool asks a model in its turn, that is no request of a user's: the
one call that had asked for a tool of its name, with what it was given, asked for it, and went on once it had ended.
"""

from __future__ import annotations

from bisect import bisect_right

from otelcov.runs.joining.followers import Unite
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.joining.lone_tools import ran_for
from otelcov.runs.tools.executions import span_name
from otelcov.runs.trace.tree import spelling

_JITTER_NS = 1_000_000
_SOON_NS = 5_000_000_000  # after an answer, how long what it asked for may take to begin
_AT_ONCE = 64  # calls that may have asked for a tool


def unite_holding(parts: list[Fragment], followers: dict[int, Fragment], unite: Unite) -> None:
    """Join each with the only call that may have asked for it. `parts` by start."""
    holding = [p for p in parts if p.holds]
    if not holding:
        return
    asked: dict[tuple[str | None, str], list[Fragment]] = {}
    for q in parts:
        for name in {spelling(r.name) for r in q.calls[-1].requests if r.name} if q.loose and q.calls else ():
            asked.setdefault((q.root.span.service, name), []).append(q)
    for p in holding:
        some = asked.get((p.root.span.service, spelling(span_name([p.root]) or "")), [])
        begun = bisect_right(some, p.start, key=lambda q: q.start)
        fitting = [q for q in some[max(0, begun - _AT_ONCE) : begun] if _asked_for(q, p, followers)]
        if len(fitting) == 1:
            p.loose = True
            unite(fitting[0], p)


def _asked_for(asker: Fragment, tool: Fragment, followers: dict[int, Fragment]) -> bool:
    """May this call have asked for that tool? It went on no sooner than the tool had ended."""
    if len({asker.root.span.conversation, tool.root.span.conversation} - {None}) > 1:
        return False
    after = followers.get(id(asker))
    if after is not None and after.start + _JITTER_NS < tool.end:
        return False
    soon = after is not None or tool.start <= asker.end + _SOON_NS
    return soon and ran_for(tool, asker)
