"""Ids of calls that kits give again: in every answer anew (`call_0`), or to all calls of one tool (its name)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from otelcov.runs.content.chat import Message, Request, Result
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.executions import span_fact, span_name
from otelcov.runs.trace.tree import Node, same_name


def reused(inputs: list[Message], by_id: dict[str, list[ToolCall]]) -> set[str]:
    """The ids of results in an input that are of several requests, or of several calls."""
    shown = Counter(r.id for x in inputs if x.role == "assistant" for r in x.requests if r.id)
    brought = {r.id for x in inputs for r in x.results if r.id}
    return {i for i in brought if i in by_id and (shown[i] > 1 or len(by_id[i]) > 1)}


def results(inputs: list[Message], call_id: str, calls: Sequence[ToolCall]) -> Iterator[tuple[ToolCall, Result]]:
    """Which of the calls that bear an id, the oldest first, each result is of: history ends with what came last, so the
    last result is the newest call's that fits the request before it."""
    end = len(calls)
    for request, result in reversed(list(_exchanges(inputs, call_id))):
        at = next((k for k in range(end - 1, -1, -1) if _fits(calls[k], request, result)), None)
        if at is not None:
            yield calls[at], result
            end = at


def _exchanges(inputs: list[Message], call_id: str) -> Iterator[tuple[Request | None, Result]]:
    """Each result beside the request that it answers, if this input shows it."""
    waiting: list[Request] = []
    answered = False
    for message in inputs:
        asked = [r for r in message.requests if r.id == call_id] if message.role == "assistant" else []
        if asked and answered:
            waiting, answered = [], False
        waiting += asked
        for result in message.results:
            if result.id == call_id:
                answered = True
                yield (waiting.pop(0) if waiting else None), result


def _fits(call: ToolCall, request: Request | None, result: Result) -> bool:
    if request is None:
        return result.name is None or same_name(call.name, result.name)
    if not same_name(call.name, request.name):
        return False
    return _equal(call.arguments, request.arguments)


def _equal(some: object, others: object) -> bool:
    given = [arguments_of(some)[0], arguments_of(others)[0]]
    return None in given or given[0] == given[1]


def execution(calls: Collection[ToolCall], free: Collection[int], nodes: list[Node]) -> ToolCall | None:
    """Which of the calls that bear an id, and are free still, these spans ran: of several the newest of this tool that
    was asked for before, with their arguments where more were asked for at once."""
    left = [c for c in calls if id(c) in free]
    if len(calls) < 2:
        return left[0] if left else None
    name, start = span_name(nodes), nodes[0].start
    left = [c for c in left if c.asked_by is not None and c.asked_by.start <= start and same_name(c.name, name)]
    newest = max((c.turn or 0 for c in left), default=0)
    left = [c for c in left if (c.turn or 0) == newest]
    told = span_fact(nodes, "arguments")
    return next((c for c in left if _equal(c.arguments, told)), left[0] if left else None)
