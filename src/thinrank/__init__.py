"""Low-rank, row-sparse and column-sparse coefficient matrices."""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING

from thinrank.core.factors import Factors
from thinrank.core.lazy import lazy_names as _lazy_names
from thinrank.core.result import Solution

# not lazy: the module has the name of the function, and its import would replace the function
from thinrank.minimize import minimize

if TYPE_CHECKING:
    from thinrank import (
        baselines,
        calcium,
        datasets,
        designs,
        losses,
        paper,
        persistence,
        plot,
        report,
        rl,
        selection,
        solvers,
        starts,
        studies,
        tables,
    )
    from thinrank.estimators.checkpoints import checkpoint
    from thinrank.estimators.classifier import SparseReducedRankClassifier
    from thinrank.estimators.cross_validated import SparseReducedRankRegressorCV
    from thinrank.estimators.glm import SparseReducedRankGLM
    from thinrank.estimators.regressor import SparseReducedRankRegressor
    from thinrank.persistence import load, save

__version__ = _version("thinrank")

__all__ = [
    "Factors",
    "Solution",
    "SparseReducedRankClassifier",
    "SparseReducedRankGLM",
    "SparseReducedRankRegressor",
    "SparseReducedRankRegressorCV",
    "baselines",
    "calcium",
    "checkpoint",
    "datasets",
    "designs",
    "load",
    "losses",
    "minimize",
    "paper",
    "persistence",
    "plot",
    "report",
    "rl",
    "save",
    "selection",
    "solvers",
    "starts",
    "studies",
    "tables",
]

__getattr__, __dir__ = _lazy_names(
    __name__,
    {
        **{name: f"thinrank.{name}" for name in __all__ if name.islower()},  # subpackages
        "SparseReducedRankClassifier": "thinrank.estimators.classifier",
        "SparseReducedRankGLM": "thinrank.estimators.glm",
        "SparseReducedRankRegressor": "thinrank.estimators.regressor",
        "SparseReducedRankRegressorCV": "thinrank.estimators.cross_validated",
        "checkpoint": "thinrank.estimators.checkpoints",
        "load": "thinrank.persistence",
        "save": "thinrank.persistence",
    },
)
