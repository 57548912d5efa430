"""The turns of a conversation in one trace: what a user says first, what goes on with what was said before."""

from __future__ import annotations

import re
from itertools import pairwise

from otelcov.dialects.base import AGENT, LLM
from otelcov.runs.content.chat import Message
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.tools.handed_in import is_answer
from otelcov.runs.trace.tree import Node


def one_conversation(roots: list[Node]) -> bool:
    """Are these the turns of a conversation with one agent, below a span that never came (mcp-agent's application,
    which ends after it has exported for the last time)?"""
    if len(roots) < 2 or not all(n.orphan and n.kind == AGENT and n.own_agent is not None for n in roots):
        return False
    return len({(n.own_agent, n.span.parent_span_id) for n in roots}) == 1 and in_turn(roots)


def in_turn(turns: list[Node]) -> bool:
    """Do these, alike, follow one another, each with new words after what was said and answered in the one before?"""
    alike = len({(n.kind, n.span.scope, _NUMBER.sub("", n.span.name)) for n in turns}) == 1
    if not alike or any(later.start < turn.end for turn, later in pairwise(turns)):
        return False
    said = [first_said(n) for n in turns]
    return all(goes_on(x, y) for x, y in pairwise(said))


def goes_on(before: list[Message], said: list[Message]) -> bool:
    """Do these words go on with what was said before, once that was answered?"""
    if not before or not said:
        return False
    asked = next((i for i, x in enumerate(said[:-1]) if x.role == "user" and x.text == before[-1].text), None)
    if asked is None:
        return False
    since = said[asked + 1 : -1]
    return any(x.role == "assistant" and x.text for x in since) or any(
        r.name in _FINISHES or is_answer(r.name) for x in since for r in x.requests
    )


_FINISHES = ("finish",)  # a tool by which an agent says that it is done, and what it has to say (OpenHands)


def first_said(turn: Node) -> list[Message]:
    """What the first model below a span was asked, where that ends with words of the user."""
    first = min((x for x in (turn, *turn.below()) if x.kind == LLM), key=lambda x: x.start, default=None)
    if first is None:
        return []
    layers = [first, *(x for x in first.below() if x.kind == LLM)][:_LAYERS]
    said = ModelCall(first, layers).inputs or []
    return said if said and said[-1].role == "user" and said[-1].text and not said[-1].results else []


_NUMBER = re.compile(r"\d+")
_LAYERS = 4  # of instrumentation around one call
