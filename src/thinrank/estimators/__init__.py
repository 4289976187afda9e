"""Estimators with the interface of scikit-learn."""

from typing import TYPE_CHECKING

from thinrank.core.imports import lazy_names as _lazy_names

if TYPE_CHECKING:
    from thinrank.estimators.cross_validated import SparseReducedRankRegressorCV
    from thinrank.estimators.glm import SparseReducedRankClassifier, SparseReducedRankGLM
    from thinrank.estimators.regressor import SparseReducedRankRegressor

__all__ = [
    "SparseReducedRankClassifier",
    "SparseReducedRankGLM",
    "SparseReducedRankRegressor",
    "SparseReducedRankRegressorCV",
]

__getattr__, __dir__ = _lazy_names(
    __name__,
    {
        "SparseReducedRankClassifier": "thinrank.estimators.glm",
        "SparseReducedRankGLM": "thinrank.estimators.glm",
        "SparseReducedRankRegressor": "thinrank.estimators.regressor",
        "SparseReducedRankRegressorCV": "thinrank.estimators.cross_validated",
    },
)
