"""Calls that may stand for several: where what would tell so is lost, or where what they asked for was done by then."""

from __future__ import annotations

from otelcov.dialects.base import TOOL
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.answers import calls_functions
from otelcov.runs.rules.boundaries import asks
from otelcov.runs.trace.tree import spelling


def loops_unseen(calls: list[ModelCall]) -> list[ModelCall]:
    """Those of Google's client that may have called functions and asked again: that stands at the end of what it gave,
    or in what it was given where it failed, and the end is cut or dropped. A program that gives results back by itself
    lets the client call none."""
    perhaps = [c for c in calls if end_lost(c)]
    if not perhaps or any(c.inputs and c.inputs[-1].results for c in calls):
        return []
    return perhaps


def turns(calls: list[ModelCall]) -> list[ModelCall]:
    """Those that stand for a turn of an agent: what they asked for began and ended beside them in their own time, they
    have the last word, and nobody asked a model there since, to whom it could have been given."""
    last: dict[int, ModelCall] = {}
    for call in calls:
        if call.node.parent is not None:
            last[id(call.node.parent)] = call
    talked = [call for call in last.values() if call.asked and call.text and not asks(call.finish)]
    return [call for call in talked if _ran_meanwhile(call)]


def _ran_meanwhile(call: ModelCall) -> bool:
    asked = {spelling(r.name) for r in call.asked if r.name}
    beside = call.node.parent.children if call.node.parent is not None else []
    return any(
        n.kind == TOOL and call.start <= n.start < call.end >= n.end and spelling(n.span.tool or "") in asked
        for n in beside
    )


def end_lost(call: ModelCall) -> bool:
    """Was more told than came, of a call that was offered tools, or may have been?"""
    for n in call.layers:
        tools = n.definitions or n.side.families["flat_tools"].get(n.span.row)
        if not calls_functions(n.span.scope) or not (tools or n.span.dropped):
            continue
        raw = n.input_messages if call.error is not None else n.span.output_messages
        if call.cut_off(raw) or (raw is None and n.span.dropped):
            return True
    return False
