"""Forward selection: rows are added a few at a time, each given the rows already selected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thinrank import arrays, linalg
from thinrank.arrays import Array, top_positions
from thinrank.core.contracts import QuadraticForm, require
from thinrank.core.factors import Factors
from thinrank.designs.dense import slices
from thinrank.solvers.pursuit import Pursuit
from thinrank.solvers.row_fit import Fit, fit_rows


@dataclass(frozen=True)
class Forward:
    """Add rows to an empty set, with an exact fit after every addition.

    A row is assessed by the decrease of the objective if it is added and the coefficients of the
    selected rows are fitted again. So a predictor has no advantage from a correlation with a
    selected one, which makes this a start for strongly correlated predictors. It needs the rows of
    XᵀX and XᵀY for the selected predictors and one product with Xᵀ per addition, and never forms
    an array of shape (n_features, n_features) or (n_features, n_targets).

    While there are fewer rows than the rank, a row is assessed with all responses (first with a
    random sketch of the gradient, then exactly on a short list); after that along the row space of
    the fit. Rows that are added together are selected one by one, and the gains of the others are
    updated in between, so that predictors that are almost equal are not added together.

    Parameters
    ----------
    exchanges : int, default=3
        Largest number of iterations of pursuit after each addition, except for the last one, from
        which the solver continues.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(100, rank=3, correlation=0.8, random_state=0)
    >>> start = tr.starts.Forward()(tr.losses.LeastSquares(X, Y), 3, 10, 10, 0)
    >>> len(set(start.row_support) & set(truth.row_support))
    10
    """

    exchanges: int = 3

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Balanced factors with ``rows`` non-zero rows and ``columns`` non-zero columns.

        The number of rows is smaller if no further row decreases the objective.
        """
        require(loss, "quadratic", 'start="forward"')
        form = loss.quadratic()
        sketch = _sketch(form, rank, seed)
        everything = arrays.indices(range(form.shape[1]), form.prototype)
        xp = arrays.namespace(form.prototype)
        fit: Fit | None = None
        taken = arrays.indices((), form.prototype)
        while taken.shape[0] < rows:
            size = taken.shape[0]
            count = min(max(size // 4, 1), rows - size)
            new = _best_rows(form, fit, count, sketch if size < rank else None)
            if new.shape[0] == 0:
                break
            taken = xp.sort(xp.concat([taken, new]), stable=False)
            size = taken.shape[0]
            fit = fit_rows(form, taken, everything, sketch, min(rank, size), columns)
            solver = Pursuit(thorough=False).sized(min(rank, size), size, columns)
            for _ in range(self.exchanges if size < rows and fit.U.shape[1] > 0 else 0):
                fit = solver.step(loss, fit)
                if fit.final:
                    break
            taken = fit.rows
        if fit is None or fit.U.shape[1] == 0:
            return Factors.zero(loss.shape, like=loss.prototype)
        return fit.factors.balanced()


def _sketch(form: QuadraticForm, rank: int, seed: int) -> Array:
    """Random directions that preserve squared norms on average; the identity if there are few."""
    width = rank + 24  # the relative error of row norms is about a quarter, enough for a short list
    if form.shape[1] <= width:
        return arrays.identity(form.shape[1], like=form.prototype)
    return linalg.random_block(form.shape[1], width, form.prototype, seed) / width**0.5


def _best_rows(form: QuadraticForm, fit: Fit | None, count: int, sketch: Array | None) -> Array:
    """The ``count`` rows outside a fit with the largest gains, sorted.

    Shapes: ``sketch`` (m2, q). ``fit``: None for the zero matrix. ``sketch``: None to assess
    them along the row space of the fit.
    """
    xp = arrays.namespace(form.prototype)
    diagonal = form.diagonal()
    if fit is None:
        squares = form.cross_norms()[0]
    else:
        along = fit.Q if sketch is None else sketch
        gradient = form.gradient(fit.rows, fit.U @ (fit.Q.T @ along), along)
        ones = arrays.zeros((fit.rows.shape[0],), like=gradient) + 1
        inside = arrays.scatter_rows(ones, fit.rows, form.shape[0])
        squares = xp.where(inside > 0, 0.0, arrays.row_norms_squared(gradient))
    # lower bounds of the gains: as if the selected rows explained nothing of the others
    bounds = arrays.divide_or_zero(squares, diagonal)
    # a candidate would be the best if hardly any of its variance were unexplained
    candidates = arrays.true_positions(bounds > float(xp.max(bounds)) / 64)
    if candidates.shape[0] == 0:
        return candidates
    left_over = _left_over(form, fit, candidates, arrays.take_rows(diagonal, candidates))
    gains = arrays.divide_or_zero(arrays.take_rows(squares, candidates), left_over)
    best = top_positions(gains, max(64, 2 * count))  # a short list
    listed = arrays.take_rows(candidates, best)
    if listed.shape[0] == 0:
        return listed
    kernel = form.gram(listed)
    if fit is None:
        slopes = form.cross_rows(listed)
    else:
        between = form.gram_between(fit.rows, listed)
        whitened = fit.root @ between
        kernel = kernel - whitened.T @ whitened
        if sketch is None:
            slopes = arrays.take_rows(gradient, listed)
        else:
            slopes = (between.T @ fit.U) @ fit.Q.T - form.cross_rows(listed)
    picked = _one_by_one(slopes, kernel, arrays.take_rows(diagonal, listed), count)
    return arrays.take_rows(listed, arrays.indices(sorted(picked), form.prototype))


def _left_over(form: QuadraticForm, fit: Fit | None, rows: Array, diagonal: Array) -> Array:
    """The part of H_jj that the rows of a fit do not explain; 0 if it is a rounding error."""
    if fit is None:
        return diagonal
    xp = arrays.namespace(diagonal)
    explained = []
    for some in slices(rows.shape[0], 1024):
        between = form.gram_between(fit.rows, rows[some])
        explained.append(arrays.column_norms_squared(fit.root @ between))
    return _clear(diagonal - xp.concat(explained), diagonal)


def _clear(left_over: Array, diagonal: Array) -> Array:
    """The differences, with zero for those that are rounding errors."""
    xp = arrays.namespace(left_over)
    return xp.where(left_over > 1e3 * arrays.eps(diagonal) * diagonal, left_over, 0.0)


def _one_by_one(slopes: Array, kernel: Array, diagonal: Array, count: int) -> list[int]:
    """Positions of ``count`` rows, each the best after those before it were added.

    Shapes: ``slopes`` (m, q), ``kernel`` (m, m), ``diagonal`` (m,).
    """
    xp = arrays.namespace(slopes)
    picked: list[int] = []
    for _ in range(count):
        left_over = _clear(xp.linalg.diagonal(kernel), diagonal)
        gains = arrays.divide_or_zero(arrays.row_norms_squared(slopes), left_over)
        j = int(xp.argmax(gains))
        if not gains[j] > 0:
            break
        picked.append(j)
        share = kernel[:, j] / kernel[j, j]
        slopes = slopes - share[:, None] * slopes[j, :]
        kernel = kernel - share[:, None] * kernel[j, :]
    return picked
