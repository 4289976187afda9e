"""Validation of symmetric matrices whose NaN entries are unknown pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import chdtri
from sklearn.base import BaseEstimator

from thinrank.designs import Dense
from thinrank.estimators.validation import check_magnitudes
from thinrank.matrices.decomposition import BLOCK_ENTRIES, check_numbers
from thinrank.matrices.pairs import Pairs

KINDS = ("adjacency", "covariance", "correlation")
# Largest difference between S and its transpose, relative to the largest entry: rounding in single
# precision.
_ASYMMETRY = 100 * float(np.finfo(np.float32).eps)
# Sparse matrices with at most this number of nodes are held as dense ones, of 8 MB at most.
_DENSE_NODES = 1000
# Rows that are drawn to choose the sizes of a covariance matrix: at most this number, or ten for
# each node. With fewer rows than samples less of the structure counts as clear.
_MOST_ROWS = 1000


def check_symmetric(estimator: BaseEstimator, S: Any) -> Any:
    """S as a float array or csr_array with NaN for unknown pairs, exactly symmetric."""
    _check_names(S)
    S = check_numbers(
        estimator,
        "S",
        S,
        accept_sparse="csr",
        dtype=np.float64,
        ensure_all_finite=False,
        ensure_min_samples=2,
        ensure_min_features=2,
    )
    if S.shape[0] != S.shape[1]:
        raise ValueError(
            f"S must be a square matrix, with one row and one column for each node, but has shape "
            f"{S.shape}"
        )
    names = getattr(estimator, "feature_names_in_", None)
    if sp.issparse(S):
        S = sp.csr_array(S)
        S.sum_duplicates()
        if S.shape[0] <= _DENSE_NODES:
            S = S.toarray()
    values = S.data if sp.issparse(S) else S
    if np.any(np.isinf(values)):
        raise ValueError(
            "S must be finite, or NaN where a pair is unknown; Input X contains infinity"
        )
    check_magnitudes("S", Dense(np.reshape(values, (-1, 1))))
    return _symmetric(S, names)


def kind_of(S: Any) -> str:
    """What a symmetric matrix probably is, by its diagonal."""
    if sp.issparse(S):
        return "adjacency"
    diagonal = np.diag(S)
    if np.any(np.isnan(diagonal)) or np.any(diagonal <= 0):
        return "adjacency"
    root = np.sqrt(diagonal)
    largest = np.nanmax(np.abs(S) / np.outer(root, root))
    if largest > 1 + 1e-6:
        return "adjacency"
    return "correlation" if np.allclose(diagonal, 1.0, atol=1e-6) else "covariance"


def rows_of(S: np.ndarray, n_samples: int | None, seed: int) -> tuple[Dense, int]:
    """Random rows with a covariance matrix, and the number of samples that it was computed from.

    If data are normal, all rotations of the rows have the same probability, given S: these rows are
    distributed like those of the data.
    """
    p = len(S)
    values, vectors = np.linalg.eigh(S)
    if n_samples is None:
        n_samples = int(np.sum(values > values[-1] * p * np.finfo(float).eps)) + 1
        if n_samples > p:  # of full rank: from the small correlations
            root = np.sqrt(np.diag(S))
            squares = (S / np.outer(root, root))[np.triu_indices(p, 1)] ** 2
            median = max(float(np.median(squares)), np.finfo(float).tiny)
            n_samples = int(min(chdtri(1, 0.5) / median, BLOCK_ENTRIES)) + 1
        n_samples = max(n_samples, 4)
    n_rows = min(n_samples, max(_MOST_ROWS, 10 * p))
    used = min(n_rows - 1, p)
    draws = np.random.default_rng(seed).standard_normal((n_rows, used))
    basis, _ = np.linalg.qr(draws - draws.mean(axis=0))
    roots = np.sqrt(np.maximum(values[-used:], 0.0) * (n_rows - 1))
    return Dense(basis * roots @ vectors[:, -used:].T), n_samples


def as_pairs(S: Any, keeps_diagonal: bool) -> Pairs:
    """The known entries, and where the others are."""
    if sp.issparse(S):
        upper = sp.triu(S, 1, format="coo")
        hidden = np.isnan(upper.data)
        i, j = upper.row[hidden].astype(np.intp), upper.col[hidden].astype(np.intp)
        known = S.copy()
        known.data = np.nan_to_num(known.data, nan=0.0)
        if not keeps_diagonal:
            known.setdiag(0.0)
        known.eliminate_zeros()
        return Pairs(sp.csr_array(known), (i, j), keeps_diagonal)
    known = np.nan_to_num(S, nan=0.0)
    if not keeps_diagonal:
        np.fill_diagonal(known, 0.0)
    i, j = np.nonzero(np.triu(np.isnan(S), 1))
    return Pairs(known, (i, j), keeps_diagonal)


def _symmetric(S: Any, names: np.ndarray | None) -> Any:
    """The mean of S and its transpose; an error where they differ."""
    if sp.issparse(S):
        unknown, known = S.copy(), S.copy()
        unknown.data = np.isnan(S.data).astype(float)
        if np.any(abs(unknown - unknown.T).data):
            raise ValueError(
                "S must be symmetric, but some pairs have NaN as one of their two entries only"
            )
        known.data = np.nan_to_num(S.data, nan=0.0)
    else:
        S = np.where(np.isnan(S), S.T, S)  # an entry that is known on one side is known
        known = np.nan_to_num(S, nan=0.0)
    difference = sp.coo_array(abs(known - known.T))
    if np.max(difference.data, initial=0.0) > _ASYMMETRY * abs(known).max():
        k = int(np.argmax(difference.data))
        i, j = int(difference.row[k]), int(difference.col[k])
        raise ValueError(
            f"S must be symmetric, but the entries of the pair {_pair(i, j, names)} are "
            f"{known[i, j]:g} and {known[j, i]:g}, a difference of {difference.data[k]:g}; "
            "(S + S.T) / 2 is symmetric"
        )
    return sp.csr_array((S + S.T) / 2) if sp.issparse(S) else (S + S.T) / 2


def _pair(i: Any, j: Any, names: np.ndarray | None) -> str:
    return f"({i}, {j})" if names is None else f"({names[i]!r}, {names[j]!r})"


def _check_names(S: Any) -> None:
    """Rows and columns of a data frame must have the same names in the same order."""
    index, columns = getattr(S, "index", None), getattr(S, "columns", None)
    if index is None or columns is None or callable(index):
        return
    rows, names = list(index), list(columns)
    if rows != names and set(rows) == set(names):
        k = next(k for k, (a, b) in enumerate(zip(rows, names, strict=False)) if a != b)
        raise ValueError(
            f"S must have rows and columns in the same order, but row {k} is {rows[k]!r} and "
            f"column {k} is {names[k]!r}; use S.loc[S.columns]"
        )
