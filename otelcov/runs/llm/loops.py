"""Calls that may stand for several, where what would tell so is lost."""

from __future__ import annotations

from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.rules.answers import calls_functions


def loops_unseen(calls: list[ModelCall]) -> list[ModelCall]:
    """Those of Google's client that may have called functions and asked again: that stands at the end of what it gave,
    or in what it was given where it failed, and the end is cut or dropped. A program that gives results back by itself
    lets the client call none."""
    perhaps = [c for c in calls if end_lost(c)]
    if not perhaps or any(c.inputs and c.inputs[-1].results for c in calls):
        return []
    return perhaps


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
