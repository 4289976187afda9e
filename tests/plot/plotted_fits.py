"""Small fits that the tests of plots share; each is computed once."""

from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

import thinrank as tr


@cache
def paper():
    """Norwegian paper data, with names."""
    return tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)


@cache
def given():
    """A fit with given sizes: rank 2, 5 predictors, 13 responses."""
    return tr.SparseReducedRankRegressor(2, 5, None).fit(*paper())


@cache
def searched():
    """A fit that chose its sizes by held-out error."""
    return tr.SparseReducedRankRegressor().fit(*paper())


@cache
def wide():
    """A fit with 1,000 predictors, 100 of them selected, and 60 responses."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 1000))
    effects = rng.standard_normal((100, 2)) @ rng.standard_normal((2, 60))
    Y = X[:, :100] @ effects + rng.standard_normal((150, 60))
    names = [f"gene number {i} of a study with long names" for i in range(1000)]
    X = pd.DataFrame(X, columns=names)
    est = tr.SparseReducedRankRegressor(2, 100, None, ridge=0.1, start="screening").fit(X, Y)
    assert len(est.row_support_) == 100
    return est, X, Y


@cache
def nothing():
    """A fit of rank 0."""
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((30, 4)), rng.standard_normal((30, 3))
    est = tr.SparseReducedRankRegressor(0, 0, 0).fit(X, Y)
    assert est.rank_ == 0
    return est, X, Y


@cache
def single():
    """A fit of one response, a vector."""
    X, Y = paper()
    return tr.SparseReducedRankRegressor(1, 3, None).fit(X, Y["Y1"]), X, Y["Y1"]


@cache
def odd_names():
    """A fit with names that could be read as formulas, and with other alphabets."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(
        rng.standard_normal((60, 5)), columns=["$x_1$", "cost in $", "β_2^3", "naïve café", "a\nb"]
    )
    Y = pd.DataFrame(X.to_numpy() @ rng.standard_normal((5, 3)), columns=["$", "$y$", "Ответ"])
    return tr.SparseReducedRankRegressor(2, 5, None).fit(X, Y), X, Y


@cache
def counts():
    """A Poisson fit."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 6))
    Y = rng.poisson(np.exp(X[:, :2] @ np.array([[0.8, -0.5, 0.4], [0.3, 0.6, 0.5]])))
    return tr.SparseReducedRankGLM("poisson", 2, 2, None).fit(X, Y), X, Y


@cache
def classes():
    """A classifier of three classes."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = np.asarray(["setosa", "versicolor", "virginica"])[y]
    return tr.SparseReducedRankClassifier(2, 3, ridge=0.01).fit(X, y), X, y
