"""Search for a better support among those that differ from the current one in one row or column.

Pursuit chooses exchanges by the gains of single rows with the row space held fixed. When these show
no improvement, a support that differs in one row may still have a lower objective. For small
supports the objectives of hundreds of them are computed exactly by one batch of eigenproblems.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array, top_rows
from thinrank.core.contracts import QuadraticForm
from thinrank.solvers.exchanges import MAX_COST_RATIO, exchanged
from thinrank.solvers.fits import Fit, Prospects

# Largest number of supports in one batch: enough for all sets of 3 out of 12 rows.
_MAX_SUPPORTS = 256
# Largest number of multiplications in one batch, up to constants: a few milliseconds.
_MAX_WORK = 500_000
# Largest number of alternations between columns and directions.
_MAX_ALTERNATIONS = 8


@dataclass(frozen=True, eq=False)
class Neighbour:
    """Another support."""

    rows: Array  # the support, sorted
    columns: Array
    exchanged: int  # number of rows that are not in the current support


def next_rows(
    form: QuadraticForm, fit: Fit, prospects: Prospects, rank: int, columns: int, margin: float
) -> Neighbour | None:
    """The best set of the same number of rows, among all sets or all exchanges of one row.

    All sets are tried if there are few of them, otherwise all exchanges of one row. If these are
    too many, the ones with the largest decrease of the objective with Q held fixed are tried. If
    supports are so large that one evaluation takes milliseconds, none is evaluated, and the best
    exchange is returned if it decreases the objective by more than the margin with Q held fixed.
    """
    size = fit.rows.shape[0]
    most = min(_MAX_SUPPORTS, _MAX_WORK // (size**2 * (size + form.shape[1])))
    if _sets(form.shape[0], size, most) <= most:
        everything = arrays.indices(range(form.shape[0]), form.prototype)
        supports = np.array(list(combinations(range(form.shape[0]), size)))
        return _best(form, fit, everything, supports, rank, columns, margin)
    if prospects.exact.shape[0] == 0:
        return None
    changes = prospects.of_pairs(fit)
    if most == 0 and not _largest_change(changes) > 2 * margin:
        return None
    nets = arrays.to_numpy(arrays.half_the_digits(changes))
    candidates = arrays.take_rows(prospects.candidates, prospects.exact)
    if most == 0:
        i, j = np.unravel_index(np.argmax(nets), nets.shape)
        return Neighbour(exchanged(fit.rows, int(i), candidates, int(j)), fit.columns, 1)
    pairs = np.array(list(product(range(size), range(size, size + nets.shape[1]))))
    if len(pairs) > most:
        costs = arrays.to_numpy(prospects.costs)[:, None]
        allowed = np.ravel(MAX_COST_RATIO * (nets + costs) >= costs)
        order = np.argsort(np.where(allowed, -np.ravel(nets), np.inf), kind="stable")
        pairs = pairs[order[: min(most, int(allowed.sum()))]]
    if len(pairs) == 0:
        return None
    supports = np.tile(np.arange(size), (len(pairs), 1))
    supports[np.arange(len(pairs)), pairs[:, 0]] = pairs[:, 1]
    rows = arrays.namespace(fit.rows).concat([fit.rows, candidates])
    return _best(form, fit, rows, supports, rank, columns, margin)


def _largest_change(changes: Array) -> float:
    """The largest of numbers that are compared to half of their digits."""
    xp = arrays.namespace(changes)
    largest = arrays.to_numpy(xp.reshape(xp.max(changes), (1,)))
    return float(arrays.half_the_digits(largest)[0])


def _sets(total: int, size: int, most: int) -> int:
    """Number of sets of ``size`` out of ``total``, or some number above ``most``."""
    count = 1
    for i in range(min(size, total - size)):
        count = count * (total - i) // (i + 1)
        if count > most:  # the whole number may have thousands of digits
            break
    return count


def next_columns(fit: Fit, rank: int, columns: int) -> Neighbour | None:
    """The best columns after a single exchange of columns, on the rows of a fit.

    None if there are too many exchanges, or if the norms determine the best columns (because there
    is no limit on the rank or on the columns).
    """
    size, total = fit.whitened.shape
    if rank >= size or columns >= total or fit.columns.shape[0] < columns:
        return None
    count = columns * (total - columns)
    if count > min(_MAX_SUPPORTS, _MAX_WORK // (size**2 * (size + total))):
        return None
    inside = arrays.to_numpy(fit.columns)
    outside = np.setdiff1d(np.arange(total), inside)
    masks = np.zeros((count, total))
    masks[:, inside] = 1
    pairs = np.array(list(product(inside, outside)))
    masks[np.arange(count), pairs[:, 0]] = 0
    masks[np.arange(count), pairs[:, 1]] = 1
    started = arrays.from_numpy(masks, fit.whitened)
    values, weights = explained_squares(fit.whitened[None, ...], rank, columns, started)
    best = int(arrays.namespace(values).argmax(arrays.half_the_digits(values)))
    return Neighbour(fit.rows, _largest(weights[best, :], columns), 0)


def _best(
    form: QuadraticForm,
    fit: Fit,
    rows: Array,
    supports: np.ndarray,
    rank: int,
    columns: int,
    margin: float,
) -> Neighbour:
    """The best of some supports, given as positions in ``rows``.

    The columns are searched for twice, starting from all columns and from those of the fit.
    """
    xp = arrays.namespace(fit.whitened)
    size, total = supports.shape[1], form.shape[1]
    index = xp.reshape(arrays.indices(supports.ravel().tolist(), form.prototype), supports.shape)
    whitened = whitened_crosses(form.gram(rows), form.cross_rows(rows), index)
    values, weights = explained_squares(whitened, rank, columns, None)
    if columns < total and rank < size:
        ones = arrays.zeros((fit.columns.shape[0],), like=form.prototype) + 1
        mask = arrays.scatter_rows(ones, fit.columns, total)[None, :]
        others, other_weights = explained_squares(whitened, rank, columns, mask)
        better = others > values
        values = xp.where(better, others, values)
        weights = xp.where(better[:, None], other_weights, weights)
    new = ~np.isin(arrays.to_numpy(rows), arrays.to_numpy(fit.rows))
    exchanged = np.sum(new[supports], axis=1)
    values = arrays.to_numpy(arrays.half_the_digits(values))
    best = int(np.argmax(values - 2 * margin * exchanged))
    return Neighbour(
        xp.sort(arrays.take_rows(rows, index[best, :]), stable=False),
        _largest(weights[best, :], columns),
        int(exchanged[best]),
    )


def whitened_crosses(gram: Array, cross: Array, index: Array) -> Array:
    """H_SS^(−½) C_S, of shape (supports, s, m2), up to rotations, by a pseudo-inverse."""
    xp = arrays.namespace(gram)
    count, size = index.shape
    total, width = cross.shape
    scale = xp.sqrt(arrays.divide_or_zero(1.0, xp.linalg.diagonal(gram)))
    gram = xp.reshape(gram * scale * scale[:, None], (-1,))
    places = xp.reshape(index[:, :, None] * total + index[:, None, :], (-1,))
    blocks = xp.reshape(arrays.take_rows(gram, places), (count, size, size))
    values, vectors = xp.linalg.eigh(blocks)
    clear = values > 1e3 * arrays.eps(gram)
    roots = xp.sqrt(arrays.divide_or_zero(1.0, values, clear))
    parts = arrays.take_rows(cross * scale[:, None], xp.reshape(index, (-1,)))
    parts = xp.reshape(parts, (count, size, width))
    return roots[:, :, None] * (xp.matrix_transpose(vectors) @ parts)


def explained_squares(
    whitened: Array, rank: int, columns: int, mask: Array | None
) -> tuple[Array, Array]:
    """The sum of squares explained by the best directions and columns, found by alternation.

    Shapes: ``whitened`` (supports, s, m2), ``mask`` (supports, m2), ``weights`` (supports, m2).
    ``mask``: None for all columns.
    """
    xp = arrays.namespace(whitened)
    size, total = whitened.shape[1:]
    if rank >= size:
        weights = xp.sum(whitened**2, axis=1)
        return xp.sum(_descending(weights)[:, :columns], axis=1), weights
    last: Array | None = None
    for _ in range(_MAX_ALTERNATIONS):
        part = whitened if mask is None else whitened * mask[:, None, :]
        _, vectors = xp.linalg.eigh(part @ xp.matrix_transpose(part))
        right = xp.matrix_transpose(whitened) @ vectors[:, :, size - rank :]
        weights = xp.sum(right**2, axis=2)
        ordered = _descending(weights)
        values = xp.sum(ordered[:, :columns], axis=1)
        if columns >= total or (last is not None and bool(xp.all(values <= last))):
            break
        last, before = values, mask
        mask = xp.astype(weights >= ordered[:, columns - 1 : columns], whitened.dtype)
        if before is not None and bool(xp.all(mask == before)):  # nothing would change any more
            break
    return values, weights


def _descending(weights: Array) -> Array:
    return arrays.namespace(weights).sort(weights, axis=1, descending=True, stable=False)


def _largest(weights: Array, count: int) -> Array:
    return top_rows(arrays.namespace(weights).sqrt(weights)[:, None], count)
