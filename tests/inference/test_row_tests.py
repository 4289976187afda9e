"""Row tests against F tests in closed form, and their distribution without effects."""

import numpy as np
from scipy.stats import f, false_discovery_control, kstest

import thinrank as tr


def row_tests(X, Y, adjust_for, robust=True):
    return tr.inference.select_predictors(
        X, Y, method="row_tests", adjust_for=adjust_for, robust=robust
    )


def lawley_hotelling(X, Y, j):
    """The exact F test of row j of the coefficients, from ordinary least squares."""
    n, p = X.shape
    k = Y.shape[1]
    design = np.column_stack([np.ones(n), X])
    theta, *_ = np.linalg.lstsq(design, Y, rcond=None)
    residual = Y - design @ theta
    freedom = n - 1 - p
    noise = residual.T @ residual / freedom
    row = theta[1 + j]
    spread = np.linalg.inv(design.T @ design)[1 + j, 1 + j]
    t_squared = row @ np.linalg.solve(noise, row) / spread
    return f.sf(t_squared * (freedom - k + 1) / (freedom * k), k, freedom - k + 1)


def chain(seed, n, p, rho):
    """Predictors each of which has a correlation of ρ with the one before."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    return rng, X


def test_tests_given_all_are_f_tests_without_structure():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 6)), rng.standard_normal((40, 3)) @ rng.random((3, 3))
    expected = [lawley_hotelling(X, Y, j) for j in range(6)]
    found = row_tests(X, Y, "all", robust=False)
    np.testing.assert_allclose(found.p_values, expected, rtol=1e-6)
    # Benjamini and Hochberg with weights, times the weight of large p-values if that is below 1
    weighted, large = found.p_values / found.weights, found.p_values > 0.5
    share = min((found.weights.max() + found.weights[large].sum()) / 0.5 / 6, 1)
    adjusted = false_discovery_control(np.minimum(weighted * share, 1))
    np.testing.assert_allclose(found.adjusted_p_values, adjusted)


def test_one_response_has_p_values_of_t_tests():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 5))
    X = np.linalg.qr(X - X.mean(axis=0))[0]  # no neighbours
    y = 8 * X[:, 0] + rng.standard_normal(60)
    expected = [lawley_hotelling(X, y[:, None], j) for j in range(5)]
    np.testing.assert_allclose(row_tests(X, y, "all", robust=False).p_values, expected, rtol=1e-6)


def test_p_values_are_calibrated_beside_true_rows():
    """Null predictors next to strong ones, in a chain with correlation 0.7."""
    found = {"all": [], "selected": []}
    for seed in range(12):
        rng, X = chain(seed, 100, 20, 0.7)
        Y = X[:, [4, 9, 14]] @ rng.standard_normal((3, 5)) + rng.standard_normal((100, 5))
        for adjust_for, p_values in found.items():
            p_values.extend(row_tests(X, Y, adjust_for).p_values[[3, 5, 8, 10, 13, 15]])
    # 72 tests at 5 %: 11 or more have probability 0.001
    assert np.sum(np.array(found["selected"]) < 0.05) < 11
    assert kstest(found["all"], "uniform").pvalue > 1e-3


def test_neighbours_of_an_effect_raise_its_weight():
    for adjust_for in ("all", "selected"):
        weights, p_values = [], []
        for seed in range(5):
            rng, X = chain(seed, 200, 12, 0.8)
            Y = 0.25 * X[:, [5]] * rng.standard_normal(6) + rng.standard_normal((200, 6))
            found = row_tests(X, Y, adjust_for)
            weights.append(found.weights)
            p_values.append(found.p_values)
        np.testing.assert_allclose(np.mean(weights, axis=1), 1)
        assert np.mean(weights, axis=0).argmax() == 5
        assert np.median(p_values, axis=0).argmin() == 5


def test_effects_that_hide_each_other_are_found():
    """Neighbours with opposite effects: their fits have the wrong sign."""
    rng, X = chain(7, 200, 12, 0.8)
    Y = (X[:, [5]] - X[:, [6]]) * rng.standard_normal(4) + rng.standard_normal((200, 4))
    assert row_tests(X, Y, "selected").p_values[[5, 6]].max() < 1e-6


def test_p_values_keep_their_digits():
    rng, X = chain(8, 200, 4, 0.0)
    Y = 10 * X[:, [1]] * np.ones(5) + rng.standard_normal((200, 5))
    assert 0 < row_tests(X, Y, "all").p_values[1] < 1e-100


def test_noise_whose_variance_depends_on_a_predictor():
    """Null data with variance exp(1.4·x₀): the p-value of x₀ is uniform or larger, if robust."""
    for adjust_for in ("all", "selected"):
        found = {True: [], False: []}
        for seed in range(0, 40, 2):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((150, 4))
            Y = np.exp(0.7 * X[:, [0]]) * rng.standard_normal((150, 20))
            for robust, p_values in found.items():
                p_values.append(row_tests(X, Y, adjust_for, robust).p_values[0])
        # 20 tests at 10 %: 7 or more have probability 0.002
        assert np.sum(np.array(found[True]) < 0.1) < 7
        assert np.sum(np.array(found[False]) < 0.1) > 9


def test_robust_p_values_are_not_smaller_and_close_if_variances_are_equal():
    rng, X = chain(9, 200, 12, 0.5)
    Y = X[:, [3]] * [0.3, 0.2, 0.1] + rng.standard_normal((200, 3))
    for adjust_for in ("all", "selected"):
        robust, equal = (row_tests(X, Y, adjust_for, each).p_values for each in (True, False))
        small = equal < 0.5  # above, the side that is not expected may decide
        assert np.all(robust[small] >= equal[small] * (1 - 1e-9))
        assert np.median(robust / equal) < 1.25
