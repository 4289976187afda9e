"""Estimators with the interface of scikit-learn."""

from thinrank.estimators.cross_validated import SparseReducedRankRegressorCV
from thinrank.estimators.regressor import SparseReducedRankRegressor

__all__ = ["SparseReducedRankRegressor", "SparseReducedRankRegressorCV"]
