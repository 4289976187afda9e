"""scikit-learn's own checks of the estimator for symmetric matrices."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import thinrank as tr


# the default passes, too; it takes much longer
@parametrize_with_checks([tr.SparseLowRankGraph(1, None)])
@pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")
def test_graph_is_sklearn_compatible(estimator, check):
    check(estimator)
