"""Tools that by their name ask an agent, or hand over to one, where nothing names anybody who is at work."""

from __future__ import annotations

import itertools

from otelcov.dialects.base import AGENT, LLM, TOOL
from otelcov.runs.agents.below import kinds_below, nameless_below
from otelcov.runs.agents.delegation import ANY_AGENT, bare
from otelcov.runs.agents.scene import Found, Scene
from otelcov.runs.content.chat import Message
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.llm.unseen_answers import asked_no_model, gave_answer_unseen
from otelcov.runs.rules.handovers import asks, transfers
from otelcov.runs.tools.askers import JITTER_NS
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.trace.tree import Node, spelling

_NEXT = 64  # model calls that are looked at after a request


def anonymous(call: ToolCall, scene: Scene) -> Found | None:
    """A call without a span that by its name asks an agent; one without a name worked next, inside the asking one."""
    if call.nodes or call.agent is not None or call.asked_by is None:
        return None
    named = transfers(call.name) or asks(call.name)
    if named is None:
        return None
    asker = call.asked_by
    top = _nearest_agent(asker.node)
    if top is None:
        return None
    later = itertools.islice(scene.model_calls, asker.turn + 1, None)
    until = next((c.start for c in later if _nearest_agent(c.node) is top), top.end)
    for n in scene.nodes:
        if n.kind != AGENT or n.own_agent is not None or id(n) in scene.used or n is top:
            continue
        if _nearest_agent(n) is top and asker.end <= n.start < until:
            return Found(named.group("to"), "tool", n)
    return None


def _nearest_agent(node: Node) -> Node | None:
    return next((a for a in node.ancestors() if a.kind == AGENT), None)


def nameless(call: ToolCall, scene: Scene) -> Found | None:
    """A model and tools at work inside a tool's span: an agent, though nobody named it."""
    if not call.nodes or not call.nodes[0].children:
        return None
    named = transfers(call.name) or asks(call.name)
    says_so = named is not None or spelling(call.name or "") in ANY_AGENT
    if _loop_below(call, says_so, scene):
        to = named.group("to") if named is not None else None
        return Found(scene.known.get(bare(to), to) if to is not None else None, "tool")
    return None


def _loop_below(call: ToolCall, says_so: bool, scene: Scene) -> bool:
    kinds = kinds_below(call, scene)
    if LLM not in kinds and says_so and not any(map(asked_no_model, within := nameless_below(call))):
        says_so = gave_answer_unseen(within, scene.model_calls)
    return (LLM in kinds or says_so) and (TOOL in kinds or AGENT in kinds or says_so)


def in_what_is_lost(call: ToolCall, scene: Scene) -> Found | None:
    """A tool that by its name asks an agent, in the time of whose span a model was asked below a span that never came,
    and is not the one below which it was asked for: the agent's. Where it is told, what that model was asked first is
    what the tool was given, unless it was asked again, or asked for tools. Or the tool's own span never came, and
    others below it did."""
    named, asker = asks(call.name) or transfers(call.name), call.asked_by
    if named is None or asker is None or not scene.lost:
        return None
    if not call.nodes:
        return _below_its_lost_span(call, asker, scene)
    given = {v.strip() for v in (arguments_of(call.arguments)[0] or {}).values() if isinstance(v, str)}
    found = 0
    for mc in itertools.islice(scene.model_calls, asker.turn + 1, asker.turn + 1 + _NEXT):
        torn = mc.agent is None and _torn_from(asker, mc)
        if mc.start < call.start or mc.end > call.end + JITTER_NS or not torn:
            continue
        found += 1
        words = next((x.text for x in _parted(mc)[1]), None)
        if found > 1 or mc.requests or words is None or not given or words.strip() in given:
            return Found(scene.known.get(bare(named.group("to"))), "tool")
    return None


def _below_its_lost_span(call: ToolCall, asker: ModelCall, scene: Scene) -> Found | None:
    """Somebody's work below a span that never came, between the request for a tool without a span and what the model
    that asked was told of it: the tool's, which held an agent."""
    until = call.result_of.start if call.result_of is not None else None
    for mc in itertools.islice(scene.model_calls, asker.turn + 1, asker.turn + 1 + _NEXT):
        if until is not None and mc.start >= until:
            return None
        if mc.start < asker.end or not _torn_from(asker, mc):
            continue
        other = mc.agent if mc.agent != call.agent else None
        if other is not None or not _goes_on(mc, asker):
            return Found(other, "tool")
    return None


def _goes_on(mc: ModelCall, before: ModelCall) -> bool:
    """May this be the conversation of the one before, or nobody knows?"""
    words, known = (next((x.text for x in _parted(c)[1]), None) for c in (mc, before))
    return words is None or known is None or words == known


def _torn_from(asker: ModelCall, other: ModelCall) -> bool:
    """Does this stand below a span that never came, and the one that asked not below the same?"""
    mine, its = ((mc.node, *mc.node.ancestors())[-1] for mc in (asker, other))
    return its.orphan and its.span.parent_span_id != mine.span.parent_span_id


def by_instructions(call: ToolCall, scene: Scene) -> Found | None:
    """A tool of such a name, beside which another was at work, as its instructions say: in the time of the tool's span,
    and what it was told first is what the tool was given; or after it, and it goes on with what had been said."""
    hands_over = transfers(call.name)
    named, asker = hands_over or asks(call.name), call.asked_by
    if named is None or asker is None or call.agent is not None or scene.known:
        return None
    orders, said = _parted(asker)
    given = {v.strip() for v in (arguments_of(call.arguments)[0] or {}).values() if isinstance(v, str)}
    for mc in itertools.islice(scene.model_calls, asker.turn + 1, asker.turn + 1 + _NEXT):
        others, told = _parted(mc)
        if mc.start < call.start or not orders or not others or others == orders or not told:
            continue
        if call.nodes and mc.end <= call.end and ((told[0].text or "").strip() in given or hands_over is not None):
            return Found(named.group("to"), "tool")
        if hands_over is not None and (not call.nodes or mc.start >= call.end):
            goes_on = [x.text for x in told[: len(said)]] == [x.text for x in said]
            return Found(named.group("to"), "handoff") if goes_on and not _alike(orders, others) else None
    return None


def _alike(orders: list[str | None], others: list[str | None]) -> bool:
    """Are these instructions of one agent, but for a part that changes from call to call (the time of day)?"""
    one, two = ("\n".join(text or "" for text in texts) for texts in (orders, others))
    same = _in_common(one, two) + _in_common(one[::-1], two[::-1])
    return same >= _MOSTLY * max(len(one), len(two))


def _in_common(one: str, two: str) -> int:
    """How many characters both begin with."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))


_MOSTLY = 0.8


def _parted(call: ModelCall) -> tuple[list[str | None], list[Message]]:
    """What a model was instructed, and what was said."""
    inputs = call.inputs or []
    return [x.text for x in inputs if x.role == "system"], [x for x in inputs if x.role != "system"]
