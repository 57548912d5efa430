"""Requests that a program asked at once, and that an instrumentation laid under the workflow of the first (Splunk's of
OpenAI's kit): its agents stand side by side, whoever they work for."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from otelcov.dialects.base import AGENT, CHAIN, TOOL
from otelcov.ground.patterns import late
from otelcov.runs.joining.turns import first_said
from otelcov.runs.trace.tree import Node

_SCOPE = late(r"^opentelemetry\.util\.genai\.handler\b")
_AT_ONCE = 64  # tools that may have called an agent


def asked_at_once(root: Node) -> list[tuple[Node, list[Node]]]:
    """The requests, each by its first agent, with who took over from it, for whom the same words were said first, and
    whom a tool of its called; none where no two agents were at work at once, or it is not told who was asked what."""
    agents = sorted((n for n in root.children if n.kind == AGENT), key=lambda n: n.start)
    if root.kind != CHAIN or _SCOPE.match(root.span.scope) is None or len(agents) < 2:
        return []
    if len(agents) < len(root.children) or not any(b.start < a.end for a, b in pairwise(agents)):
        return []
    parts: dict[str, list[Node]] = {}
    words: dict[int, str] = {}
    ran = sorted(((t.start, t.end, a) for a in agents for t in a.below() if t.kind == TOOL), key=lambda one: one[:2])
    for n in agents:
        caller = _caller(n, ran)
        said = next((x.text for x in first_said(n) if x.role == "user" and x.text), None)
        opening = said if caller is None else words.get(id(caller))
        if opening is None:
            return []
        words[id(n)] = opening
        parts.setdefault(opening, []).append(n)
    if len(parts) < 2:
        return []
    return [(some[0], [x for n in some for x in (n, *n.below())]) for some in parts.values()]


def _caller(agent: Node, ran: list[tuple[int, int, Node]]) -> Node | None:
    """Whose tool this was at work within. `ran`: tools by their start, with their end and whose they are."""
    begun = bisect_right(ran, agent.start, key=lambda one: one[0])
    some = reversed(ran[max(0, begun - _AT_ONCE) : begun])
    return next((a for _, end, a in some if a is not agent and agent.end <= end), None)
