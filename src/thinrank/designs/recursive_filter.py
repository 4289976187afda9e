"""X as a first-order recursive filter: y_t = γ·y_{t−1} + s_t (NumPy only)."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank.designs.dense import BlockwiseDesign


class RecursiveFilter(BlockwiseDesign):
    """The lower-triangular matrix X = G⁻¹ with entries γ^{i−j} for i ≥ j, never formed.

    G has ones on its diagonal and −γ below it, so that X turns impulses into decays:
    (X s)_t = γ·(X s)_{t−1} + s_t. A product with X or Xᵀ takes two operations per entry of the
    block, and inner products of columns have a closed form::

        (XᵀX)_{ij} = γ^{|i−j|}·(1 − γ^{2(T − max(i, j))})/(1 − γ²).

    Parameters
    ----------
    decay : float
        γ, at least 0 and below 1.
    size : int
        Number T of rows and columns.
    dtype : float32 or float64, default=float64
        Type of all products.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> X = tr.designs.RecursiveFilter(0.5, 3)
    >>> X @ np.eye(3)
    array([[1.  , 0.  , 0.  ],
           [0.5 , 1.  , 0.  ],
           [0.25, 0.5 , 1.  ]])
    """

    def __init__(self, decay: float, size: int, dtype: Any = np.float64) -> None:
        if not 0 <= decay < 1:
            raise ValueError(f"decay must be at least 0 and below 1, got {decay!r}")
        if size < 1:
            raise ValueError(f"size must be at least 1, got {size!r}")
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, got {dtype!r}")
        self.decay = float(decay)
        self.size = int(size)
        self.prototype = np.zeros(0, dtype=dtype)

    @property
    def shape(self) -> tuple[int, int]:
        """(T, T)."""
        return self.size, self.size

    def __matmul__(self, block: np.ndarray) -> np.ndarray:
        return self._filtered(self._checked(block))

    def transposed_product(self, block: np.ndarray) -> np.ndarray:
        """Xᵀ @ block: the same filter applied backwards in time."""
        return np.ascontiguousarray(self._filtered(self._checked(block)[::-1])[::-1])

    def columns(self, index: np.ndarray) -> np.ndarray:
        """The columns ``index``: decays that begin at the frames ``index``."""
        lag = np.arange(self.size)[:, None] - np.asarray(index)[None, :]
        decays = self.decay ** np.maximum(lag, 0)
        return np.where(lag >= 0, decays, 0.0).astype(self.prototype.dtype)

    def gram(self, index: np.ndarray | None = None) -> np.ndarray:
        """XᵀX over the columns ``index``, in closed form."""
        frames = np.arange(self.size) if index is None else np.asarray(index)
        apart = np.abs(frames[:, None] - frames[None, :])
        later = np.maximum(frames[:, None], frames[None, :])
        gram = self.decay**apart * self._energy(self.size - later)
        return gram.astype(self.prototype.dtype)

    def column_norms(
        self, row_scale: np.ndarray | None = None, center: np.ndarray | None = None
    ) -> np.ndarray:
        """Norms of the columns of diag(row_scale)(X − 1·centerᵀ)."""
        if row_scale is not None or center is not None:
            return super().column_norms(row_scale, center)
        remaining = self.size - np.arange(self.size)
        return np.sqrt(self._energy(remaining)).astype(self.prototype.dtype)

    def _energy(self, length: np.ndarray) -> np.ndarray:
        """Sum of squares of a decay over ``length`` frames."""
        if self.decay == 0:
            return np.ones(np.shape(length))
        # 1 − γ²ᵐ without cancellation where γ is close to 1
        logarithm = 2 * np.log(self.decay)
        return np.expm1(logarithm * length) / np.expm1(logarithm)

    def _checked(self, block: np.ndarray) -> np.ndarray:
        if block.shape[0] != self.size:
            raise ValueError(f"block must have {self.size} rows, got shape {block.shape}")
        return np.asarray(block, dtype=self.prototype.dtype)

    def _filtered(self, block: np.ndarray) -> np.ndarray:
        dtype = self.prototype.dtype
        if block.size == 0:
            return np.array(block)
        from scipy.signal import lfilter  # slow to import, and only used here

        numerator = np.array([1], dtype=dtype)
        return lfilter(numerator, np.array([1, -self.decay], dtype=dtype), block, axis=0)
