"""What is above spans, found once for all of them, however deep they lie in each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Generic, TypeVar

from otelcov.runs.trace.tree import Node

T = TypeVar("T")


class Above(Generic[T]):
    """What is above a span, put together from the top of its tree on: of each by `step`, with what is above that one.
    It is kept, so that what it is told from must not change as long as this is asked."""

    def __init__(self, step: Callable[[Node, T], T], nothing: T) -> None:
        self._step = step
        self._nothing = nothing
        self._found: dict[int, T] = {}

    def __call__(self, node: Node) -> T:
        way, here = list[tuple[Node, Node]](), node
        while id(here) not in self._found and here.parent is not None:
            way.append((here, here.parent))
            here = here.parent
        found = self._found.setdefault(id(here), self._nothing)
        for below, above in reversed(way):
            found = self._found[id(below)] = self._step(above, found)
        return found


def nearest(true: Callable[[Node], bool]) -> Above[Node | None]:
    """The nearest span above another of which this is true."""
    return Above(lambda node, found: node if true(node) else found, None)


def all_above(nodes: Iterable[Node]) -> set[int]:
    """What is above any of these, by id."""
    found = set[int]()
    for node in nodes:
        for above in node.ancestors():
            if id(above) in found:
                break
            found.add(id(above))
    return found


def some_above(node: Node) -> Iterator[Node]:
    """What holds it, innermost first, as deep as kits go."""
    return islice(node.ancestors(), _DEEPEST)


_DEEPEST = 64
