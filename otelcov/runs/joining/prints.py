"""What was said in a conversation, to compare by."""

from __future__ import annotations

from hashlib import blake2b

from otelcov.runs.content.chat import Message, Request
from otelcov.runs.content.jsontext import Value, to_json
from otelcov.runs.content.wrapped import arguments_of


class History:
    """Messages, and what was said by each of them and before, to compare by: made once, however many ask."""

    __slots__ = ("_prints", "messages")

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages
        self._prints: dict[int, bytes] = {}

    def print(self, count: int | None = None) -> bytes:
        """Of the first `count` messages; of all where there are no more."""
        whole = len(self.messages)
        count = whole if count is None else min(count, whole)
        found = self._prints.get(count)
        if found is None:
            found = self._prints[count] = print_of(self.messages[:count])
        return found


def print_of(history: list[Message]) -> bytes:
    """What was said, as a digest to compare by. An answer may be told as a message for each tool it asks for."""
    said: list[tuple[str | None, str, list[Value]]] = []
    for x in history:
        asked: list[Value] = [[r.name, _given(r)] for r in x.requests]
        if asked and said and said[-1][0] == x.role and said[-1][2] and not x.text:
            said[-1][2].extend(asked)
        else:
            said.append((x.role, x.text or "", asked))
    return blake2b(to_json(said).encode(), digest_size=16).digest()


def _given(request: Request) -> Value:
    arguments, text = arguments_of(request.arguments)
    return {} if request.arguments is None else text if arguments is None else arguments
