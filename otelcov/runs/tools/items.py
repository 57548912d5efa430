"""Items of OpenAI's Responses: an answer may tell the item that asks for a tool, where what comes back has the call's
own id, and a conversation that the provider keeps shows in no later input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from otelcov.runs.content.chat import Message, Request, Result
from otelcov.runs.llm.told_answer import OF_ITEM
from otelcov.runs.tools.call import ToolCall, awaits_result


def by_items(requests: Sequence[Request]) -> bool:
    """Are these told by their items alone?"""
    return bool(requests) and all(r.id is not None and r.id.startswith(OF_ITEM) for r in requests)


def results_alone(inputs: Sequence[Message]) -> list[Result]:
    """The results that an input brings which shows neither what asked for them nor words of a user."""
    if any(x.requests or (x.role in ("user", "assistant") and not x.results) for x in inputs):
        return []
    found = [r for x in inputs for r in x.results]
    return found if all(r.id is not None and not r.id.startswith(OF_ITEM) for r in found) else []


def ids_of_items(inputs: Sequence[Message], newest: Iterable[ToolCall]) -> dict[int, str]:
    """The item's id by the result that stands alone in an input, where it brings as many as the newest answer asked
    for: they are in order. `newest`: the calls before, the newest first."""
    brought = results_alone(inputs)
    calls = iter(newest)
    first = next(calls, None) if brought else None
    if first is None:
        return {}
    asked = [first, *takewhile(lambda c: c.asked_by is first.asked_by, calls)]
    asked.sort(key=lambda c: c.position)
    ids = [c.call_id for c in asked if c.call_id is not None and c.call_id.startswith(OF_ITEM) and awaits_result(c)]
    if not len(ids) == len(asked) == len(brought):
        return {}
    return {id(result): i for result, i in zip(brought, ids, strict=True)}
