"""What Google's client was asked for last where it stopped, after as many requests as it was allowed: the span around
all of them tells the last answer, which asks for what did not run in it.
"""

from __future__ import annotations

from collections.abc import Collection

from otelcov.dialects.base import TOOL
from otelcov.runs.content.chat import Request
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.answers import calls_functions
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.call_status import Outcome


def with_left(tools: list[ToolCall], overwritten: list[ModelCall]) -> list[ToolCall]:
    """These, and after what came before them the calls that the last answers in spans of several ask for."""
    for call in [_left(over, request) for over in overwritten for request in _last_asked(over)]:
        place = next((at for at in range(len(tools), 0, -1) if tools[at - 1].start <= call.start), 0)
        tools.insert(place, call)
    return tools


def _last_asked(over: ModelCall) -> list[Request]:
    if over.error is not None or over.text or not calls_functions(over.node.span.scope):
        return []
    if len(over.outputs or ()) == 1:
        return over.asked
    return over.asked[sum(n.kind == TOOL for n in over.node.children) :]  # of a stream, all answers are told


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
