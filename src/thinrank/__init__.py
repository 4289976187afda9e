"""Low-rank, row-sparse and column-sparse coefficient matrices."""

from typing import TYPE_CHECKING

from thinrank.core.imports import keep_function as _keep_function
from thinrank.core.imports import lazy_names as _lazy_names

if TYPE_CHECKING:
    from thinrank import (
        baselines,
        calcium,
        datasets,
        designs,
        inference,
        losses,
        persistence,
        plot,
        report,
        rl,
        selection,
        solvers,
        starts,
        tables,
        theory,
    )
    from thinrank.accelerator import to_device
    from thinrank.core.factors import Factors
    from thinrank.core.journal import checkpoint
    from thinrank.core.result import Solution
    from thinrank.estimators.cross_validated import SparseReducedRankRegressorCV
    from thinrank.estimators.glm import SparseReducedRankClassifier, SparseReducedRankGLM
    from thinrank.estimators.regressor import SparseReducedRankRegressor
    from thinrank.matrices.low_rank_graph import SparseLowRankGraph
    from thinrank.matrices.matrix_completion import SparseMatrixCompletion
    from thinrank.matrices.sparse_pca import SparsePCA
    from thinrank.matrices.sparse_svd import SparseSVD
    from thinrank.minimize import minimize
    from thinrank.persistence import load, save

__version__: str

__all__ = [
    "Factors",
    "Solution",
    "SparseLowRankGraph",
    "SparseMatrixCompletion",
    "SparsePCA",
    "SparseReducedRankClassifier",
    "SparseReducedRankGLM",
    "SparseReducedRankRegressor",
    "SparseReducedRankRegressorCV",
    "SparseSVD",
    "baselines",
    "calcium",
    "checkpoint",
    "datasets",
    "designs",
    "inference",
    "load",
    "losses",
    "minimize",
    "persistence",
    "plot",
    "report",
    "rl",
    "save",
    "selection",
    "solvers",
    "starts",
    "tables",
    "theory",
    "to_device",
]

__getattr__, __dir__ = _lazy_names(
    __name__,
    {
        **{name: f"thinrank.{name}" for name in __all__ if name.islower()},  # subpackages
        **{name: "thinrank.estimators" for name in __all__ if name.startswith("SparseReduced")},
        "Factors": "thinrank.core.factors",
        "Solution": "thinrank.core.result",
        "SparseLowRankGraph": "thinrank.matrices.low_rank_graph",
        "SparseMatrixCompletion": "thinrank.matrices.matrix_completion",
        "SparsePCA": "thinrank.matrices.sparse_pca",
        "SparseSVD": "thinrank.matrices.sparse_svd",
        "__version__": "thinrank.version",
        "checkpoint": "thinrank.core.journal",
        "load": "thinrank.persistence",
        "save": "thinrank.persistence",
        "to_device": "thinrank.accelerator",
    },
)
# its module has the same name, and would take its place when it is imported
_keep_function(__name__, "minimize")
