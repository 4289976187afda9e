"""Which exchanges of rows are promising, and the best support that differs in one row or column.

Costs of removing rows and gains of adding others hold the row space fixed. When they show no
improvement, a support that differs in one row may still have a lower objective. For small supports
the objectives of hundreds of them are computed exactly by one batch of eigenproblems.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy.stats import chi2

from thinrank import arrays
from thinrank.arrays import Array, top_positions
from thinrank.core.contracts import QuadraticForm
from thinrank.solvers.row_fit import Fit

# An exchange is not tried if its cost exceeds this number times its gain. A rule of thumb: with the
# row space held fixed the gain underestimates the effect.
MAX_COST_RATIO = 4.0
# More rows than this are many: gains are exact for as many, with lower bounds for the others, and
# of the single exchanges at the end the first that helps is made, since fits take long.
MANY_ROWS = 128
# Largest number of supports in one batch, enough for all sets of 3 out of 12 rows, and of
# multiplications, up to constants: a few milliseconds.
_MAX_SUPPORTS, _MAX_WORK = 256, 500_000


@dataclass(frozen=True, eq=False)
class ExchangeScores:
    """Costs of removing the rows of a fit and gains of adding other rows, with Q held fixed.

    Costs and gains are twice the changes of the objective. Gains are exact for the candidates at
    the positions ``exact`` and lower bounds for the others.
    """

    costs: Array  # (|S|,) cost of removing each row of S
    candidates: Array  # (m1 − |S|,) the rows outside S, sorted
    gains: Array  # (m1 − |S|,) gain of adding each candidate
    exact: Array  # (e,) positions in ``candidates`` of the rows with exact gains, sorted
    # (e, r) rows of the gradient of the objective along Q, for the rows with exact gains
    slopes: Array
    curvature: Array  # (e,) H_jj for these rows
    left_over: Array  # (e,) the part of H_jj that S does not explain
    whitened: Array  # (|S|, e) R H_Sj for these rows

    def of_pairs(self, fit: Fit) -> Array:
        """Twice the decrease of the objective if row j replaces row i of S, with Q held fixed.

        With B = H_SS⁻¹ and aᵢⱼ = (B H_Sj)ᵢ, removing row i changes the gradient of row j to
        gⱼ − aᵢⱼUᵢ/Bᵢᵢ and increases the part of H_jj that S does not explain by aᵢⱼ²/Bᵢᵢ. The
        squared norm of the former divided by the latter is the gain of j after i was removed. For
        strongly correlated predictors it differs much from the gain of j before.

        Shapes: result (|S|, e).
        """
        a = fit.root.T @ self.whitened
        step = a / fit.inverse_diagonal[:, None]
        squares = step * (step * fit.row_squares[:, None] - 2 * (fit.U @ self.slopes.T))
        squares += arrays.row_norms_squared(self.slopes)
        left_over = self.left_over + a * step
        clear = left_over > 1e3 * arrays.eps(left_over) * self.curvature
        return arrays.divide_or_zero(squares, left_over, clear) - fit.costs[:, None]


def exchange_scores(form: QuadraticForm, fit: Fit, free: int) -> ExchangeScores:
    """Costs of removing the rows of S and gains of adding others, with Q held fixed.

    Removing row i increases the objective by ½‖Uᵢ‖²/(H_SS⁻¹)ᵢᵢ. Adding row j decreases it by
    ½‖gⱼ‖²/(H_jj − H_jS H_SS⁻¹ H_Sj), where g is the gradient. The denominator is at most H_jj,
    which gives lower bounds; the largest gains are computed exactly. All are doubled.
    """
    gradient = form.gradient(fit.rows, fit.U, fit.Q)
    slopes, curvature, costs = arrays.row_norms_squared(gradient), form.diagonal(), fit.costs
    candidates = outside(fit.rows, form.shape[0])
    gains = arrays.take_rows(arrays.divide_or_zero(slopes, curvature), candidates)
    count = min(candidates.shape[0], MANY_ROWS)
    if candidates.shape[0] > count:
        if promising(costs, gains, free, 0.0) > count:
            # by the lower bounds alone more than ``count`` exchanges help: they are sufficient
            count = 0
        exact = arrays.namespace(gains).sort(descending(gains, count), stable=False)
    else:
        exact = arrays.indices(range(count), gains)
    rows = arrays.take_rows(candidates, exact)
    own, steep = arrays.take_rows(curvature, rows), arrays.take_rows(gradient, rows)
    if count == 0:
        nothing = arrays.zeros((fit.rows.shape[0], 0), like=gradient)
        return ExchangeScores(costs, candidates, gains, exact, steep, own, own, nothing)
    whitened = fit.root @ form.gram_between(fit.rows, rows)
    left_over = own - arrays.column_norms_squared(whitened)
    # a column that S explains up to rounding would only make the fit unstable
    clear = left_over > 1e3 * arrays.eps(own) * own
    best = arrays.divide_or_zero(arrays.take_rows(slopes, rows), left_over, clear)
    gains = arrays.put_rows(gains, exact, best)
    return ExchangeScores(costs, candidates, gains, exact, steep, own, left_over, whitened)


def exchanged(rows: Array, leaving: int, new: Array, entering: int) -> Array:
    """Sorted rows with one at a position replaced by one of new rows."""
    xp, new = arrays.namespace(rows), new[entering : entering + 1]
    return xp.sort(xp.concat([rows[:leaving], rows[leaving + 1 :], new]), stable=False)


@functools.lru_cache(maxsize=256)
def largest_noise(count: int, degrees: int) -> float:
    """Typical size of the largest of ``count`` χ² variables."""
    return float(chi2.isf(1 / max(count, 2), max(degrees, 1)))


def promising(costs: Array, gains: Array, free: int, margin: float) -> int:
    """The number of exchanges whose gain exceeds their cost: largest gains for smallest costs.

    ``free`` rows may be added without removing others. Costs and gains are twice the changes of
    the objective, hence twice the margin.
    """
    xp = arrays.namespace(costs)
    free = min(free, gains.shape[0])
    costs = xp.sort(costs, stable=False)
    gains = arrays.take_rows(gains, descending(gains, free + costs.shape[0]))
    if free:
        entering = int(xp.count_nonzero(gains[:free] > 0))
        if entering < free:
            return entering
    pairs = min(costs.shape[0], gains.shape[0] - free)
    return free + int(xp.count_nonzero(gains[free : free + pairs] > costs[:pairs] + 2 * margin))


def outside(rows: Array, size: int) -> Array:
    """The numbers below ``size`` that are not among sorted ``rows``, sorted."""
    inside = arrays.scatter_rows(arrays.namespace(rows).ones_like(rows), rows, size)
    return arrays.true_positions(inside == 0)


def ascending(values: Array) -> Array:
    """Positions in ascending order of values; values are compared to half of their digits."""
    return arrays.namespace(values).argsort(arrays.half_the_digits(values))


def descending(values: Array, count: int) -> Array:
    """Positions of the first ``count`` of non-negative values in descending order, without zeros.

    Values are compared to half of their digits; of equal ones the first position comes first.
    """
    best = top_positions(values, count)
    return arrays.take_rows(best, ascending(-arrays.take_rows(values, best)))


@dataclass(frozen=True, eq=False)
class Neighbour:
    """Another support."""

    rows: Array  # the support, sorted
    columns: Array
    exchanged: int  # number of rows that are not in the current support


def next_rows(
    form: QuadraticForm, fit: Fit, scores: ExchangeScores, rank: int, columns: int, margin: float
) -> Neighbour | None:
    """The best set of the same number of rows, among all sets or all exchanges of one row.

    All sets are tried if there are few of them, otherwise all exchanges of one row. If these are
    too many, the ones with the largest decrease of the objective with Q held fixed are tried. If
    supports are so large that one evaluation takes milliseconds, none is evaluated, and the best
    exchange is returned if it decreases the objective by more than the margin with Q held fixed.
    """
    size = fit.rows.shape[0]
    most = min(_MAX_SUPPORTS, _MAX_WORK // (size**2 * (size + form.shape[1])))
    if most and math.comb(form.shape[0], size) <= most:
        everything = arrays.indices(range(form.shape[0]), form.prototype)
        supports = np.array(list(combinations(range(form.shape[0]), size)))
        return _best(form, fit, everything, supports, rank, columns, margin)
    if scores.exact.shape[0] == 0:
        return None
    changes = scores.of_pairs(fit)
    nets = arrays.to_numpy(arrays.half_the_digits(changes))
    if most == 0 and not nets.max() > 2 * margin:
        return None
    candidates = arrays.take_rows(scores.candidates, scores.exact)
    if most == 0:
        i, j = np.unravel_index(np.argmax(nets), nets.shape)
        return Neighbour(exchanged(fit.rows, int(i), candidates, int(j)), fit.columns, 1)
    pairs = np.array(list(product(range(size), range(size, size + nets.shape[1]))))
    if len(pairs) > most:
        costs = arrays.to_numpy(scores.costs)[:, None]
        allowed = np.ravel(MAX_COST_RATIO * (nets + costs) >= costs)
        order = np.argsort(np.where(allowed, -np.ravel(nets), np.inf), kind="stable")
        pairs = pairs[order[: min(most, int(allowed.sum()))]]
    if len(pairs) == 0:
        return None
    supports = np.tile(np.arange(size), (len(pairs), 1))
    supports[np.arange(len(pairs)), pairs[:, 0]] = pairs[:, 1]
    rows = arrays.namespace(fit.rows).concat([fit.rows, candidates])
    return _best(form, fit, rows, supports, rank, columns, margin)


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
    return Neighbour(fit.rows, top_positions(weights[best, :], columns), 0)


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
        top_positions(weights[best, :], columns),
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
    for _ in range(8):
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
