"""Scores of coefficients in cases that can be worked out."""

import numpy as np
import pytest
from paper.studies.judge import score_coefficients

import thinrank as tr


@pytest.fixture
def data():
    X, _, truth = tr.datasets.make_two_way_sparse(random_state=0)
    return X, truth


def test_the_truth_is_perfect(data):
    X, truth = data
    scores = score_coefficients(truth.theta, truth, X)
    assert scores["spectral"] == scores["frobenius"] == 0
    assert scores["prediction"] == scores["same_rows"] == 1
    assert (scores["rows"], scores["columns"], scores["rank"]) == (10, 10, 8)
    assert scores["exact"] is True


def test_zero_has_error_one(data):
    X, truth = data
    scores = score_coefficients(0 * truth.theta, truth, X)
    assert scores["spectral"] == scores["frobenius"] == 1
    assert scores["prediction"] == pytest.approx((1 + truth.norm() ** 2 / 50) ** 0.5)
    assert (scores["rank"], scores["row_recall"], scores["row_precision"]) == (0, 0, None)
    assert scores["exact"] is False


def test_prediction_error_is_the_expectation(data):
    X, truth = data
    rng = np.random.default_rng(0)
    theta = truth.theta + 0.1 * rng.standard_normal(truth.shape)
    scores = score_coefficients(theta, truth, X)
    new = rng.standard_normal((20_000, 100))
    residual = new @ (truth.theta - theta) + rng.standard_normal((20_000, 50))
    assert scores["prediction"] == pytest.approx(np.sqrt(np.mean(residual**2)), rel=5e-3)
    fresh = np.concatenate([X] * 200)
    noise = rng.standard_normal((len(fresh), 50))
    residual = fresh @ (truth.theta - theta) + noise
    assert scores["same_rows"] == pytest.approx(np.sqrt(np.mean(residual**2)), rel=5e-3)


def test_supports_are_counted():
    truth = tr.Factors(np.array([[1.0], [1], [0], [0]]), np.array([[1.0], [0], [0]]))
    theta = np.zeros((4, 3))
    theta[1:, :2] = 1.0
    scores = score_coefficients(theta, truth, np.eye(4))
    assert (scores["rows"], scores["columns"], scores["rank"]) == (3, 2, 1)
    assert scores["row_precision"] == pytest.approx(1 / 3)
    assert (scores["row_recall"], scores["column_precision"], scores["column_recall"]) == (
        0.5,
        0.5,
        1,
    )
