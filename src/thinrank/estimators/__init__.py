"""Estimators with the interface of scikit-learn."""

from typing import TYPE_CHECKING

from thinrank.core.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from thinrank.estimators.classifier import SparseReducedRankClassifier
    from thinrank.estimators.cross_validated import SparseReducedRankRegressorCV
    from thinrank.estimators.glm import SparseReducedRankGLM
    from thinrank.estimators.low_rank_graph import SparseLowRankGraph
    from thinrank.estimators.matrix_completion import SparseMatrixCompletion
    from thinrank.estimators.regressor import SparseReducedRankRegressor
    from thinrank.estimators.sparse_pca import SparsePCA
    from thinrank.estimators.sparse_svd import SparseSVD

__all__ = [
    "SparseLowRankGraph",
    "SparseMatrixCompletion",
    "SparsePCA",
    "SparseReducedRankClassifier",
    "SparseReducedRankGLM",
    "SparseReducedRankRegressor",
    "SparseReducedRankRegressorCV",
    "SparseSVD",
]

__getattr__, __dir__ = _lazy_names(
    __name__,
    {
        "SparseLowRankGraph": "thinrank.estimators.low_rank_graph",
        "SparseMatrixCompletion": "thinrank.estimators.matrix_completion",
        "SparsePCA": "thinrank.estimators.sparse_pca",
        "SparseReducedRankClassifier": "thinrank.estimators.classifier",
        "SparseReducedRankGLM": "thinrank.estimators.glm",
        "SparseReducedRankRegressor": "thinrank.estimators.regressor",
        "SparseReducedRankRegressorCV": "thinrank.estimators.cross_validated",
        "SparseSVD": "thinrank.estimators.sparse_svd",
    },
)
