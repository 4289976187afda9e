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


def _is_automatic(estimator):
    return estimator.get_params().get("rank", "auto") == "auto"


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
    ],
    expected_failed_checks=lambda estimator: _REPEATED if _is_automatic(estimator) else {},
)
# the checks fit noise, and more predictors than samples
@pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sklearn_compatible(estimator, check):
    check(estimator)
