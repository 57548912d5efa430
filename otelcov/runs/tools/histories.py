"""Which histories go on with one another, and whose answers they show."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from otelcov.runs.content.chat import Message, Request
from otelcov.runs.content.jsontext import Value
from otelcov.runs.llm.left_out import hides_requests
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.tools.alike import came_to, instructions
from otelcov.runs.tools.askers import owner


def conversations(thread: list[ModelCall]) -> list[list[ModelCall]]:
    """The calls of an agent by the histories that go on with one another, where answers must be read from them: one
    that is called several times begins anew each time, and may be at work twice at once."""
    if not any(hides_requests(mc) for mc in thread):
        return [thread]
    out: list[list[ModelCall]] = []
    begun: dict[tuple[tuple[str, str | None], ...], list[ModelCall]] = {}
    for mc in thread:
        inputs = mc.inputs or []
        first = next((at for at, x in enumerate(inputs, 1) if x.role == "user"), len(inputs))
        asked = tuple((x.role, x.text) for x in inputs[:first])  # some tell it again, right behind (OpenLIT)
        if not out or (inputs and all(map(_opens, inputs))):
            out.append([])
            begun[asked] = out[-1]
        begun.setdefault(asked, out[-1]).append(mc)
    return out


def _opens(message: Message) -> bool:
    """Does this tell of no answer, and of nothing that came of one?"""
    return message.role not in ("assistant", "tool") and not message.results


class Histories:
    """What the inputs of a run in which some answer is not told are held to, where several agents ask models: they may
    share a history, or hold several at once."""

    def __init__(self, model_calls: list[ModelCall], talks: Iterable[list[ModelCall]]) -> None:
        self._ends: dict[tuple[Value, ...], list[ModelCall]] = {}  # whose input is, without instructions, so long
        # and begins and ends with these messages; of an agent, or of anyone
        self._first: dict[tuple[Value, ...], ModelCall] = {}  # of those that end a conversation, which shows an answer
        if not any(hides_requests(mc) for mc in model_calls):
            return
        for mc in model_calls:
            if mc.inputs and mc.error is None:
                end = came_to(mc.inputs, instructions(mc.inputs), len(mc.inputs))
                for whose in (mc.agent, _ANYONES):
                    self._ends.setdefault((whose, *end), []).append(mc)
        for talk in talks:
            last = next((mc for mc in reversed(talk) if mc.inputs is not None), None)
            if last is not None and not last.gappy and any(hides_requests(mc) for mc in talk):
                self._read(last, last.inputs or [])

    def _read(self, mc: ModelCall, inputs: list[Message]) -> None:
        for at, requests in answers_at(inputs):
            if key := self._key(inputs, at, requests):
                known = self._first.setdefault(key, mc)
                if mc.start < known.start:
                    self._first[key] = mc

    def _key(self, inputs: list[Message], at: int, requests: list[Request]) -> tuple[Value, ...]:
        head = instructions(inputs)
        if not requests or head >= at:
            return ()
        return (*came_to(inputs, head, at), *(value for r in requests for value in (r.id, r.name)))

    def asked_after(self, inputs: list[Message], at: int, asking: ModelCall) -> ModelCall | None:
        """The newest call before that one whose input was this history up to there; of the same agent if there is one:
        several may have been sent the same."""
        head = instructions(inputs) if self._ends else at
        if head >= at:
            return None
        end = came_to(inputs, head, at)
        for whose in (asking.agent, _ANYONES):
            found = self._ends.get((whose, *end), [])
            earlier = bisect_left(found, asking.start, key=_start)
            if earlier:
                return found[earlier - 1]
        return None

    def anothers(
        self, inputs: list[Message], at: int, requests: list[Request], asking: ModelCall, asker: ModelCall
    ) -> bool:
        """Does another agent's conversation, with which this one goes on since that handed over, show this answer
        earlier? By the ids of what it asked for, or since the agent that could have asked had ended by then, or this
        one works in that other."""
        first = self._first.get(self._key(inputs, at, requests)) if self._first else None
        if first is None or first.agent == asking.agent or first.start >= asking.start:
            return False
        if all(r.id for r in requests):
            return True
        own, now, other = (owner(mc.node) for mc in (asker, asking, first))
        if own is None or own is now:
            return False
        return own.end <= first.start or any(a is other for a in asking.node.ancestors())


_ANYONES = 0


def _start(call: ModelCall) -> int:
    return call.start


def answers_at(inputs: list[Message]) -> list[tuple[int, list[Request]]]:
    """Where each answer that history shows begins, and its requests; OpenAI's Responses tell each item as a message of
    its own."""
    out: list[tuple[int, list[Request]]] = []
    same = False
    for at, message in enumerate(inputs):
        if message.role == "assistant":
            if same:
                out[-1][1].extend(message.requests)
            else:
                out.append((at, list(message.requests)))
        same = message.role == "assistant"
    return out
