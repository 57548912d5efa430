"""Statistics against outside numbers: recorded results, textbook tables."""

from __future__ import annotations

import json
from math import comb

import pytest

from otelcov.coverage import estimators, statistics
from tests.coverage.shared import shared

REFERENCE = shared("agentassay_cases") / "statistics_reference.json"


@pytest.mark.parametrize(("name", "interval"), [("wilson", statistics.wilson), ("clopper", statistics.clopper_pearson)])
def test_intervals_are_those_of_the_reference(name: str, interval: object) -> None:
    if not REFERENCE.exists():
        pytest.skip("../shared/agentassay_cases is absent")
    for case, expected in json.loads(REFERENCE.read_text())[name].items():
        hits, n = map(int, case.split("/"))
        assert callable(interval)
        assert interval(hits, n) == pytest.approx(expected, abs=1e-9), case


def test_fisher_is_that_of_the_reference() -> None:
    # One-sided there; with sides of equal size the two tails are equal.
    assert statistics.fisher(27, 3, 20, 10) == pytest.approx(0.02873313666604104 * 2, abs=1e-12)


def test_fisher_sums_every_table_no_likelier_than_this_one() -> None:
    # Fisher's lady: 3 of 4 cups each; p = (16 + 1 + 16 + 1) / 70.
    assert statistics.fisher(3, 1, 1, 3) == pytest.approx(34 / 70)
    assert statistics.fisher(4, 0, 0, 4) == pytest.approx(2 / 70)
    assert statistics.fisher(0, 5, 0, 7) == 1.0
    brute = sum(comb(9, k) * comb(11, 8 - k) for k in (0, 7, 8)) / comb(20, 8)
    assert statistics.fisher(7, 2, 1, 10) == pytest.approx(brute)


def test_benjamini_hochberg_adjusts_as_in_their_paper() -> None:
    # Benjamini & Hochberg 1995, section 3.2: four hypotheses are rejected at 5 %.
    p = [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.3240,
        0.4262,
        0.5719,
        0.6528,
        0.7590,
        1,
    ]
    adjusted = statistics.benjamini_hochberg(p)
    assert sum(q <= 0.05 for q in adjusted) == 4
    assert adjusted[0] == pytest.approx(0.0015)
    assert statistics.benjamini_hochberg([]) == []


def test_mann_whitney_ranks_values_and_corrects_for_ties() -> None:
    same = [(float(v), 5) for v in range(10)]
    assert statistics.mann_whitney(same, same) == pytest.approx(1.0)
    later = [(v + 8.0, c) for v, c in same]
    p = statistics.mann_whitney(same, later)
    assert p is not None and p < 1e-9
    assert statistics.mann_whitney([(1.0, 7)], same) is None
    # 1..10 against 6..15: U = 12.5, n = m = 10, five pairs of ties.
    p = statistics.mann_whitney([(float(v), 1) for v in range(1, 11)], [(float(v), 1) for v in range(6, 16)])
    assert p == pytest.approx(0.0051, abs=0.0003)


def test_zero_of_n_is_printed_with_its_exact_bound() -> None:
    assert statistics.zero_bound(59) == pytest.approx(0.0495, abs=0.0002)  # the rule of three: 3/59 = 0.0508
    assert statistics.zero_bound(1) == pytest.approx(0.95)
    assert statistics.zero_bound(0) is None


def test_estimators_follow_the_published_formulas() -> None:
    assert estimators.good_turing(40, 26) == pytest.approx(0.35)
    assert estimators.chao1(40, 32, 26, 5) == pytest.approx(84.8125)
    assert estimators.chao_jost(100, 10, 0) is None
    assert estimators.chao_jost(100, 10, 5) == pytest.approx(1 - 0.1 * 990 / 1000)
    low, high = estimators.esty_interval(100, 0, 3, 1.0)
    assert (low, high) == (pytest.approx(1 - (1 + 1.96 * (1 - 0.01 + 8) ** 0.5) / 100), 1.0)
    assert estimators.sample_coverage_of_incidences(10, 30, 4, 2) == pytest.approx(1 - 4 / 30 * 36 / 40)


@pytest.mark.parametrize(("n", "f1", "f2"), [(100, 20, 10), (7, 3, 2), (10**6, 10**5, 30_000)])
def test_how_many_more_runs_is_the_smallest_that_is_enough(n: int, f1: int, f2: int) -> None:
    slowing = (n - 1) * f1 / ((n - 1) * f1 + 2 * f2)
    more = estimators.runs_until_rare(n, f1, f2)
    assert isinstance(more, int)
    assert f1 / n * slowing ** (more + 1) < 0.05 <= f1 / n * slowing**more


def test_how_many_more_runs_is_unknown_where_nothing_was_seen_twice_and_not_told_beyond_twice_as_many() -> None:
    assert estimators.runs_until_rare(100, 20, 0) is None
    assert estimators.runs_until_rare(100, 90, 1) == estimators.runs_until_rare(10**9, 10**9 - 2, 1) == "> 2n"
    assert estimators.runs_until_rare(100, 0, 5) == 0
