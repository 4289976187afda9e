"""Arguments that fuzzing found: errors name them, before any computation."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse.linalg import aslinearoperator

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


@pytest.mark.parametrize("value", [np.array([1, 2]), "yes", None, 2, [], 0.5])
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


def test_numbers_in_words():
    numpy_flag = tr.SparseReducedRankRegressor(1, 2, 2, standardize=np.bool_(False))
    assert numpy_flag.fit(*data(None)).rank_ == 1


def test_integers_too_large_for_floats():
    X, Y = data(None)
    cells = X.astype(object)
    cells[0, 1] = 10**400
    frame = pd.DataFrame(cells, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match="'b'"):
        tr.SparseReducedRankRegressor(1, 2, 2).fit(frame, Y)


def test_rules_that_are_arrays():
    wrong = tr.SparseReducedRankRegressor(1, 2, 2, refit_rule=np.array([True, False]))
    with pytest.raises(ValueError, match="refit_rule must be one of"):
        wrong.fit(*data(None))


def test_objects_with_an_operator():
    X, Y = data(None)
    with pytest.raises(ValueError, match="Y must contain numbers, got an array of type object"):
        tr.baselines.NullRegressor().fit(aslinearoperator(X), Y.astype(object))
