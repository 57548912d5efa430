"""Calls that asked for the same, by what was said before the answers that asked, and what spans tell they gave."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from itertools import islice

from otelcov.runs.content.chat import Message, Result
from otelcov.runs.content.jsontext import Value, to_json
from otelcov.runs.content.wrapped import result_of
from otelcov.runs.tools.call import ToolCall, awaits_result
from otelcov.runs.tools.dealing import Shown
from otelcov.runs.tools.executions import span_fact
from otelcov.runs.trace.tree import Node, exceptions


def came_to(inputs: list[Message], head: int, at: int) -> tuple[Value, ...]:
    """What an input, whose first `head` messages are instructions, comes to at this place."""
    first, last = inputs[head], inputs[at - 1]
    results = to_json([[r.id, r.content] for r in last.results]) if last.results else None
    return at - head, first.role, first.text, last.role, last.text, results


def instructions(inputs: list[Message]) -> int:
    """How many messages an input begins with that are an agent's instructions."""
    return next((k for k, x in enumerate(inputs) if x.role not in ("system", "developer")), len(inputs) - 1)


class Alike:
    """Calls that asked for the same, in the order in which they were found."""

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self._first = 0  # all before have their result
        self._seen = 0
        self._after: dict[tuple[Value, ...], list[ToolCall]] = {}  # by what was said before their answers
        self._ran: dict[tuple[Value, ...], list[ToolCall]] = {}  # those of which spans tell what they gave

    def waiting(self, turn: int) -> Iterator[ToolCall]:
        """Those that were asked for before this turn and wait for a result."""
        while self._first < len(self.calls) and not awaits_result(self.calls[self._first]):
            self._first += 1
        for c in islice(self.calls, self._first, None):
            if c.turn is not None and c.turn < turn and awaits_result(c):
                yield c

    def after(self, said: tuple[Value, ...], turn: int, taken: set[int]) -> ToolCall | None:
        """The newest of them that answered what came to this."""
        self._place()
        here = self._after.get(said, [])
        while here and not awaits_result(here[-1]):
            here.pop()
        known = (c for c in reversed(here) if c.turn is not None and c.turn < turn)
        return next((c for c in known if id(c) not in taken and awaits_result(c)), None)

    def left_by_spans(self, said: tuple[Value, ...], shown: list[Shown], turn: int) -> list[Shown]:
        """Those that answered what came to this, without what spans tell of some; none, where it cannot be told which
        these are."""
        self._place()
        left = list(shown)
        for c in self._ran.get(said, ()):
            if (c.turn or 0) >= turn:
                continue
            own = next((s for s in left if s.result is not None and is_given(s.result, c.nodes)), None)
            if own is not None:
                left.remove(own)
            elif len(left) > 1:
                return []
        return left

    def _place(self) -> None:
        for c in self.calls[self._seen :]:
            asked = c.asked_by.inputs if c.asked_by is not None else None
            if asked:
                said = came_to(asked, instructions(asked), len(asked))
                insort(self._after.setdefault(said, []), c, key=lambda c: (c.turn or 0, -c.position))
                if c.nodes and not awaits_result(c):
                    self._ran.setdefault(said, []).append(c)
        self._seen = len(self.calls)


def brings(result: Result, nodes: list[Node]) -> bool:
    if (told := span_fact(nodes, "result")) is not None:
        return bool(result_of(told)[0] == result.content)
    thrown = (message for node in nodes for _, message in exceptions(node) if message)
    return isinstance(result.content, str) and any(message in result.content for message in thrown)


def is_given(result: Result, nodes: list[Node]) -> bool:
    """Is this what the span of a call tells that it gave, be it JSON or its text, or the one value of an object?"""
    given, told = result_of(span_fact(nodes, "result"))[0], result_of(result.content)[0]
    inner = result_of(next(iter(told.values())))[0] if isinstance(told, dict) and len(told) == 1 else told
    return given is not None and given in (told, inner)
