"""Sizes that are "auto": chosen by held-out error or a criterion, on the training data alone."""

import itertools
import pickle

import numpy as np
import pytest

import thinrank as tr
from thinrank.core.result import Outcome
from thinrank.core.warnings import SelectionWarning
from thinrank.selection import Criterion

KEYS = {"rank", "row_sparsity", "column_sparsity", "ridge", "exchange"}


# fits of noise, or of more predictors than half of the samples
doubtful = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")


@pytest.fixture(scope="module")
def small():
    return tr.datasets.make_two_way_sparse(60, 25, 12, 2, 4, 5, signal=1.5, random_state=3)


def auto(**options):
    return tr.SparseReducedRankRegressor(**options)


@pytest.fixture(scope="module")
def fitted(small):
    return auto().fit(*small[:2])


def noise(n, p, k, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)), rng.standard_normal((n, k)) + 2


# --------------------------------------------------------------------------- what is found

few_or_many = pytest.mark.parametrize("problems", [1, pytest.param(4, marks=pytest.mark.slow)])


@few_or_many
@pytest.mark.parametrize(("columns", "standardize"), [(10, True), (None, False)])
def test_exact_supports_on_the_papers_strong_settings(columns, standardize, problems):
    found = []
    for seed in range(problems):
        X, Y, truth = tr.datasets.make_two_way_sparse(column_sparsity=columns, random_state=seed)
        est = auto(standardize=standardize).fit(X, Y)
        found.append(
            np.array_equal(est.row_support_, truth.row_support)
            and np.array_equal(est.column_support_, truth.column_support)
        )
    assert np.mean(found) >= 0.75


def test_rank_zero_is_a_legal_result():
    X, Y = noise(50, 10, 6, 0)
    with pytest.warns(SelectionWarning, match="No model predicts better than the means") as told:
        est = auto().fit(X, Y)
    assert told[0].filename == __file__  # the line of the user
    assert est.best_params_ == {
        "rank": 0,
        "row_sparsity": 0,
        "column_sparsity": 0,
        "ridge": 0.0,
        "exchange": True,
    }
    assert est.status_.outcome is Outcome.ZERO
    assert "rank is 0" in str(est.status_)
    assert est.factors_.U.shape == (10, 0)
    assert est.row_support_.size == est.column_support_.size == 0
    assert est.transform(X).shape == (50, 0)
    assert est.n_iter_ == 0
    np.testing.assert_allclose(est.predict(X), np.tile(Y.mean(axis=0), (50, 1)))
    again = tr.SparseReducedRankRegressor(**est.best_params_).fit(X, Y)
    assert again.rank_ == 0
    assert again.search_ == []  # nothing was to be chosen
    np.testing.assert_allclose(again.predict(X), est.predict(X))


# --------------------------------------------------------------------------- attributes


def test_attributes(small, fitted):
    X, _, truth = small
    est = fitted
    assert set(est.best_params_) == KEYS
    ridge = est.best_params_["ridge"]
    sizes = {"rank": 2, "row_sparsity": 4, "column_sparsity": 5}
    assert sizes.items() <= est.best_params_.items()
    assert 0 <= ridge <= 0.01  # next to nothing in units of the curvature
    assert all(record.stage == "search" for record in est.search_)
    assert [r.iteration for r in est.search_] == list(range(1, len(est.search_) + 1))
    assert est.search_[0].sizes.rank == 0  # rank 0 competes
    assert all(a.seconds <= b.seconds for a, b in itertools.pairwise(est.search_))
    np.testing.assert_array_equal(est.row_support_, truth.row_support)
    assert est.get_params()["rank"] == "auto"  # parameters stay as they were given
    restored = pickle.loads(pickle.dumps(est))
    assert restored.best_params_ == est.best_params_
    np.testing.assert_allclose(restored.predict(X), est.predict(X))


# --------------------------------------------------------------------------- partly given


@doubtful
@pytest.mark.parametrize(
    "given",
    [
        {"row_sparsity": 7},
        {"rank": 2, "column_sparsity": 8, "ridge": 0.3},
        {"row_sparsity": None, "column_sparsity": None, "rank": "auto"},
        {"rank": 2, "row_sparsity": 4, "column_sparsity": 5, "ridge": "auto"},
    ],
    ids=str,
)
def test_what_is_given_is_respected(small, given):
    X, Y, _ = small
    est = auto(**given).fit(X, Y)
    assert set(est.best_params_) == KEYS
    for key, value in given.items():
        if value != "auto":
            assert est.best_params_[key] == value
    rows, columns = est.best_params_["row_sparsity"], est.best_params_["column_sparsity"]
    assert len(est.row_support_) <= (25 if rows is None else rows)
    assert len(est.column_support_) <= (12 if columns is None else columns)
    assert est.rank_ == est.best_params_["rank"] > 0
    assert est.score(X, Y) > 0.15


# --------------------------------------------------------------------------- data and solvers


def test_gradient_descent_with_auto(small, fitted):
    X, Y, _ = small
    est = auto(solver="gdt").fit(X, Y)
    assert est.best_params_ == pytest.approx(fitted.best_params_, rel=1e-6)
    np.testing.assert_allclose(est.coef_, fitted.coef_, atol=1e-4)


@doubtful
@pytest.mark.parametrize(
    ("n", "p", "k"), [(2, 3, 3), (2, 1, 1), (3, 5, 1), (10, 1, 4), (10, 4, 1), (5, 40, 2)]
)
@pytest.mark.parametrize(("intercept", "ridge"), [(True, "auto"), (False, 0.0)])
def test_small_shapes(n, p, k, intercept, ridge):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    Y = 5 * X[:, :1] @ rng.standard_normal((1, k)) + 0.01 * rng.standard_normal((n, k))
    est = auto(fit_intercept=intercept, ridge=ridge).fit(X, Y)
    assert np.isfinite(est.coef_).all()
    assert est.predict(X).shape == (n, k)
    null = np.mean((Y - (Y.mean(axis=0) if intercept else 0)) ** 2)
    assert np.mean((Y - est.predict(X)) ** 2) <= null * (1 + 1e-9)
    if n == 10:
        assert est.rank_ == 1
        assert est.score(X, Y) > 0.9


def test_no_noise_at_all():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 8))
    Y = X[:, [2, 5]] @ rng.standard_normal((2, 6))
    est = auto().fit(X, Y)
    assert est.rank_ == 2
    np.testing.assert_array_equal(est.row_support_, [2, 5])
    np.testing.assert_allclose(est.predict(X), Y, atol=1e-8)


# --------------------------------------------------------------------------- criteria


@pytest.mark.parametrize("name", ["pic", "aic", "bic", "gic", "ebic", "gcv"])
def test_every_criterion(small, name):
    X, Y, truth = small
    est = auto(criterion=name).fit(X, Y)
    assert set(truth.row_support) <= set(est.row_support_)
    if name == "pic":
        same = auto(criterion=Criterion(name)).fit(X, Y).best_params_
        assert same == pytest.approx(est.best_params_)


# --------------------------------------------------------------------------- progress


@pytest.mark.parametrize("how", ["returns True", "is interrupted"])
def test_stopping_fits_the_best_so_far(small, how):
    X, Y, _ = small

    def watch(record):
        if record.stage == "search" and record.iteration == 5:
            if how == "is interrupted":
                raise KeyboardInterrupt
            return True
        return None

    with pytest.warns(UserWarning, match="was stopped after 5 models; the best of them is kept"):
        est = auto(callback=watch).fit(X, Y)
    assert len(est.search_) == 5
    last = [r for r in est.search_ if r.search_round == est.search_[-1].search_round]
    best = min(last, key=lambda r: r.objective)
    assert tuple(est.best_params_.values()) == tuple(best.sizes)
    assert est.rank_ == best.sizes.rank
    assert est.predict(X).shape == Y.shape


def test_verbose_shows_the_search(small, capsys):
    X, Y, _ = small
    auto(verbose=1).fit(X, Y)
    captured = capsys.readouterr()
    assert "choosing sizes" in captured.err
    assert "rank 2" in captured.err
    assert "left" in captured.err  # there is a total, and so the time that is left
    assert captured.out == ""
    auto(rank=2, row_sparsity=4).fit(X, Y)
    assert capsys.readouterr().err == ""
