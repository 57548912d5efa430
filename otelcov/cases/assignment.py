"""The most pairs that can be made between two sides: maximum bipartite matching, by augmenting paths (Kuhn 1955).

Greedy pairing depends on the order of the lists: an expected call that any call fits may take the only one that
another expected call accepts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable


def assign(left: int, right: int, fits: Callable[[int, int], bool]) -> dict[int, int]:
    """left index -> right index, as many as possible; equal input gives equal pairs."""
    edges = [[j for j in range(right) if fits(i, j)] for i in range(left)]
    owner: dict[int, int] = {}
    for start in range(left):
        _augment(start, edges, owner)
    return {i: j for j, i in owner.items()}


def _augment(start: int, edges: list[list[int]], owner: dict[int, int]) -> None:
    """Give `start` a partner, moving others along the shortest path that ends in a free one."""
    came: dict[int, int] = {}  # right -> the left from which it was reached
    waiting = deque([start])
    partner = {i: j for j, i in owner.items()}
    while waiting:
        i = waiting.popleft()
        for j in edges[i]:
            if j in came:
                continue
            came[j] = i
            if j not in owner:
                at: int | None = j
                while at is not None:
                    mover = came[at]
                    before = partner.get(mover)
                    owner[at] = mover
                    at = before if mover != start else None
                return
            waiting.append(owner[j])
