"""Estimators with the interface of scikit-learn."""

from thinrank.estimators.classifier import SparseReducedRankClassifier
from thinrank.estimators.cross_validated import SparseReducedRankRegressorCV
from thinrank.estimators.glm import SparseReducedRankGLM
from thinrank.estimators.regressor import SparseReducedRankRegressor

__all__ = [
    "SparseReducedRankClassifier",
    "SparseReducedRankGLM",
    "SparseReducedRankRegressor",
    "SparseReducedRankRegressorCV",
]
