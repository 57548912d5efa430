"""Steps of a loop that bear its name and a number each (TanStack AI): from these it is seen that one has not come."""

from __future__ import annotations

from otelcov.dialects.base import CHAIN, LLM
from otelcov.ground.patterns import late
from otelcov.runs.llm.model_call import finish_reason
from otelcov.runs.rules.boundaries import asks, final
from otelcov.runs.trace.tree import Node

_NUMBER = late(r" #(\d+)$")


def number(node: Node) -> int | None:
    """Which step of its loop this is."""
    hit = _NUMBER.search(node.span.name) if node.kind == LLM else None
    holder = node.parent.span.name if node.parent is not None and hit is not None else None
    return int(hit[1]) if hit is not None and holder in (None, node.span.name[: hit.start()]) else None


def lacks_steps(nodes: list[Node]) -> bool:
    """Is a number left out, or all of them, or did a loop say that it came to its end where the last step that came
    asked for tools?"""
    loops: dict[bytes | None, dict[int, Node]] = {}
    for node in nodes:
        numbered = node.kind == LLM and " #" in node.span.name
        if numbered and (told := number(node)) is not None and node.span.parent_span_id is not None:
            loops.setdefault(node.span.parent_span_id, {})[told] = node
    if not loops:
        return False
    for steps in loops.values():
        last = steps[max(steps)]
        loop = last.parent
        said = finish_reason(loop.span.finish) if loop is not None else None
        if len(steps) <= max(steps) or (final(said) and asks(finish_reason(last.span.finish))):
            return True
    names = {step.span.name[: -len(f" #{told}")] for steps in loops.values() for told, step in steps.items()}
    return any(n.kind == CHAIN and n.span.name in names and all(x.kind != LLM for x in n.children) for n in nodes)
