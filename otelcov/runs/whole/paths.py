"""The path of a run, from its calls and delegations in canonical order."""

from __future__ import annotations

from otelcov.runs.agents.delegation import Delegation
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.call_status import Outcome


def path(tools: list[ToolCall], outcomes: list[Outcome], handed: list[Delegation]) -> list[list[str]]:
    """Steps of executed calls and delegations; what one model turn asked for is one step."""
    items: list[tuple[tuple[int, int], object, str]] = []
    order: dict[int, int] = {}
    for rank, (t, o) in enumerate(zip(tools, outcomes, strict=True)):
        order[id(t)] = rank
        if o.status != "requested":
            items.append(
                (
                    (t.start if t.turn is None and t.nodes else _asked(t), rank),
                    t.turn if t.turn is not None else t,
                    _label(t, o),
                )
            )
    for d in handed:
        group: object = d
        start = d.start
        if d.call is not None and d.call.turn is not None:
            group = d.call.turn
            start = _asked(d.call) if d.call.asked_by is not None else d.start
        items.append(((start, -1), group, f"{d.source or '?'}->{d.target or '?'}"))
    items.sort(key=lambda x: (x[0], x[2]))
    steps: list[tuple[object, set[str]]] = []
    place: dict[object, int] = {}
    for _, group, label in items:
        key = ("turn", group) if isinstance(group, int) else id(group)
        if key in place:
            steps[place[key]][1].add(label)
        else:
            place[key] = len(steps)
            steps.append((key, {label}))
    out: list[list[str]] = []
    for _, labels in steps:
        step = sorted(labels)
        if out and [x.removesuffix("+") for x in out[-1]] == step:
            out[-1] = [f"{x}+" for x in step]
        else:
            out.append(step)
    return out


def _asked(t: ToolCall) -> int:
    """When the model had asked for a call: at its end, but before that where the call began while its span still was
    open (it holds the call's own in the AI SDK, and lasts as long as that in Mastra)."""
    if t.asked_by is None:
        return t.start
    end = t.asked_by.end
    return max(t.start, t.asked_by.start) if t.nodes and t.start < end else end


def _label(t: ToolCall, o: Outcome) -> str:
    return f"{t.agent or '?'}/{t.name or '?'}{'!' if o.status == 'error' else ''}"
