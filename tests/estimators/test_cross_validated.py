"""SparseReducedRankRegressorCV: sizes by held-out error."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    PredefinedSplit,
)

import thinrank as tr

KEYS = ["column_sparsity", "exchange", "rank", "ridge", "row_sparsity"]
GRID = {
    "ranks": [1, 2, 3],
    "row_sparsities": [2, 4, 8],
    "column_sparsities": [5, None],
    "ridges": [0.0, 0.05],
}
# fits of noise, or of more predictors than half of the samples
doubtful = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")


@pytest.fixture(scope="module")
def small():
    return tr.datasets.make_two_way_sparse(60, 20, 12, 2, 4, 5, random_state=3)


@pytest.fixture(scope="module")
def fitted(small):
    X, Y, _ = small
    return tr.SparseReducedRankRegressorCV().fit(X, Y)


def cv_of(**options):
    return tr.SparseReducedRankRegressorCV(**options)


# --------------------------------------------------------------------------- what is chosen


@pytest.mark.parametrize("options", [{}, {"standardize": False, "fit_intercept": False}], ids=str)
def test_the_final_fit_is_the_regressors(small, options):
    X, Y, _ = small
    est = cv_of(cv=2, **options).fit(X, Y)
    again = tr.SparseReducedRankRegressor(**est.best_params_, **options).fit(X, Y)
    np.testing.assert_allclose(est.coef_, again.coef_, atol=1e-6)
    np.testing.assert_allclose(est.intercept_, again.intercept_, atol=1e-6)
    assert str(est.status_) == str(again.status_)


@doubtful
def test_a_small_grid_equals_scikit_learns_grid_search(small):
    X, Y, _ = small
    options = {"standardize": False}
    est = cv_of(**GRID, cv=KFold(2), **options).fit(X, Y)
    grid = GridSearchCV(
        tr.SparseReducedRankRegressor(**options),
        {
            "rank": [1, 2, 3],
            "row_sparsity": [2, 4, 8],
            "column_sparsity": [5, None],
            "ridge": [0.0, 0.05],
        },
        scoring="neg_mean_squared_error",
        cv=KFold(2),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rank 3 with 2 rows is refused
        grid.fit(X, Y)
    ours, theirs = (
        {
            tuple(sorted((p | {"exchange": True}).items(), key=str)): score
            for p, score in zip(results["params"], results["mean_test_score"], strict=True)
            if np.isfinite(score)
        }
        for results in (est.cv_results_, grid.cv_results_)
    )
    assert ours == pytest.approx(theirs, rel=1e-5)


# --------------------------------------------------------------------------- results


def test_layout_of_the_results(fitted):
    results = fitted.cv_results_
    models = len(results["params"])
    assert models > 3
    expected = {
        *("mean_fit_time", "params", "mean_test_score", "std_test_score", "rank_test_score"),
        *(f"param_{key}" for key in KEYS),
        *(f"split{i}_test_score" for i in range(5)),
    }
    assert set(results) == expected
    for key, values in results.items():
        assert len(values) == models, key
    for key in KEYS:
        column = results[f"param_{key}"]
        assert isinstance(column, np.ma.MaskedArray)
        assert list(column) == [p[key] for p in results["params"]]
        assert all(sorted(p) == KEYS for p in results["params"])
    splits = np.stack([results[f"split{i}_test_score"] for i in range(5)])
    np.testing.assert_allclose(results["mean_test_score"], splits.mean(axis=0))
    np.testing.assert_allclose(results["std_test_score"], splits.std(axis=0))
    assert (splits < 0).all()
    ranks, means = results["rank_test_score"], results["mean_test_score"]
    assert ranks.dtype.kind == "i"
    assert ranks.min() == 1
    np.testing.assert_array_equal(ranks, [1 + np.sum(means > m) for m in means])
    assert (results["mean_fit_time"] >= 0).all()
    assert len(pd.DataFrame(results)) == models


# --------------------------------------------------------------------------- one standard error


def degrees(params, shape=(20, 12)):
    rows = shape[0] if params["row_sparsity"] is None else params["row_sparsity"]
    columns = shape[1] if params["column_sparsity"] is None else params["column_sparsity"]
    return (rows + columns - params["rank"]) * params["rank"]


@doubtful
@pytest.mark.parametrize("grid", [{}, GRID], ids=["searched", "given"])
def test_one_standard_error(grid):
    X, Y, _ = tr.datasets.make_two_way_sparse(60, 20, 12, 2, 4, 5, signal=0.5, random_state=0)
    # splits that are given are not judged again on others
    simple = cv_of(refit_rule="one_se", cv=KFold(5, shuffle=True, random_state=0), **grid)
    simple.fit(X, Y)
    results = simple.cv_results_
    top = np.argmax(results["mean_test_score"])
    splits = np.array([results[f"split{i}_test_score"][top] for i in range(5)])
    error = splits.std(ddof=1) / np.sqrt(5)
    within = results["mean_test_score"] >= results["mean_test_score"][top] - error
    allowed = [p for p, ok in zip(results["params"], within, strict=True) if ok]
    fewest = min(p["row_sparsity"] for p in allowed)
    assert simple.best_params_["row_sparsity"] <= fewest
    assert degrees(simple.best_params_) <= min(
        degrees(p) for p in allowed if p["row_sparsity"] == fewest
    )
    assert simple.best_params_ == results["params"][simple.best_index_]


def test_one_split_has_no_standard_error(small):
    X, Y, _ = small
    split = PredefinedSplit(np.where(np.arange(60) < 40, -1, 0))
    with pytest.raises(ValueError, match=r'"one_se" needs at least two splits, but cv has 1'):
        cv_of(cv=split, refit_rule="one_se").fit(X, Y)


# --------------------------------------------------------------------------- axes


@doubtful
def test_given_values_only(small):
    X, Y, _ = small
    est = cv_of(row_sparsities=[3, 6, 9], ridges=[0.1], cv=2).fit(X, Y)
    tried = [p for p in est.cv_results_["params"] if p["rank"] > 0]
    assert {p["row_sparsity"] for p in tried} <= {3, 6, 9}
    assert {p["ridge"] for p in tried} == {0.1}
    dense = {"row_sparsities": [None], "column_sparsities": [None], "ridges": [0.1]}
    for axis in (np.array([1]), range(1, 2)):
        both = cv_of(ranks=axis, **dense, cv=2).fit(X, Y)
        assert both.best_params_["rank"] == 1
        assert both.best_params_["row_sparsity"] is both.best_params_["column_sparsity"] is None
        assert both.column_support_.size == 12
    assert (
        cv_of(cv=50, ranks=[1], **dense).fit(X[:12], Y[:12]).n_splits_ == 12
    )  # no more than samples


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"refit_rule": "two_se"}, r'refit_rule must be one of "best", "one_se", .*got \'two_se\''),
        ({"ridges": []}, "ridges must have at least one value"),
        ({"ridges": [-1.0]}, r"ridges must be finite non-negative numbers.*got -1.0"),
        ({"ridges": [np.nan]}, r"ridges must be finite non-negative numbers.*got nan"),
        ({"ridges": ["auto"]}, r"ridges must be finite non-negative numbers.*got 'auto'"),
        ({"ranks": []}, "ranks must have at least one value"),
        ({"ranks": 2}, "rank"),
        ({"ridges": 0.1}, "ridg"),
        ({"ranks": [13]}, r"each of ranks must be an integer from 1 to 12 .*got 13"),
        ({"ranks": [1.5]}, r"each of ranks must be an integer .*got 1.5"),
        ({"row_sparsities": [21]}, r"row_sparsities .*from 1 to 20 .*got 21"),
        ({"column_sparsities": [0, 3]}, r"column_sparsities .*from 1 to 12 .*got 0"),
        ({"solver": "newton"}, r"solver must be .*got 'newton'"),
        ({"tol": -1.0}, r"tol must be .*got -1.0"),
    ],
)
def test_bad_parameters_are_refused_before_the_search(small, options, message):
    X, Y, _ = small
    seen = []
    with pytest.raises((TypeError, ValueError), match=message):
        cv_of(callback=seen.append, **options).fit(X, Y)
    assert not seen
