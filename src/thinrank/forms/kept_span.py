"""Xᵀ times a basis of residuals, from which it is known for the residuals of similar fits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core import memory
from thinrank.core.contracts import Design
from thinrank.core.threads import in_threads, threads_in_use
from thinrank.designs.blockwise import slices
from thinrank.designs.column_parts import is_dense
from thinrank.designs.narrow_products import MOST_COLUMNS, TILE_PRODUCTS

# The products with all vectors of the basis take at most this part of the memory of X, and of the
# memory budget.
_PART_OF_X = 8
# A product with a smaller X takes a few milliseconds.
_WORTH_KEEPING = 1 << 22


class KeptSpan:
    """Xᵀ times a basis, which grows when a product with a vector outside its span is asked for.

    The residuals of a fit along any row space are combinations of those of the responses in use,
    whatever the units of the responses. If a fit exchanges a row, the residuals of all responses
    change along two vectors only. So the products that successive fits need are mostly known.

    Parameters
    ----------
    X : Design of shape (n_samples, n_features)
        The predictors.
    """

    def __init__(self, X: Design) -> None:
        self._X = X
        n, p = X.shape
        worth = type(X.prototype) is np.ndarray and is_dense(X) and n * p >= _WORTH_KEEPING
        entries = min(n * p, memory.budget_bytes() // X.prototype.itemsize) if worth else 0
        self._room = int(entries // (_PART_OF_X * max(p, 1)))
        self._basis = arrays.zeros((n, 0), X.prototype)
        self._kept: list[tuple[Array, Array]] = []  # some vectors of the basis, and Xᵀ times them

    @property
    def most(self) -> int:
        """Most vectors that :meth:`product` multiplies at a time; 0 if it is not worth to keep any.

        A product of X with so few takes little longer than with one, since it waits for X to be
        read from memory.
        """
        return min(MOST_COLUMNS, self._room)

    def product(self, block: Array, vectors: Array) -> Array:
        """Xᵀ @ block, from products that are kept if the block is a combination of vectors.

        Parameters
        ----------
        block : array of shape (n_samples, r)
            What Xᵀ is multiplied by.
        vectors : array of shape (n_samples, few)
            At most ``most`` vectors, of which later blocks are likely to be combinations, too.

        Returns
        -------
        array of shape (n_features, r)
            A new array.
        """
        vectors = vectors * arrays.divide_or_zero(1.0, arrays.column_norms_squared(vectors) ** 0.5)
        wanted = _spanning(vectors)
        outside = arrays.norm(_outside(block, wanted))
        if wanted.shape[1] == 0 or outside > _tolerance(block) * arrays.norm(block):
            return self._X.transposed_product(block)
        self._hold(wanted)
        return _sum_of_products([(block.T @ few, known.T) for few, known in self._kept]).T

    def _hold(self, wanted: Array) -> None:
        """Extend the basis to span vectors, or replace it by them if it would become too large."""
        new = wanted
        for _ in range(2):  # small directions get rounding errors of large ones at first
            new = _spanning(_outside(new, self._basis))
        if self._basis.shape[1] + new.shape[1] > self._room:
            new, self._basis, self._kept = wanted, self._basis[:, :0], []
        if new.shape[1]:
            product = self._X.transposed_product(new)
            basis = np.concatenate([self._basis, new], axis=1)
            # last, if it is interrupted
            self._basis, self._kept = basis, [*self._kept, (new, product)]


def _sum_of_products(pairs: list[tuple[Array, Array]]) -> np.ndarray:
    """The sum of left·right for pairs of small and wide matrices.

    It is computed by threads of Python in parts so small that the linear algebra library starts no
    threads: these would wait for its next product, and keep cores busy.
    """
    height, length = pairs[0][0].shape[0], pairs[0][1].shape[1]
    out = np.empty((height, length), pairs[0][1].dtype)
    width = max(1, TILE_PRODUCTS // sum(left.size for left, _ in pairs))

    def work(some: Sequence[slice]) -> None:
        for part in some:
            out[:, part] = sum(left @ right[:, part] for left, right in pairs)

    in_threads(work, list(slices(length, width)), threads_in_use())
    return out


def _outside(vectors: Array, basis: Array) -> Array:
    """What vectors have outside the span of an orthonormal basis."""
    for _ in range(2):  # the second time removes rounding errors of the first
        vectors = vectors - basis @ (basis.T @ vectors)
    return vectors


def _spanning(vectors: Array) -> Array:
    """An orthonormal basis of the span of vectors of norm 1 at most, up to rounding errors."""
    if vectors.shape[1] == 0:
        return vectors
    left, values, _ = linalg.svd(vectors)
    return left[:, : np.count_nonzero(values > _tolerance(vectors))]


def _tolerance(vectors: Array) -> float:
    """Size of rounding errors of vectors of norm 1, which are differences of larger ones."""
    return arrays.eps(vectors) ** 0.75
