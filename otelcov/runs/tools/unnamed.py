"""Runs of tools of which nothing is told but that they ran, and the calls that they are of.

A model asked for as many as ran after it, and before another was asked: they are these, in their order. Where some
failed, those are the calls that brought the words of what was thrown back.
"""

from __future__ import annotations

from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.tools.askers import Askers
from otelcov.runs.tools.call import ToolCall
from otelcov.runs.tools.executions import span_fact, span_name
from otelcov.runs.trace.tree import Node, exceptions, failure

_Run = tuple[list[Node], str | None]  # an execution and its call id


def mute(nodes: list[Node], call_id: str | None) -> bool:
    """Does nothing tell which tool this is, nor what it was given?"""
    return call_id is None and span_name(nodes) is None and span_fact(nodes, "arguments") is None


def by_number(
    rest: list[_Run], calls: list[ToolCall], models: Askers, model_calls: list[ModelCall]
) -> tuple[list[_Run], list[tuple[ToolCall, list[Node]]]]:
    """The runs that are left, and those that were found: mute ones are of what the model before them asked for, where
    that is as much as ran, and where they went alike or what later inputs bring tells them apart."""
    left, after = [], dict[int, list[list[Node]]]()
    asked = dict[int, list[ToolCall]]()
    for c in calls:
        asked.setdefault(id(c.asked_by), []).append(c)
    for nodes, call_id in rest:
        asker = models.before(nodes[0]) if mute(nodes, call_id) else None
        if asker is None or id(asker) not in asked:
            left.append((nodes, call_id))
        else:
            after.setdefault(id(asker), []).append(nodes)
    found = []
    back: dict[str, str] | None = None
    for asker_id, ran in after.items():
        ran.sort(key=lambda nodes: nodes[0].start)
        wanted = sorted(asked[asker_id], key=lambda c: c.position)
        if len({failure(nodes[0]) is None for nodes in ran}) > 1:
            back = _brought(model_calls) if back is None else back
        if len(wanted) == len(ran) and (places := _places(ran, wanted, back or {})) is not None:
            found += [(wanted[place], nodes) for place, nodes in zip(places, ran, strict=True)]
        else:
            left += [(nodes, None) for nodes in ran]
            for c in wanted:
                c.may_have_run = True
    return left, found


def _brought(model_calls: list[ModelCall]) -> dict[str, str]:
    """What inputs bring back, by call id."""
    inputs = (x for mc in model_calls for x in mc.inputs or ())
    return {r.id: str(r.content) for x in inputs for r in x.results if r.id}


def _places(ran: list[list[Node]], wanted: list[ToolCall], back: dict[str, str]) -> list[int] | None:
    """Which call each run is of: one that failed, of that which brought the words of its failure back."""
    failed = [failure(nodes[0]) for nodes in ran]
    if all(failed) or not any(failed):
        return list(range(len(ran)))
    texts = [back.get(c.call_id or "", "") for c in wanted]
    found: dict[int, int] = {}
    for n, nodes in enumerate(ran):
        if failed[n] is not None:
            thrown = {message for node in nodes for _, message in exceptions(node) if message}
            told = [i for i, text in enumerate(texts) if any(message in text for message in thrown)]
            if len(told) != 1 or told[0] in found.values():
                return None
            found[n] = told[0]
    free = iter(sorted(set(range(len(wanted))) - set(found.values())))
    return [found[n] if n in found else next(free) for n in range(len(ran))]
