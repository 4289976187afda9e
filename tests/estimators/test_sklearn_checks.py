"""scikit-learn's own checks of all estimators."""

import os

import pytest
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

import thinrank as tr

_GIVEN = {"rank": 1, "row_sparsity": None, "column_sparsity": None, "ridge": 0.1}
# every estimator once, with settings that are quick
ESTIMATORS = [
    tr.SparseReducedRankRegressor(**_GIVEN, tol=1e-12),
    tr.SparseReducedRankRegressorCV([1], [None], [None], [0.1], cv=2),
    tr.SparseReducedRankGLM(**_GIVEN, tol=1e-12),
    tr.SparseReducedRankClassifier(1, None, None, ridge=10.0, exchange=False, max_iter=1),
    tr.SparseSVD(1, 3, 2),
    tr.SparsePCA(rank=1, column_sparsity=1, standardize=True, shared_support=False),
    tr.SparseMatrixCompletion(1, None, None, ridge=0.1),
    tr.SparseLowRankGraph(1, None),
]
# searches, which take longer
SEARCHES = [
    tr.SparseReducedRankRegressor(),
    tr.SparseReducedRankGLM(),
    tr.SparseSVD(),
    tr.SparsePCA(),
]
_WEIGHTS = "linear predictors near zero are less precise than the 1e-7 that the check allows"
EXPECTED = {
    "check_classifiers_train": "one direction does not separate three classes",
    "check_sample_weight_equivalence_on_dense_data": _WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": _WEIGHTS,
}

# the checks fit noise, more predictors than samples, and sparse matrices with empty rows
pytestmark = [
    pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.* have no observed cell"),
    pytest.mark.no_cover,  # the same lines many times
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda est: type(est).__name__)
def test_sklearn_compatible(estimator):
    classifier = isinstance(estimator, tr.SparseReducedRankClassifier)
    check_estimator(estimator, on_skip=None, expected_failed_checks=EXPECTED if classifier else {})


@pytest.mark.slow
@pytest.mark.parametrize("estimator", SEARCHES, ids=lambda est: type(est).__name__)
def test_sklearn_compatible_searches(estimator):
    check_estimator(estimator, on_skip=None)


@pytest.mark.skipif("SCIPY_ARRAY_API" not in os.environ, reason="SciPy must be told before")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda est: type(est).__name__)
def test_array_api(estimator):
    for est, check in estimator_checks_generator(estimator):
        if "array_api" in str(check):
            check(est)
