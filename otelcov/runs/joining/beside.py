"""What lost its parent beside requests that a program's span holds: whose work was it?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate, pairwise

from otelcov.dialects.base import AGENT, CHAIN, HANDOFF, LLM, TOOL
from otelcov.runs.joining.turns import asked_apart, goes_on, leader, said_first
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.trace.tree import Node, by_time, failure

Part = tuple[Node, list[Node]]
"""The top of a run, and all of its nodes."""


def beside(parts: list[Part], rest: list[Part]) -> list[Part]:
    """These runs, each with what else began in its time; of several in whose time it began, with what was asked in the
    same words. What lies below one parent that never came is of one run: its own, if it is none of these."""
    said, lost = _Said(), list[Part]()
    below: dict[bytes | None, list[Part]] = {}
    for part in rest:
        below.setdefault(part[0].span.parent_span_id, []).append(part)
    for some in below.values():
        first, nodes = some[0][0], [n for _, held in some for n in held]
        around = [part for part in parts if part[0].start <= first.start <= part[0].end]
        if len(around) > 1:
            words = said.by(nodes)
            around = [part for part in around if words & said.by(part[1])]
        if len(around) == 1:
            around[0][1].extend(nodes)
        else:
            lost.append((first, nodes))
    return [*parts, *lost]


def turns_lost(root: Node, rest: list[Part]) -> list[Part]:
    """The turns of a conversation of which a span that was neither asked nor answered anything holds one, by what lies
    below each one's own span, which never came: all before that one or after it, and each goes on with those before."""
    turns = [n for n in root.children if n.kind in (AGENT, CHAIN)]
    if len(turns) != 1 or root.kind not in (None, CHAIN) or any(n.kind in (LLM, TOOL, HANDOFF) for n in root.children):
        return []
    if any(told is not None for told in (root.span.input, root.span.output, root.input_messages)):
        return []
    (turn,) = turns
    below: dict[bytes | None, list[Part]] = {}
    for part in rest:
        below.setdefault(part[0].span.parent_span_id, []).append(part)
    lost = [(some[0][0], [n for _, held in some for n in held]) for some in below.values()]
    inner = [turn, *turn.below()]
    order = sorted([(turn, inner), *lost], key=lambda part: part[0].start)
    for (_, before), (after, nodes) in pairwise(order):
        last = max((n for n in before if n.kind == LLM), key=by_time, default=None)
        if last is None or max(n.end for n in before) > after.start:
            return []
        if not goes_on(said_first(before), said_first(nodes), failed=failure(last) is not None):
            return []
    return lost


def turns_among(tops: list[Part]) -> list[Part]:
    """Of what has lost its parents, the requests to one agent below the same one, where all else began in the time of
    one of them, or is of that agent, too: what lay below steps of theirs that never came."""
    some: dict[bytes | None, list[Part]] = {}
    for top in tops:
        if not top[0].orphan:
            return []
        if top[0].kind == AGENT:
            some.setdefault(top[0].span.parent_span_id, []).append(top)
    turns = max(some.values(), key=len, default=[])
    if not 1 < len(turns) < len(tops):
        return []
    roots = [root for root, _ in turns]
    leaders = [leader(root) for root in roots]
    ours, ordered = {id(root) for root in roots}, sorted(roots, key=lambda n: n.start)
    begins, until = [n.start for n in ordered], list(accumulate((n.end for n in ordered), max))
    for root, _ in tops:
        begun = bisect_right(begins, root.start)
        within = begun > 0 and until[begun - 1] >= root.start
        if id(root) not in ours and not within and not (root.kind == AGENT and root.own_agent == leaders[0]):
            return []
    return turns if asked_apart(roots, leaders) else []


class _Said:
    """What a user said last to the models among some nodes, read once."""

    def __init__(self) -> None:
        self._known: dict[int, set[str]] = {}

    def by(self, nodes: list[Node]) -> set[str]:
        if id(nodes) not in self._known:
            self._known[id(nodes)] = set(filter(None, map(_last_words, _models(nodes))))
        return self._known[id(nodes)]


def _models(nodes: list[Node]) -> Iterable[Node]:
    return (n for n in nodes if n.kind == LLM)


def _last_words(model: Node) -> str | None:
    said = ModelCall(model, [model]).inputs or ()
    return next((x.text for x in reversed(said) if x.role == "user" and x.text), None)
