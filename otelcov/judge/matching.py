"""Which of these belongs to which of those: the assignment of least cost (Kuhn 1955, Munkres 1957).

Taking the best pair first may leave the rest with nothing but bad ones; whether a claim contradicts a call must not
depend on which was looked at first.
"""

from __future__ import annotations

from collections.abc import Sequence


def assign(cost: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Pairs (row, column), as many as the shorter side has, whose costs add up to the least. Cubic time."""
    rows, columns = len(cost), len(cost[0]) if cost else 0
    if not rows or not columns:
        return []
    if rows > columns:
        flipped = assign([[cost[r][c] for r in range(rows)] for c in range(columns)])
        return sorted((r, c) for c, r in flipped)
    # Shortest augmenting paths with potentials; row 0 and column 0 stand for "none".
    inf = float("inf")
    potential_r, potential_c = [0.0] * (rows + 1), [0.0] * (columns + 1)
    owner = [0] * (columns + 1)  # the row that has this column
    for row in range(1, rows + 1):
        owner[0], column = row, 0
        least, came = [inf] * (columns + 1), [0] * (columns + 1)
        done = [False] * (columns + 1)
        while owner[column]:
            done[column] = True
            here, delta, nearest = owner[column], inf, 0
            for c in range(1, columns + 1):
                if done[c]:
                    continue
                reduced = cost[here - 1][c - 1] - potential_r[here] - potential_c[c]
                if reduced < least[c]:
                    least[c], came[c] = reduced, column
                if least[c] < delta:
                    delta, nearest = least[c], c
            for c in range(columns + 1):
                if done[c]:
                    potential_r[owner[c]] += delta
                    potential_c[c] -= delta
                else:
                    least[c] -= delta
            column = nearest
        while column:
            owner[column] = owner[came[column]]
            column = came[column]
    return sorted((owner[c] - 1, c - 1) for c in range(1, columns + 1) if owner[c])
