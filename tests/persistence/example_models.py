"""Small fitted models of every class, shared by the tests and by the golden files.

Each example is a function that returns a fitted model and the input of its predictions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import thinrank as tr
from thinrank.losses import families


def data(columns: int = 4) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6))
    theta = np.zeros((6, columns))
    theta[:2] = np.outer([1.0, -1.0], np.linspace(0.5, 1.0, columns))
    return X, X @ theta, rng


def regressor() -> Any:
    X, Y, rng = data()
    est = tr.SparseReducedRankRegressor(criterion="pic")
    return est.fit(X, Y + rng.standard_normal(Y.shape)), X


def named_regressor() -> Any:
    import pandas as pd

    X, Y, rng = data()
    frame = pd.DataFrame(X, columns=["age", "sex", "größe", "b", "c", "d"])
    targets = pd.DataFrame(Y + rng.standard_normal(Y.shape), columns=list("wxyz"))
    est = tr.SparseReducedRankRegressor(1, 2, 3, ridge=0.1, always_keep=["age"], max_iter=7)
    return est.fit(frame, targets), frame


def single_response() -> Any:
    X, Y, _ = data()
    return tr.SparseReducedRankRegressor(1, 2, 1, always_keep=np.array([4])).fit(X, Y[:, 0]), X


def rank_zero() -> Any:
    X, Y, rng = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing to predict
        return tr.SparseReducedRankRegressor().fit(X, rng.standard_normal(Y.shape)), X


def gradient_descent() -> Any:
    X, Y, rng = data()
    est = tr.SparseReducedRankRegressor(
        1,
        2,
        None,
        solver=tr.solvers.GDT(step=tr.solvers.Safeguarded(growth=1.1), update="sequential"),
        start=tr.starts.Given(np.ones((6, 4))),
        random_state=np.int64(3),
    )
    return est.fit(X, Y + rng.standard_normal(Y.shape)), X


def missing_entries_and_huber() -> Any:
    X, Y, rng = data()
    Y = Y + rng.standard_normal(Y.shape)
    Y[::7, 1] = np.nan
    est = tr.SparseReducedRankRegressor(1, 2, 3, loss=families.Huber(2.0))
    return est.fit(X, Y), X


def cross_validated() -> Any:
    X, Y, rng = data()
    est = tr.SparseReducedRankRegressorCV(
        ranks=range(1, 3), row_sparsities=[2, None], column_sparsities=[4], ridges=(0.0, 10.0), cv=3
    )
    return est.fit(X, Y + 0.3 * rng.standard_normal(Y.shape)), X


def poisson() -> Any:
    X, Y, rng = data()
    est = tr.SparseReducedRankGLM("poisson", 1, 2, None)
    return est.fit(X, rng.poisson(np.exp(Y))), X


def negative_binomial() -> Any:
    X, Y, rng = data()
    est = tr.SparseReducedRankGLM(families.NegativeBinomial(), 1, 2, None)
    return est.fit(X, rng.poisson(np.exp(Y))), X


def mixed() -> Any:
    import pandas as pd

    X, Y, rng = data()
    frame = pd.DataFrame(
        {
            "size": Y[:, 0] + rng.standard_normal(30),
            "colour": np.where(Y[:, 1] > 0, "red", np.where(Y[:, 1] > -0.5, "blue", "green")),
            "count": rng.poisson(np.exp(Y[:, 2])),
        }
    )
    kinds = ["gaussian", "multinomial", families.Poisson()]
    return tr.SparseReducedRankGLM(kinds, 1, 2, None, ridge=0.1).fit(X, frame), X


def classifier(labels: Callable[[np.ndarray], np.ndarray]) -> Callable[[], Any]:
    def fitted() -> Any:
        X, Y, rng = data()
        y = labels(Y[:, 0] + 0.3 * rng.standard_normal(30))
        return tr.SparseReducedRankClassifier(1, 2, None, ridge=0.1).fit(X, y), X

    return fitted


def several_labels() -> Any:
    X, Y, rng = data()
    Y = (Y + 0.5 * rng.standard_normal(Y.shape) > 0).astype(int)
    return tr.SparseReducedRankClassifier(1, 2, None, ridge=0.1).fit(X, Y), X


def sparse_pca() -> Any:
    X, _, _ = data()
    return tr.SparsePCA(2, 3, standardize=True, shared_support=False).fit(X), X


def baseline(name: str, **parameters: Any) -> Callable[[], Any]:
    def fitted() -> Any:
        X, Y, rng = data()
        est = getattr(tr.baselines, name)(**parameters)
        return est.fit(X, Y + rng.standard_normal(Y.shape)), X

    return fitted


class Ring:
    """A walk on a ring of three states, with a reward at one of them."""

    def __init__(self, goal: int) -> None:
        self.goal = goal

    def sample(self, states: Any, action: int, rng: Any) -> Any:
        following = (states + (1 if action else -1)) % 3
        return (following == self.goal) * 1.0, following, np.zeros(len(states), bool)


def fitted_q_iteration(features: Any) -> Callable[[], Any]:
    def fitted() -> Any:
        exact = tr.SparseReducedRankRegressor(2, None, None, standardize=False, fit_intercept=False)
        fqi = tr.rl.MultiTaskFQI(features, 2, 0.5, exact, n_iterations=4)
        return fqi.fit([Ring(0), Ring(1)], np.arange(3)), np.arange(3)

    return fitted


def calcium() -> Any:
    movie, _ = tr.calcium.make_movie(60, (16, 16), 1, n_close_pairs=0, random_state=1)
    return tr.calcium.CalciumImaging(frame_rate=7).fit(movie), None


def svd() -> Any:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 30))
    A[:6, :5] += 4
    return tr.SparseSVD(layers=True).fit(A), A


def completion() -> Any:
    _, Y, _ = data()
    Y[::3, 1] = np.nan
    return tr.SparseMatrixCompletion(1, 10, 3, ridge=0.1, center="both").fit(Y), Y


def factors() -> Any:
    return tr.Factors(np.arange(6.0).reshape(3, 2), np.ones((2, 2), dtype=np.float32)), None


def solution() -> Any:
    X, Y, _ = data()
    loss = tr.losses.LeastSquares(X, Y)
    return tr.minimize(loss, rank=1, row_sparsity=2, column_sparsity=2, max_iter=5), None


def graph() -> Any:
    club = tr.datasets.load_karate_club()
    return tr.SparseLowRankGraph(2, 20, shrinkage=True).fit(club.adjacency), [[0, 33], [1, 2]]


EXAMPLES: dict[str, Callable[[], Any]] = {
    "regressor": regressor,
    "named_regressor": named_regressor,
    "single_response": single_response,
    "rank_zero": rank_zero,
    "gradient_descent": gradient_descent,
    "missing_entries_and_huber": missing_entries_and_huber,
    "cross_validated": cross_validated,
    "poisson": poisson,
    "negative_binomial": negative_binomial,
    "mixed": mixed,
    "classifier_of_strings": classifier(lambda y: np.digitize(y, [-0.5, 0.5]).astype(str)),
    "classifier_of_objects": classifier(
        lambda y: np.array(["no", "maybe", "yes"], dtype=object)[np.digitize(y, [-0.5, 0.5])]
    ),
    "classifier_of_integers": classifier(lambda y: 10 * np.digitize(y, [0.0])),
    "classifier_of_booleans": classifier(lambda y: y > 0),
    "several_labels": several_labels,
    "sparse_pca": sparse_pca,
    "double_projected": baseline("DoubleProjectedPenalization", rank=1, n_penalties=5),
    "exclusive_extraction": baseline("ExclusiveExtraction", rank=1),
    "joint_rank_row": baseline("JointRankRowSelection"),
    "multi_task_group_lasso": baseline("MultiTaskGroupLasso", cv=3),
    "null_regressor": baseline("NullRegressor"),
    "rank_constrained_group_lasso": baseline("RankConstrainedGroupLasso", rank=1),
    "reduced_rank_regression": baseline("ReducedRankRegression"),
    "separate_lassos": baseline("SeparateLassos", penalty=0.1),
    "separate_ridges": baseline("SeparateRidges"),
    "thresholding_svd": baseline("ThresholdingSVD", rank=1, n_thresholds=3),
    "fitted_q_iteration": fitted_q_iteration(tr.rl.Tabular(3)),
    "calcium": calcium,
    "graph": graph,
    "svd": svd,
    "completion": completion,
    "factors": factors,
    "solution": solution,
}


def predictions(model: Any, given: Any) -> dict[str, Any]:
    """What a user computes with a model, by name."""
    if isinstance(model, (tr.Factors, tr.Solution)):
        answer = {"theta": getattr(model, "factors", model).theta}
    elif isinstance(model, tr.calcium.CalciumImaging):
        answer = {
            "footprints": model.footprints_,
            "traces": model.traces_,
            "pixel_energy": model.pixel_energy_,
        }
    elif isinstance(model, tr.SparseLowRankGraph):
        answer = {"links": model.predict_links(given), "reconstruct": model.reconstruct()}
    elif isinstance(model, tr.SparseMatrixCompletion):
        answer = {
            "transform": model.transform(given),
            "cells": model.predict_cells([0, 1], [1, 2]),
            "components": model.components_,
            "singular_values": model.singular_values_,
        }
    elif isinstance(model, tr.rl.MultiTaskFQI):
        answer = {
            "q_values": model.q_values(1, given),
            "actions": model.policy(0)(given),
            "coef": model.theta_.T,
            "intercept": model.intercept_,
        }
    elif isinstance(model, (tr.SparsePCA, tr.SparseSVD)):
        answer = {"components": model.components_, "transform": model.transform(given)}
    else:
        answer = {
            "predict": model.predict(given),
            "transform": model.transform(given),
            "coef": model.coef_,
            "intercept": np.asarray(model.intercept_),
        }
        if hasattr(model, "predict_proba"):
            answer["predict_proba"] = model.predict_proba(given)
            if answer["predict"].dtype == object:
                answer["predict"] = answer["predict"].astype(str)
    return answer
