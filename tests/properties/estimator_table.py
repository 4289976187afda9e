"""All public estimators with settings for tiny data, and what must hold for each of them.

A new estimator is one line of ``CASES``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import PredefinedSplit
from tiny_problems import Problem

import thinrank as tr
from thinrank import baselines

# What the tests of test_estimator_properties.py are about.
PROPERTIES = (
    "order of samples",
    "order of predictors",
    "order of responses",
    "units of predictors",
    "units of responses",
    "weights",
    "zero predictor",
    "constant predictor",
    "constant response",
    "float32",
    "containers",
    "input unchanged",
)


@dataclass(frozen=True)
class Case:
    """An estimator.

    Attributes
    ----------
    make : callable
        Returns an estimator, given the splits of the samples for those that choose sizes.
    kind : {"numbers", "counts", "labels", "classes", "matrix", "graph"}
        The data; see tiny_problems.py.
    except_for : dict
        Properties that do not hold, with the reason.
    tol : float
        Largest difference of coefficients, relative to the largest coefficient of the problem in
        its own units.
    cost : int
        The number of examples is divided by it.
    """

    make: Callable[[PredefinedSplit], Any]
    kind: str = "numbers"
    except_for: dict[str, str] = field(default_factory=dict)
    tol: float = 1e-7
    cost: int = 1


@dataclass(frozen=True)
class Fit:
    """The result of a fit in NumPy arrays.

    Attributes
    ----------
    theta : ndarray of shape (n_predictors, n_responses), or that of X if there are no responses
    intercept : ndarray of shape (n_responses,)
    rows, columns : list of int
        Supports.
    """

    theta: np.ndarray
    intercept: np.ndarray
    rows: list[int]
    columns: list[int]
    estimator: Any


def fitted(case: Case, problem: Problem, weighted: bool = False) -> Fit:
    """Fit the estimator of a case."""
    est = case.make(PredefinedSplit(problem.folds))
    if problem.Y is None:
        est.fit(problem.X)
    elif weighted:
        est.fit(problem.X, problem.Y, sample_weight=problem.weight)
    else:
        est.fit(problem.X, problem.Y)
    theta = np.asarray(est.factors_.theta, dtype=np.float64)
    return Fit(
        theta,
        np.atleast_1d(np.asarray(getattr(est, "intercept_", 0.0), dtype=np.float64)),
        np.asarray(est.factors_.row_support).tolist(),
        np.asarray(est.factors_.column_support).tolist(),
        est,
    )


_SIZES = {"rank": 2, "row_sparsity": 3, "column_sparsity": 2}
_NO_RESPONSES = {
    "order of responses": "it has no responses",
    "units of responses": "it has no responses",
    "constant response": "it has no responses",
    "weights": "it has no sample weights",
}
_MATRIX = _NO_RESPONSES | {
    "units of predictors": "the columns are not scaled; only a common factor has no effect",
    "constant predictor": "the columns are not centred",
}
_NO_UNITS = {"units of responses": "counts and labels have no units"}
_PENALTY = {"units of responses": "the penalty is in the units of Y"}
_CLASSES = _NO_UNITS | {"constant response": "a class without samples is no class"}

CASES: dict[str, Case] = {
    "Regressor": Case(lambda cv: tr.SparseReducedRankRegressor(**_SIZES)),
    "Regressor, ridge": Case(lambda cv: tr.SparseReducedRankRegressor(2, 4, None, ridge=0.3)),
    "Regressor, Huber": Case(
        lambda cv: tr.SparseReducedRankRegressor(**_SIZES, loss="huber", tol=1e-12),
        tol=1e-4,
        cost=5,
    ),
    "Regressor, gradient descent": Case(
        lambda cv: tr.SparseReducedRankRegressor(**_SIZES, solver="gdt", tol=1e-10),
        tol=1e-5,
        cost=5,
    ),
    "RegressorCV": Case(
        lambda cv: tr.SparseReducedRankRegressorCV([1, 2], [2, 3], [2, None], [0.0, 0.1], cv=cv),
        cost=5,
    ),
    "GLM, Gaussian": Case(lambda cv: tr.SparseReducedRankGLM("gaussian", **_SIZES)),
    "GLM, Poisson": Case(
        lambda cv: tr.SparseReducedRankGLM("poisson", **_SIZES, ridge=0.1, tol=1e-12),
        "counts",
        _NO_UNITS,
        tol=1e-4,
        cost=2,
    ),
    "Classifier, labels": Case(
        lambda cv: tr.SparseReducedRankClassifier(**_SIZES, ridge=0.1, tol=1e-12),
        "labels",
        _NO_UNITS,
        tol=1e-4,
        cost=2,
    ),
    "Classifier, classes": Case(
        lambda cv: tr.SparseReducedRankClassifier(2, 3, None, ridge=0.1, tol=1e-12),
        "classes",
        _CLASSES,
        tol=1e-4,
        cost=2,
    ),
    "SparseSVD": Case(lambda cv: tr.SparseSVD(2, 8, 4), "matrix", _MATRIX),
    "SparseMatrixCompletion": Case(
        lambda cv: tr.SparseMatrixCompletion(2, 8, 4, ridge=0.1), "matrix", _MATRIX, tol=1e-4
    ),
    "SparseLowRankGraph": Case(lambda cv: tr.SparseLowRankGraph(2, 4), "graph", _MATRIX, tol=1e-4),
    "DoubleProjectedPenalization": Case(
        lambda cv: baselines.DoubleProjectedPenalization(2, 0.2, 2.0, tol=1e-12),
        except_for=_PENALTY,
        tol=1e-4,
    ),
    "ThresholdingSVD": Case(
        lambda cv: baselines.ThresholdingSVD(2, 0.2, 1.5, tol=1e-9), except_for=_PENALTY, tol=1e-4
    ),
    "ExclusiveExtraction": Case(
        lambda cv: baselines.ExclusiveExtraction(2, 0.05, tol=1e-9, max_iter=5000),
        except_for=_PENALTY,
        tol=1e-4,
    ),
    "RankConstrainedGroupLasso": Case(
        lambda cv: baselines.RankConstrainedGroupLasso(2, 0.2, tol=1e-10, max_iter=5000),
        except_for=_PENALTY,
        tol=1e-4,
    ),
    "JointRankRowSelection": Case(
        lambda cv: baselines.JointRankRowSelection(2, 0.2, tol=1e-12), except_for=_PENALTY, tol=1e-4
    ),
    "MultiTaskGroupLasso": Case(
        lambda cv: baselines.MultiTaskGroupLasso(0.2, tol=1e-12), except_for=_PENALTY, tol=1e-4
    ),
    "MultiTaskGroupLasso, chosen": Case(
        lambda cv: baselines.MultiTaskGroupLasso(n_penalties=6, cv=cv, tol=1e-12),
        except_for={"units of responses": "responses are not scaled"},
        tol=1e-4,
    ),
    "SeparateLassos": Case(
        lambda cv: baselines.SeparateLassos(0.2, tol=1e-12), except_for=_PENALTY, tol=1e-4
    ),
    "SeparateRidges": Case(lambda cv: baselines.SeparateRidges(0.2)),
    "ReducedRankRegression": Case(
        lambda cv: baselines.ReducedRankRegression(2, 0.1),
        except_for={"units of responses": "responses are not scaled"},
    ),
    "NullRegressor": Case(lambda cv: baselines.NullRegressor()),
}


def names_for(prop: str) -> list[str]:
    """The names of the cases for which a property is tested."""
    return [name for name, case in CASES.items() if prop not in case.except_for]
