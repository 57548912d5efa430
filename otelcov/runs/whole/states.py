"""States of a run: where it stands after each executed tool call, without content.

`agent|tool|ok or error|shape of the result|earlier failures of that tool`; behind these how full the model's context
was when it asked, where the config declares that model's context, and the attributes that the config names.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection
from typing import Any

import polars as pl

from otelcov.ground.config import Config
from otelcov.ground.models import ModelNames
from otelcov.ground.patterns import late
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.call_status import Outcome

APART = "|"
UNKNOWN = "?"
_FILLS = ((0.5, "0-50"), (0.9, "50-90"))  # below these shares; beyond them the last
_FULL = "90-100"
_LONGEST = 64  # characters of an attribute's value: a state is a class of situations, not a text
_MARKS = late(r"[|\s]+")


def states(tools: list[ToolCall], outcomes: list[Outcome], named: Collection[str] = ()) -> list[str]:
    """The states of a run but for how full contexts are; `named` are attributes, of the call's span or the nearest one
    around it that has them."""
    failures: Counter[str | None] = Counter()
    out = []
    for t, o in zip(tools, outcomes, strict=True):
        if o.status not in ("ok", "error"):
            continue
        before = failures[t.name]
        state = f"{t.agent or '?'}|{t.name or '?'}|{o.status}|{shape(o.result)}|{'2+' if before >= 2 else before}"
        out.append(state + of_attributes(_attributes(t, named)) if named else state)
        failures[t.name] += o.status == "error"
    return out


def of_attributes(attributes: dict[str, str | None]) -> str:
    """What attributes add to a state."""
    return "".join(f"{APART}{_plain(key)}={_value(value)}" for key, value in attributes.items())


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


def filled(runs: pl.DataFrame, config: Config) -> pl.DataFrame:
    """RUNS rows whose states tell how full contexts are, where the config declares contexts."""
    contexts = {name: model.context for name, model in config.models.items() if model.context is not None}
    if not contexts or not runs.height:
        return runs
    names, attributes = ModelNames(config), len(config.coverage.state_attributes)
    columns = ("states", "tool_calls", "llm_calls")
    rows = [_filled(row, contexts, names, attributes) for row in runs.select(columns).iter_rows()]
    return runs.with_columns(states=pl.Series(rows, dtype=runs.schema["states"]))


def _filled(run: tuple[Any, ...], contexts: dict[str, int], names: ModelNames, attributes: int) -> list[str] | None:
    before, calls, models = run
    if before is None:
        return None
    executed = [call for call in calls or () if call["status"] in ("ok", "error")]
    out = []
    for state, call in zip(before, executed, strict=True):
        asked = models[call["turn"]] if models is not None and call["turn"] is not None else None
        fill = UNKNOWN if asked is None else _fill(asked, contexts, names)
        parts = state.rsplit(APART, attributes)
        out.append(state if fill is None else APART.join([parts[0], fill, *parts[1:]]))
    return out


def _fill(asked: dict[str, Any], contexts: dict[str, int], names: ModelNames) -> str | None:
    """How full the context was of the model that asked for a call; None where nobody declared how much it holds."""
    model = asked["request_model"] or asked["response_model"]
    if model is None:
        return UNKNOWN
    context = contexts.get(names(model))
    if context is None:
        return None
    if asked["input_tokens"] is None:
        return UNKNOWN
    share = (asked["input_tokens"] + (asked["output_tokens"] or 0)) / context
    return next((name for below, name in _FILLS if share < below), _FULL)


def _attributes(call: ToolCall, named: Collection[str]) -> dict[str, str | None]:
    node = call.nodes[0] if call.nodes else call.asked_by.node if call.asked_by is not None else None
    found = dict[str, str | None].fromkeys(named)
    while node is not None and None in found.values():
        for key, value in node.side.named.get(node.span.row, {}).items():
            found[key] = value if found[key] is None else found[key]
        node = node.parent
    return found


def _value(value: str | None) -> str:
    return UNKNOWN if value is None else _plain(value)[:_LONGEST]


def _plain(text: str) -> str:
    """The text without what stands between the parts of a state, or between states."""
    return _MARKS.sub(" ", text)


__all__ = ["filled", "of_attributes", "shape", "states"]
