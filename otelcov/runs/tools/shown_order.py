"""The order of calls that ran at once, whose model's span was lost: as a later history shows their requests."""

from __future__ import annotations

from bisect import bisect_left
from itertools import groupby

from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.tools.call import ToolCall


def as_shown(calls: list[ToolCall], model_calls: list[ModelCall]) -> None:
    """Put those side by side that no model is seen to have asked for, and that the next model was shown by their ids,
    into the order in which that one was."""
    lone = {id(c) for c in calls if c.asked_by is None and c.turn is None and c.nodes and c.call_id}
    if len(lone) < 2:
        return
    starts = [mc.start for mc in model_calls]
    shown: dict[int, dict[str, int]] = {}

    def shown_by(call: ToolCall) -> int | None:
        """The place of the next model, where its history shows this call."""
        after = bisect_left(starts, call.end) if id(call) in lone else len(starts)
        if after == len(starts):
            return None
        if after not in shown:
            ids = (r.id for x in model_calls[after].inputs or () for r in x.requests if r.id)
            shown[after] = {found: place for place, found in enumerate(dict.fromkeys(ids))}
        return after if call.call_id in shown[after] else None

    at = 0
    for after, some in groupby(calls, shown_by):
        group = list(some)
        if after is not None and len(group) > 1:
            known = shown[after]
            calls[at : at + len(group)] = sorted(group, key=lambda c: known[c.call_id or ""])
        at += len(group)
