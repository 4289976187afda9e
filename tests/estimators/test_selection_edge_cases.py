"""Corners of automatic sizes that once were wrong."""

import importlib

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import thinrank as tr
from thinrank.designs import as_design
from thinrank.estimators.problem import Problem
from thinrank.selection import estimate_rank, stability

# fits of noise, or of more predictors than half of the samples
doubtful = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")


def small(**options):
    return tr.datasets.make_two_way_sparse(
        **(
            {
                "n_samples": 60,
                "n_features": 20,
                "n_targets": 12,
                "rank": 2,
                "row_sparsity": 4,
                "column_sparsity": 5,
                "random_state": 3,
            }
            | options
        )
    )


@pytest.mark.parametrize("shape", [(60, 10, 20), (30, 60, 20)])
def test_rsc_without_noise(shape):
    n, p, k = shape
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    Y = X @ rng.standard_normal((p, 3)) @ rng.standard_normal((3, k))
    assert estimate_rank(X, Y) == 3


def test_rsc_of_one_strong_response():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 10))
    y = 1000 * X[:, 0] + rng.standard_normal(60)
    assert estimate_rank(X, y) == 1
    assert estimate_rank(X[:25], y[:25]) == 1  # 0: 15 residuals are too few, then y is all noise


def strict(x):
    return importlib.import_module("array_api_strict").asarray(x)


def test_auto_on_array_api_strict():
    X, Y, _ = small()
    assert tr.SparseReducedRankRegressor().fit(strict(X), strict(Y)).rank_ == 2


def test_all_rows_on_array_api_strict():
    X, Y, _ = small()
    est = tr.SparseReducedRankRegressor(rank=2, row_sparsity=None, column_sparsity=5)
    assert est.fit(strict(X), strict(Y)).rank_ == 2


def test_stopping_in_threads_warns_of_joblibs_tasks(recwarn):
    import gc

    X, Y, _ = small()
    grid = {
        "ranks": [1, 2, 3],
        "row_sparsities": [2, 4, 8],
        "column_sparsities": [5, None],
        "ridges": [0.0],
    }  # tried in full
    est = tr.SparseReducedRankRegressorCV(n_jobs=2, callback=lambda r: r.iteration == 3, **grid)
    with pytest.warns(UserWarning, match="was stopped") as caught:
        est.fit(X, Y)
    gc.collect()
    assert all("was stopped" in str(w.message) for w in caught)


@doubtful
@pytest.mark.parametrize(
    ("n", "given"),
    [
        (20, {"rank": 5}),
        (15, {"rank": 8}),
        (3, {"rank": 2}),
        (8, {"rank": 5}),
        (8, {"rank": 2, "column_sparsity": None}),
        (20, {"rank": 3, "row_sparsity": None}),
        (60, {"rank": 11, "row_sparsity": None}),
        (10, {"rank": 5, "ridge": "auto"}),
    ],
)
def test_a_given_rank_near_saturation(n, given):
    X, Y, _ = small()
    est = tr.SparseReducedRankRegressor(**given).fit(X[:n], Y[:n])
    assert est.best_params_["rank"] == given["rank"]
    assert est.rank_ > 0


@doubtful
@pytest.mark.parametrize("options", [{"ranks": [5]}, {"ranks": [8, 9], "ridges": [0.0]}])
def test_given_ranks_near_saturation_in_cv(options):
    X, Y, _ = small()
    est = tr.SparseReducedRankRegressorCV(**options).fit(X[:20], Y[:20])
    assert est.best_params_["rank"] in options["ranks"]


class RowsOnly(BaseEstimator):
    def fit(self, X, Y):
        self.row_support_ = np.array([1])
        return self


def test_stability_without_column_support():
    X, Y, _ = small()
    table = stability(RowsOnly(), X, Y, 2)  # AttributeError; "if responses are selected too"
    assert table.frequency[1] == 1


@pytest.mark.parametrize("bad", [{"tol": -1.0}, {"start": "zero"}, {"max_iter": 0}], ids=str)
def test_bad_parameters_are_refused_before_the_search(bad):
    X, Y, _ = small()
    seen = []
    with pytest.raises(ValueError, match=next(iter(bad))):
        tr.SparseReducedRankRegressorCV(callback=seen.append, **bad).fit(X, Y)
    assert not seen


def test_noise_level_of_held_out_rows_enters_the_starts():
    """The convex start of a training part takes its penalty from the noise of all rows."""
    from sklearn.model_selection import KFold

    rng = np.random.default_rng(0)
    X, Y, _ = small()
    splits = list(KFold(5).split(X))
    test = splits[0][1]
    scores = []
    from thinrank.selection.splits import held_out_samples

    for spoil in (0.0, 30.0):
        spoilt = Y.copy()
        spoilt[test] += spoil * rng.standard_normal((len(test), 12))
        loss = Problem.prepare(
            as_design(X),
            spoilt,
            None,
            fit_intercept=True,
            standardize_columns=True,
            scale_targets=False,
        ).loss
        (sample,) = held_out_samples(loss, splits[:1], center=True, scale=True)
        scores.append(sample._noise())
    assert scores[0] == pytest.approx(scores[1])


def test_no_splits():
    X, Y, _ = small()
    with pytest.raises(ValueError, match="cv"):  # "min() arg is an empty sequence"
        tr.SparseReducedRankRegressorCV(cv=[]).fit(X, Y)


@pytest.mark.parametrize("options", [{"ranks": 2}, {"ridges": 0.1}], ids=str)
def test_numbers_for_lists(options):
    X, Y, _ = small()
    with pytest.raises((TypeError, ValueError), match=next(iter(options))[:4]):
        tr.SparseReducedRankRegressorCV(**options).fit(X, Y)


def test_splits_as_masks_get_a_wrong_message():
    X, Y, _ = small()
    mask = np.arange(60) < 40
    est = tr.SparseReducedRankRegressorCV(cv=[(mask, ~mask)])
    index = tr.SparseReducedRankRegressorCV(cv=[(np.arange(40), np.arange(40, 60))]).fit(X, Y)
    assert est.fit(X, Y).best_params_ == index.best_params_  # "must not repeat a row"


@pytest.mark.parametrize("standardize", [True, False])
def test_about_the_same_scales(standardize):
    X, Y, _ = small()
    problem = Problem.prepare(
        as_design(X),
        Y,
        None,
        fit_intercept=True,
        standardize_columns=True,
        scale_targets=standardize,
    )
    noise = np.full(Y.shape[1], 0.7)
    other = problem.with_noise(noise)
    assert other.has_about_the_scales_of(problem)  # a common factor changes no coefficients
    for factor, same in ((1.05, True), (0.95, True), (1.2, False), (0.8, False)):
        moved = noise.copy()
        moved[3] *= factor  # one response is enough
        assert problem.with_noise(moved).has_about_the_scales_of(other) == (same or not standardize)


@pytest.mark.parametrize("constant", [False, True])
def test_a_given_rank_as_large_as_the_number_of_predictors(rng, constant):
    X = rng.standard_normal((20, 3))
    Y = X @ rng.standard_normal((3, 5)) + rng.standard_normal((20, 5))
    X[:, 1] = 3.0 if constant else X[:, 1]
    est = tr.SparseReducedRankRegressor(rank=3, cv=3).fit(X, Y)
    assert est.rank_ in (0, 2 if constant else 3)
