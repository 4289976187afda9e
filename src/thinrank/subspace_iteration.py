"""Leading eigenvectors of a symmetric matrix by products with a block, in double precision.

The small matrices are factorised on the host. On an accelerator the products take much less time
than an eigenproblem there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thinrank import arrays, small_matrices
from thinrank.arrays import Array
from thinrank.linalg import OVERSAMPLING, random_block

# Number of products before a check of convergence, after which most guesses have converged.
_PRODUCTS = 3
# Largest number of checks of convergence.
_MAX_CHECKS = 20


class Check(NamedTuple):
    """A block B after some products with a symmetric matrix A.

    Attributes
    ----------
    block, image : array
        B and AB.
    products : array
        Inner products of the columns of [B, AB].
    """

    block: Array
    image: Array
    products: Array


def wider(guess: Array, rank: int) -> Array:
    """A guess with random columns, as many as an iteration for ``rank`` vectors needs."""
    missing = max(rank + OVERSAMPLING - guess.shape[1], 0)
    extra = random_block(guess.shape[0], missing, guess, seed=0)
    return arrays.namespace(guess).concat([guess, extra], axis=1)


def to_check(symmetric: Array, block: Array, products: int = _PRODUCTS) -> Check:
    """Multiply a block by a matrix several times, up to the next check of convergence."""
    for _ in range(products):
        block = symmetric @ block
    image = symmetric @ block
    return Check(block, image, small_matrices.inner_products(block, image))


def by_subspace_iteration(
    symmetric: Array,
    rank: int,
    block: Array,
    tolerance: float,
    *,
    improved: bool = False,
    first: Check | None = None,
) -> tuple[np.ndarray, Array] | None:
    """The largest eigenvalues, on the host, and eigenvectors of a matrix, from a block.

    A check takes one transfer to the host, which takes longer than some products. But products
    make the columns of a random block dependent if there is a large gap between the eigenvalues;
    then the iteration begins again with one product before every check.

    Parameters
    ----------
    symmetric : array of shape (m, m)
        A positive semi-definite matrix in double precision.
    rank : int
        Number of vectors that are computed accurately.
    block : array of shape (m, width)
        A guess of the vectors with some further columns; see :func:`wider`.
    tolerance : float
        Relative error of the sum of the leading eigenvalues.
    improved : bool, default=False
        Whether the vectors are a basis after one more product, which costs nothing. The matrix is
        then not diagonal in this basis, but nearly so.
    first : Check or None, default=None
        The first check, if it was made already.

    Returns
    -------
    (ndarray of shape (width,), array of shape (m, q)) or None
        Approximate eigenvalues, decreasing, and orthonormal vectors. None if the columns of the
        block become dependent.
    """
    for number in (_PRODUCTS, 1):
        check = to_check(symmetric, block, number) if first is None else first
        first = None
        captured = 0.0
        for checks_left in reversed(range(_MAX_CHECKS)):
            found = small_matrices.ritz(check.products, rank if improved else 0)
            if found is None:
                break
            settled = _has_converged(found, rank, captured, tolerance)
            captured = float(np.sum(found.values[:rank]))
            if settled or not checks_left:
                vectors = _vectors(check, found, rank, improved, tolerance)
                if vectors is not None:
                    return found.values, vectors
            turn = arrays.from_numpy(found.turn, symmetric)
            check = to_check(symmetric, check.image @ turn, number)
    return None


def _vectors(
    check: Check, found: small_matrices.Ritz, count: int, improved: bool, tolerance: float
) -> Array | None:
    """The vectors of a check; None if they are not orthonormal up to rounding."""
    if improved:
        better = found.better
        return None if better is None else check.image @ arrays.from_numpy(better, check.image)
    if not np.max(found.rounding[:count]) < max(small_matrices.ORTHONORMAL, tolerance):
        return None
    return check.block @ arrays.from_numpy(found.turn[:, :count], check.block)


def _has_converged(
    found: small_matrices.Ritz, rank: int, previous: float, tolerance: float
) -> bool:
    """Whether the leading vectors capture as much as eigenvectors, up to a relative tolerance.

    ``previous`` is what they captured at the last check.
    """
    values = found.values
    captured, gap = np.sum(values[:rank]), values[rank - 1] - values[-1]
    missed = np.sum(found.residuals[:rank]) / gap if gap > 0 else captured
    return bool(min(missed, captured - previous) <= tolerance * captured)
