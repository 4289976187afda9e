"""Low-rank, row-sparse and column-sparse coefficient matrices."""

from importlib.metadata import version

from thinrank import baselines, calcium, datasets, designs, losses, rl, selection, solvers, starts
from thinrank.core.factors import Factors
from thinrank.core.result import Solution
from thinrank.estimators import SparseReducedRankRegressor, SparseReducedRankRegressorCV
from thinrank.minimize import minimize

__version__ = version("thinrank")

__all__ = [
    "Factors",
    "Solution",
    "SparseReducedRankRegressor",
    "SparseReducedRankRegressorCV",
    "baselines",
    "calcium",
    "datasets",
    "designs",
    "losses",
    "minimize",
    "rl",
    "selection",
    "solvers",
    "starts",
]
