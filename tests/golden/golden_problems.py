"""Small problems whose outcomes are stored: what a fit found, not how it was found.

An outcome has the sizes, the supports, a value of which less is better (an error on rows that the
fit has not seen, or the objective if the sizes are given), the norm of the coefficients and ten
predictions. ``record.py`` stores them, ``test_golden.py`` compares.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from benchmarks.rl_linear_family import make_linear_family
from scipy import sparse

import thinrank as tr
from thinrank.designs import Blocks
from thinrank.losses import Denoising, GeneralizedLinear, LeastSquares, PerTask
from thinrank.losses.families import Bernoulli, Gaussian, Poisson
from thinrank.solvers import GDT, Pursuit

NEW_ROWS, PREDICTED = 200, 10
Outcome = dict[str, Any]


@dataclass(frozen=True)
class Data:
    """Rows to fit, new rows to judge the fit, and the truth."""

    X: Any
    Y: np.ndarray
    X_new: Any
    Y_new: np.ndarray
    theta: np.ndarray


def gaussian(n: int, p: int, k: int, seed: int, rows: int = 4, snr: float | None = None) -> Data:
    """Responses of rank 2, with predictors of different units that are correlated.

    The signal is clear unless a signal-to-noise ratio is given.
    """
    X, Y, truth = tr.datasets.make_two_way_sparse(
        n,
        p,
        k,
        min(k, 2),
        rows,
        min(k, 4),
        correlation=0.4,
        random_state=seed,
        signal=1.0 if snr else 3.0,
    )
    X_new = tr.datasets.make_two_way_sparse(
        NEW_ROWS, p, k, 1, 1, 1, correlation=0.4, random_state=seed + 1000
    )[0]
    rng = np.random.default_rng(seed)
    noise, units = Y.std() / snr if snr else 0.0, np.linspace(0.5, 2, p)
    Y = Y + noise * rng.standard_normal(Y.shape)
    spread = np.hypot(noise, 1.0)
    Y_new = X_new @ truth.theta + spread * rng.standard_normal((NEW_ROWS, k))
    return Data(X * units + 1, Y, X_new * units + 1, Y_new, truth.theta)


def with_holes(n: int, p: int, k: int, seed: int, part: float) -> Data:
    data = gaussian(n, p, k, seed)
    data.Y[np.random.default_rng(seed).uniform(size=data.Y.shape) < part] = np.nan
    return data


def with_outliers(n: int, p: int, k: int, seed: int) -> Data:
    data = gaussian(n, p, k, seed)
    data.Y[::9, ::2] += 20 * data.Y.std()
    return data


def without_signal(n: int, p: int, k: int, seed: int) -> Data:
    data, rng = gaussian(n, p, k, seed), np.random.default_rng(seed)
    Y, Y_new = rng.standard_normal((n, k)), rng.standard_normal((NEW_ROWS, k))
    return Data(data.X, Y, data.X_new, Y_new, 0 * data.theta)


def sparse_predictors(n: int, p: int, k: int, seed: int) -> Data:
    data = gaussian(n, p, k, seed)
    X, X_new = (sparse.csr_array(np.where(x > 1.5, x, 0.0)) for x in (data.X, data.X_new))
    return Data(X, data.Y, X_new, data.Y_new, data.theta)


def in_blocks(n: int, p: int, k: int, seed: int) -> Data:
    data, half = gaussian(n, p, k, seed), n // 2
    blocks = Blocks([data.X[:half], data.X[half:]], block_rows=30)
    return Data(blocks, data.Y, data.X_new, data.Y_new, data.theta)


def of_family(kind: str, n: int, p: int, k: int, seed: int) -> Data:
    """Three predictors that act on all responses, with rank 1."""
    rng = np.random.default_rng(seed)
    theta = np.zeros((p, k))
    theta[:3] = np.outer([1.0, -0.8, 0.6], rng.choice([-1.0, 1.0], k))
    X = rng.standard_normal((n + NEW_ROWS, p))
    eta = X @ theta
    if kind == "counts":
        Y = rng.poisson(np.exp(0.5 * eta + 0.5)).astype(float)
    elif kind == "labels":
        Y = (eta + rng.logistic(size=eta.shape) > 0).astype(float)
    elif kind == "classes":
        Y = np.argmax(1.5 * eta + rng.gumbel(size=eta.shape), axis=1)
    else:  # two binary responses, the others Gaussian
        Y = eta + rng.standard_normal(eta.shape)
        Y[:, :2] = eta[:, :2] + rng.logistic(size=(len(X), 2)) > 0
    return Data(X[:n], Y[:n], X[n:], Y[n:], theta)


def per_task(n: int, p: int, k: int, seed: int) -> PerTask:
    data = gaussian(n, p, k, seed)
    task = np.arange(n) % k
    return PerTask(data.X, data.Y[np.arange(n), task], task, ridge=0.05)


def outcome(theta: Any, value: float, predictions: Any, truth: np.ndarray | None = None) -> Outcome:
    """The outcome; it is clear if the supports and the rank are those of the truth."""
    theta = np.asarray(theta)
    rows, columns = np.flatnonzero(theta.any(axis=1)), np.flatnonzero(theta.any(axis=0))
    rank = int(np.linalg.matrix_rank(theta))
    clear = truth is not None and (
        np.array_equal(rows, np.flatnonzero(truth.any(axis=1)))
        and np.array_equal(columns, np.flatnonzero(truth.any(axis=0)))
        and rank == np.linalg.matrix_rank(truth)
    )
    return {
        "clear": bool(clear),
        "rank": rank,
        "rows": rows.tolist(),
        "columns": columns.tolist(),
        "value": float(value),
        "norm": float(np.linalg.norm(theta)),
        "predictions": np.asarray(predictions, dtype=float).ravel()[: 10 * PREDICTED].tolist(),
    }


def of_estimator(est: Any, data: Data, **arguments: Any) -> Outcome:
    """What a fit found, judged by its unexplained share of variance or deviance, or by log loss."""
    est.fit(data.X, data.Y, **arguments)
    if hasattr(est, "predict_proba"):
        predicted = np.asarray(est.predict_proba(data.X_new))
        if data.Y_new.ndim == 1:
            chosen = predicted[np.arange(NEW_ROWS), data.Y_new]
        else:
            chosen = np.where(data.Y_new > 0, predicted, 1 - predicted)
        value = -np.mean(np.log(chosen))
    else:
        predicted = est.predict(data.X_new)
        value = 1 - est.score(data.X_new, data.Y_new)
    return outcome(est.factors_.theta, value, predicted[:PREDICTED], data.theta)


def of_minimize(loss: Any, solver: Any, rows: int | None, columns: int | None = None) -> Outcome:
    """The objective with given sizes; predictions of made-up rows."""
    found = tr.minimize(loss, rank=2, row_sparsity=rows, column_sparsity=columns, solver=solver)
    theta = np.asarray(found.factors.theta)
    new = np.random.default_rng(0).standard_normal((PREDICTED, len(theta)))
    return outcome(theta, found.value, new @ theta)


def of_table(values: Any) -> Outcome:
    """Numbers of a result that is not a fit."""
    return {"clear": True, "predictions": np.asarray(values, dtype=float).ravel().tolist()}


def stability(pairs: bool) -> Outcome:
    data = gaussian(60, 10, 5, 80)
    est = _regressor(2, 4, None).fit(data.X, data.Y)
    table = tr.selection.stability(est, data.X, data.Y, n_resamples=8, pairs=pairs, random_state=0)
    return of_table(table.select_dtypes("number").fillna(-1).to_numpy())


def path() -> Outcome:
    data = gaussian(50, 15, 5, 81)
    found = tr.selection.path(_regressor(2, 4, None).fit(data.X, data.Y), data.X, data.Y)
    return of_table([*found.row_sparsities, *found.scores, *found.strengths.sum(axis=1)])


def planted(seed: int, shape: tuple[int, int] = (60, 50)) -> tuple[np.ndarray, np.ndarray]:
    """A matrix with a block of rank 2, and the block without noise."""
    rng = np.random.default_rng(seed)
    theta = np.zeros(shape)
    theta[:12, :10] = rng.normal(2, 1, (12, 2)) @ rng.normal(0, 1.5, (2, 10))
    return theta + 0.5 * rng.standard_normal(shape), theta


def sparse_svd() -> Outcome:
    M, theta = planted(300)
    found = tr.SparseSVD(random_state=0).fit(M).factors_.theta
    return outcome(found, np.sum((found - theta) ** 2) / np.sum(theta**2), found[:10], theta)


def sparse_pca() -> Outcome:
    M, theta = planted(301, (50, 60))
    est = tr.SparsePCA(random_state=0).fit(M.T)
    axes = np.linalg.svd(theta)[0][:, :2]
    components = np.asarray(est.components_)
    missed = 2 - np.sum((components @ axes) ** 2)
    projection = components.T @ components
    return outcome(projection, missed, projection, axes @ axes.T * (axes.any(axis=1)[:, None]))


def completion() -> Outcome:
    M, theta = planted(302)
    holes = np.random.default_rng(302).uniform(size=M.shape) < 0.3
    est = tr.SparseMatrixCompletion(random_state=0).fit(np.where(holes, np.nan, M))
    found = est.factors_.theta
    return outcome(found, np.sum((found - theta) ** 2) / np.sum(theta**2), found[:10], theta)


def graph() -> Outcome:
    adjacency = tr.datasets.load_karate_club().adjacency
    found = tr.SparseLowRankGraph(random_state=0).fit(adjacency).factors_.theta
    return outcome(found, 0.0, found[:10]) | {"clear": True}


def calcium() -> Outcome:
    movie, truth = tr.calcium.make_movie(200, (40, 40), 4, n_close_pairs=0, random_state=303)
    est = tr.calcium.CalciumImaging(frame_rate=7).fit(movie)
    traces = est.traces_[:, ::20]
    sizes = {"rank": est.n_neurons_, "value": 1 - est.score(truth.regions).combined}
    return of_table(np.sort(traces.ravel())) | sizes | {"clear": False}


def q_iteration(regressor: Any, logged: bool = False) -> Outcome:
    """Fitted Q-iteration on a family of tasks whose optimal values are known."""
    family = make_linear_family(4, 12, 2, 8, 2, n_states=150, discount=0.7, random_state=304)
    fqi = tr.rl.MultiTaskFQI(
        family.features, 2, family.discount, regressor, random_state=0,
        n_iterations=1 if logged else 4,
    )  # fmt: skip
    if logged:  # every task at states of its own
        fqi.fit_batch([transitions(task, seed) for seed, task in enumerate(family.tasks)])
    else:
        fqi.fit(family.tasks, np.arange(150))
    values = np.stack([fqi.q_values(task, np.arange(150)) for task in range(4)])
    missed = np.sum((values - family.q_star) ** 2) / np.sum(family.q_star**2)
    return outcome(fqi.theta_, missed, values)


def transitions(task: Any, seed: int) -> tr.rl.Transitions:
    rng = np.random.default_rng([304, seed])
    states, action = rng.integers(0, 150, 200), rng.integers(0, 2, 200)
    rewards, following = np.empty(200), np.empty(200, dtype=int)
    for each in (0, 1):
        chosen = action == each
        rewards[chosen], following[chosen], *_ = task.sample(states[chosen], each, rng)
    return tr.rl.Transitions(states, action, rewards, following, np.zeros(200, dtype=bool))


_regressor, _glm = tr.SparseReducedRankRegressor, tr.SparseReducedRankGLM
_cv, _classifier = tr.SparseReducedRankRegressorCV, tr.SparseReducedRankClassifier
_literal = partial(_regressor, standardize=False, fit_intercept=False)
_weights = np.linspace(0.2, 2, 60)


def _fit(make: Callable[..., Any], *data: Any, of: Callable[..., Data] = gaussian, **options: Any):
    """A problem: an estimator with its options, and the arguments of the data."""
    arguments = {key: options.pop(key) for key in ("sample_weight", "offset") if key in options}
    return lambda: of_estimator(make(**options), of(*data), **arguments)


def _family(make: Callable[..., Any], kind: str, *shape: int, **options: Any):
    return _fit(make, kind, *shape, of=of_family, **options)


_SEARCHES = {
    (35, 10, 4): (3, 1.0),
    (70, 40, 10): (8, 1.0),
    (30, 70, 3): (5, 3.0),
    (200, 10, 6): (5, 0.7),
    (40, 12, 30): (3, 0.5),
    (45, 30, 5): (15, 5.0),
    (300, 8, 3): (8, 0.3),
    (25, 100, 12): (6, 2.0),
}
_LOSSES: dict[str, Callable[[], Any]] = {
    "tasks": lambda: per_task(160, 10, 4, 35),
    "poisson": lambda: _general("counts", Poisson(), 36),
    "labels": lambda: _general("labels", Bernoulli(), 37),
    "holes": lambda: GeneralizedLinear(
        (data := gaussian(50, 10, 5, 38)).X,
        data.Y,
        Gaussian(),
        entry_weight=1.0 * (np.random.default_rng(38).uniform(size=(50, 5)) > 0.3),
        ridge=0.05,
    ),
}
_SOLVERS = {
    "pursuit": Pursuit(),
    "quick pursuit": Pursuit(thorough=False),
    "gdt": GDT(max_iter=30),
}
_STARTS = ("spectral", "lasso", "group_lasso", "proximal", "screening", "backward")


def _general(kind: str, family: Any, seed: int) -> GeneralizedLinear:
    data = of_family(kind, 60, 10, 5, seed)
    return GeneralizedLinear(data.X, data.Y, family, ridge=0.05)


def _squares(*shape: int, ridge: float = 0.0) -> LeastSquares:
    data = gaussian(*shape)
    return LeastSquares(data.X, data.Y, ridge=ridge)


PROBLEMS: dict[str, Callable[[], Outcome]] = {
    # searches of the regressor
    "default": _fit(_regressor, 60, 20, 8, 1),
    "many predictors": _fit(_regressor, 40, 90, 6, 2),
    "many predictors, two responses": _fit(_regressor, 50, 120, 2, 3),
    "many responses": _fit(_regressor, 40, 8, 50, 4),
    "weak signal": _fit(_regressor, 60, 25, 6, 5, 10, 0.4),
    "one response": _fit(_regressor, 50, 30, 1, 6),
    "dense": _fit(_regressor, 80, 12, 6, 7, 12),
    "weights": _fit(_regressor, 60, 15, 5, 8, sample_weight=_weights),
    "rows given": _fit(_regressor, 60, 20, 8, 9, row_sparsity=5),
    "rank given": _fit(_regressor, 60, 20, 8, 10, rank=2),
    "columns given": _fit(_regressor, 60, 20, 8, 11, column_sparsity=None),
    "criterion pic": _fit(_regressor, 60, 20, 8, 12, criterion="pic"),
    "criterion gcv": _fit(_regressor, 60, 20, 8, 13, criterion="gcv"),
    "criterion bic": _fit(_regressor, 60, 20, 8, 14, criterion="bic"),
    "criterion cv": _fit(_regressor, 60, 20, 8, 15, criterion="cv", cv=3),
    "thinnest": _fit(_regressor, 60, 20, 8, 16, refit_rule="thinnest", cv=4),
    "one standard error": _fit(_regressor, 60, 20, 8, 70, 6, 0.7, refit_rule="one_se", cv=4),
    "always_keep": _fit(_regressor, 60, 20, 8, 17, always_keep=[0, 7]),
    "blocks": _fit(_regressor, 90, 20, 6, 18, of=in_blocks),
    "gdt": _fit(_regressor, 60, 12, 5, 19, solver="gdt"),
    "grid": _fit(partial(_cv, [1, 2], [2, 4, 8], [None, 4], [0.0, 0.1], cv=3), 60, 15, 6, 20),
    "cv": _fit(_cv, 60, 15, 6, 21, cv=3),
    "noise": _fit(_regressor, 50, 12, 5, 71, of=without_signal),
    "sparse predictors": _fit(_regressor, 70, 15, 5, 87, of=sparse_predictors),
    "not standardized": _fit(_regressor, 60, 12, 6, 88, standardize=False, fit_intercept=False),
    **{
        f"search {seed}": _fit(_regressor, *shape, seed, *signal, random_state=seed)
        for seed, (shape, signal) in enumerate(_SEARCHES.items(), start=50)
    },
    **{
        f"criterion {name}, weak": _fit(_regressor, 50, 30, 6, seed, 8, 0.8, criterion=name)
        for seed, name in enumerate(("pic", "aic", "bic", "gic", "ebic", "gcv"), start=60)
    },
    **{
        f"more rows than samples {seed}": _fit(
            _regressor, 25, 60 + seed, 4, seed, 30, 2.0, random_state=seed
        )
        for seed in range(90, 94)
    },
    "small, default": _fit(_regressor, 20, 6, 3, 201, 3, cv=2),
    "small, weak signal": _fit(_regressor, 40, 5, 2, 203, 4, 0.5, cv=2),
    "small, many predictors": _fit(_regressor, 12, 16, 2, 202, 3, 3.0, cv=2),
    "small, rows given": _fit(_regressor, 20, 6, 3, 201, 3, cv=2, row_sparsity=2),
    "small, rows given, weak": _fit(_regressor, 60, 4, 2, 205, 2, 0.3, cv=2, row_sparsity=2),
    "small, rows given, more": _fit(_regressor, 24, 8, 4, 204, 6, 1.0, cv=2, row_sparsity=2),
    "small, no ridge": _fit(_regressor, 60, 4, 2, 205, 2, 0.3, cv=2, ridge=0.0),
    "small, thinnest": _fit(
        _regressor, 20, 6, 3, 201, 3, cv=2, rank=1, ridge=0.0, refit_rule="thinnest"
    ),
    "small, criterion": _fit(_regressor, 12, 16, 2, 202, 3, 3.0, cv=2, criterion="pic"),
    # searches with other losses
    "few missing": _fit(_regressor, 60, 12, 6, 22, 0.05, of=with_holes),
    "many missing": _fit(_regressor, 40, 6, 4, 23, 0.4, of=with_holes, cv=2),
    "many missing, always_keep": _fit(
        partial(_regressor, 2, 3, 3, always_keep=[1]), 40, 7, 4, 82, 0.4, of=with_holes
    ),
    "huber": _fit(_regressor, 40, 6, 3, 24, of=with_outliers, loss="huber", cv=2),
    "huber, given": _fit(
        partial(_regressor, 2, 4, 3, loss="huber"), 50, 12, 6, 40, of=with_outliers
    ),
    "poisson": _family(_glm, "counts", 60, 8, 4, 25, family="poisson", cv=2),
    "poisson, always_keep and offset": _family(
        _glm, "counts", 60, 8, 4, 83, family="poisson", cv=2, always_keep=[4, 5],
        offset=np.linspace(-0.3, 0.3, 60), sample_weight=_weights,
    ),
    "poisson, criterion": _family(
        _glm, "counts", 60, 8, 4, 85, family="poisson", criterion="bic"
    ),
    "negative binomial": _family(
        _glm, "counts", 80, 6, 3, 26, family="negative_binomial", cv=2
    ),
    "mixture": _family(
        _glm, "mixture", 60, 6, 4, 30, family=["bernoulli"] * 2 + ["gaussian"] * 2, cv=2
    ),
    "labels": _family(_classifier, "labels", 90, 8, 4, 28, cv=3),
    "labels, always_keep": _family(
        partial(_classifier, 1, 3, None, always_keep=[0]), "labels", 90, 8, 4, 84
    ),
    "labels, criterion": _family(_classifier, "labels", 90, 8, 4, 86, criterion="pic"),
    "classes": _family(_classifier, "classes", 100, 6, 3, 29, cv=2),
    # given sizes
    **{
        f"given, {name}": _fit(partial(_regressor, 2, 4, 4, solver=solver), 50, 25, 9, 31)
        for name, solver in {
            "pursuit": Pursuit(),
            "gdt": GDT(max_iter=30),
            "gdt, sequential": GDT(max_iter=30, update="sequential"),
            "gdt, backtracking": GDT(max_iter=30, step="backtracking"),
            "gdt, theory": GDT(max_iter=30, step="theory"),
        }.items()
    },
    **{
        f"start, {name}": _fit(partial(_regressor, 2, 4, 4, start=name), 50, 25, 9, 39)
        for name in _STARTS
    },
    "wide": lambda: of_minimize(_squares(20, 60, 9, 32, ridge=0.1), Pursuit(), 6, 4),
    "more rows than samples": lambda: of_minimize(_squares(15, 40, 9, 33), Pursuit(), 20),
    "denoising": lambda: of_minimize(
        Denoising(gaussian(15, 12, 9, 34).Y, ridge=0.1), Pursuit(), 6, 4
    ),
    **{
        f"{loss}, {name}": lambda make=make, solver=solver: of_minimize(make(), solver, 5, 3)
        for loss, make in _LOSSES.items()
        for name, solver in _SOLVERS.items()
    },
    # judgements of a fit
    "stability": lambda: stability(False),
    "stability of pairs": lambda: stability(True),
    "path": path,
    # bare matrices and applications
    "sparse svd": sparse_svd,
    "sparse pca": sparse_pca,
    "matrix completion": completion,
    "graph": graph,
    "calcium": calcium,
    "q iteration": lambda: q_iteration(None),
    "q iteration, sizes chosen": lambda: q_iteration(_regressor(column_sparsity=None)),
    "q iteration, logged": lambda: q_iteration(_literal(2, "auto", None, ridge=0.01), logged=True),
}  # fmt: skip


def solve(name: str) -> Outcome:
    """The outcome of a problem."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of unclear problems: few resamples, no convergence
        return PROBLEMS[name]()
