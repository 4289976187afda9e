"""Products Xᵀ·block with few columns, of an array whose columns are contiguous."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thinrank.core.threads import in_threads, threads_in_use

# With more columns a product with all of X at once is faster.
MOST_COLUMNS = 12
# Multiplications of a product with a tile: OpenBLAS then reads X where it lies, and starts no
# threads. For larger products it first copies X, which takes as long as the product itself.
TILE_PRODUCTS = 1 << 17
# A smaller X is multiplied at once, since it takes about as long to start threads.
_WORTH_TILES = 1 << 22
# Least number of columns of a tile; products with fewer are slower.
_LEAST_WIDTH = 4


def is_narrow(X: np.ndarray, block: np.ndarray) -> bool:
    """Whether :func:`narrow_product` is faster than a product with all of X at once."""
    if block.ndim != 2 or not 0 < block.shape[1] <= MOST_COLUMNS:
        return False
    columns_are_contiguous = X.strides[0] == X.itemsize and X.dtype == block.dtype
    return columns_are_contiguous and X.size >= _WORTH_TILES and _width(X, block) >= _LEAST_WIDTH


def narrow_product(X: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Xᵀ @ block, from many small products of tiles of X that are read from memory once.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Its columns are contiguous.
    block : ndarray of shape (n_samples, few)

    Returns
    -------
    ndarray of shape (n_features, few)
        Its columns are contiguous.
    """
    (n, p), few = X.shape, block.shape[1]
    left = np.ascontiguousarray(block.T)
    out = np.empty((few, p), X.dtype)
    width = _width(X, block)

    def work(tiles: Sequence[int]) -> None:
        """Products with neighbouring tiles, in one call."""
        count, columns = len(tiles), slice(tiles[0] * width, (tiles[-1] + 1) * width)
        stack = X[:, columns].reshape(n, count, width)  # a view
        np.matmul(
            left,
            stack.transpose(1, 0, 2),
            out=out[:, columns].reshape(few, count, width).transpose(1, 0, 2),
        )

    tiles = range(p // width)
    if tiles:
        in_threads(work, tiles, threads_in_use())
    rest = slice(len(tiles) * width, p)
    out[:, rest] = left @ X[:, rest]
    return out.T


def _width(X: np.ndarray, block: np.ndarray) -> int:
    """Number of columns of a tile."""
    return TILE_PRODUCTS // max(block.size, 1)
