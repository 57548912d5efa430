"""Spans of a server of tools in the caller's own process that begin a trace of their own.

Such a server works in a task that was made before any request (claude-agent-sdk's client), so its spans know nothing
of the call. It tells of a call again that an agent's trace tells already: of the one tool whose name ends with the
server's, of the same service, within whose time it lies. Where calls of several runs fit it stays by itself, and says
so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from otelcov.dialects.base import TOOL
from otelcov.runs.executions import served_as, server_alone, span_name
from otelcov.runs.fragments import Fragment
from otelcov.runs.tree import Node, failure

_JITTER_NS = 1_000_000
_AT_ONCE = 64  # calls of a service that are under way at one time


def unite_served(parts: list[Fragment], unite: Callable[[Fragment, Fragment], None]) -> None:
    """Join such spans with the calls that they served. `parts` by start."""
    served = [p for p in parts if p.tools == [p.root] and not p.root.orphan and server_alone(p.root)]
    if not served:
        return
    names = {p.root.span.service for p in served}
    callers = [(n, p) for p in parts if not p.loose and p.root.span.service in names for n in _callers(p)]
    callers.sort(key=lambda found: found[0].start)
    open_: list[tuple[Node, Fragment]] = []
    begun, taken = 0, set[int]()
    for p in served:
        while begun < len(callers) and callers[begun][0].start <= p.start + _JITTER_NS:
            open_.append(callers[begun])
            begun += 1
        open_ = [(n, host) for n, host in open_ if n.end >= p.start and id(n) not in taken][-_AT_ONCE:]
        fitting = [(n, host) for n, host in open_ if _serves(p, n)]
        alike = [(n, host) for n, host in fitting if (failure(n) is None) == (failure(p.root) is None)]
        fitting = alike or fitting
        if len({id(host) for _, host in fitting}) == 1:
            node, host = fitting[0]
            taken.add(id(node))
            unite(host, p)
            p.root.parent = node
            node.children.append(p.root)
        p.astray = len({id(host) for _, host in fitting}) > 1


def _callers(part: Fragment) -> Iterable[Node]:
    return (n for n in part.nodes if n.kind == TOOL and not server_alone(n))


def _serves(p: Fragment, caller: Node) -> bool:
    name, outer = span_name([p.root]), span_name([caller])
    if not name or not outer or p.end > caller.end + _JITTER_NS or caller.span.service != p.root.span.service:
        return False
    return served_as(name, outer, p.root)
