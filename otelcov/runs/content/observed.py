"""What a kit tells its model in plain words of the tools that it ran: which it called, and what it saw then."""

from __future__ import annotations

import re
from itertools import pairwise

from otelcov.ground.patterns import late
from otelcov.runs.content.chat import Message, Request, Result
from otelcov.runs.content.jsontext import literal
from otelcov.runs.content.parts import requests_in

_CALLED = late(r"(?:^|\n)Calling tools:\n(\[\{'id': .*\}\])\s*$", re.S)
_SEEN = "Observation:\n"
_TASK = "New task:\n"
_ASKED = rf"(?:Based on the above, please provide an answer|{_TASK})"
_RAISED = r"(?:Call id: \S+\n)?Error:\n.*\nNow let's retry: take care not to repeat previous errors!"
_NEXT, _ANEW = (late(rf"\n(?={what})", re.S) for what in (f"{_ASKED}|{_RAISED}", _ASKED))
"""What smolagents tells as words of the same user: of a later step that raised, and what it asks then."""


def with_observations(inputs: list[Message]) -> None:
    """Puts requests and results where their words stand, and what a user asks next after these. Of several tools what
    was seen is not told apart."""
    asked_next: dict[int, Message] = {}
    for called, seen in pairwise(inputs):
        words = _words(seen) if called.role == "assistant" else ""
        if not words.startswith(_SEEN):
            continue
        told = _requests(called.text or "")
        if not told:
            continue
        text = words.removeprefix(_SEEN)
        _, *anew = _ANEW.split(text, maxsplit=1)
        called.requests, called.text = told, None
        seen.role, seen.text = ("user", anew[0]) if anew and seen.role == "user" else ("tool", None)
        if seen.text is not None and seen.text.startswith(_TASK):
            asked_next[id(seen)] = Message("user", seen.text)
            seen.role, seen.text = "tool", None
        came = _NEXT.split(text, maxsplit=1)[0].strip() if len(told) == 1 else None
        seen.results = [Result(r.id, r.name, came) for r in told]
    if asked_next:
        inputs[:] = [x for seen in inputs for x in (seen, asked_next.get(id(seen))) if x is not None]


def _words(seen: Message) -> str:
    """What was seen, as a user's words or as those of a tool that is not named."""
    if seen.role == "user" and not seen.results:
        return seen.text or ""
    only = seen.results[0] if seen.role == "tool" and len(seen.results) == 1 else None
    return only.content if only is not None and only.id is None and isinstance(only.content, str) else ""


def _requests(text: str) -> list[Request]:
    hit = _CALLED.search(text)
    try:
        return requests_in(literal(hit.group(1))) if hit is not None else []
    except ValueError:
        return []
