"""What lost its parent beside requests that a program's span holds: whose work was it?"""

from __future__ import annotations

from collections.abc import Iterable

from otelcov.dialects.base import LLM
from otelcov.runs.llm.model_call import ModelCall
from otelcov.runs.trace.tree import Node

Part = tuple[Node, list[Node]]
"""The top of a run, and all of its nodes."""


def beside(parts: list[Part], rest: list[Part]) -> list[Part]:
    """These runs, each with what else began in its time; of several in whose time it began, with what was asked in the
    same words. What lies below one parent that never came is of one run: its own, if it is none of these."""
    said, lost = _Said(), list[Part]()
    below: dict[bytes | None, list[Part]] = {}
    for part in rest:
        below.setdefault(part[0].span.parent_span_id, []).append(part)
    for some in below.values():
        first, nodes = some[0][0], [n for _, held in some for n in held]
        around = [part for part in parts if part[0].start <= first.start <= part[0].end]
        if len(around) > 1:
            words = said.by(nodes)
            around = [part for part in around if words & said.by(part[1])]
        if len(around) == 1:
            around[0][1].extend(nodes)
        else:
            lost.append((first, nodes))
    return [*parts, *lost]


class _Said:
    """What a user said last to the models among some nodes, read once."""

    def __init__(self) -> None:
        self._known: dict[int, set[str]] = {}

    def by(self, nodes: list[Node]) -> set[str]:
        if id(nodes) not in self._known:
            self._known[id(nodes)] = set(filter(None, map(_last_words, _models(nodes))))
        return self._known[id(nodes)]


def _models(nodes: list[Node]) -> Iterable[Node]:
    return (n for n in nodes if n.kind == LLM)


def _last_words(model: Node) -> str | None:
    said = ModelCall(model, [model]).inputs or ()
    return next((x.text for x in reversed(said) if x.role == "user" and x.text), None)
