"""Row tests against F tests in closed form, and their distribution without effects."""

import numpy as np
import pytest
from scipy.stats import f, kstest

from thinrank.inference import row_tests
from thinrank.inference.checked_data import as_sample
from thinrank.inference.neighbours import find_neighbours
from thinrank.inference.row_scores import RowScores, combined_p_values, row_scores
from thinrank.inference.structure import (
    few_responses,
    find_structure,
    shared_directions,
    structure_without,
)


def unit(X):
    X = X - X.mean(axis=0)
    return X / np.linalg.norm(X, axis=0)


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


def test_tests_given_all_are_f_tests_without_structure():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 6)), rng.standard_normal((40, 3)) @ rng.random((3, 3))
    sample = as_sample(X, Y)
    assert len(find_structure(sample.X, sample.Y).support) == 0
    tests = row_tests.row_tests_given_all(sample.X, sample.Y)
    expected = [lawley_hotelling(X, Y, j) for j in range(6)]
    np.testing.assert_allclose(tests.p_values, expected, rtol=1e-6)


def test_one_response_has_p_values_of_t_tests():
    rng = np.random.default_rng(1)
    X = np.linalg.qr(unit(rng.standard_normal((60, 5))))[0]  # no neighbours
    y = 8 * X[:, 0] + rng.standard_normal(60)
    tests = row_tests.row_tests_given_all(as_sample(X, y).X, as_sample(X, y).Y)
    expected = [lawley_hotelling(X, y[:, None], j) for j in range(5)]
    np.testing.assert_allclose(tests.p_values, expected, rtol=1e-6)


def test_scores_are_squared_multiple_correlations():
    rng = np.random.default_rng(2)
    R, x = rng.standard_normal((30, 4)), rng.standard_normal(30)
    x /= np.linalg.norm(x)
    V = rng.standard_normal((4, 2))
    scores = row_scores((x @ R)[None], R.T @ R, V)

    def explained(A):
        return np.linalg.norm(np.linalg.qr(A)[0].T @ x) ** 2

    assert scores.all[0] == pytest.approx(explained(R))
    assert scores.shared[0] == pytest.approx(explained(R @ np.linalg.solve(R.T @ R, V)))


def test_combined_p_values_are_uniform_for_uniform_directions():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((5_000, 12))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    scores = RowScores(np.sum(x[:, :2] ** 2, axis=1), np.sum(x[:, :5] ** 2, axis=1))
    for r in (0, 2, 5):
        p_values = combined_p_values(scores, r, 5, 12)
        assert kstest(p_values, "uniform").pvalue > 1e-3


def test_p_values_keep_their_digits():
    p_values = combined_p_values(RowScores(np.array([0.9]), np.array([0.91])), 2, 5, 200)
    assert 0 < p_values[0] < 1e-60


def test_structure_has_true_rows_and_directions():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((150, 30))
    V = rng.standard_normal((8, 2))
    Y = X[:, [3, 8, 20]] @ rng.standard_normal((3, 2)) @ V.T + 0.3 * rng.standard_normal((150, 8))
    sample = as_sample(X, Y)
    structure = find_structure(sample.X, sample.Y)
    assert {3, 8, 20} <= set(structure.support)
    assert structure.directions.shape == (8, 2)
    scaled = V / Y.std(axis=0)[:, None]
    basis = np.linalg.qr(structure.directions)[0]
    left = scaled - basis @ (basis.T @ scaled)
    assert np.linalg.norm(left) < 0.2 * np.linalg.norm(scaled)


def test_structure_without_a_predictor_does_not_depend_on_it():
    rng = np.random.default_rng(5)
    X = unit(rng.standard_normal((80, 10)))
    Y = 20 * X[:, [2, 5]] @ rng.standard_normal((2, 4)) + rng.standard_normal((80, 4))
    Y -= Y.mean(axis=0)
    found = find_structure(X, Y)
    without = structure_without(X, Y, found, 2)
    alone = find_structure(np.delete(X, 2, axis=1), Y, 0.9, prune=False)
    assert 2 in found.support
    np.testing.assert_array_equal(without.support, alone.support + (alone.support >= 2))
    never = next(j for j in range(10) if j not in found.order)
    assert structure_without(X, Y, found, never) is found


def test_neighbours_of_a_chain():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((500, 8))
    for j in range(1, 8):
        X[:, j] += 0.8 * X[:, j - 1]
    found = find_neighbours(unit(X), np.array([0, 3, 7]))
    assert [set(near) >= true for near, true in zip(found, ({1}, {2, 4}, {6}), strict=True)]
    assert {2, 4} <= set(found[1])
    assert sum(map(len, found)) <= 7


def test_double_selection_is_calibrated_beside_true_rows():
    """Null predictors next to strong ones, in a chain with correlation 0.7."""
    small = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((150, 20))
        for j in range(1, 20):
            X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(0.51) * X[:, j]
        Y = X[:, [4, 9, 14]] @ rng.standard_normal((3, 5)) + rng.standard_normal((150, 5))
        sample = as_sample(X, Y)
        p_values = row_tests.row_tests_given_selected(sample.X, sample.Y).p_values
        small.append(p_values[[3, 5, 8, 10, 13, 15]] < 0.05)
    # 150 tests at 5 %: 18 or more have probability 0.0005
    assert np.sum(small) < 18


def test_only_candidates_are_tested_among_many(monkeypatch):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((60, 30))
    Y = X[:, :2] @ rng.standard_normal((2, 3)) + rng.standard_normal((60, 3))
    sample = as_sample(X, Y)
    full = row_tests.row_tests_given_selected(sample.X, sample.Y).p_values
    monkeypatch.setattr(row_tests, "_MOST_NODES", 5)
    few = row_tests.row_tests_given_selected(sample.X, sample.Y).p_values
    tested = few < 1
    assert tested.sum() <= 5
    assert set(np.argsort(full)[:2]) <= set(np.flatnonzero(tested))
    np.testing.assert_allclose(few[tested], full[tested])


def test_many_responses_become_principal_components():
    Y = np.random.default_rng(8).standard_normal((20, 30))
    Y -= Y.mean(axis=0)
    few = few_responses(Y)
    assert few.shape == (20, 5)
    np.testing.assert_allclose(few.T @ few, np.diag(np.linalg.svd(Y)[1][:5] ** 2), atol=1e-9)
    assert few_responses(Y[:, :4]).shape == (20, 4)
    assert few_responses(Y[:, [0, 0, 1]]).shape == (20, 2)


def test_directions_of_no_predictors():
    assert shared_directions(np.zeros((10, 0)), np.ones((10, 3))).shape == (3, 0)
