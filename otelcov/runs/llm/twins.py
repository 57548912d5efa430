"""Spans that tell of one model call beside each other, without one enclosing the other."""

from __future__ import annotations

from itertools import pairwise

from otelcov.dialects.base import LLM, TOOL
from otelcov.runs.content.messages import messages_of
from otelcov.runs.rules.answers import tells_blocks, tells_blocks_apart
from otelcov.runs.trace.tree import Node, failure

_SOON_NS = 50_000_000  # after a kit's span has ended, within which its client's begins
_AT_ONCE = 64  # calls of one span whose streams may be open


def beside(leaves: list[Node]) -> dict[int, tuple[Node, Node]]:
    """Spans that tell of a call another span beside them tells of: the answer has the same id, or one lies inside the
    other's time and comes from another instrumentation, under the same parent or in a branch of its own.
    {id(span): (span, the one that stays)}"""
    out: dict[int, tuple[Node, Node]] = {}
    answers: dict[str, Node] = {}
    for n in leaves:
        answer = n.span.response_id
        if answer:
            first = answers.setdefault(answer, n)
            if first is not n and (first.span.scope != n.span.scope or _told_twice(first, n)):
                out[id(n)] = (n, first)
    for before, n in pairwise([n for n in leaves if tells_blocks_apart(n.span.scope)]):
        if before.parent is n.parent and before.span.input_tokens is None and _goes_on(n):
            out[id(n)] = (n, out.get(id(before), (before, before))[1])
    families: dict[int, list[Node]] = {}
    for n in leaves:
        if id(n) not in out:
            families.setdefault(id(n.parent), []).append(n)
    for family in families.values():
        if len({n.span.scope for n in family}) < 2:
            continue
        taken: set[int] = {id(first) for _, first in out.values()}
        for n in family:
            for other in family:
                if (
                    other is not n
                    and id(other) not in out
                    and id(n) not in out
                    and id(other) not in taken
                    and id(n) not in taken
                    and other.span.scope != n.span.scope
                    and not (other.span.response_id and n.span.response_id)
                    and other.start <= n.start
                    and n.end <= other.end
                    and n.end > n.start
                ):
                    out[id(n)] = (n, other)
                    taken.add(id(other))
                    break
    if len({n.span.scope for n in leaves}) > 1:
        if len(families) > 1:
            _apart([n for n in leaves if id(n) not in out], out)
        _one_after_another(leaves, out)
    return out


def _told_twice(one: Node, two: Node) -> bool:
    """Are spans of one scope, or of none that came, by two names, of one answer at one time, or is each of a block of
    it?"""
    a, b = one.span, two.span
    if tells_blocks(a.scope):
        return True
    nested = (one.start <= two.start and two.end <= one.end) or (two.start <= one.start and one.end <= two.end)
    return nested and a.name != b.name and (a.input_tokens, a.output_tokens) == (b.input_tokens, b.output_tokens)


def _goes_on(block: Node) -> bool:
    """Was a model asked right after it had said something, as this tells it? It is the next block of one answer."""
    said = messages_of(block.input_messages, "user") if block.input_messages else []
    return bool(said) and said[-1].role == "assistant" and not said[-1].results


def _apart(leaves: list[Node], out: dict[int, tuple[Node, Node]]) -> None:
    """The same in different branches, each of which one instrumentation keeps (callbacks, an event bus): one call at a
    time with equal tokens, or that failed, under the same agent."""
    met: dict[int, list[Node]] = {}
    pairs: list[tuple[Node, Node]] = []
    open_: list[Node] = []
    for n in sorted(leaves, key=lambda n: (n.start, -n.end)):
        open_ = [m for m in open_ if m.end > n.start][-_AT_ONCE:]
        for m in open_:
            if n.end <= m.end and n.end > n.start and _may_be_one(n, m):
                met.setdefault(id(n), []).append(m)
                met.setdefault(id(m), []).append(n)
                pairs.append((n, m))
        open_.append(n)
    for n, m in pairs:
        if len(met[id(n)]) == len(met[id(m)]) == 1:
            out[id(n)] = (n, m)


def _one_after_another(leaves: list[Node], out: dict[int, tuple[Node, Node]]) -> None:
    """The same where a kit's span of a stream has ended before its client's begins (LlamaIndex under OpenInference), or
    a program notes a call some time after it, by a span without duration."""
    taken = set(out) | {id(first) for _, first in out.values()}
    free = sorted((n for n in leaves if id(n) not in taken), key=lambda n: n.start)
    for kits, clients in pairwise(free):
        a, b = kits.span, clients.span
        counted = (a.input_tokens, a.output_tokens)
        if a.scope == b.scope or None in counted or counted != (b.input_tokens, b.output_tokens):
            continue
        models = [{x.request_model, x.response_model} - {None} for x in (a, b)]
        if (a.response_id and b.response_id) or (all(models) and models[0].isdisjoint(models[1])) or id(kits) in out:
            continue
        above = [n for n in kits.ancestors() if n.kind != LLM]
        soon = clients.start <= kits.end + _SOON_NS or (clients.start == clients.end and _says_the_same(kits, clients))
        if kits.end <= clients.start and soon and above and above[0] is clients.parent:
            out[id(clients)] = (clients, kits)


def _says_the_same(one: Node, two: Node) -> bool:
    """Did both end in the same words, as far as both tell, and take tokens at all?"""
    told = [messages_of(n.span.output_messages, "assistant") if n.span.output_messages else [] for n in (one, two)]
    words = [[x.text for x in some if x.text] for some in told]
    return bool(one.span.output_tokens) and (words[0] == words[1] or not all(words))


def _may_be_one(one: Node, two: Node) -> bool:
    a, b = one.span, two.span
    counted = (a.input_tokens, a.output_tokens)
    if one.parent is two.parent or a.scope == b.scope or one.agent != two.agent:
        return False
    if counted != (b.input_tokens, b.output_tokens) or (a.response_id and b.response_id):
        return False
    if None in counted and (failure(one) is None or failure(two) is None):
        return False
    branches = [(n, *n.ancestors()) for n in (one, two)]
    shared = {id(n) for n in branches[0]} & {id(n) for n in branches[1]}
    own = [[n for n in branch if id(n) not in shared] for branch in branches]
    if any(n.kind == TOOL or (n.kind == LLM and not _holds(n, x)) for branch in own for x, n in pairwise(branch)):
        return False
    return bool(shared) and {n.span.scope for n in own[0]}.isdisjoint(n.span.scope for n in own[1])


def _holds(outer: Node, layer: Node) -> bool:
    """Is an enclosing span of a model one of this single call?"""
    return layer.kind == LLM and sum(n.kind == LLM for n in outer.children) == 1


def echoes(spans: list[Node]) -> dict[int, tuple[Node, Node]]:
    """Spans without duration that tell what came of the stream of a call that had ended before it was read."""
    out: dict[int, tuple[Node, Node]] = {}
    if not any(n.start == n.end for n in spans):
        return out
    waiting: dict[int, list[Node]] = {}
    for n in sorted(spans, key=lambda n: n.start):
        family = waiting.setdefault(id(n.parent), [])
        first = next((m for m in reversed(family) if echo(n, m)), None) if n.start == n.end else None
        if first is not None:
            out[id(n)] = (n, first)
            family.remove(first)
        elif n.span.output_messages is None:
            family.append(n)
            del family[:-_AT_ONCE]
    return out


def echo(late: Node, call: Node) -> bool:
    """Does a span without duration tell the answer of this call, which the call itself could not tell?"""
    return (
        late.start == late.end
        and late.span.scope == call.span.scope
        and late.span.request_model == call.span.request_model
        and call.end <= late.start
        and call.span.output_messages is None
        and late.span.output_messages is not None
        and late.input_messages == call.input_messages is not None
    )
