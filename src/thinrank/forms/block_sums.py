"""Sums over the rows of blocks, for several sets of rows at once.

These functions are applied to every block of :class:`thinrank.designs.row_blocks.RowBlocks`, in
this process or in another one. They return arrays that do not grow with the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thinrank.designs.row_blocks import centred


@dataclass(frozen=True, eq=False)
class RowSums:
    """Weighted sums over some rows, of columns minus fixed numbers."""

    weight: float  # sum of the weights
    x: np.ndarray  # sums of the columns
    squares_x: np.ndarray  # sums of their squares
    y: np.ndarray
    squares_y: np.ndarray
    cross: np.ndarray  # (n_features, n_targets) sums of products, XᵀY

    def without(self, other: RowSums) -> RowSums:
        """The sums over the rows that are not in a subset."""
        return RowSums(
            self.weight - other.weight,
            self.x - other.x,
            self.squares_x - other.squares_x,
            self.y - other.y,
            self.squares_y - other.squares_y,
            self.cross - other.cross,
        )


def rough_means(
    X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Means of a block, which are subtracted from all blocks.

    Sums of squares and products about zero would lose digits if means are large.
    """
    share = np.full(len(X), 1.0 / len(X))
    if weight is not None and weight.any():
        share = weight / weight.sum()
    # in the dtypes of the data, since a product of two dtypes would copy the block
    return share.astype(X.dtype) @ X, share.astype(Y.dtype) @ Y


def first_sums(
    X: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray | None,
    masks: np.ndarray | None,
    center_x: np.ndarray,
    center_y: np.ndarray,
    with_gram: bool,
) -> list[np.ndarray]:
    """The sums of RowSums, and of XᵀX if requested, one per set of rows.

    Shapes: ``masks`` (m, n_sets). ``masks``: None for one set of all rows.
    """
    Y = Y.astype(X.dtype)
    if masks is None:
        x, squares_x = centred(X, center_x, weight)
        return [part[None] for part in _sums(X, Y, weight, center_y, x, squares_x, with_gram)]
    X -= center_x.astype(X.dtype, copy=False)
    nothing = np.zeros(1, dtype=X.dtype)
    found = []
    for rows in _sets(masks):
        own = None if weight is None else weight[rows]
        part = X[rows]
        sums = centred(part, nothing, own)
        found.append(_sums(part, Y[rows], own, center_y, *sums, with_gram))
    return [np.stack(parts) for parts in zip(*found, strict=True)]


def _sums(
    X: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray | None,
    center_y: np.ndarray,
    x: np.ndarray,
    squares_x: np.ndarray,
    with_gram: bool,
) -> list[np.ndarray]:
    """The sums of one set, whose rows of X are centred already."""
    y, squares_y = centred(Y, center_y, weight)
    total = float(len(X)) if weight is None else float(weight.sum(dtype=np.float64))
    cross = X.T @ (Y if weight is None else Y * weight[:, None].astype(Y.dtype))
    sums = [np.asarray(total), x, squares_x, y, squares_y, cross]
    if with_gram:
        sums.append(X.T @ _weighted(X, weight))
    return sums


def gram_rows(
    X: np.ndarray,
    weight: np.ndarray | None,
    masks: np.ndarray | None,
    center: np.ndarray,
    columns: np.ndarray,
) -> list[np.ndarray]:
    """Rows of XᵀX for some columns, of shape (n_sets, len(columns), n_features)."""
    X -= center.astype(X.dtype, copy=False)
    if masks is None:
        return [(_weighted(X[:, columns], weight).T @ X)[None]]
    found = []
    for rows in _sets(masks):
        part = X[rows]
        own = None if weight is None else weight[rows]
        found.append(_weighted(part[:, columns], own).T @ part)
    return [np.stack(found)]


def hessian_product(
    X: np.ndarray, weight: np.ndarray | None, center: np.ndarray, other: np.ndarray
) -> list[np.ndarray]:
    """Xᵀ diag(weight) X @ other, with X minus ``center``."""
    X -= center.astype(X.dtype, copy=False)
    return [X.T @ _weighted(X @ other.astype(X.dtype, copy=False), weight)]


def bad_rows(X: np.ndarray, Y: np.ndarray | None) -> np.ndarray:
    """Number of the first column of X that is not finite, −2 for one of Y, −1 if there is none."""
    wrong = ~np.isfinite(X)
    found = np.where(wrong.any(axis=1), wrong.argmax(axis=1), -1)
    if Y is not None:
        found = np.where((found < 0) & ~np.isfinite(Y).all(axis=1), -2, found)
    return found


def _weighted(X: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    return X if weight is None else X * weight[:, None].astype(X.dtype)


def _sets(masks: np.ndarray) -> Sequence[np.ndarray]:
    return [np.flatnonzero(masks[:, j]) for j in range(masks.shape[1])]
