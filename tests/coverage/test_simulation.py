"""Estimates against simulated truth: shapes of ../shared/estimators and uniform ones, drawn again and again."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from otelcov.coverage import estimators

# (kinds, Zipf exponent); 0 is uniform.
SHAPES = [(50, 1.0), (500, 1.0), (500, 1.5), (50, 0.0), (200, 0.0), (1000, 0.0)]
SIZES = [20, 50, 100, 500, 2000]
_ALL = [(s, n) for s in SHAPES for n in SIZES]
_QUICK = [((500, 1.0), 100), ((500, 1.0), 500), ((50, 0.0), 500), ((500, 1.5), 2000)]


def _shape(kinds: int, zipf: float) -> npt.NDArray[np.float64]:
    weights = np.arange(1, kinds + 1, dtype=np.float64) ** -zipf
    return weights / weights.sum()


def _drawn(shape: tuple[int, float], n: int, repeats: int) -> tuple[float, float, float, float]:
    """RMSE of the estimate, mean of Esty's error, share of intervals that hold the truth, mean f1."""
    chances = _shape(*shape)
    rng = np.random.default_rng(7)
    errors, spreads, held, singles = [], [], 0, []
    for counts in rng.multinomial(n, chances, size=repeats):
        f1, f2 = int((counts == 1).sum()), int((counts == 2).sum())
        truth = float(chances[counts > 0].sum())
        jost = estimators.chao_jost(n, f1, f2)
        score = estimators.good_turing(n, f1) if jost is None else jost
        assert score is not None
        low, high = estimators.esty_interval(n, f1, f2, score)
        errors.append(score - truth)
        spreads.append(estimators.esty_error(n, f1, f2))
        held += low - 1e-12 <= truth <= high + 1e-12
        singles.append(f1)
    rmse = float(np.sqrt(np.mean(np.square(errors))))
    return rmse, float(np.sqrt(np.mean(np.square(spreads)))), held / repeats, float(np.mean(singles))


def _hold(shape: tuple[int, float], n: int, repeats: int) -> None:
    rmse, spread, held, singles = _drawn(shape, n, repeats)
    noise = 2.5 * (0.95 * 0.05 / repeats) ** 0.5  # of the simulation itself
    if n >= 500:
        if singles >= 3:
            assert rmse <= 1.1 * spread * (1 + 2 / repeats**0.5)
            assert 0.93 - noise <= held <= 0.97 + noise
        else:
            assert held >= 0.93 - noise
    else:
        assert held >= 0.85 - noise


@pytest.mark.parametrize(("shape", "n"), _QUICK)
def test_estimates_and_their_intervals_hold(shape: tuple[int, float], n: int) -> None:
    _hold(shape, n, 250)


@pytest.mark.full
@pytest.mark.parametrize(("shape", "n"), _ALL)
def test_estimates_and_their_intervals_hold_for_every_shape_and_size(shape: tuple[int, float], n: int) -> None:
    _hold(shape, n, 4000)
