"""What a sample tells of what it has not shown: estimators of unseen mass and of richness, each with its author.

n is the number of runs, f1 and f2 how many kinds (paths) were seen in exactly one and exactly two of them.
"""

from __future__ import annotations

from math import exp, floor, log, log1p, sqrt
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Z = 1.96
LEVEL = 0.95


class Interval(NamedTuple):
    low: float
    high: float


def good_turing(n: int, f1: int) -> float | None:
    """1 - f1/n: the share of the runs to come whose path was seen (Good 1953)."""
    return 1 - f1 / n if n else None


def chao_jost(n: int, f1: int, f2: int) -> float | None:
    """1 - (f1/n) (n-1) f1 / ((n-1) f1 + 2 f2) (Chao & Jost 2012); None without doubletons, which it rests on."""
    if not n or not f2:
        return None
    return 1 - f1 / n * _slowing(n, f1, f2)


def chao1(n: int, kinds: int, f1: int, f2: int) -> float | None:
    """S + (n-1)/n f1 (f1-1) / (2 (f2+1)): at least so many kinds exist (Chao 1984, bias-corrected)."""
    return kinds + (n - 1) / n * f1 * (f1 - 1) / (2 * (f2 + 1)) if n else None


def esty_interval(n: int, f1: int, f2: int, score: float) -> Interval:
    """score +- 1.96 sqrt(f1 (1 - f1/n) + 2 f2) / n (Esty 1983), clipped.

    At its ends that is no interval. Without singletons the lower end is the one that a single unseen singleton would
    give; where every run was a path of its own, the upper end is the one that a single doubleton would give.
    """
    if f1 == 0:
        return Interval(max(0.0, 1 - (1 + Z * sqrt(1 - 1 / n + 2 * (f2 + 1))) / n), 1.0)
    if f1 == n:
        return Interval(0.0, min(1.0, Z * sqrt(2) / n))
    half = Z * esty_error(n, f1, f2)
    return Interval(max(0.0, score - half), min(1.0, score + half))


def esty_error(n: int, f1: int, f2: int) -> float:
    return sqrt(f1 * (1 - f1 / n) + 2 * f2) / n


def runs_until_rare(n: int, f1: int, f2: int, chance: float = 0.05) -> int | str | None:
    """How many more runs until the chance that the next one is new falls below `chance`; "> 2n" beyond twice n."""
    if not n or not f2:
        return None
    if not f1 or n == 1:
        return 0
    falls = -log1p(-2 * f2 / ((n - 1) * f1 + 2 * f2))  # by so much the logarithm of that chance with each run
    more = max(0, floor(log(f1 / n / chance) / falls))
    while more <= 2 * n and f1 / n * exp(-falls * (more + 1)) >= chance:
        more += 1
    return more if more <= 2 * n else "> 2n"


def sample_coverage_of_incidences(runs: int, incidences: int, q1: int, q2: int) -> float | None:
    """1 - (Q1/U) (T-1) Q1 / ((T-1) Q1 + 2 Q2) (Chao et al. 2014), for T runs that show several kinds each."""
    if not runs or not incidences:
        return None
    return 1 - q1 / incidences * _slowing(runs, q1, q2)


def bootstrap_interval(
    weights: npt.NDArray[np.int64], run_of: npt.NDArray[np.int64], kind_of: npt.NDArray[np.int64], repeats: int = 200
) -> Interval:
    """score +- 1.96 times the spread of the scores when whole runs are drawn again; the seed is fixed.

    The quantiles of those scores would not do: who draws again from what was seen finds fewer singletons than there
    are, so that they lie too high. At its ends the interval is opened as for paths.

    Group g of equal runs occurs weights[g] times; (run_of[i], kind_of[i]) says that the runs of a group show a kind.
    """
    import numpy as np  # as slow to import as all else here together; few reports draw again

    rng = np.random.default_rng(20_120_901)
    total = int(weights.sum())
    kinds = int(kind_of.max()) + 1 if len(kind_of) else 0

    def estimate(drawn: npt.NDArray[np.int64]) -> tuple[float, int, int, int]:
        seen = np.bincount(kind_of, weights=drawn[run_of], minlength=kinds)
        counts = int(seen.sum()), int(np.count_nonzero(seen == 1)), int(np.count_nonzero(seen == 2))
        return sample_coverage_of_incidences(total, *counts) or 0.0, *counts

    score, incidences, q1, q2 = estimate(weights)
    spread = float(np.std([estimate(drawn)[0] for drawn in rng.multinomial(total, weights / total, size=repeats)]))
    low, high = max(0.0, score - Z * spread), min(1.0, score + Z * spread)
    if q1 in (0, incidences):
        end = esty_interval(incidences, q1, q2, score)
        low, high = min(low, end.low), max(high, end.high)
    return Interval(low, high)


def _slowing(n: int, f1: int, f2: int) -> float:
    """A = (n-1) f1 / ((n-1) f1 + 2 f2): by how much a next run lowers the chance of a new kind."""
    weight = (n - 1) * f1 + 2 * f2
    return (n - 1) * f1 / weight if weight else 0.0
