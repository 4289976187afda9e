"""Arguments that fuzzing found: errors name them, before any computation."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse.linalg import aslinearoperator
from sklearn.base import clone

import thinrank as tr

ESTIMATORS = [
    tr.SparseReducedRankRegressor(1, 2, 2),
    tr.SparseReducedRankRegressorCV([1], [2], [2], [0.0]),
    tr.SparseReducedRankGLM("gaussian", 1, 2, 2),
    tr.SparseReducedRankClassifier(1, 2, 2),
    tr.baselines.SeparateRidges(penalty=1.0),
    tr.baselines.NullRegressor(),
    tr.SparseSVD(1, 2, 2),
]


def data(estimator):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3))
    if isinstance(estimator, tr.SparseReducedRankClassifier):
        return X, np.arange(12) % 3
    return X, X @ np.ones((3, 2))


@pytest.mark.parametrize("value", [np.array([1, 2]), "yes", 2])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_flags(estimator, value):
    flags = {"fit_intercept", "standardize", "layers"} & set(estimator.get_params())
    for name in flags:
        wrong = type(estimator)(**{**estimator.get_params(), name: value})
        with pytest.raises(ValueError, match=f"{name} must be True or False"):
            wrong.fit(*data(estimator))


@pytest.mark.parametrize("estimator", ESTIMATORS[:4], ids=lambda each: type(each).__name__)
def test_callbacks(estimator):
    wrong = type(estimator)(**{**estimator.get_params(), "callback": [0]})
    with pytest.raises(TypeError, match=r"callback must be callable or None, got \[0\]"):
        wrong.fit(*data(estimator))


def too_large(numbers):
    cells = np.array(numbers, dtype=object)
    cells.flat[1] = 10**400
    return cells


@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist, pd.DataFrame])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_integers_too_large_for_floats(estimator, kind):
    X, Y = data(estimator)
    where = "the column 1 of X" if kind is pd.DataFrame else "X"
    with pytest.raises(ValueError, match=f"^{where} must contain numbers .*an integer above 1e308"):
        clone(estimator).fit(kind(too_large(X)), Y)


@pytest.mark.parametrize("estimator", [tr.SparseMatrixCompletion(1), tr.SparseLowRankGraph(1)])
def test_matrices_of_integers_too_large_for_floats(estimator):
    with pytest.raises(ValueError, match=r"must contain numbers .*an integer above 1e308"):
        estimator.fit(too_large(np.eye(4)))


@pytest.mark.parametrize("argument", ["y", "sample_weight", "entry_weight", "offset"])
def test_other_arguments_too_large_for_floats(argument):
    X, Y = data(None)
    given = {"y": Y, "sample_weight": np.ones(12), "entry_weight": Y * 0 + 1, "offset": Y * 0}
    name = argument.replace("y", "Y", argument == "y")
    with pytest.raises(ValueError, match=f"^{name} must contain numbers .*an integer above 1e308"):
        tr.SparseReducedRankGLM("gaussian", 1, 2, 2).fit(
            X, **{"y": Y, argument: too_large(given[argument])}
        )


def test_objects_with_an_operator():
    X, Y = data(None)
    est = tr.SparseReducedRankRegressor(1, 2, 2)
    found = clone(est).fit(aslinearoperator(X), Y.astype(object))
    np.testing.assert_allclose(found.coef_, est.fit(aslinearoperator(X), Y).coef_)
    with pytest.raises(ValueError, match="could not convert string to float"):
        est.fit(aslinearoperator(X), np.full(Y.shape, "many", dtype=object))


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
@pytest.mark.parametrize("estimator", ESTIMATORS[:3], ids=lambda each: type(each).__name__)
def test_scores_in_half_and_extended_precision(estimator, dtype):
    X, Y = data(estimator)
    fitted = clone(estimator).fit(X, Y)
    assert fitted.score(X, Y.astype(dtype)) == pytest.approx(fitted.score(X, Y), abs=1e-2)
