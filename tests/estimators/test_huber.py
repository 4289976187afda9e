"""The Huber loss in the regressors."""

import numpy as np
import pytest
from sklearn.linear_model import HuberRegressor

import thinrank as tr
from thinrank.losses.families import Huber, Poisson

SIZES = {"rank": 2, "row_sparsity": 4, "column_sparsity": 4, "ridge": 0.0}


def data(n=80, seed=0):
    X, Y, truth = tr.datasets.make_two_way_sparse(
        n_samples=n,
        n_features=12,
        n_targets=6,
        rank=2,
        row_sparsity=4,
        column_sparsity=4,
        random_state=seed,
    )
    return X, Y + 1, truth


def with_outliers(Y, share=0.08, seed=1):
    rng = np.random.default_rng(seed)
    Y = Y.copy()
    rows = rng.choice(len(Y), int(share * len(Y)), replace=False)
    Y[rows] += 30 * rng.standard_normal((len(rows), Y.shape[1]))
    return Y


def test_a_large_threshold_is_least_squares():
    """Scales differ by a common factor and by robust estimates, so only nearly."""
    X, Y, _ = data()
    plain = tr.SparseReducedRankRegressor(**SIZES).fit(X, Y)
    huber = tr.SparseReducedRankRegressor(**SIZES, loss=Huber(1e6)).fit(X, Y)
    np.testing.assert_array_equal(huber.row_support_, plain.row_support_)
    np.testing.assert_array_equal(huber.column_support_, plain.column_support_)
    np.testing.assert_allclose(huber.coef_, plain.coef_, atol=0.1 * np.abs(plain.coef_).max())
    free = {"rank": 6, "row_sparsity": None, "column_sparsity": None, "ridge": 0.0}
    plain = tr.SparseReducedRankRegressor(**free).fit(X, Y)
    huber = tr.SparseReducedRankRegressor(**free, loss=Huber(1e6), tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(huber.coef_, plain.coef_, atol=1e-5)


def test_it_resists_outliers():
    X, Y, truth = data()
    dirty = with_outliers(Y)
    errors = {}
    for loss in ("squared", "huber"):
        est = tr.SparseReducedRankRegressor(**SIZES, loss=loss).fit(X, dirty)
        errors[loss] = np.sum((est.coef_.T - truth.theta) ** 2)
    assert errors["huber"] < 0.5 * errors["squared"]


def test_given_a_scale_it_is_that_of_scikit_learn():
    """The loss of scikit-learn has a scale of its own; with it the coefficients are equal."""
    X, Y, _ = data(n=100)
    y = with_outliers(Y)[:, 0]
    other = HuberRegressor(epsilon=1.5, alpha=0.0, tol=1e-10, max_iter=10_000).fit(X[:, :4], y)
    loss = tr.losses.GeneralizedLinear(
        X[:, :4], y[:, None], Huber(1.5, other.scale_), free=np.ones((100, 1))
    )
    found = tr.minimize(loss, rank=1, solver=tr.solvers.Pursuit(tol=1e-12))
    np.testing.assert_allclose(found.factors.theta[:, 0], other.coef_, atol=1e-4)


def test_missing_entries_and_outliers():
    X, Y, truth = data(n=120)
    Y = with_outliers(Y)
    Y[np.random.default_rng(0).uniform(size=Y.shape) < 0.1] = np.nan
    est = tr.SparseReducedRankRegressor(**SIZES, loss="huber").fit(X, Y)
    error = np.sum((est.coef_.T - truth.theta) ** 2) / np.sum(truth.theta**2)
    assert error < 0.3


@pytest.mark.parametrize("loss", ["absolute", Poisson(), None])
@pytest.mark.parametrize("kind", [tr.SparseReducedRankRegressor, tr.SparseReducedRankRegressorCV])
def test_other_losses_are_refused(loss, kind):
    X, Y, _ = data()
    with pytest.raises(ValueError, match='loss must be "squared", "huber"'):
        kind(loss=loss).fit(X, Y)
