"""Arguments of constructors, ``fit`` and ``predict`` of every public estimator, plain and odd."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from fuzz_trial import Trial, WrongError, no_numpy_warnings
from scipy.sparse.linalg import aslinearoperator

import thinrank as tr

_UNITS = (1.0, 1.0, 1.0, 1.0, 1e-8, 1e8, 1e-30, 1e30, 1e-100, 1e100, 1e-160, 1e160, 1e300, 1e-300)
# Values that suit a parameter; sizes are given, so that a fit takes milliseconds.
_PLAIN: dict[str, tuple[Any, ...]] = {
    "rank": (1, 2),
    "row_sparsity": (2, 3, None),
    "column_sparsity": (2, None),
    "ranks": ([1], [1, 2], range(1, 3)),
    "row_sparsities": ([2], [1, None]),
    "column_sparsities": ([2], [None]),
    "ridges": ([0.0], [0.1, 1.0]),
    "penalty": (0.1, 1.0, 0.0),
    "column_threshold": (0.1, 0.0),
    "row_threshold": (0.1, 0.0),
    "n_penalties": (2, 3),
    "n_thresholds": (2,),
    "n_ridges": (2,),
    "family": ("gaussian", "poisson", "bernoulli", "negative_binomial", "multinomial", "huber"),
    "loss": ("squared", "squared", "huber"),
    "solver": ("auto", "pursuit", "gdt"),
    "start": ("auto", "screening", "spectral", "lasso", "group_lasso", "proximal"),
    "criterion": ("auto", "cv", "pic", "bic", "gcv"),
    "cv": (2, 3),
    "refit_rule": ("best", "one_se", "thinnest"),
    "ridge": (0.0, 0.1, 10.0),
    "standardize": (True, False),
    "fit_intercept": (True, False),
    "always_keep": (None, [0], [1, 0]),
    "max_iter": (1, 20),
    "tol": (1e-3, 1e-7),
    "random_state": (None, 0, np.random.RandomState(1)),
    "layers": (False, True),
    "gamma": (0.0, 0.5),
}
# Sizes that a search chooses are left to it in some cases; the others are always given.
_SIZES = ("rank", "row_sparsity", "column_sparsity", "ranks", "row_sparsities", "column_sparsities",
          "ridges", "penalty", "column_threshold", "row_threshold", "family", "n_penalties",
          "n_thresholds", "n_ridges")  # fmt: skip
_ODD: tuple[Any, ...] = (
    None, -1, 0, 1, 1.5, np.nan, np.inf, -np.inf, "text", "", "auto", [], [0], [-1], [99], {}, (),
    True, False, 2.0, "1", b"x", 1j, np.int64(2), np.float32(0.5), np.array([1, 2]), np.array(2),
    object(), ["a"], [None], [[0]], [1.5], print, int, 1e-300, 1e300, [1, 1],
    np.array([True, False]),
)  # fmt: skip
_HUGE = 10**12
_WORK = ("n_", "max_iter", "cv")  # parameters whose huge values rightly take long
_SILENT = ("verbose", "n_jobs")  # nothing about the data
_RESPONSES = {"SparseReducedRankGLM": "counts", "SparseReducedRankClassifier": "labels"}


def matrix(trial: Trial, rows: int, columns: int) -> np.ndarray:
    """Numbers: mostly standard normal, sometimes degenerate or in other units."""
    X = trial.rng.standard_normal((rows, columns))
    if not rows or not columns:
        return X
    match trial.number(0, 29):
        case 0:
            X[:] = 0.0
        case 1:
            X[:] = X[:1]  # constant columns
        case 2:
            X[:, -1] = X[:, 0]  # the same column twice
        case 3:
            X[:, 0] = trial.choice((0.0, 1.0, -3.0))
        case 4:
            place = trial.number(0, rows - 1), trial.number(0, columns - 1)
            X[place] = trial.choice((np.nan, np.inf, -np.inf, 1e308))
        case 5:
            X = np.round(X)
        case 6:
            X *= trial.choice(_UNITS)
        case 7:
            X[:, 0] *= trial.choice(_UNITS)
        case 8:
            X += trial.choice((1e6, 1e12, -1e15))
    return X


def presented(trial: Trial, X: np.ndarray) -> Any:
    """The matrix; in some of the cases as another kind of object that users have."""
    if trial.chance(0.85):
        return X
    kinds: list[Callable[[], Any]] = [
        lambda: X.astype(np.float32),
        lambda: np.asfortranarray(X),
        lambda: np.repeat(X, 2, axis=-1)[..., ::2],
        lambda: X.tolist(),
        lambda: pd.DataFrame(X),
        lambda: np.clip(np.nan_to_num(X), -100, 100).astype(trial.choice(("i1", "i8"))),
        lambda: np.abs(np.clip(np.nan_to_num(X), -100, 100)).astype("u1"),
        lambda: X > 0,
        lambda: np.ma.masked_array(X, X > 1),
        lambda: X + 1j,
        lambda: X.astype(trial.choice((object, str, "f2", "g", ">f8"))),
        lambda: trial.choice((X[0] if len(X) else X, X[..., None], X[None], X.sum(), X.ravel())),
        lambda: trial.choice((None, {}, "text", 3, [], [[]], [[1, 2], [3]], object(), b"x", {1})),
        lambda: trial.choice((X[:0], X[..., :0], X[:1], X[:-1])),
        lambda: _with_odd_object(trial, X),
    ]
    if X.ndim == 2:
        names = [f"v{j}" for j in range(X.shape[1])]
        kinds += [
            lambda: pd.DataFrame(X, columns=trial.choice((names, ["a"] * len(names)))),
            lambda: pl.DataFrame({name: X[:, j] for j, name in enumerate(names)}),
            lambda: trial.choice((sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_matrix))(X),
            lambda: aslinearoperator(X),
        ]
    return trial.choice(kinds)()


def _with_odd_object(trial: Trial, X: np.ndarray) -> Any:
    cells = X.astype(object)
    if cells.size:
        cells.flat[0] = trial.choice((None, "a", {}, [1], pd.NA, pd.NaT, 10**400, 1j))
    return pd.DataFrame(cells) if trial.chance(0.5) else cells


def responses(trial: Trial, kind: str, X: np.ndarray, columns: int) -> Any:
    """Responses that suit a kind of estimator: numbers, counts or labels, sometimes of others."""
    n = len(X)
    if trial.chance(0.08):
        kind = trial.choice(("numbers", "counts", "labels"))
    signal = np.clip(np.nan_to_num(X[:, :1], posinf=0, neginf=0), -2, 2) @ np.ones((1, columns))
    if kind == "labels":
        labels = (signal[:, 0] > 0).astype(int) + (trial.rng.random(n) < 0.3)
        texts = np.array(["no", "maybe", "yes"], dtype=object)[labels]
        several = (signal + trial.rng.standard_normal((n, columns)) > 0).astype(int)
        return trial.choice((labels, labels, texts, texts.astype(str), several, labels > 0,
                             np.zeros(n, dtype=int), labels.tolist(), labels * 1.5,
                             pd.Series(texts), pd.Categorical(texts)))  # fmt: skip
    if kind == "counts":
        Y = trial.rng.poisson(np.exp(signal)).astype(float)
        Y = (Y > 0).astype(float) if trial.chance(0.3) else Y
    else:
        Y = matrix(trial, n, columns) + signal
    if trial.chance(0.12):
        Y[trial.rng.random(Y.shape) < trial.choice((0.1, 0.5, 1.0))] = np.nan
    if trial.chance(0.05):
        Y[:] = trial.choice((0.0, 1.0, -1.0, 1e9))
    return presented(trial, Y[:, 0] if trial.chance(0.15) else Y)


def weights(trial: Trial, shape: tuple[int, ...]) -> Any:
    """Weights, about half of them unusable."""
    w = trial.rng.random(shape)
    return trial.choice((
        np.ones(shape), w, w.astype("f4"), (w > 0.5).astype(float), w.tolist(), np.zeros(shape),
        -w, w * 1e300, w * 1e-300, np.full(shape, np.nan), np.full(shape, np.inf), w[..., None],
        w[:-1], "text", 2.0, 0, [], w.astype(str), w + 1j, w.astype(object), pd.Series(w.ravel()),
        {}, w[:1], True, np.round(3 * w).astype(int),
    ))  # fmt: skip


def _fit_and_use(trial: Trial, kind: Any) -> None:
    estimator = kind(**_parameters(trial, kind))
    trial.note(repr(estimator))
    few = trial.chance(0.2)
    n = trial.number(1 if few else 6, 12)
    p, k = trial.number(1 if few else 3, 8), trial.number(1 if few else 2, 5)
    numbers = matrix(trial, n, p)
    if kind is tr.SparseLowRankGraph and trial.chance(0.9):
        square = matrix(trial, n, n)
        numbers = np.abs(square + square.T)
        np.fill_diagonal(numbers, 0.0)
    Y = responses(trial, _RESPONSES.get(kind.__name__, "numbers"), numbers.copy(), k)
    X = presented(trial, numbers)
    given = _more_arguments(trial, kind, n, k)
    for name, value in {"X": X, "y": Y, **given}.items():
        trial.note(f"{name}: {type(value).__name__} {value!r}")
    if trial.chance(0.02):
        _use(trial, estimator, X, Y)  # not fitted
    before = [fingerprint(each) for each in (X, Y, *given.values())]
    try:
        with no_numpy_warnings():
            estimator.fit(X, Y, **given)
    finally:
        if [fingerprint(each) for each in (X, Y, *given.values())] != before:
            raise WrongError("fit modified its input")
    for name in ("coef_", "intercept_", "components_"):
        value = getattr(estimator, name, None)
        if value is not None and not np.all(np.isfinite(np.asarray(value, dtype=float))):
            raise WrongError(f"{name} is not finite")
    _use(trial, estimator, X, Y)


def _parameters(trial: Trial, kind: Any) -> dict[str, Any]:
    names = [name for name in inspect.signature(kind).parameters if name not in _SILENT]
    automatic = trial.chance(0.05)
    chosen = {
        name: trial.choice(_PLAIN[name])
        for name in names
        if name in _PLAIN and (trial.chance(0.15) or (name in _SIZES and not automatic))
    }
    if "max_iter" in names:  # GDT on separable classes rightly goes to the limit of 10,000
        chosen.setdefault("max_iter", trial.choice((200, 20, 1)))
    if names and trial.chance(0.2):
        for name in {trial.choice(names), trial.choice(names)}:
            chosen[name] = trial.choice(_ODD if name.startswith(_WORK) else (*_ODD, _HUGE))
    return chosen


def _more_arguments(trial: Trial, kind: Any, n: int, k: int) -> dict[str, Any]:
    """Weights, offsets and groups, for estimators that take them."""
    shapes = {"sample_weight": (n,), "entry_weight": (n, k), "offset": (n, k), "groups": (n,)}
    taken = inspect.signature(kind.fit).parameters
    names = [name for name in shapes if name in taken and trial.chance(0.08)]
    return {name: weights(trial, shapes[name]) for name in names}


def _use(trial: Trial, estimator: Any, X: Any, Y: Any) -> None:
    """Apply the estimator to the same or to odd data."""
    known = ("predict", "transform", "score", "predict_proba", "summary")
    methods = [name for name in known if hasattr(type(estimator), name)]
    if not methods:
        return
    method = trial.choice([*methods, methods[0]])
    if trial.chance(0.1):
        X = presented(trial, matrix(trial, trial.number(0, 4), trial.number(0, 8)))
    trial.note(f"{method}: {type(X).__name__} {X!r}")
    before = fingerprint(X)
    arguments = {"summary": (), "score": (X, Y)}.get(method, (X,))
    with no_numpy_warnings():
        str(getattr(estimator, method)(*arguments))
    if fingerprint(X) != before:
        raise WrongError(f"{method} modified its input")


def fingerprint(value: Any) -> str:
    """A text that changes when the value is modified."""
    if sp.issparse(value):
        value = value.tocoo()
        return repr((value.row.tolist(), value.col.tolist(), value.data.tolist()))
    if isinstance(value, np.ma.MaskedArray):
        return repr((value.data.tolist(), np.asarray(value.mask).tolist()))
    if isinstance(value, (pd.DataFrame, pd.Series)):
        return repr((value.to_numpy().tolist(), value.dtypes, value.index.tolist()))
    if isinstance(value, pl.DataFrame):
        return repr((value.rows(), value.schema))
    if isinstance(value, np.ndarray):
        return repr((value.dtype, value.shape, value.tolist()))
    return repr(value)


_CLASSES = {name: getattr(tr, name) for name in tr.__all__ if name.startswith("Sparse")}
_CLASSES |= {name: getattr(tr.baselines, name) for name in tr.baselines.__all__}
FITS = {f"fit:{name}": partial(_fit_and_use, kind=each) for name, each in _CLASSES.items()}
"""Attempts for all public estimators."""
REGRESSIONS = [name for name in FITS if name.startswith("fit:SparseReducedRank")]
"""The regressors, the GLM and the classifier."""
