import numpy as np

from thinrank.matrices.further_rows import further_rows
from thinrank.matrices.observed_cells import ObservedCells


def problem(rng):
    """60 × 20 cells of noise, half observed; rows 0 to 3 follow V, row 4 has an outlier."""
    V = rng.standard_normal((20, 2))
    X = 0.1 * rng.standard_normal((60, 20))
    X[:4] += rng.choice([-1.0, 1.0], (4, 2)) @ V.T
    X[rng.random(X.shape) < 0.5] = np.nan
    X[4, 3] = 5.0
    return ObservedCells.of(X), V


def test_rows_that_follow_the_factor_are_counted_and_single_outliers_are_not(rng):
    cells, V = problem(rng)
    used = np.zeros(60, dtype=bool)
    assert further_rows(cells, V, used, 1e-3) == 4
    used[:3] = True
    assert further_rows(cells, V, used, 1e-3) == 1
    assert further_rows(cells, 1e-3 * V, used, 1e-9) == 1  # in other units


def test_no_scale_of_noise_without_a_majority_of_other_rows(rng):
    cells, V = problem(rng)
    used = np.arange(60) >= 4
    used[-10:] = False
    assert further_rows(cells, V, used, 1e-3) == 0


def test_noise_has_no_further_rows_even_if_variances_differ(rng):
    V = np.zeros((40, 2))
    V[:20] = rng.standard_normal((20, 2))
    X = rng.standard_normal((200, 40)) * np.exp(rng.standard_normal((200, 1)))
    X[rng.random(X.shape) < 0.5] = np.nan
    assert further_rows(ObservedCells.of(X), V, np.zeros(200, dtype=bool), 0.0) == 0
