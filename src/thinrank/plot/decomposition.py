"""What plots need of a decomposition of a bare matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from thinrank import arrays
from thinrank.matrices.decomposition import Decomposition


class Parts(NamedTuple):
    """A fitted SparseSVD, SparsePCA, SparseMatrixCompletion or SparseLowRankGraph."""

    components: np.ndarray  # (rank, n_columns) right vectors, of length 1
    values: np.ndarray  # (rank,) singular values
    left: np.ndarray  # (n_rows, rank) left factor
    # flags of rows and columns: one pair per layer if layers have rows and columns of their own,
    # else one pair
    layers: list[tuple[np.ndarray, np.ndarray]]
    names: list[str]  # names of the columns, made up if fit received none

    @property
    def rank(self) -> int:
        """Number of components."""
        return len(self.components)


def decomposition(est: Any) -> Parts:
    """The parts of a fitted estimator; a TypeError if it is no decomposition of a matrix."""
    if not isinstance(est, Decomposition):
        raise TypeError(
            "est must be a fitted SparseSVD, SparsePCA, SparseMatrixCompletion or "
            f"SparseLowRankGraph, got {type(est).__name__}"
        )
    check_is_fitted(est, "factors_")
    U, V = arrays.to_numpy(est.factors_.U), arrays.to_numpy(est.factors_.V)
    lengths = np.linalg.norm(V, axis=0) if V.size else np.ones(V.shape[1])
    values = np.linalg.norm(U, axis=0) * lengths
    if hasattr(est, "_layer_rows"):
        layers = list(zip(est.rows_, est.columns_, strict=True))
    else:
        layers = [(U.any(axis=1), V.any(axis=1))] if len(values) else []
    made_up = [f"x{j}" for j in range(V.shape[0])]
    names = [str(name) for name in getattr(est, "feature_names_in_", made_up)]
    return Parts((V / lengths).T, values, U, layers, names)


def matrix_of(X: Any, shape: tuple[int, int]) -> np.ndarray:
    """X as a dense NumPy array; a ValueError unless it has the shape of fit."""
    if issparse(X):
        dense = X.toarray()
    else:
        dense = arrays.to_numpy(X) if arrays.is_array(X) else np.asarray(X, dtype=float)
    if dense.shape != shape:
        raise ValueError(f"X must be the matrix of fit, of shape {shape}, got {dense.shape}")
    return dense
