"""Low-rank, row-sparse and column-sparse coefficient matrices."""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING

from thinrank.core.factors import Factors
from thinrank.core.result import Solution
from thinrank.estimators import (
    SparseReducedRankClassifier,
    SparseReducedRankGLM,
    SparseReducedRankRegressor,
    SparseReducedRankRegressorCV,
)
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


# Functions of subpackages that are not imported with this package.
_FUNCTIONS = {"load": "persistence", "save": "persistence"}


def __getattr__(name: str) -> object:
    """Import a subpackage on first use, so that ``import thinrank`` stays fast."""
    if name in _FUNCTIONS:
        return getattr(_import_module(f"thinrank.{_FUNCTIONS[name]}"), name)
    if name in __all__:
        return _import_module(f"thinrank.{name}")
    raise AttributeError(f"module 'thinrank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
