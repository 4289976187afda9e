"""Data as they are met outside of simulations, in small; errors on fresh data."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, RidgeCV

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

# the size of the model is not what most of these tests are about
doubtful = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")


def default(**options):
    return tr.SparseReducedRankRegressor(**options)


def mse(Y, predicted):
    return np.mean((Y - predicted) ** 2)


def spectra(rng, n, p=120):
    grid = np.linspace(0, 1, p)
    components = np.stack([np.exp(-((grid - c) ** 2) / 0.02) for c in (0.2, 0.4, 0.6, 0.8)])
    amounts = rng.uniform(size=(n, 4))
    X = amounts @ components + 1e-3 * rng.standard_normal((n, p))
    mixing = np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.5], [0.5, 0.0, 1.0], [0.2, -0.7, 0.3]])
    return X, amounts @ mixing + 1e-2 * rng.standard_normal((n, 3))


@doubtful
def test_spectra():
    rng = np.random.default_rng(0)
    X, Y = spectra(rng, 60)
    fresh_X, fresh_Y = spectra(rng, 300)
    assert default().fit(X, Y).score(fresh_X, fresh_Y) >= 0.95


@doubtful
@pytest.mark.parametrize("kind", ["equal", "decaying"])
def test_every_predictor_has_a_response_of_its_own(kind):
    rng = np.random.default_rng(0)
    sizes = np.ones(5) if kind == "equal" else 0.6 ** np.arange(5)
    X, fresh = rng.standard_normal((200, 5)), rng.standard_normal((2000, 5))
    Y = 1000 + X * sizes + 0.1 * rng.standard_normal((200, 5))
    truth = 1000 + fresh * sizes + 0.1 * rng.standard_normal((2000, 5))
    error = mse(truth, default().fit(X, Y).predict(fresh))
    assert error <= 1.05 * mse(truth, LinearRegression().fit(X, Y).predict(fresh))


@doubtful
def test_noise_of_low_rank_is_no_signal():
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((3, 40))

    def draw(n):
        noise = rng.standard_normal((n, 3)) @ loadings + rng.standard_normal((n, 40))
        return rng.standard_normal((n, 80)), noise

    (X, Y), (fresh_X, fresh_Y) = draw(50), draw(500)
    error = mse(fresh_Y, default().fit(X, Y).predict(fresh_X))
    assert error <= 1.05 * mse(fresh_Y, Y.mean(axis=0))


@doubtful
def test_a_dense_signal_is_ridge():
    """All 30 predictors act a little, so ridge on all of them is what to use."""
    rng = np.random.default_rng(0)
    theta = 0.2 * rng.standard_normal((30, 6))
    X, fresh = rng.standard_normal((60, 30)), rng.standard_normal((1000, 30))
    Y = X @ theta + rng.standard_normal((60, 6))
    truth = fresh @ theta
    est = default().fit(X, Y)
    ridge = RidgeCV(np.geomspace(1e-2, 1e5, 25)).fit(X, Y)
    assert mse(truth, est.predict(fresh)) <= 1.15 * mse(truth, ridge.predict(fresh))
    assert est.best_params_["ridge"] > 0
    assert len(est.row_support_) >= 20


def test_more_predictors_than_samples():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 300))
    Y = 2 * X[:, [5]] + rng.standard_normal((40, 4))
    Y[:, 2:] -= 2 * X[:, [50]]
    est = default().fit(X, Y)
    assert {5, 50} <= set(est.row_support_)
    assert len(est.row_support_) <= 10
    fresh = rng.standard_normal((500, 300))
    truth = np.outer(fresh[:, 5], np.full(4, 2.0)) - np.outer(fresh[:, 50], [0, 0, 2.0, 2.0])
    assert mse(truth, est.predict(fresh)) < 0.1 * np.mean(truth**2)


@doubtful
def test_more_predictors_than_samples_all_of_which_act():
    """A few hidden factors drive 300 predictors and the responses."""
    rng = np.random.default_rng(1)
    loadings, effects = rng.standard_normal((3, 300)), rng.standard_normal((3, 5))

    def draw(n):
        hidden = rng.standard_normal((n, 3))
        X = hidden @ loadings + rng.standard_normal((n, 300))
        return X, hidden @ effects + 0.5 * rng.standard_normal((n, 5))

    (X, Y), (fresh_X, fresh_Y) = draw(40), draw(500)
    est = default().fit(X, Y)
    ridge = RidgeCV(np.geomspace(1e-2, 1e5, 25)).fit(X, Y)
    assert mse(fresh_Y, est.predict(fresh_X)) <= 1.12 * mse(fresh_Y, ridge.predict(fresh_X))


def test_a_warning_about_many_predictors_and_the_edge():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 24))
    Y = X @ rng.standard_normal((24, 3)) + 0.01 * rng.standard_normal((30, 3))
    with pytest.warns(SelectionWarning, match="more than half of the .* samples"):
        default().fit(X, Y)
    Y = X[:, :8] @ rng.standard_normal((8, 3)) + 0.1 * rng.standard_normal((30, 3))
    grid = {"ranks": [3], "row_sparsities": [2, 4], "column_sparsities": [None], "ridges": [0.0]}
    with pytest.warns(SelectionWarning, match="4, is the largest that was allowed"):
        tr.SparseReducedRankRegressorCV(**grid).fit(X, Y)
