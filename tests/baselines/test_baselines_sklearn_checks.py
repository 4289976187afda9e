"""scikit-learn's own checks, with the tuning parameters given and left to the estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from thinrank import baselines

GIVEN = [
    baselines.DoubleProjectedPenalization(rank=1, penalty=0.01, column_threshold=0.0),
    baselines.ThresholdingSVD(rank=1, row_threshold=0.0, column_threshold=0.0),
    baselines.ExclusiveExtraction(rank=1, penalty=0.01),
    baselines.RankConstrainedGroupLasso(rank=1, penalty=0.01),
    baselines.JointRankRowSelection(rank=1, penalty=0.01),
    baselines.MultiTaskGroupLasso(penalty=0.01),
    baselines.ReducedRankRegression(rank=1, ridge=0.01),
    baselines.SeparateLassos(penalty=0.01),
    baselines.SeparateRidges(penalty=0.01),
    baselines.NullRegressor(),
]
# few candidates: the checks fit some eighty times
CHOSEN = [
    baselines.DoubleProjectedPenalization(column_threshold=0.0, n_penalties=3, cv=2),
    baselines.ThresholdingSVD(column_threshold=0.0, n_thresholds=3, cv=2),
    baselines.ExclusiveExtraction(n_penalties=4),
    baselines.RankConstrainedGroupLasso(n_penalties=3, cv=2),
    baselines.JointRankRowSelection(n_penalties=3, cv=2),
    baselines.MultiTaskGroupLasso(n_penalties=3, cv=2),
    baselines.ReducedRankRegression(ridge="auto", n_ridges=3, cv=2),
    baselines.SeparateLassos(n_penalties=3, cv=2),
    baselines.SeparateRidges(n_penalties=3, cv=2),
]


@parametrize_with_checks(GIVEN + CHOSEN)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sklearn_compatible(estimator, check):
    check(estimator)
