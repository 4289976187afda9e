"""X as a scipy sparse matrix or array, or as a LinearOperator (NumPy only)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from thinrank.designs.dense import BlockwiseDesign


class Sparse:
    """A scipy sparse design; only the columns requested by :meth:`columns` are made dense.

    Parameters
    ----------
    X : scipy sparse matrix or array of shape (n_samples, n_features)
        Formats other than CSR and CSC are converted to CSC. float32 and float64 are kept; other
        dtypes are converted to float64.
    """

    def __init__(self, X: Any) -> None:
        if X.ndim != 2:
            raise ValueError(f"X must be a matrix, got an array of shape {X.shape}")
        if X.format not in ("csr", "csc"):
            X = X.tocsc()
        if X.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: X is sparse of dtype {X.dtype}")
        if not X.has_canonical_format:
            X = X.copy()  # the user's matrix is left as it is
            X.sum_duplicates()
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        self.matrix = X
        self.prototype = np.zeros(0, dtype=X.dtype)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self.matrix.shape

    def __matmul__(self, block: np.ndarray) -> np.ndarray:
        return self.matrix @ block

    def transposed_product(self, block: np.ndarray) -> np.ndarray:
        """Xᵀ @ block."""
        return self.matrix.T @ block

    def columns(self, index: np.ndarray) -> np.ndarray:
        """The columns ``index``, dense."""
        return self.matrix[:, index].toarray()

    def rows(self, index: np.ndarray) -> Sparse:
        """The design of the rows ``index``, a copy."""
        return Sparse(self.matrix[index])

    def gram(self, index: np.ndarray | None = None) -> np.ndarray:
        """XᵀX over the columns ``index``, dense."""
        active = self.matrix if index is None else self.matrix[:, index]
        return (active.T @ active).toarray()

    def column_norms(
        self, row_scale: np.ndarray | None = None, center: np.ndarray | None = None
    ) -> np.ndarray:
        """Norms of the columns of diag(row_scale)(X − 1·centerᵀ), from the stored entries."""
        n, p = self.shape
        entries = self.matrix.tocoo()
        weights = np.ones(n, dtype=self.matrix.dtype) if row_scale is None else row_scale**2
        stored = weights[entries.row]
        values = entries.data
        if center is not None:
            values = values - center[entries.col]
        squares = np.bincount(entries.col, weights=stored * values**2, minlength=p)
        if center is not None:
            weight_of_zeros = weights.sum() - np.bincount(entries.col, stored, minlength=p)
            squares = squares + np.maximum(weight_of_zeros, 0) * center**2
        return np.sqrt(squares).astype(self.matrix.dtype)


class Operator(BlockwiseDesign):
    """A design known through its products only; the operator must define its adjoint, too.

    Parameters
    ----------
    X : LinearOperator of shape (n_samples, n_features)
        The operator. Products are float32 if its dtype is float32, otherwise float64.
    """

    def __init__(self, X: LinearOperator) -> None:
        self.operator = X
        dtype = np.dtype(X.dtype if X.dtype is not None else np.float64)
        if dtype.kind == "c":
            raise ValueError(f"Complex data not supported: X is an operator of dtype {dtype}")
        if dtype not in (np.float32, np.float64):
            dtype = np.dtype(np.float64)
        self.prototype = np.zeros(0, dtype=dtype)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self.operator.shape

    def __matmul__(self, block: np.ndarray) -> np.ndarray:
        product = self.operator.matvec(block) if block.ndim == 1 else self.operator.matmat(block)
        return np.array(product, dtype=self.prototype.dtype)  # a copy, which callers may change

    def transposed_product(self, block: np.ndarray) -> np.ndarray:
        """Xᵀ @ block."""
        X = self.operator
        product = X.rmatvec(block) if block.ndim == 1 else X.rmatmat(block)
        return np.array(product, dtype=self.prototype.dtype)

    def columns(self, index: np.ndarray) -> np.ndarray:
        """The columns ``index``, by products with unit vectors."""
        units = np.zeros((self.shape[1], len(index)), dtype=self.prototype.dtype)
        units[index, np.arange(len(index))] = 1
        return self @ units
