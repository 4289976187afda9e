"""The estimator as its users meet it."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse.linalg import aslinearoperator
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import thinrank as tr
from thinrank.core.result import Outcome
from thinrank.losses import LeastSquares

SMALL = {
    "n_samples": 60,
    "n_features": 20,
    "n_targets": 12,
    "rank": 2,
    "row_sparsity": 4,
    "column_sparsity": 5,
}
SIZES = {"rank": 2, "row_sparsity": 4, "column_sparsity": 5}


@pytest.fixture(scope="module")
def small():
    return tr.datasets.make_two_way_sparse(**SMALL, random_state=3)


@pytest.fixture(scope="module")
def fitted(small):
    X, Y, _ = small
    return tr.SparseReducedRankRegressor(**SIZES).fit(X, Y)


def relative(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


def test_finds_the_truth(small, fitted):
    _, _, truth = small
    np.testing.assert_array_equal(fitted.row_support_, truth.row_support)
    np.testing.assert_array_equal(fitted.column_support_, truth.column_support)
    assert fitted.rank_ == 2
    assert relative(fitted.factors_.theta, truth.theta) < 0.15
    assert fitted.status_.outcome is Outcome.CONVERGED
    assert fitted.n_iter_ == len(fitted.history_)


def test_the_last_objective_is_that_of_the_residuals(small):
    """In the units of the data where these are not changed."""
    X, Y, _ = small
    est = tr.SparseReducedRankRegressor(**SIZES, standardize=False).fit(X, Y)
    objective = 0.5 * np.mean(np.sum((Y - est.predict(X)) ** 2, axis=1))
    assert est.history_[-1].objective == pytest.approx(objective, rel=1e-9)


def test_start_in_the_users_units(small, fitted):
    X, Y, _ = small
    scale = 10 ** np.random.default_rng(0).uniform(-2, 2, X.shape[1])
    moved = tr.SparseReducedRankRegressor(**SIZES, solver="gdt").fit(X * scale, 1e3 * Y)
    for start in (moved.factors_, moved.factors_.theta):
        again = tr.SparseReducedRankRegressor(**SIZES, solver="gdt", start=start)
        again.fit(X * scale, 1e3 * Y)
        assert again.n_iter_ < moved.n_iter_
        assert relative(again.coef_, moved.coef_) < 1e-6


@pytest.mark.parametrize("options", [{"solver": "pursuit"}, {"solver": "gdt", "tol": 1e-10}])
def test_ridge_shrinks_towards_the_closed_form(small, options):
    """Without sparsity and at full rank the answer is ridge regression."""
    X, Y, _ = small
    ridge = 0.3
    est = tr.SparseReducedRankRegressor(
        rank=12, row_sparsity=None, column_sparsity=None, ridge=ridge, standardize=False, **options
    ).fit(X, Y)
    Xc, Yc = X - X.mean(0), Y - Y.mean(0)
    closed = np.linalg.solve(Xc.T @ Xc / 60 + ridge * np.eye(20), Xc.T @ Yc / 60)
    assert relative(est.coef_.T, closed) < 1e-6


def test_one_dimensional_target(small):
    X, Y, _ = small
    y = Y[:, small[2].column_support[0]]
    est = tr.SparseReducedRankRegressor(rank=1, row_sparsity=4, column_sparsity=1).fit(X, y)
    assert est.coef_.shape == (20,)
    assert isinstance(est.intercept_, float)
    assert est.predict(X).shape == y.shape
    two = tr.SparseReducedRankRegressor(rank=1, row_sparsity=4, column_sparsity=1).fit(
        X, y[:, None]
    )
    assert two.coef_.shape == (1, 20)
    np.testing.assert_allclose(two.coef_[0], est.coef_, atol=1e-7)


def test_pandas_names(small):
    X, Y, _ = small
    frame = pd.DataFrame(X, columns=[f"gene{i}" for i in range(20)])
    targets = pd.DataFrame(Y, columns=[f"trait{i}" for i in range(12)])
    est = tr.SparseReducedRankRegressor(**SIZES).set_output(transform="pandas").fit(frame, targets)
    assert list(est.feature_names_in_) == list(frame.columns)
    assert list(est.target_names_in_) == list(targets.columns)
    latent = est.transform(frame)
    assert list(latent.columns) == list(est.get_feature_names_out())
    assert latent.shape == (60, 2)
    with pytest.raises(ValueError, match="feature names"):
        est.predict(frame.rename(columns={"gene0": "other"}))
    est.set_output(transform="default").fit(aslinearoperator(X), Y)
    assert not hasattr(est, "feature_names_in_")
    assert not hasattr(est, "target_names_in_")


def test_clone_pickle_pipeline_grid_search(small, fitted):
    X, Y, _ = small
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_allclose(restored.predict(X), fitted.predict(X))
    pipeline = make_pipeline(StandardScaler(), clone(fitted)).fit(X, Y)
    np.testing.assert_allclose(pipeline.predict(X), fitted.predict(X), atol=1e-6)
    search = GridSearchCV(clone(fitted), {"row_sparsity": [2, 4], "column_sparsity": [5, 12]}, cv=3)
    assert search.fit(X, Y).best_params_["row_sparsity"] == 4


def test_iteration_limit_warns(small):
    X, Y, _ = small
    with pytest.warns(ConvergenceWarning, match="limit of 3 iterations"):
        tr.SparseReducedRankRegressor(**SIZES, solver="gdt", max_iter=3).fit(X, Y)


def test_too_long_a_step_says_so_and_stays_finite(small):
    X, Y, _ = small
    with pytest.warns(ConvergenceWarning, match='step="auto"'):
        est = tr.SparseReducedRankRegressor(**SIZES, solver=tr.solvers.GDT(step=10.0)).fit(X, Y)
    assert est.status_.outcome is Outcome.DIVERGED
    assert np.isfinite(est.coef_).all()


def test_literal_when_not_standardised(small):
    """standardize=False without intercept runs on the data as given."""
    X, Y, _ = small
    X = X * np.linspace(0.5, 2, 20)
    est = tr.SparseReducedRankRegressor(
        **SIZES, solver="gdt", standardize=False, fit_intercept=False
    ).fit(X, Y)
    answer = tr.minimize(LeastSquares(X, Y), **SIZES)
    np.testing.assert_allclose(est.factors_.theta, answer.factors.theta, atol=1e-7)
