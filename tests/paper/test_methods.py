"""The simulated settings, and methods on one small draw."""

import numpy as np
import pytest
from paper.methods import score_coefficients
from paper.q_iteration import (
    CompactGroupLasso,
    CompactLassos,
    RefittedGroupLasso,
    RefittedLassos,
)

import thinrank as tr
from paper import methods, simulations
from thinrank.baselines import MultiTaskGroupLasso, SeparateLassos

LITERAL = {"fit_intercept": False, "standardize": False}


def test_errors_have_unit_variance():
    for distribution in simulations.DISTRIBUTIONS:
        errors = simulations.errors(np.random.default_rng(0), (200, 500), distribution)
        assert abs(errors.mean()) < 0.02
        assert errors.var() == pytest.approx(1, abs=0.1)


def test_draws_differ_in_their_errors_alone():
    one, other = (simulations.draw("row_weak", 3, name) for name in ("normal", "uniform"))
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.truth.theta, other.truth.theta)
    assert one.column_sizes == (None,)
    assert not np.allclose(one.Y, other.Y)


def test_quick_methods_on_one_draw():
    task = simulations.draw("twoway_strong", 0)
    answers = methods.fit_methods(task, ["pursuit", "JRRS", "oracle", "null"])
    scores = {name: score_coefficients(a.theta, task) for name, a in answers.items()}
    assert scores["oracle"]["spectral"] < 0.1
    assert scores["pursuit"]["spectral"] < 1.3 * scores["oracle"]["spectral"]
    assert scores["JRRS"]["spectral"] < 0.3
    assert scores["null"]["spectral"] == 1
    assert all(answer.seconds > 0 for answer in answers.values())


def test_gdt_centres(rng):
    X, Y, truth = tr.datasets.make_two_way_sparse(60, 12, 6, 2, 4, 4, noise=0.01, random_state=1)
    theta, intercept = methods.FixedDataGDT(X + 5, Y - 3, intercept=True).fit((2, 4, 4))
    np.testing.assert_allclose(theta, truth.theta, atol=0.02)
    np.testing.assert_allclose(intercept, -3 - 5 * theta.sum(axis=0), atol=0.02)


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 12))
    theta = np.zeros((12, 4))
    theta[[2, 5]] = rng.standard_normal((2, 4))
    return X, X @ theta + 0.1 * rng.standard_normal((40, 4))


def test_refits_are_least_squares_on_what_was_picked():
    X, Y = data()
    for model in (RefittedGroupLasso, RefittedLassos):
        est = model(0.2, **LITERAL).fit(X, Y)
        assert 0 < len(est.row_support_) < 12
        for j, coefficients in enumerate(est.coef_):
            rows = np.flatnonzero(np.abs(coefficients) > 1e-9)
            expected = np.linalg.lstsq(X[:, rows], Y[:, j], rcond=None)[0]
            np.testing.assert_allclose(coefficients[rows], expected, atol=1e-8)
    tuned = RefittedGroupLasso(n_penalties=8, cv=5, **LITERAL).fit(X, Y)
    assert set(tuned.row_support_) >= {2, 5}


@pytest.mark.parametrize(
    ("compact", "usual", "penalty"),
    [(CompactLassos, SeparateLassos, 0.1), (CompactGroupLasso, MultiTaskGroupLasso, 0.2)],
)
def test_compact_data_have_the_same_solution(compact, usual, penalty):
    X, Y = data()
    found = [model(penalty, tol=1e-12).fit(X, Y) for model in (compact, usual)]
    np.testing.assert_allclose(found[0].coef_, found[1].coef_, atol=1e-5)
    assert found[0].coef_.any()


@pytest.fixture
def perfect():
    return simulations.draw("twoway_strong", 0)


def test_scores_of_the_truth_and_of_zero(perfect):
    truth = perfect.truth
    scores = score_coefficients(truth.theta, perfect)
    assert scores["spectral"] == scores["frobenius"] == 0
    assert scores["prediction"] == scores["same_rows"] == 1
    assert (scores["rows"], scores["columns"], scores["rank"]) == (10, 10, 8)
    assert scores["exact"] is True
    scores = score_coefficients(0 * truth.theta, perfect)
    assert scores["spectral"] == scores["frobenius"] == 1
    assert scores["prediction"] == pytest.approx((1 + truth.norm() ** 2 / 50) ** 0.5)
    assert (scores["rank"], scores["exact"]) == (0, False)


def test_prediction_error_is_the_expectation(perfect):
    X, truth = perfect.X, perfect.truth
    rng = np.random.default_rng(0)
    theta = truth.theta + 0.1 * rng.standard_normal(truth.shape)
    scores = score_coefficients(theta, perfect)
    new = rng.standard_normal((20_000, 100))
    residual = new @ (truth.theta - theta) + rng.standard_normal((20_000, 50))
    assert scores["prediction"] == pytest.approx(np.sqrt(np.mean(residual**2)), rel=5e-3)
    fresh = np.concatenate([X] * 200)
    noise = rng.standard_normal((len(fresh), 50))
    residual = fresh @ (truth.theta - theta) + noise
    assert scores["same_rows"] == pytest.approx(np.sqrt(np.mean(residual**2)), rel=5e-3)
