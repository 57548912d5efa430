"""What Google's client was asked for last where it stopped, after as many requests as it was allowed: the span around
all of them tells the last answer, which asks for what did not run in it.
"""

from __future__ import annotations

from collections.abc import Collection

from otelcov.dialects.base import TOOL
from otelcov.runs.content.chat import Request
from otelcov.runs.content.wrapped import arguments_of
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.answers import calls_functions
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.call_status import Outcome
from otelcov.runs.trace.tree import Node, same_name

_QUICKER = 5
"""How many times as quick as all before it no answer is."""
_AT_ONCE_NS = 1_000_000  # between functions that one answer asked for


def with_left(tools: list[ToolCall], overwritten: list[ModelCall]) -> list[ToolCall]:
    """These, and after what came before them the calls that the last answers in spans of several ask for."""
    for call in [_left(over, request) for over in overwritten for request in _last_asked(over)]:
        place = next((at for at in range(len(tools), 0, -1) if tools[at - 1].start <= call.start), 0)
        tools.insert(place, call)
    return tools


def _last_asked(over: ModelCall) -> list[Request]:
    if over.error is not None or over.text or not calls_functions(over.node.span.scope):
        return []
    ran = [n for n in over.node.children if n.kind == TOOL]
    if len(over.outputs or ()) > 1:
        return over.asked[len(ran) :]  # of a stream, all answers are told
    return [] if _ran_at_last(over, ran) else over.asked


def _ran_at_last(over: ModelCall, ran: list[Node]) -> bool:
    """Did just what it asks for run last, with no time after it in which a model could have asked for the same again?
    Before 2.0 the client runs what the last answer asks for, too, and asks no more."""
    asked = over.asked
    if not 0 < len(asked) <= len(ran):
        return False
    ran = sorted(ran, key=lambda n: n.start)
    ends = [over.node.start, *(n.end for n in ran)]
    took = min(gap for n, end in zip(ran, ends, strict=False) if (gap := n.start - end) > _AT_ONCE_NS or end == ends[0])
    if (over.node.end - max(ends)) * _QUICKER > took:
        return False
    free = ran[-len(asked) :]
    for request in asked:
        node = next((n for n in free if same_name(n.span.tool, request.name) and _given(n, request)), None)
        if node is None:
            return False
        free.remove(node)
    return True


def _given(node: Node, request: Request) -> bool:
    """May this have been given what was asked for?"""
    (given, _), (asked, _) = arguments_of(node.span.arguments), arguments_of(request.arguments)
    return given is None or asked is None or given == asked


def _left(over: ModelCall, request: Request) -> ToolCall:
    call = ToolCall(request.name)
    call.call_id, call.arguments = request.id, request.arguments
    call.asked_by, call.agent = over, over.node.agent
    call.start = call.end = over.end
    call.evidence.add("message")
    return call


def may_have_gone_on(calls: Collection[ModelCall], tools: list[ToolCall], outcomes: list[Outcome]) -> list[Outcome]:
    """Of those what a program may have run itself, since a model was asked after them."""
    newest = max((c.start for c in calls), default=0)
    left = [(t, o) for t, o in zip(tools, outcomes, strict=True) if t.asked_by is not None and t.turn is None]
    return [o for t, o in left if t.end <= newest]


def bare_words(tools: list[ToolCall], outcomes: list[Outcome]) -> list[Outcome]:
    """Of those of which messages alone tell what came back as bare words, where what others gave is in a frame
    (Upsonic): what a function raised comes back so."""
    told = [(o, o.result) for t, o in zip(tools, outcomes, strict=True) if not t.nodes and o.status == "ok"]
    if not any(isinstance(given, dict) and "func" in given and _FRAME.issuperset(given) for _, given in told):
        return []
    return [o for o, given in told if isinstance(given, str)]


_FRAME = {"func_before", "func", "func_cache", "func_after"}
