"""Model calls of which one hands the work over and another goes on with it, where each is a trace of its own and no id
tells: each agent has instructions of its own, and what was said otherwise is the same."""

from __future__ import annotations

import re

from otelcov.ground.patterns import late
from otelcov.runs.agents.delegation import HANDS_OVER, bare
from otelcov.runs.content.chat import Message
from otelcov.runs.joining.fragments import Fragment
from otelcov.runs.joining.prints import print_of
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.handovers import transfers
from otelcov.runs.trace.tree import spelling

_JITTER_NS = 1_000_000
_SOON_NS = 60_000_000_000  # until somebody goes on after a hand-over of which nothing tells later
_PATIENCE_NS = 600_000_000_000  # the same where what was said shows it
_AT_ONCE = 64
_BY_NAME = frozenset({*HANDS_OVER, "handoff", "handover", "transferagent"})


class HandedOn:
    """The answers that handed over and of which nobody is known yet who went on."""

    def __init__(self) -> None:
        self._shown: dict[bytes, list[_Part]] = {}  # by what was said, the hand-over at its end
        self._unshown: dict[bytes, list[_Part]] = {}  # by what was said before that
        self._taken: set[int] = set()

    def note(self, part: Fragment, call: ModelCall) -> None:
        """Keep a call that handed over."""
        if call.inputs and any(hands_over(r.name) for r in call.requests):
            said = without_orders(call.inputs)
            shown = [*said, Message("assistant", requests=call.requests)]
            for known, key in ((self._shown, print_of(shown)), (self._unshown, print_of(said))):
                some = known.setdefault(key, [])
                some.append((part, call))
                del some[:-_AT_ONCE]

    def before(self, call: ModelCall, history: list[Message] | None) -> Fragment | None:
        """The newest that handed over to who was asked this. `history` ends with what was asked for last, if an answer
        is among what was said; where it does not show the hand-over, all else that was said is the same."""
        if not self._shown:
            return None
        if history and any(hands_over(r.name) for r in history[-1].requests):
            last = Message("assistant", requests=history[-1].requests)
            known = self._shown.get(print_of([*without_orders(history[:-1]), last]), [])
            some = [part for part, asked in known if _may_follow(call, part, asked, _PATIENCE_NS)]
            left = [part for part in some if id(part) not in self._taken] or some  # who failed may try again
        else:
            known = self._unshown.get(print_of(without_orders(call.inputs or [])), [])
            left = [part for part, asked in known if id(part) not in self._taken and _takes_over(call, part, asked)]
        if not left:
            return None
        self._taken.add(id(left[-1]))
        return left[-1]


_Part = tuple[Fragment, ModelCall]


def hands_over(tool: str | None) -> bool:
    """Does a tool's name say that who calls it hands the work over?"""
    return tool is not None and (transfers(tool) is not None or spelling(tool) in _BY_NAME)


def gone(call: ModelCall) -> bool:
    """Did a call hand over for good, by a tool whose name says no less?"""
    return any(_FOR_GOOD.match(r.name or "") for r in call.requests)


_FOR_GOOD = late(r"(?:transfer|hand[_ -]?off|hand[_ -]?over)(?:[_ -]|[A-Z]|$)", re.I)


def without_orders(messages: list[Message]) -> list[Message]:
    """Without what each agent has of its own."""
    return [x for x in messages if x.role != "system"]


def goes_on_for(call: ModelCall, asked: ModelCall) -> Message | None:
    """The answer by which a call handed over, where the other's history shows it and goes on from there."""
    known, told = without_orders(asked.inputs or []), without_orders(call.inputs or [])
    if not known or len(told) <= len(known) or not _other(call, asked):
        return None
    answer = told[len(known)]
    handed = answer.role == "assistant" and any(hands_over(r.name) for r in answer.requests)
    return answer if handed and print_of(told[: len(known)]) == print_of(known) else None


def _may_follow(call: ModelCall, part: Fragment, asked: ModelCall, within: int) -> bool:
    """Is this soon enough after another call, of the same service and of no other conversation?"""
    soon = part.end - _JITTER_NS <= call.node.start <= part.end + within
    talks = {n.span.conversation for n in (call.node, asked.node)} - {None}
    return soon and part.root.span.service == call.node.span.service and len(talks) < 2


def _takes_over(call: ModelCall, part: Fragment, asked: ModelCall) -> bool:
    """Does this go on with what another answered by a hand-over? It is of the same conversation, or of the agent that
    the hand-over names; where no agent is named, the words are the same, and not hidden: those are all alike."""
    if not _may_follow(call, part, asked, _SOON_NS) or not _other(call, asked):
        return False
    if call.node.span.conversation is not None and call.node.span.conversation == asked.node.span.conversation:
        return True
    named = (transfers(r.name) for r in asked.requests)
    to = {bare(match.group("to")) for match in named if match is not None}
    if call.node.agent is not None and to:
        return bare(call.node.agent) in to
    return any(x.text for x in without_orders(call.inputs or []))


def _other(one: ModelCall, two: ModelCall) -> bool:
    """Are these asked of two agents, by their names or by what they were instructed?"""
    if one.node.agent is not None and two.node.agent is not None:
        return one.node.agent != two.node.agent
    orders = [[x.text for x in call.inputs or () if x.role == "system"] for call in (one, two)]
    return bool(orders[0]) and bool(orders[1]) and orders[0] != orders[1]
