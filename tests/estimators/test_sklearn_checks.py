"""scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import thinrank as tr

# as for scikit-learn's own estimators with internal cross-validation
_REPEATED = dict.fromkeys(
    [
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ],
    "a random partition takes repeated rows for different ones",
)


_PRECISION = dict.fromkeys(_REPEATED, "coefficients are precise to about 1e-6 with the default tol")
_RANK_ONE = {"check_classifiers_train": "one direction does not separate three classes"}


def _expected(estimator):
    params = estimator.get_params()
    if isinstance(estimator, tr.SparseReducedRankClassifier):
        return _PRECISION if params["rank"] == "auto" else _RANK_ONE
    return _REPEATED if params.get("rank", "auto") == "auto" else {}


@parametrize_with_checks(
    [
        tr.SparseReducedRankRegressor(),
        *(
            tr.SparseReducedRankRegressor(
                rank=1,
                row_sparsity=None,
                column_sparsity=None,
                solver=solver,
                start=start,
                tol=1e-12,
            )
            for solver, start in (("pursuit", "auto"), ("gdt", "spectral"))
        ),
        tr.SparseReducedRankRegressorCV(cv=3),
        tr.SparseReducedRankGLM(),
        tr.SparseReducedRankClassifier("auto", None, None, ridge=0.1, criterion="aic"),
        tr.SparseReducedRankClassifier(1, None, None, ridge=0.1, tol=1e-12),
    ],
    expected_failed_checks=_expected,
)
# the checks fit noise, and more predictors than samples
@pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sklearn_compatible(estimator, check, request):
    name = getattr(check, "func", check).__name__
    if name in _REPEATED and getattr(estimator, "tol", None) == 1e-12:
        reason = "factors near zero are precise to about 1e-7 of the largest, the check's tolerance"
        request.applymarker(pytest.mark.xfail(reason=reason, strict=False))
    check(estimator)
