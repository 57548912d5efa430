"""Sessions of which each event was told twice (the runtime that GitHub's Copilot SDK 1.0.14 brings).

As a model is asked, a span begins, ends at once for the second telling, and begins again. What that one tells of the
answer holds every part twice, and the tokens of both tellings. A model that was asked by an agent below another has a
span for all that it answered, and under the one above, empty ones for each time that it was asked.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

from otelcov.dialects.base import LLM, OTHER, TOOL
from otelcov.runs.content.chat import Message
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.boundaries import final
from otelcov.runs.trace.tree import Node

_AT_ONCE_NS = 100_000_000
OVERWRITTEN = "overwritten"
"""Kind of a model span that stands for several calls, each written over the one before (ADK under OpenInference)."""


def told_twice(scope: str) -> bool:
    return scope == "github.copilot"


def ran_once(nodes: list[Node]) -> None:
    """Of two spans of one tool's call, the one that tells nothing of how it went is none."""
    ours: dict[tuple[int, str], list[Node]] = {}
    for n in nodes:
        if n.kind == TOOL and n.span.call_id and told_twice(n.span.scope):
            ours.setdefault((id(n.parent), n.span.call_id), []).append(n)
    for some in ours.values():
        told = [n for n in some if n.children or n.span.result is not None or n.span.status_code]
        for n in some if told and len(told) < len(some) else ():
            if n not in told:
                n.kind = OTHER


def once(calls: list[ModelCall]) -> list[ModelCall]:
    """Without the calls that were begun again at once; what those tell that follow them counts once."""
    ours: dict[int, list[ModelCall]] = {}
    for call in calls:
        if told_twice(call.node.span.scope):
            ours.setdefault(id(call.node.parent), []).append(call)
    begun: dict[int, ModelCall] = {}
    for some in ours.values():
        for first, again in pairwise(sorted(some, key=lambda c: (c.start, c.end))):
            if _bare(first) and again.start - first.end <= _AT_ONCE_NS:
                begun[id(first)] = again
    for call in begun.values():
        call.input_tokens = call.output_tokens = None  # the sum of both tellings
        for message in call.outputs or ():
            _halve(message)
    for some in ours.values():
        tools = _tools_beside(some[0].node)
        for call in some:
            if final(call.finish) and (call.requests or _ran_within(call.node, tools)):
                call.node.kind = OVERWRITTEN  # all that an agent's model answered
    return [c for c in calls if id(c) not in begun and c.node.kind == LLM]


def _bare(call: ModelCall) -> bool:
    return call.error in (None, ("", "")) and call.outputs is None and call.output_tokens is None


def _tools_beside(model: Node) -> list[Node]:
    beside = model.parent.children if model.parent is not None else ()
    return sorted((n for n in beside if n.kind == TOOL), key=_start)


def _ran_within(model: Node, tools: list[Node]) -> bool:
    first, last = (bisect_left(tools, time, key=_start) for time in (model.start, model.end))
    return any(n.end < model.end for n in tools[first:last])


def _start(node: Node) -> int:
    return node.start


def _halve(message: Message) -> None:
    text = message.text or ""
    half, rest = text[: len(text) // 2], text[(len(text) + 1) // 2 :]
    if half and half == rest and len(text) % 2:
        message.text = half
