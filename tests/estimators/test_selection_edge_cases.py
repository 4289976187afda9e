"""Corners of automatic sizes that once were wrong."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import thinrank as tr
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


@doubtful
@pytest.mark.parametrize(
    ("n", "given"),
    [
        (15, {"rank": 8}),
        (3, {"rank": 2}),
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


@pytest.mark.parametrize("constant", [False, True])
def test_a_given_rank_as_large_as_the_number_of_predictors(rng, constant):
    X = rng.standard_normal((20, 3))
    Y = X @ rng.standard_normal((3, 5)) + rng.standard_normal((20, 5))
    X[:, 1] = 3.0 if constant else X[:, 1]
    est = tr.SparseReducedRankRegressor(rank=3, cv=3).fit(X, Y)
    assert est.rank_ in (0, 2 if constant else 3)
