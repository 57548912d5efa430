"""Intervals of a share and tests of a difference, exact where that is cheap. The unit is always the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import comb, erfc, exp, lgamma, log, log1p, sqrt

from otelcov.coverage.estimators import Interval

_Z95 = 1.959963984540054


def wilson(hits: int, n: int, z: float = _Z95) -> Interval | None:
    """Score interval of a share (Wilson 1927)."""
    if n <= 0:
        return None
    share, z2 = hits / n, z * z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return Interval(0.0 if hits == 0 else max(0.0, middle - half), 1.0 if hits == n else min(1.0, middle + half))


def clopper_pearson(hits: int, n: int, level: float = 0.95) -> Interval | None:
    """Exact interval of a share: both binomial tails hold (1 - level) / 2 (Clopper & Pearson 1934)."""
    if n <= 0:
        return None
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else _solve(lambda p: _at_least(hits, n, p) - tail)
    high = 1.0 if hits == n else _solve(lambda p: tail - _at_least(n - hits, n, 1 - p))
    return Interval(low, high)


def zero_bound(n: int, error: float = 0.05) -> float | None:
    """1 - 0.05^(1/n): with none seen in n runs, the share is below this with 95 % confidence."""
    return -_expm1(log(error) / n) if n > 0 else None


def fisher(a_with: int, a_without: int, b_with: int, b_without: int) -> float:
    """Two-sided p-value of a 2 x 2 table: the sum of all tables no likelier than this one (Fisher 1934)."""
    a, b, hits = a_with + a_without, b_with + b_without, a_with + b_with
    if not a or not b or not hits or hits == a + b:
        return 1.0
    return _fisher(a_with, a, b, hits)


def least_fisher(n: int, m: int, hits: int) -> float:
    """The least p-value that a table with these margins can have."""
    if not n or not m or not hits or hits == n + m:
        return 1.0
    ends = {max(0, hits - m), min(n, hits)}
    return min(fisher(k, n - k, hits - k, m - hits + k) for k in ends)


@lru_cache(maxsize=65_536)  # thousands of rare items share a few tables
def _fisher(a_with: int, a: int, b: int, hits: int) -> float:
    total = _log_choose(a + b, hits)

    def chance(k: int) -> float:
        return exp(_log_choose(a, k) + _log_choose(b, hits - k) - total)

    here = chance(a_with) * (1 + 1e-7)  # equal tables differ by rounding
    return min(1.0, sum(p for k in range(max(0, hits - b), min(a, hits) + 1) if (p := chance(k)) <= here))


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values that hold the false discovery rate (Benjamini & Hochberg 1995)."""
    m = len(p_values)
    adjusted, least = [1.0] * m, 1.0
    order = sorted(range(m), key=lambda i: p_values[i])
    for rank in range(m, 0, -1):
        i = order[rank - 1]
        least = min(least, p_values[i] * m / rank)
        adjusted[i] = least
    return adjusted


def mann_whitney(a: Sequence[tuple[float, int]], b: Sequence[tuple[float, int]]) -> float | None:
    """Two-sided p-value that values of one side tend to be greater (Mann & Whitney 1947), corrected for ties.

    Each side is (value, how many); the normal approximation, from 8 values a side on, else None.
    """
    n, m = sum(c for _, c in a), sum(c for _, c in b)
    if min(n, m) < 8:
        return None
    counts: dict[float, list[int]] = {}
    for side, values in enumerate((a, b)):
        for value, count in values:
            counts.setdefault(value, [0, 0])[side] += count
    below, ranks, ties = 0, 0.0, 0
    for value in sorted(counts):
        mine, others = counts[value]
        both = mine + others
        ranks += mine * (below + (both + 1) / 2)
        ties += both**3 - both
        below += both
    u = ranks - n * (n + 1) / 2
    variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)))
    if variance <= 0:
        return 1.0
    distance = max(0.0, abs(u - n * m / 2) - 0.5)
    return erfc(distance / sqrt(2 * variance))


def _solve(rising: Callable[[float], float]) -> float:
    """The root of an increasing function on [0, 1]."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return (low + high) / 2


def _at_least(k: int, n: int, p: float) -> float:
    """P(X >= k) for X ~ Binomial(n, p)."""
    if p <= 0:
        return 0.0 if k > 0 else 1.0
    if p >= 1:
        return 1.0
    if n <= 1000:
        q = 1 - p
        return sum(comb(n, i) * p**i * q ** (n - i) for i in range(k, n + 1)) if n <= 60 else _log_sum(k, n, p)
    return _log_sum(k, n, p)


def _log_sum(k: int, n: int, p: float) -> float:
    lp, lq = log(p), log1p(-p)
    return sum(exp(_log_choose(n, i) + i * lp + (n - i) * lq) for i in range(k, n + 1))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _expm1(x: float) -> float:
    from math import expm1

    return expm1(x)
