"""scikit-learn's own checks of the completion."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import thinrank as tr


# the default passes, too; it takes half a minute
@parametrize_with_checks([tr.SparseMatrixCompletion(1, None, None, ridge=0.1)])
# the checks fit noise, and sparse matrices with empty rows
@pytest.mark.filterwarnings("ignore:.* have no observed cell")
@pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")
def test_sklearn_compatible(estimator, check):
    check(estimator)
