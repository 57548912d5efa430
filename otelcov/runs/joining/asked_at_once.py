"""Requests that a program asked at once, and that an instrumentation laid under the workflow of the first (Splunk's of
OpenAI's kit): its agents stand side by side, whoever they work for."""

from __future__ import annotations

import re
from itertools import pairwise

from otelcov.dialects.base import AGENT, CHAIN, TOOL
from otelcov.runs.joining.turns import first_said
from otelcov.runs.trace.tree import Node

_SCOPE = re.compile(r"^opentelemetry\.util\.genai\.handler\b")


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
    for n in agents:
        caller = next((a for a in agents if a is not n and _called(a, n)), None)
        said = next((x.text for x in first_said(n) if x.role == "user" and x.text), None)
        opening = said if caller is None else words.get(id(caller))
        if opening is None:
            return []
        words[id(n)] = opening
        parts.setdefault(opening, []).append(n)
    if len(parts) < 2:
        return []
    return [(some[0], [x for n in some for x in (n, *n.below())]) for some in parts.values()]


def _called(agent: Node, other: Node) -> bool:
    """Was this at work within a tool of that agent's?"""
    return any(n.kind == TOOL and n.start <= other.start and other.end <= n.end for n in agent.below())
