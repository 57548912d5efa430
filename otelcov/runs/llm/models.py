"""Model calls: one per request to a model, whatever number of layers recorded it.

A second instrumentation layer nests its span in the first one's: the innermost spans are the calls, and what an
enclosing span of a single call knows fills their gaps. Tokens are taken from model spans alone; an agent's sums only
where none of its calls carries any (DIALECTS traps 4 to 6).
"""

from __future__ import annotations

import re
from itertools import takewhile

from otelcov.dialects.base import AGENT, CHAIN, LLM, OTHER, TOOL
from otelcov.runs.content.messages import messages_of
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.llm.model_call import ModelCall, finish_reason
from otelcov.runs.llm.numbered import number
from otelcov.runs.llm.steps_around import tell_requests
from otelcov.runs.llm.told_twice import OVERWRITTEN, once, ran_once
from otelcov.runs.llm.twins import beside, echoes
from otelcov.runs.rules.answers import calls_functions, guesses_tokens, running_sums, tells_totals
from otelcov.runs.rules.boundaries import asks, broke, letters, limits
from otelcov.runs.rules.habits import holds_others, leaves_open, of_adk
from otelcov.runs.trace.above import some_above
from otelcov.runs.trace.tree import Node, failure, same_step

__all__ = ["OVERWRITTEN", "model_calls"]


def model_calls(nodes: list[Node]) -> list[ModelCall]:
    """The model calls among the nodes of one trace, by start."""
    ran_once(nodes)
    spans = [n for n in nodes if n.kind == LLM and not _never_sent(n) and not _made_ready(n)]
    for n in spans:
        if _told_again(n):
            n.kind = OTHER
    spans = [n for n in spans if n.kind == LLM]
    if not spans:
        return []
    outer: dict[int, Node] = {}
    inner: dict[int, list[Node]] = {}
    for n in spans:
        above = same_step(n, LLM)
        if above is not None:
            outer[id(n)] = above
            inner.setdefault(id(above), []).append(n)
    again = {id(n): within for n in spans if (within := inner.get(id(n))) is not None and _asks_again(n, within)}
    if again:
        outer = {id(n): above for n in spans if (above := outer.get(id(n))) is not None and id(above) not in again}
        inner = {key: within for key, within in inner.items() if key not in again}
    for n in spans:
        if len(within := inner.get(id(n), [])) > 1:
            _retries(n, within)
    spans = [n for n in spans if n.kind == LLM]
    calls = []
    twin_of = beside([n for n in spans if id(n) not in inner]) | echoes(spans)
    twins: dict[int, list[Node]] = {}
    for twin, first in twin_of.values():
        twins.setdefault(id(first), []).append(twin)
    for n in spans:
        if id(n) in inner or id(n) in twin_of:
            continue
        layers = [n]
        above = outer.get(id(n))
        while above is not None and len(inner[id(above)]) == 1:
            if _failed_later(above, layers[-1]) or _another(above, layers[-1]):
                above.kind = OVERWRITTEN
                break
            layers.append(above)
            above = outer.get(id(above))
        if len(layers) == 1 and id(n) not in again and (n.span.tool_error in ("borrowed", "shared") or _overwritten(n)):
            n.kind = OVERWRITTEN
            continue
        layers.extend([twin for layer in layers for twin in twins.get(id(layer), ())])
        call = ModelCall(n, layers)
        if id(n) in again:
            _only_asked(call, again[id(n)])
        calls.append(call)
    for n in spans:  # an enclosing span of several calls is no call: what was asked within it is
        if len(within := inner.get(id(n), [])) > 1:
            n.kind = OVERWRITTEN if all(_another(n, x) for x in within) else "chain"
    calls = once(calls)
    tell_requests(calls)
    _aggregates(calls, nodes)
    _named_around(calls)
    _ends(calls)
    if any(running_sums(c.node.span.scope) for c in calls):
        _without_sums(calls)
    _without_totals([c for c in calls if tells_totals(c.node.span.scope)])
    _without_guesses([c for c in calls if guesses_tokens(c.node.span.scope)])
    return calls


def _told_again(node: Node) -> bool:
    """Is this the answer at which a run had stopped, told once more as it goes on, as what is within it says, or
    without what was asked, which the steps after it tell (Mastra's exporter for Arize does not say which runs go on)?
    """
    step = node.span
    if not leaves_open(step.scope):
        return False
    if any(n.kind == OTHER and n.span.output_tokens is not None for n in node.children):
        return True
    if not step.scope.endswith("/otel-exporter") or node.input_messages or not step.output_messages:
        return False
    after = node.parent.children if node.parent is not None and node.parent.kind == CHAIN else ()
    return any(n.kind == LLM and n.start >= node.end and n.input_messages for n in after)


def _asks_again(node: Node, within: list[Node]) -> bool:
    """Does the span go on while the tools it asked for run, and while the model is asked again, by a span of its own
    (Spring AI, where it streams)? Then it holds calls, and is one itself: none of them came before the tools."""
    first = min(within, key=lambda n: n.start)
    answered = node.span.response_id is not None or node.span.input_tokens is not None
    if (node.span.scope, node.span.name) != (first.span.scope, first.span.name) or not answered:
        return False
    return any(x.kind == TOOL and x.end <= first.start for x in node.children)


def _only_asked(call: ModelCall, within: list[Node]) -> None:
    """What such a span tells of its answer is that of the last call in it, if it is no other answer."""
    told = {n.span.response_id for n in (within[0], *within[0].below()) if n.kind == LLM}
    if call.node.span.response_id in told or None in told:
        call.input_tokens = call.output_tokens = call.finish = call.error = call._outputs = None


def _retries(node: Node, within: list[Node]) -> None:
    """Attempts that failed inside one call, before the one that went well, are no calls of their own (a gateway's, or a
    client's of it); where all failed, and so did the call, the last of them is it."""
    well = [n for n in within if failure(n) is None]
    if not well and failure(node) is not None:
        well = [max(within, key=lambda n: n.start)]
    if len(well) != 1 or any(n.start > well[0].start for n in within):
        return
    for n in within:
        if n is not well[0]:
            n.kind = OTHER
    within[:] = well


def _overwritten(node: Node) -> bool:
    """More tools ran inside the span than its (last) answer asks for: there were earlier answers. Or the tools that its
    answer asks for ran inside it and it failed: a later call did. Of an answer that cannot be seen the time tells: a
    span that goes on after its tools as long as models take holds another call."""
    ran = [x for x in node.children if x.kind == TOOL]
    if not ran or number(node) is not None:  # each call holds the tools that it asked for
        return False
    if calls_functions(node.span.scope):
        return True  # Google's client runs tools only where it asks again
    call = ModelCall(node, [node])
    if call.outputs is None or (not call.asked and asks(call.finish)):  # words alone are told of what asks for tools
        until = max(x.end for x in node.children if x.kind in (TOOL, AGENT))  # who was handed the work took its time
        asked, answered = min(x.start for x in ran) - node.start, node.end - until
        after = node.parent.children if node.parent is not None else ()
        followed = any(x.kind == LLM and x.start >= node.end for x in after)  # then less likely by this very span
        if call.error is not None:
            return any(failure(x) is None for x in ran)
        return answered * (1 if followed else 4) > asked
    if len(call.asked) < len(ran) or (bool(call.requests) and (call.error is not None or _answered(call))):
        return True
    came = {r.id for x in call.inputs or () for r in x.results if r.id}
    if any(r.id in came for r in call.requests):
        return True  # it was told what came of what it asks for
    return bool(call.text) and _brought_back(call)


def _brought_back(call: ModelCall) -> bool:
    """Does its input end with what came of the very calls that its answer asks for, where ids do not tell?"""
    inputs = call.inputs or []
    last = next((x for x in reversed(inputs) if not x.results), None)
    if last is None or not call.requests or not inputs[-1].results or any(r.id for r in last.requests):
        return False
    told = [[(r.name, arguments_of(r.arguments)[0]) for r in some] for some in (last.requests, call.requests)]
    return told[0] == told[1]


def _answered(call: ModelCall) -> bool:
    """Does its answer both ask for tools and say what came after them, in the time that models take? A step of Mastra's
    or ADK's lasts longer than its tools, and says its words before."""
    span = call.node.span
    if leaves_open(span.scope) or (of_adk(span.scope) and span.name == "call_llm"):
        return False
    ran = [x for x in call.node.children if x.kind == TOOL]
    asked, answered = min(x.start for x in ran) - call.node.start, call.node.end - max(x.end for x in ran)
    return bool(call.text) and answered * 4 > asked


def _another(outer: Node, inner: Node) -> bool:
    """Does a span tell of another answer than the one inside it, by the provider's ids? An id of another make is what a
    gateway called the same answer. Or did tools run in it before that one was asked (LangSmith's for JavaScript)?"""
    if outer.span.scope == inner.span.scope and holds_others(inner.span.scope):
        ran = [n for n in outer.children if n.kind == TOOL and n.end <= inner.start]
        if ran and inner.span.response_id is None:
            return True
    ids = {outer.span.response_id, inner.span.response_id}
    if outer.span.scope != inner.span.scope or None in ids or len(ids) != 2:
        return False
    return len({_make(id) for id in ids if id}) == 1


def _make(id: str) -> str:
    """What ids of one provider begin with: `chatcmpl-`, `msg_`; nothing at all."""
    hit = re.match(r"[A-Za-z]+[-_]", id)
    return hit.group() if hit is not None else ""


def _failed_later(outer: Node, inner: Node) -> bool:
    """Tools were asked for inside a span that then failed: it holds more calls than the one that can be seen."""
    return failure(outer) is not None and failure(inner) is None and bool(ModelCall(inner, [inner]).requests)


def _never_sent(node: Node) -> bool:
    """A span of a call that the framework's own limit stopped before it was made."""
    span = node.span
    if span.input_tokens is not None or span.response_model is not None or span.output_messages:
        return False
    failed = failure(node)
    if failed is None and of_adk(span.scope) and _at_once(node):
        node.kind = "chain"
        return True
    if failed is None or span.request_model is not None or not limits(f"{failed[0]}: {failed[1]}"):
        return False
    node.kind = "chain"
    return True


def _at_once(node: Node) -> bool:
    """Does a span without a word last no longer than to refuse takes (ADK for JavaScript, which notes no failure)?"""
    untold = node.span.request_model is None and not node.input_messages and not node.span.dropped
    return untold and not node.children and node.end - node.start < _AT_ONCE_NS


_AT_ONCE_NS = 1_000_000


def _made_ready(node: Node) -> bool:
    """A span that made a request of what there was to say: it put out messages to a model, and nobody's answer."""
    span, told = node.span, node.span.output_messages or ""
    if span.input_tokens is not None or span.response_model or span.response_id or span.finish:
        return False
    if not told.startswith('{"messages"') or failure(node) is not None:
        return False
    said = messages_of(told)
    if not said or any(m.role not in ("system", "developer", "user") or m.requests or m.results for m in said):
        return False
    node.kind = CHAIN
    return True


def _without_sums(calls: list[ModelCall]) -> None:
    """Spring AI may add what was used before a tool to what is used after it; only where less is told, it did not."""
    before: dict[int, tuple[int, int]] = {}
    for c in sorted(calls, key=lambda c: c.start):
        parent = c.node.parent
        if parent is None:
            continue
        told = c.input_tokens or 0, c.output_tokens or 0
        earlier = before.get(id(parent), (0, 0))
        before[id(parent)] = told
        more = told[0] >= earlier[0] and told[1] >= earlier[1]
        if more and any(n.kind == TOOL and n.end <= c.start for n in parent.children):
            c.input_tokens = c.output_tokens = None


def _without_totals(calls: list[ModelCall]) -> None:
    """Where of several calls of an agent the last one alone tells tokens, these may be the sum."""
    by_agent: dict[int, list[ModelCall]] = {}
    for c in calls:
        owner = next((a for a in some_above(c.node) if a.kind == AGENT), None)
        by_agent.setdefault(id(owner), []).append(c)
    for some in by_agent.values():
        *before, last = sorted(some, key=lambda c: c.start)
        if before and all(c.input_tokens is None and c.output_tokens is None for c in before):
            last.input_tokens = last.output_tokens = None


def _without_guesses(calls: list[ModelCall]) -> None:
    """Of an answer without words nothing is counted: it streamed, and so did the others, whose tokens are guesses."""
    if any(c.input_tokens is None and c.output_tokens is None and c.error is None for c in calls):
        for c in calls:
            c.input_tokens = c.output_tokens = None


def _aggregates(calls: list[ModelCall], nodes: list[Node]) -> None:
    """The token sum of an agent, or of a chain inside it, stands in for its only call, where that call carries none. It
    is no call's where something lost its parent, that call failed, or tools ran: it may have been of another, too."""
    if any(c.input_tokens is not None for c in calls):
        return
    by_owner: dict[int, list[ModelCall]] = {}
    for c in calls:
        owner = next((a for a in c.node.ancestors() if a.kind in (AGENT, CHAIN) and a.span.input_tokens), None)
        if owner is not None:
            by_owner.setdefault(id(owner), []).append(c)
            c.context = owner
    lost = [n for n in nodes if n.orphan and n.kind != OTHER] if by_owner else []
    for owned in by_owner.values():
        (call, *more), told = owned, owned[0].context.span
        top = call.node.top()
        if any(n is not top for n in lost[:2]):
            continue
        if more or call.error is not None or any(n.kind == TOOL for n in owned[0].context.below()):
            continue
        if not (told.dropped and told.output_tokens is None):
            call.input_tokens, call.output_tokens = told.input_tokens, told.output_tokens
            if call.request_model is None and call.response_model is None and call.context.kind == CHAIN:
                call.request_model, call.response_model = told.request_model, told.response_model


_NO_ANSWERS = ("suspended", "aborted")
"""Reasons for which a chain ended that are no model's."""


def _named_around(calls: list[ModelCall]) -> None:
    """The model of a call that names none is the one that what is around it names, up to the next step (Codex)."""
    for c in calls:
        if c.request_model is None and c.response_model is None:
            around = takewhile(lambda n: n.kind in (None, CHAIN), c.node.ancestors())
            c.request_model = next((n.span.request_model for n in around if n.span.request_model), None)


def _ends(calls: list[ModelCall]) -> None:
    """Why a chain of an instrumentation ended is why its last call did, where that call does not tell it (Mastra's
    bridge: of a call that failed, too), and asked for nothing that would have led on."""
    last: dict[int, ModelCall] = {}
    for c in calls:
        step = c.node.parent
        if step is not None and step.kind == CHAIN and step.span.finish and step.span.scope == c.node.span.scope:
            known = last.setdefault(id(step), c)
            last[id(step)] = max(known, c, key=lambda c: c.start)
    for c in last.values():
        if c.error is None and (c.outputs is None or c.finish is None) and c.node.parent is not None:
            why = finish_reason(c.node.parent.span.finish)
            if c.asked and not asks(why):
                continue  # one that has not come ended the chain
            c.finish = c.finish or (None if letters(why) in _NO_ANSWERS else why)
            if broke(c.finish):
                c.error = ("", "")
