"""Whether an SDK has cut values, and to how many letters."""

from __future__ import annotations

from otelcov.runs.trace.tree import USUAL_LIMITS, Node, ended_by


def value_limit(nodes: list[Node]) -> int | None:
    """The SDK's attribute length limit, where it has cut values: they end at one length, and none is longer; of
    several spans or facts, or in the midst of a sentence."""
    return _limit(nodes, {text for n in nodes for text in _texts_of_events(n)})


def limit_of_spans(nodes: list[Node]) -> int | None:
    """The same, of what spans tell: what log records hold in their bodies no limit cuts."""
    return _limit(nodes, set())


def _limit(nodes: list[Node], told: set[str]) -> int | None:
    lengths = [*(n.span.longest for n in nodes), *map(len, told)]
    longest = max(lengths, default=0)
    if longest < 64:
        return None
    at_limit = lengths.count(longest)
    if at_limit == 1 and longest in USUAL_LIMITS and not ended_by(longest, (t for n in nodes for t in _long_texts(n))):
        at_limit = 0
    broken = [len(text) for text in told if text[:2] in ('{"', "[{") and text[-1:] not in ("]", "}", ")", "\n")]
    cut = max([*(n.span.cut for n in nodes), *broken], default=0)
    return longest if cut == longest or (at_limit and longest in USUAL_LIMITS) else None


def _long_texts(node: Node) -> tuple[str | None, ...]:
    span = node.span
    return span.input, span.output, span.arguments, span.result, node.input_messages, span.output_messages


def _texts_of_events(node: Node) -> list[str]:
    events = node.side.events.get(node.span.row, ())
    return [value for _, attributes in events for value in attributes.values() if isinstance(value, str)]
