"""X as a SciPy LinearOperator (NumPy only)."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator

from thinrank.designs.blockwise import blockwise_column_norms, blockwise_gram


class Operator:
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

    def gram(self, index: np.ndarray | None = None) -> np.ndarray:
        """XᵀX over the columns ``index``."""
        if index is None:
            return blockwise_gram(self)
        active = self.columns(index)
        return active.T @ active

    def column_norms(
        self, row_scale: np.ndarray | None = None, center: np.ndarray | None = None
    ) -> np.ndarray:
        """Norms of the columns of diag(row_scale)(X − 1·centerᵀ)."""
        return blockwise_column_norms(self, row_scale, center)
