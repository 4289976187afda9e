"""scikit-learn estimators."""

from thinrank.estimators.regressor import SparseReducedRankRegressor

__all__ = ["SparseReducedRankRegressor"]
