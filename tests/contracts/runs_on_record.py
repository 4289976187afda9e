"""Fits of which every step is on record: which models a search tries, and where each step leads.

The record changes with every change of an algorithm. Then look at what changed, and write it again:

    python tests/contracts/runs_on_record.py
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from work_of_runs import RUNS_LEFT_OUT, Work, counted, write

import thinrank as tr
from thinrank.designs import Blocks
from thinrank.losses import Denoising, GeneralizedLinear, LeastSquares, PerTask
from thinrank.losses.families import Bernoulli, Gaussian, Poisson
from thinrank.selection.loss_search import LossSearch
from thinrank.selection.space import make_space
from thinrank.solvers import GDT, Pursuit
from thinrank.starts import as_start

FILE = Path(__file__).parent / "recorded" / "runs.json"
DIGITS = 9
Run = dict[str, Any]
Data = tuple[np.ndarray, np.ndarray]


def gaussian(n: int, p: int, k: int, seed: int, rows: int = 4, snr: float = 2.0) -> Data:
    """A response of rank 2, with predictors of different units that are correlated."""
    X, Y, _ = tr.datasets.make_two_way_sparse(
        n, p, k, min(k, 2), rows, min(k, 4), correlation=0.4, random_state=seed
    )
    noise = np.random.default_rng(seed).standard_normal(Y.shape) * Y.std() / snr
    return X * np.linspace(0.5, 2, p) + 1, Y + noise


def with_holes(n: int, p: int, k: int, seed: int, part: float) -> Data:
    X, Y = gaussian(n, p, k, seed)
    return X, np.where(np.random.default_rng(seed).uniform(size=Y.shape) < part, np.nan, Y)


def with_outliers(n: int, p: int, k: int, seed: int) -> Data:
    X, Y = gaussian(n, p, k, seed)
    Y[::9, ::2] += 20 * Y.std()
    return X, Y


def _predictor(n: int, p: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray, Any]:
    rng = np.random.default_rng(seed)
    theta = np.zeros((p, k))
    theta[:3] = np.outer([1.0, -0.8, 0.6], rng.choice([-1.0, 1.0], k))
    X = rng.standard_normal((n, p))
    return X, X @ theta, rng


def counts(n: int, p: int, k: int, seed: int) -> Data:
    X, eta, rng = _predictor(n, p, k, seed)
    return X, rng.poisson(np.exp(0.5 * eta + 0.5)).astype(float)


def labels(n: int, p: int, k: int, seed: int) -> Data:
    X, eta, rng = _predictor(n, p, k, seed)
    return X, (eta + rng.logistic(size=eta.shape) > 0).astype(float)


def classes(n: int, p: int, k: int, seed: int) -> Data:
    X, eta, rng = _predictor(n, p, k, seed)
    return X, np.argmax(1.5 * eta + rng.gumbel(size=eta.shape), axis=1)


def mixture(n: int, p: int, k: int, seed: int) -> Data:
    X, eta, rng = _predictor(n, p, k, seed)
    binary = eta[:, :2] + rng.logistic(size=(n, 2)) > 0
    return X, np.column_stack([binary, eta[:, 2:] + rng.standard_normal((n, k - 2))])


def of_estimator(make: Callable[[], BaseEstimator], data: Data, **arguments: Any) -> Run:
    """The history of a fit, and what it found."""
    seen: list[Any] = []
    est = make().set_params(callback=seen.append)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est.fit(*data, **arguments)
    found = est.factors_
    return {
        "search": [
            [*each.sizes, each.objective, *each.split_scores, *(s for _, s in each.rank_scores)]
            for each in seen
            if each.stage == "search"
        ],
        "fit": [each.objective for each in seen if each.stage == "fit"],
        "changes": [each.change for each in seen if each.stage == "fit"],
        "rows": found.row_support.tolist(),
        "columns": found.column_support.tolist(),
        "strength": float(np.linalg.norm(found.theta)),
        "intercept": float(np.sum(np.abs(est.intercept_))),
    }


def of_minimize(loss: Any, solver: Any, rows: int | None, columns: int | None = None) -> Run:
    """The objective of every iteration, with given sizes."""
    seen: list[Any] = []
    result = tr.minimize(
        loss, rank=2, row_sparsity=rows, column_sparsity=columns, solver=solver,
        callback=seen.append,
    )  # fmt: skip
    return {
        "fit": [each.objective for each in seen],
        "changes": [each.change for each in seen],
        "rows": np.asarray(result.factors.row_support).tolist(),
        "columns": np.asarray(result.factors.column_support).tolist(),
        "strength": float(np.linalg.norm(result.factors.theta)),
    }


def of_search(loss: Any, **axes: Any) -> Run:
    """All models of a search for sizes by held-out loss."""
    axes = {"ranks": None, "rows": None, "columns": [None], "ridges": [0.0, 0.01, 0.1, 1.0]} | axes
    space = make_space(loss.shape, 24.0, thick=True, **axes)
    search = LossSearch(loss, space, Pursuit(), as_start("auto", True), folds=3)
    best = search.run()
    return {
        "search": [[*each.sizes, each.score, *each.parts] for each in search.evaluations],
        "fit": [best.score],
        "rows": [best.sizes.rows],
        "columns": [best.sizes.columns],
    }


def of_table(values: Any, rows: Any = (), columns: Any = ()) -> Run:
    """Numbers of a result that is not a fit."""
    return {
        "fit": np.asarray(values, dtype=float).ravel().tolist(),
        "rows": [int(i) for i in rows],
        "columns": [int(j) for j in columns],
    }


def of_stability(pairs: bool) -> Run:
    est = _regressor(2, 4, None).fit(*gaussian(60, 10, 5, 80))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few resamples
        table = tr.selection.stability(
            est, *gaussian(60, 10, 5, 80), n_resamples=8, pairs=pairs, random_state=0
        )
    return of_table(table.select_dtypes("number").fillna(-1).to_numpy())


def of_path() -> Run:
    data = gaussian(50, 15, 5, 81)
    found = tr.selection.path(_regressor(2, 4, None).fit(*data), *data)
    return of_table([*found.scores, *found.strengths.sum(axis=1)], found.row_sparsities)


def per_task(n: int, p: int, k: int, seed: int) -> PerTask:
    X, Y = gaussian(n, p, k, seed)
    task = np.arange(n) % k
    return PerTask(X, Y[np.arange(n), task], task, ridge=0.05)


_regressor, _glm = tr.SparseReducedRankRegressor, tr.SparseReducedRankGLM
_cv, _classifier = tr.SparseReducedRankRegressorCV, tr.SparseReducedRankClassifier
_weights = np.linspace(0.2, 2, 60)

RUNS: dict[str, Callable[[], Run]] = {
    # searches of the regressor
    "default": lambda: of_estimator(_regressor, gaussian(60, 20, 8, 1)),
    "many predictors": lambda: of_estimator(_regressor, gaussian(40, 90, 6, 2)),
    "many predictors, two responses": lambda: of_estimator(_regressor, gaussian(50, 120, 2, 3)),
    "many responses": lambda: of_estimator(_regressor, gaussian(40, 8, 50, 4)),
    "weak signal": lambda: of_estimator(_regressor, gaussian(60, 25, 6, 5, 10, 0.4)),
    "one response": lambda: of_estimator(_regressor, gaussian(50, 30, 1, 6)),
    "dense": lambda: of_estimator(_regressor, gaussian(80, 12, 6, 7, 12)),
    "weights": lambda: of_estimator(_regressor, gaussian(60, 15, 5, 8), sample_weight=_weights),
    "rows given": lambda: of_estimator(lambda: _regressor("auto", 5), gaussian(60, 20, 8, 9)),
    "rank given": lambda: of_estimator(lambda: _regressor(2), gaussian(60, 20, 8, 10)),
    "columns given": lambda: of_estimator(
        lambda: _regressor(column_sparsity=None), gaussian(60, 20, 8, 11)
    ),
    "criterion pic": lambda: of_estimator(
        lambda: _regressor(criterion="pic"), gaussian(60, 20, 8, 12)
    ),
    "criterion gcv": lambda: of_estimator(
        lambda: _regressor(criterion="gcv"), gaussian(60, 20, 8, 13)
    ),
    "criterion bic": lambda: of_estimator(
        lambda: _regressor(criterion="bic"), gaussian(60, 20, 8, 14)
    ),
    "criterion cv": lambda: of_estimator(
        lambda: _regressor(criterion="cv", cv=3), gaussian(60, 20, 8, 15)
    ),
    "thinnest": lambda: of_estimator(
        lambda: _regressor(refit_rule="thinnest", cv=4), gaussian(60, 20, 8, 16)
    ),
    "kept": lambda: of_estimator(lambda: _regressor(always_keep=[0, 7]), gaussian(60, 20, 8, 17)),
    "blocks": lambda: of_estimator(
        _regressor,
        (lambda X, Y: (Blocks([X[:50], X[50:]], block_rows=30), Y))(*gaussian(90, 20, 6, 18)),
    ),
    "gdt": lambda: of_estimator(lambda: _regressor(solver="gdt"), gaussian(60, 12, 5, 19)),
    "grid": lambda: of_estimator(
        lambda: _cv([1, 2], [2, 4, 8], [None, 4], [0.0, 0.1], cv=3), gaussian(60, 15, 6, 20)
    ),
    "cv": lambda: of_estimator(lambda: _cv(cv=3), gaussian(60, 15, 6, 21)),
    **{
        f"search {seed}": lambda seed=seed, shape=shape, signal=signal: of_estimator(
            lambda: _regressor(random_state=seed), gaussian(*shape, seed, *signal)
        )
        for seed, (shape, signal) in enumerate(
            {
                (35, 10, 4): (3, 1.0),
                (70, 40, 10): (8, 1.0),
                (30, 70, 3): (5, 3.0),
                (200, 10, 6): (5, 0.7),
                (40, 12, 30): (3, 0.5),
                (45, 30, 5): (15, 5.0),
                (300, 8, 3): (8, 0.3),
                (25, 100, 12): (6, 2.0),
            }.items(),
            start=50,
        )
    },
    **{
        f"criterion {name}, weak": lambda name=name, seed=seed: of_estimator(
            lambda: _regressor(criterion=name), gaussian(50, 30, 6, seed, 8, 0.8)
        )
        for seed, name in enumerate(("pic", "aic", "bic", "gic", "ebic", "gcv"), start=60)
    },
    "one standard error": lambda: of_estimator(
        lambda: _regressor(refit_rule="one_se", cv=4), gaussian(60, 20, 8, 70, 6, 0.7)
    ),
    "noise": lambda: of_estimator(
        _regressor, (gaussian(50, 12, 5, 71)[0], np.random.default_rng(71).normal(size=(50, 5)))
    ),
    # searches with other losses
    "few missing": lambda: of_estimator(_regressor, with_holes(60, 12, 6, 22, 0.05)),
    "many missing": lambda: of_estimator(lambda: _regressor(cv=2), with_holes(40, 6, 4, 23, 0.4)),
    "huber": lambda: of_estimator(
        lambda: _regressor(loss="huber", cv=2), with_outliers(40, 7, 4, 24)
    ),
    "huber, given": lambda: of_estimator(
        lambda: _regressor(2, 4, 3, loss="huber"), with_outliers(50, 12, 6, 40)
    ),
    "tasks": lambda: of_search(per_task(120, 8, 4, 41)),
    "tasks, many ridges": lambda: of_search(
        per_task(120, 8, 4, 42), ridges=[0.0, 0.001, 0.01, 0.1, 1.0, 10.0]
    ),
    "poisson": lambda: of_estimator(lambda: _glm("poisson", cv=3), counts(60, 10, 5, 25)),
    "negative binomial": lambda: of_estimator(
        lambda: _glm("negative_binomial", cv=3), counts(80, 8, 4, 26)
    ),
    "labels": lambda: of_estimator(lambda: _classifier(cv=3), labels(90, 8, 4, 28)),
    "classes": lambda: of_estimator(lambda: _classifier(cv=3), classes(120, 8, 3, 29)),
    "mixture": lambda: of_estimator(
        lambda: _glm(["bernoulli"] * 2 + ["gaussian"] * 3, cv=3), mixture(80, 8, 5, 30)
    ),
    # kept predictors, weights, offsets, other data
    "many missing, kept": lambda: of_estimator(
        lambda: _regressor(2, 3, 3, always_keep=[1]), with_holes(40, 7, 4, 82, 0.4)
    ),
    "poisson, kept and offset": lambda: of_estimator(
        lambda: _glm("poisson", cv=2, always_keep=[4, 5]),
        counts(60, 8, 4, 83),
        offset=np.linspace(-0.3, 0.3, 60),
        sample_weight=_weights,
    ),
    "labels, kept": lambda: of_estimator(
        lambda: _classifier(1, 3, None, always_keep=[0]), labels(90, 8, 4, 84)
    ),
    "poisson, criterion": lambda: of_estimator(
        lambda: _glm("poisson", criterion="bic"), counts(60, 8, 4, 85)
    ),
    "labels, criterion": lambda: of_estimator(
        lambda: _classifier(criterion="pic"), labels(90, 8, 4, 86)
    ),
    "sparse predictors": lambda: of_estimator(
        _regressor,
        (lambda X, Y: (sparse.csr_array(np.where(X > 1.5, X, 0.0)), Y))(*gaussian(70, 15, 5, 87)),
    ),
    "not standardised": lambda: of_estimator(
        lambda: _regressor(standardize=False, fit_intercept=False), gaussian(60, 12, 6, 88)
    ),
    "tasks, columns": lambda: of_search(per_task(120, 8, 4, 89), columns=None),
    "stability": lambda: of_stability(False),
    "stability of pairs": lambda: of_stability(True),
    "path": of_path,
    **{
        f"thick {seed}": lambda seed=seed: of_estimator(
            lambda: _regressor(random_state=seed), gaussian(25, 60 + seed, 4, seed, 30, 2.0)
        )
        for seed in range(90, 94)
    },
    # searches that are quick, so that they can be tried for many changes of the code
    **{
        f"small, {name}": lambda options=options, data=data: of_estimator(
            lambda: _regressor(**({"cv": 2} | options)), gaussian(*data)
        )
        for name, (options, data) in {
            "default": ({}, (20, 6, 3, 201, 3)),
            "weak signal": ({}, (40, 5, 2, 203, 4, 0.5)),
            "many predictors": ({}, (12, 16, 2, 202, 3, 3.0)),
            "rows given": ({"row_sparsity": 2}, (20, 6, 3, 201, 3)),
            "rows given, weak signal": ({"row_sparsity": 2}, (60, 4, 2, 205, 2, 0.3)),
            "rows given, more responses": ({"row_sparsity": 2}, (24, 8, 4, 204, 6, 1.0)),
            "no ridge": ({"ridge": 0.0}, (60, 4, 2, 205, 2, 0.3)),
            "thinnest": (
                {"rank": 1, "ridge": 0.0, "refit_rule": "thinnest"},
                (20, 6, 3, 201, 3),
            ),
            "criterion": ({"criterion": "pic"}, (12, 16, 2, 202, 3, 3.0)),
        }.items()
    },
    # solvers with given sizes
    **{
        f"given, {name}": lambda solver=solver: of_estimator(
            lambda: _regressor(2, 5, 4, solver=solver), gaussian(50, 25, 9, 31)
        )
        for name, solver in {
            "pursuit": Pursuit(),
            "gdt": GDT(max_iter=30),
            "gdt, sequential": GDT(max_iter=30, update="sequential"),
            "gdt, backtracking": GDT(max_iter=30, step="backtracking"),
            "gdt, theory": GDT(max_iter=30, step="theory"),
        }.items()
    },
    **{
        f"start, {name}": lambda name=name: of_estimator(
            lambda: _regressor(2, 5, 4, start=name), gaussian(50, 25, 9, 39)
        )
        for name in (
            "spectral",
            "lasso",
            "group_lasso",
            "proximal",
            "screening",
            "forward",
            "backward",
        )
    },
    "wide, pursuit": lambda: of_minimize(
        LeastSquares(*gaussian(20, 60, 9, 32), ridge=0.1), Pursuit(), 6, 4
    ),
    "more rows than samples": lambda: of_minimize(
        LeastSquares(*gaussian(15, 40, 9, 33)), Pursuit(), 20
    ),
    "denoising": lambda: of_minimize(
        Denoising(gaussian(15, 12, 9, 34)[1], ridge=0.1), Pursuit(), 6, 4
    ),
    **{
        f"{loss}, {name}": lambda make=make, solver=solver: of_minimize(make(), solver, 5, 3)
        for loss, make in {
            "tasks": lambda: per_task(160, 10, 4, 35),
            "poisson": lambda: GeneralizedLinear(*counts(60, 10, 5, 36), Poisson(), ridge=0.05),
            "labels": lambda: GeneralizedLinear(*labels(60, 10, 5, 37), Bernoulli(), ridge=0.05),
            "holes": lambda: GeneralizedLinear(
                *gaussian(50, 10, 5, 38),
                Gaussian(),
                entry_weight=1.0 * (np.random.default_rng(38).uniform(size=(50, 5)) > 0.3),
                ridge=0.05,
            ),
        }.items()
        for name, solver in {
            "pursuit": Pursuit(),
            "quick pursuit": Pursuit(thorough=False),
            "gdt": GDT(max_iter=30),
        }.items()
    },
}


def rounded(value: Any) -> Any:
    """Numbers with the digits that are compared, so that the file stays small."""
    match value:
        case dict():
            return {key: rounded(each) for key, each in value.items()}
        case list() | tuple():
            return [rounded(each) for each in value]
        case float():
            return float(f"{value:.{DIGITS}g}")
    return int(value) if isinstance(value, np.integer) else value


def carried_out(name: str) -> tuple[Run, Work | None]:
    """A run, and its work if that is counted."""
    run = RUNS[name]
    return (run(), None) if name in RUNS_LEFT_OUT else counted(run)


def main() -> int:
    """Write the record."""
    FILE.parent.mkdir(exist_ok=True)
    done = {name: carried_out(name) for name in RUNS}
    lines = [
        f"{json.dumps(name)}: {json.dumps(rounded(run), separators=(',', ':'))}"
        for name, (run, _) in done.items()
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    write({name: work for name, (_, work) in done.items() if work is not None})
    return 0


if __name__ == "__main__":
    sys.exit(main())
