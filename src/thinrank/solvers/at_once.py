"""A fit on given rows and all columns, on an accelerator, with one wait for the device.

Step by step the host waits for the pivots of a Cholesky factor, for the size of rounding errors and
for inner products, and has nothing to do meanwhile. Here everything is computed as if all of these
were as usual, and copied to the host together; they are looked at afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from thinrank import arrays, entrywise, small_matrices
from thinrank.arrays import Array
from thinrank.core.contracts import QuadraticForm
from thinrank.leading_vectors import FULL_SVD_SIZE, MAX_GRAM
from thinrank.subspace_iteration import by_subspace_iteration, to_check, wider


class AtOnce(NamedTuple):
    """A fit of all columns on given rows.

    Attributes
    ----------
    root, whitened, U, Q : arrays
    objective : float
        Of :class:`thinrank.solvers.fits.Fit`.
    explained : array of shape (m2,)
        Twice the decrease of the objective by each column, compared with the zero matrix, in double
        precision.
    """

    root: Array
    whitened: Array
    U: Array
    Q: Array
    objective: float
    explained: Array


def fitted_at_once(form: QuadraticForm, rows: Array, rank: int, guess: Array) -> AtOnce | None:
    """Reduced-rank regression from a guess of the row space.

    Parameters
    ----------
    form : QuadraticForm
        The form.
    rows : array of int
        The rows, sorted.
    rank : int
        The rank.
    guess : array of shape (m2, q)
        A block whose columns are close to the row space.

    Returns
    -------
    AtOnce or None
        None for data on the host or in double precision, if there are not more rows than columns,
        and if anything is not as usual: a singular H_SS, a column without covariances, or a lower
        rank than requested.
    """
    if not _applies(form, rows, rank, guess):
        return None
    xp = arrays.namespace(guess)
    gram, cross = form.gram(rows), form.cross_rows(rows)
    factor = small_matrices.lower_factor(gram)
    root = small_matrices.inverse_of_lower(factor)
    whitened = root @ cross
    double = xp.astype(whitened, xp.float64)
    products = double.T @ double
    block = xp.astype(wider(guess, rank), xp.float64)
    first = to_check(products, block)
    sides = xp.stack([xp.linalg.diagonal(gram), xp.linalg.diagonal(factor)])
    largest = xp.stack([entrywise.largest(root), entrywise.largest(cross)])
    inner, columns, (diagonal, pivots), bounds = together(
        first.products, xp.linalg.diagonal(products), sides, largest
    )
    # NaN, which a factor that does not exist has, fails the comparison
    regular = pivots.min() > small_matrices.least_pivot(gram, float(diagonal.mean()))
    if not (regular and columns.min() > 0):
        return None
    eps, first = arrays.eps(gram), first._replace(products=inner)
    found = by_subspace_iteration(products, rank, block, 0.1 * eps, improved=True, first=first)
    if found is None:
        return None
    squares = found[0][:rank]
    floor = rows.shape[0] * eps * max(float(np.prod(bounds)), float(squares[0]) ** 0.5)
    if not squares[-1] > floor**2:  # it may be a rounding error
        return None
    explained = xp.sum(found[1] * (products @ found[1]), axis=1)
    Q = xp.astype(found[1], whitened.dtype)
    objective = 0.5 * (form.constant - float(np.sum(squares)))
    return AtOnce(root, whitened, root.T @ (whitened @ Q), Q, objective, explained)


def _applies(form: QuadraticForm, rows: Array, rank: int, guess: Array) -> bool:
    count, width = rows.shape[0], form.shape[1]
    few = max(FULL_SVD_SIZE, 2 * rank) < width <= MAX_GRAM
    tall = width < count <= form.samples
    return few and tall and not arrays.on_host(guess) and small_matrices.is_single_elsewhere(guess)


def together(*blocks: Array) -> Sequence[np.ndarray]:
    """Arrays copied to the host at once, in double precision; those of NumPy as they are."""
    if type(blocks[0]) is np.ndarray:
        return blocks
    xp = arrays.namespace(*blocks)
    flat = [xp.astype(xp.reshape(block, (-1,)), xp.float64, copy=False) for block in blocks]
    numbers = arrays.to_numpy(xp.concat(flat))
    places = np.cumsum([block.shape[0] for block in flat])[:-1]
    parts = np.split(numbers, places)
    return [part.reshape(block.shape) for part, block in zip(parts, blocks, strict=True)]
