"""All public estimators with settings for tiny data, and what must hold for each of them.

A new estimator is one line of ``CASES``; a new baseline takes part without one.
``HYPOTHESIS_PROFILE=many`` is for changes of estimators and solvers. Its examples differ between
runs, and failing ones are made as simple as possible.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import Phase, settings
from sklearn.model_selection import PredefinedSplit
from tiny_problems import Problem

import thinrank as tr
from thinrank import baselines

settings.register_profile(
    "few", max_examples=2, deadline=None, derandomize=True, phases=[Phase.generate]
)
settings.register_profile("many", max_examples=100, deadline=None, print_blob=True)
PROFILE = settings.get_profile(os.environ.get("HYPOTHESIS_PROFILE", "few"))

_WITH_RESPONSES = ("numbers", "counts", "labels", "classes")
_WITHOUT_RESPONSES = ("matrix", "cells", "graph")
_ALL = _WITH_RESPONSES + _WITHOUT_RESPONSES
# What is tested, and the kinds of data for which it has a meaning. The samples of a graph are its
# nodes, which are called predictors here; only numbers have units; and no class is constant.
PROPERTIES: dict[str, tuple[str, ...]] = {
    "order of samples": (*_WITH_RESPONSES, "matrix", "cells"),
    "order of predictors": _ALL,
    "order of responses": _WITH_RESPONSES,
    "units of predictors": _WITH_RESPONSES,
    "units of responses": ("numbers",),
    "units of matrices": _WITHOUT_RESPONSES,
    "weights": _WITH_RESPONSES,
    "zero predictor": _ALL,
    "constant predictor": (*_WITH_RESPONSES, "matrix"),
    "constant response": ("numbers", "counts", "labels"),
    "float32": _ALL,
    "containers": _ALL,
    "input unchanged": _ALL,
}


@dataclass(frozen=True)
class Case:
    """An estimator.

    Attributes
    ----------
    make : callable
        Returns an estimator, given the splits of the samples for those that choose sizes.
    kind : {"numbers", "counts", "labels", "classes", "matrix", "cells", "graph"}
        The data; see tiny_problems.py.
    except_for : dict
        Properties that are not promised for this estimator, with the reason.
    tol : float
        Largest difference of coefficients, relative to the largest coefficient of the problem in
        its own units.
    cost : int
        The number of examples is divided by it; if it is larger, the case is tested on demand only.
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
    if getattr(est, "scale_", None) is not None:  # the factors are those of the scaled matrix
        theta = theta * est.scale_
    return Fit(
        theta,
        np.atleast_1d(np.asarray(getattr(est, "intercept_", 0.0), dtype=np.float64)),
        np.asarray(est.factors_.row_support).tolist(),
        np.asarray(est.factors_.column_support).tolist(),
        est,
    )


def assert_same_intercept(case: Case, found: np.ndarray, expected: np.ndarray) -> None:
    """Same intercepts; those of classes up to a constant, which no probability depends on."""
    if case.kind == "classes":
        found, expected = found - found.mean(), expected - expected.mean()
    np.testing.assert_allclose(found, expected, atol=10 * case.tol)


def assert_same(found: Fit, theta: np.ndarray, tol: float) -> None:
    """Same supports, and same coefficients up to ``tol`` times the largest."""
    assert found.rows == np.flatnonzero(np.any(theta != 0, axis=1)).tolist()
    assert found.columns == np.flatnonzero(np.any(theta != 0, axis=0)).tolist()
    largest = np.max(np.abs(theta), initial=0.0)
    np.testing.assert_allclose(found.theta, theta, rtol=0, atol=tol * largest)


_NOT_CENTRED = {"constant predictor": "columns are not centred"}
_CELLS = {
    "units of matrices": "the ridge is in the units of X",
    "zero predictor": "the search may end in another local minimum",
}
_PENALTY = {"units of responses": "the penalty is in the units of Y"}
_NOT_SCALED = {"units of responses": "the responses are not scaled"}
_NOT_STANDARDISED = {
    "units of predictors": "the predictors are not scaled",
    "units of responses": "the responses are not scaled",
    "constant response": "constant columns are left out with standardize=True only",
}
# The scale of the weights has no effect on these estimators, so that the number of samples is the
# number of rows wherever it counts, whatever their weights are.
_NOISE = {"weights": "the noise in the responses is estimated with the number of rows"}
_SEARCH = {"weights": "the search for sizes depends on the number of rows"}

CASES: dict[str, Case] = {
    "Regressor": Case(lambda cv: tr.SparseReducedRankRegressor(2, 3, 2), except_for=_NOISE),
    "Regressor, not standardised": Case(
        lambda cv: tr.SparseReducedRankRegressor(1, 3, None, standardize=False),
        except_for=_NOT_STANDARDISED,
    ),
    "Regressor, ridge": Case(
        lambda cv: tr.SparseReducedRankRegressor(2, 4, None, ridge=0.3), except_for=_NOISE
    ),
    "Regressor, Huber": Case(
        lambda cv: tr.SparseReducedRankRegressor(2, 3, 2, loss="huber"),
        except_for=_NOISE,
        tol=1e-4,
        cost=10,
    ),
    "Regressor, gradient descent": Case(
        lambda cv: tr.SparseReducedRankRegressor(2, 3, 2, solver="gdt"), tol=1e-3, cost=10
    ),
    "RegressorCV": Case(
        lambda cv: tr.SparseReducedRankRegressorCV([1, 2], [3], [2, None], [0.0, 0.1], cv=cv),
        except_for=_SEARCH,
        cost=3,
    ),
    "GLM, Gaussian": Case(
        lambda cv: tr.SparseReducedRankGLM("gaussian", 2, 3, 2), except_for=_NOISE, cost=2
    ),
    "GLM, Poisson": Case(
        lambda cv: tr.SparseReducedRankGLM("poisson", 2, 3, 2, ridge=0.1),
        "counts",
        tol=1e-3,
        cost=3,
    ),
    "Classifier, labels": Case(
        lambda cv: tr.SparseReducedRankClassifier(2, 3, 2, ridge=0.1), "labels", tol=1e-3, cost=3
    ),
    "Classifier, classes": Case(
        lambda cv: tr.SparseReducedRankClassifier(2, 3, None, ridge=0.1),
        "classes",
        tol=1e-3,
        cost=3,
    ),
    "SparseSVD": Case(lambda cv: tr.SparseSVD(2, 8, 4), "matrix", _NOT_CENTRED),
    "SparsePCA": Case(lambda cv: tr.SparsePCA(2, 4), "matrix"),
    "SparsePCA, standardised": Case(lambda cv: tr.SparsePCA(2, 4, standardize=True), "matrix"),
    "SparseMatrixCompletion": Case(
        lambda cv: tr.SparseMatrixCompletion(2, 8, 4, ridge=0.1), "cells", _CELLS, tol=1e-3
    ),
    "SparseLowRankGraph": Case(lambda cv: tr.SparseLowRankGraph(2, 4), "graph", tol=1e-3),
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
        except_for=_NOT_SCALED,
        tol=1e-4,
    ),
    "SeparateLassos": Case(
        lambda cv: baselines.SeparateLassos(0.2, tol=1e-12), except_for=_PENALTY, tol=1e-4
    ),
    "SeparateRidges": Case(lambda cv: baselines.SeparateRidges(0.2)),
    "ReducedRankRegression": Case(
        lambda cv: baselines.ReducedRankRegression(2, 0.1), except_for=_NOT_SCALED
    ),
    "NullRegressor": Case(lambda cv: baselines.NullRegressor()),
}

for _name in baselines.__all__:
    if _name not in CASES:
        CASES[_name] = Case(
            lambda cv, name=_name: getattr(baselines, name)(cv=cv), except_for=_NOT_SCALED, tol=1e-4
        )


def names_for(prop: str) -> list[str]:
    """The names of the cases for which a property is tested in this run."""
    return [
        name
        for name, case in CASES.items()
        if case.kind in PROPERTIES[prop]
        and prop not in case.except_for
        and case.cost <= PROFILE.max_examples
    ]
