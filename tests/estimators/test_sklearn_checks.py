"""scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import thinrank as tr


@parametrize_with_checks(
    [
        tr.SparseReducedRankRegressor(),
        *(
            tr.SparseReducedRankRegressor(
                rank=1, row_sparsity=None, column_sparsity=None, solver=solver
            )
            for solver in ("pursuit", "gdt")
        ),
        tr.SparseReducedRankRegressorCV(cv=3),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sklearn_compatible(estimator, check):
    check(estimator)
