"""Matrices, responses and weights as users pass them, plain and odd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from fuzz_trial import Trial
from scipy.sparse.linalg import aslinearoperator

_UNITS = (1.0, 1.0, 1.0, 1.0, 1e-8, 1e8, 1e-30, 1e30, 1e-100, 1e100, 1e-160, 1e160, 1e300, 1e-300)


def matrix(trial: Trial, rows: int, columns: int) -> np.ndarray:
    """Numbers: mostly standard normal, sometimes degenerate or in other units."""
    X = trial.rng.standard_normal((rows, columns))
    match trial.number(0, 29):
        case 0:
            X = np.zeros_like(X)
        case 1:
            X[:] = X[:1] if rows else 0.0  # constant columns
        case 2 if columns:
            X[:, -1] = X[:, 0]  # the same column twice
        case 3 if columns:
            X[:, 0] = trial.choice((0.0, 1.0, -3.0))
        case 4 if rows and columns:
            X[trial.number(0, rows - 1), trial.number(0, columns - 1)] = trial.choice(
                (np.nan, np.inf, -np.inf, 1e308)
            )
        case 5:
            X = np.round(X)
        case 6:
            X = X * trial.choice(_UNITS)
        case 7 if columns:
            X[:, 0] *= trial.choice(_UNITS)
        case 8:
            X = X + trial.choice((1e6, 1e12, -1e15))
    return X


def presented(trial: Trial, X: np.ndarray) -> Any:
    """The matrix as one of the kinds of objects that users have, an eighth of them odd."""
    kind = trial.number(0, 79)
    match kind:
        case 0:
            return X.astype(np.float32)
        case 1:
            return np.asfortranarray(X)
        case 2:
            return np.repeat(X, 2, axis=-1)[..., ::2]
        case 3:
            X.flags.writeable = False
            return X
        case 4:
            return X.tolist()
        case 5:
            return pd.DataFrame(X)
        case 6 if X.ndim == 2:
            return pd.DataFrame(X, columns=[f"v{j}" for j in range(X.shape[1])])
        case 7 if X.ndim == 2:
            return pl.DataFrame({f"v{j}": X[:, j] for j in range(X.shape[1])})
        case 8 if X.ndim == 2:
            return trial.choice((sp.csr_matrix, sp.csc_array, sp.coo_array, sp.lil_matrix))(X)
        case 9 if X.ndim == 2:
            return aslinearoperator(X)
        case 10:
            return _as_integers(trial, X)
        case 11:
            return X > 0
        case 12:
            return np.ma.masked_array(X, X > 1)
        case 13:
            return X + 1j
        case 14:
            return X.astype(object)
        case 15:
            return X.astype(str)
        case 16:
            return trial.choice((X[0] if len(X) else X, X[..., None], X[None], X.sum(), X.ravel()))
        case 17:
            return trial.choice((None, {}, "text", 3, [], [[]], [[1, 2], [3]], object(), b"x", {1}))
        case 18:
            return trial.choice((X[:0], X[:, :0] if X.ndim == 2 else X[:0], X[:1], X[:-1]))
        case 19:
            return _odd_objects(trial, X)
        case 20 if X.ndim == 2:
            return pd.DataFrame(X, columns=trial.choice((["a"] * X.shape[1], range(X.shape[1]))))
        case 21:
            return trial.choice(
                (X.astype("f2"), X.astype("g"), X.astype(">f8"), memoryview(X.copy()))
            )
    return X


def _as_integers(trial: Trial, X: np.ndarray) -> np.ndarray:
    tame = np.clip(np.nan_to_num(X), -100, 100)
    return tame.astype(trial.choice(("i1", "i8", "i4"))) if trial.chance(0.7) else \
        np.abs(tame).astype(trial.choice(("u1", "u8")))  # fmt: skip


def _odd_objects(trial: Trial, X: np.ndarray) -> Any:
    cells = X.astype(object)
    if cells.size:
        cells.flat[0] = trial.choice((None, "a", {}, [1], pd.NA, pd.NaT, 10**400, 1j))
    return pd.DataFrame(cells) if trial.chance(0.5) else cells


def responses(trial: Trial, kind: str, X: np.ndarray, columns: int) -> Any:
    """Responses that suit a kind of estimator: numbers, counts or labels, sometimes of others."""
    n = len(X)
    if trial.chance(0.08):
        kind = trial.choice(("numbers", "counts", "labels"))
    signal = np.nan_to_num(X[:, :1] if X.shape[1] else np.zeros((n, 1)), posinf=0, neginf=0)
    signal = np.clip(signal, -2, 2) @ np.ones((1, columns))
    if kind == "labels":
        labels = (signal[:, 0] > 0).astype(int) + (trial.rng.random(n) < 0.3)
        texts = np.array(["no", "maybe", "yes"], dtype=object)[labels]
        several = (signal + trial.rng.standard_normal((n, columns)) > 0).astype(int)
        return trial.choice((labels, labels, texts, texts.astype(str), several, labels > 0,
                             np.zeros(n, dtype=int), labels.tolist(), labels * 1.5,
                             pd.Series(texts), pd.Categorical(texts)))  # fmt: skip
    Y = np.exp(signal) if kind == "counts" else signal
    Y = trial.rng.poisson(Y).astype(float) if kind == "counts" else matrix(trial, n, columns) + Y
    if kind == "counts" and trial.chance(0.3):
        Y = (Y > 0).astype(float)
    if trial.chance(0.12) and Y.size:
        Y[trial.rng.random(Y.shape) < trial.choice((0.1, 0.5, 1.0))] = np.nan
    if trial.chance(0.05):
        Y[:] = trial.choice((0.0, 1.0, -1.0, 1e9))
    return presented(trial, Y[:, 0] if trial.chance(0.15) and columns else Y)


def weights(trial: Trial, shape: tuple[int, ...]) -> Any:
    """Weights, about half of them unusable."""
    w = trial.rng.random(shape)
    return trial.choice((
        np.ones(shape), w, w.astype("f4"), (w > 0.5).astype(float), w.tolist(), np.zeros(shape),
        -w, w * 1e300, w * 1e-300, np.full(shape, np.nan), np.full(shape, np.inf), w[..., None],
        w[:-1], "text", 2.0, 0, [], w.astype(str), w + 1j, w.astype(object), pd.Series(w.ravel()),
        {}, w[:1], True, np.round(3 * w).astype(int),
    ))  # fmt: skip


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
