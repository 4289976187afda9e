"""Designs of a structure: blocks along the diagonal, and a first-order recursive filter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design, is_design
from thinrank.designs.dense import BlockwiseDesign, take_rows


class BlockDiagonal:
    """The design diag(X₁, …, X_A): the zeros around the blocks are neither stored nor multiplied.

    Parameters
    ----------
    blocks : sequence of Design
        The blocks, of shapes (n_a, p_a); a block may have no rows. The same object may occur
        several times, as in I ⊗ X, and is then stored once.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> block = tr.designs.Dense(np.array([[1.0, 2.0]]))
    >>> tr.designs.BlockDiagonal([block, block]) @ np.eye(4)
    array([[1., 2., 0., 0.],
           [0., 0., 1., 2.]])
    """

    def __init__(self, blocks: Sequence[Design]) -> None:
        self.blocks = list(blocks)
        if not self.blocks:
            raise ValueError("blocks must contain at least one design, got none")
        for i, block in enumerate(self.blocks):
            if not is_design(block):
                raise TypeError(
                    f"blocks must be Designs (see tr.designs.as_design), got "
                    f"{type(block).__name__} at position {i}"
                )
        self.prototype = self.blocks[0].prototype
        dtypes = {str(block.prototype.dtype) for block in self.blocks}
        if len(dtypes) > 1:
            raise ValueError(f"blocks must have the same dtype, got {', '.join(sorted(dtypes))}")
        self._rows = _ranges(block.shape[0] for block in self.blocks)
        self._columns = _ranges(block.shape[1] for block in self.blocks)
        self.shape = self._rows[-1].stop, self._columns[-1].stop

    def __matmul__(self, block: Array) -> Array:
        parts = zip(self.blocks, self._columns, strict=True)
        return self._stacked([own @ block[columns, ...] for own, columns in parts])

    def transposed_product(self, block: Array) -> Array:
        """Xᵀ @ block."""
        parts = zip(self.blocks, self._rows, strict=True)
        return self._stacked([own.transposed_product(block[rows, ...]) for own, rows in parts])

    def columns(self, index: Array) -> Array:
        """The columns ``index``, dense, with the zeros around the blocks."""
        width = index.shape[0]
        return self._stacked(
            [
                arrays.scatter_rows(block.columns(local).T, places, width).T
                for block, places, local in self._shares(index, self._columns)
            ]
        )

    def rows(self, index: Array) -> BlockDiagonal:
        """The design of the sorted rows ``index``."""
        shares = self._shares(index, self._rows)
        return BlockDiagonal([take_rows(block, local) for block, _, local in shares])

    def gram(self, index: Array | None = None) -> Array:
        """XᵀX over the columns ``index``."""
        if index is None:
            index = arrays.indices(range(self.shape[1]), self.prototype)
        width = index.shape[0]
        gram = arrays.zeros((width, width), self.prototype)
        for block, places, local in self._shares(index, self._columns):
            strip = arrays.scatter_rows(block.gram(local), places, width)
            gram = gram + arrays.scatter_rows(strip.T, places, width)
        return gram

    def column_norms(self, row_scale: Array | None = None, center: Array | None = None) -> Array:
        """Norms of the columns of diag(row_scale)(X − 1·centerᵀ)."""
        xp = arrays.namespace(self.prototype)
        weights = arrays.zeros((self.shape[0],), self.prototype) + 1
        if row_scale is not None:
            weights = row_scale**2
        total = xp.sum(weights)
        norms = []
        for block, rows, columns in zip(self.blocks, self._rows, self._columns, strict=True):
            scale = None if row_scale is None else row_scale[rows]
            middle = None if center is None else center[columns]
            own = block.column_norms(scale, middle)
            if middle is not None:  # outside its block a column is −center
                outside = xp.clip(total - xp.sum(weights[rows]), min=0.0)
                own = xp.sqrt(own**2 + outside * middle**2)
            norms.append(own)
        return xp.concat(norms)

    def _shares(self, index: Array, ranges: list[slice]) -> Iterator[tuple[Design, Array, Array]]:
        """Each block, the positions in ``index`` of its lines, and their numbers in the block."""
        for block, own in zip(self.blocks, ranges, strict=True):
            places = arrays.true_positions((index >= own.start) & (index < own.stop))
            yield block, places, arrays.take_rows(index, places) - own.start

    def _stacked(self, parts: list[Array]) -> Array:
        return arrays.namespace(self.prototype).concat(parts, axis=0)


def _ranges(sizes: Iterator[int]) -> list[slice]:
    return [slice(*ends) for ends in pairwise(accumulate(sizes, initial=0))]


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
        self.shape = self.size, self.size
        self.prototype = np.zeros(0, dtype=dtype)

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
