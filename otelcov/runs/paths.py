"""Paths and states of a run, from its calls and delegations in canonical order."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

from otelcov.runs.call import ToolCall
from otelcov.runs.call_status import Outcome
from otelcov.runs.delegation import Delegation


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


def states(tools: list[ToolCall], outcomes: list[Outcome]) -> list[str]:
    """`agent|tool|ok or error|shape|earlier failures` after each executed call; no content."""
    failures: Counter[str | None] = Counter()
    out = []
    for t, o in zip(tools, outcomes, strict=True):
        if o.status not in ("ok", "error"):
            continue
        before = failures[t.name]
        out.append(f"{t.agent or '?'}|{t.name or '?'}|{o.status}|{shape(o.result)}|{'2+' if before >= 2 else before}")
        failures[t.name] += o.status == "error"
    return out


def shape(value: Any) -> str:
    """The form of a result, without its content."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list):
        return f"list-{len(value) if len(value) < 2 else 'many'}"
    keys = sorted(map(str, value))[:8]
    return "object-" + hashlib.sha256("\x00".join(keys).encode()).hexdigest()[:12]


def _asked(t: ToolCall) -> int:
    """When the model had asked for a call: at its end, but before that where the call began while its span still was
    open (it holds the call's own in the AI SDK, and lasts as long as that in Mastra)."""
    if t.asked_by is None:
        return t.start
    end = t.asked_by.end
    return max(t.start, t.asked_by.start) if t.nodes and t.start < end else end


def _label(t: ToolCall, o: Outcome) -> str:
    return f"{t.agent or '?'}/{t.name or '?'}{'!' if o.status == 'error' else ''}"
