"""scikit-learn's own checks of all estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import thinrank as tr

_GIVEN = {"rank": 1, "row_sparsity": None, "column_sparsity": None, "ridge": 0.1}
# The default search of the regressor; the others have settings that are quick.
ESTIMATORS = [
    tr.SparseReducedRankRegressor(),
    tr.SparseReducedRankRegressor(**_GIVEN, solver="pursuit", tol=1e-12),
    tr.SparseReducedRankRegressor(**_GIVEN, solver="gdt", start="spectral", tol=1e-12),
    tr.SparseReducedRankRegressorCV([1], [None], [None], [0.1, 1.0], cv=2),
    tr.SparseReducedRankGLM(**_GIVEN, tol=1e-12),
    # with a larger ridge than usual coefficients are as precise as the check of weights asks for
    tr.SparseReducedRankClassifier("auto", None, None, ridge=1.0, criterion="aic", tol=1e-12),
    tr.SparseSVD(),
    tr.SparseSVD(1, 3, 2),
    tr.SparsePCA(),
    tr.SparsePCA(rank=1, column_sparsity=1, standardize=True, shared_support=False),
    tr.SparseMatrixCompletion(1, None, None, ridge=0.1),
    tr.SparseLowRankGraph(1, None),
]


# searches, which take longer
SEARCHES = [
    tr.SparseReducedRankRegressorCV(cv=3),
    tr.SparseReducedRankGLM(),
    tr.SparseReducedRankClassifier(1, None, None, ridge=1.0, tol=1e-12),
]


def _expected(estimator):
    if isinstance(estimator, tr.SparseReducedRankClassifier):
        reason = "one direction does not separate three classes"
        return {"check_classifiers_train": reason} if estimator.rank == 1 else {}
    return {}


def _of_weights(reason):
    check = "check_sample_weight_equivalence_on_{}_data"
    return {check.format(kind): reason for kind in ("dense", "sparse")}


# the checks fit noise, more predictors than samples, and sparse matrices with empty rows
@pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.* have no observed cell")
@pytest.mark.no_cover  # the same lines many times
class TestChecks:
    @parametrize_with_checks(ESTIMATORS, expected_failed_checks=_expected)
    def test_sklearn_compatible(self, estimator, check):
        check(estimator)

    @pytest.mark.slow
    @parametrize_with_checks(SEARCHES, expected_failed_checks=_expected)
    def test_sklearn_compatible_searches(self, estimator, check, request):
        name = getattr(check, "func", check).__name__
        if isinstance(estimator, tr.SparseReducedRankClassifier) and name in _of_weights(""):
            # the check allows 1e-7 of predictors near zero; which side it is depends on the machine
            reason = "linear predictors are precise to 1e-9 of the largest"
            request.applymarker(pytest.mark.xfail(reason=reason, strict=False))
        check(estimator)
