"""Forward selection: rows are added a few at a time, each given the rows already selected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from thinrank import arrays, linalg
from thinrank.arrays import Array, top_positions
from thinrank.core.contracts import QuadraticForm, require
from thinrank.core.factors import Factors
from thinrank.solvers.pursuit import Pursuit, descending, exchange_scores
from thinrank.solvers.row_fit import Fit, fit_rows


@dataclass(frozen=True)
class Forward:
    """Add rows to an empty set, with an exact fit after every addition.

    A row is assessed by the decrease of the objective if it is added and the coefficients of the
    selected rows are fitted again. So a predictor has no advantage from a correlation with a
    selected one, which makes this a start for strongly correlated predictors. It needs the rows of
    XᵀX and XᵀY for the selected predictors and one product with Xᵀ per addition, and never forms
    an array of shape (n_features, n_features) or (n_features, n_targets).

    While there are fewer rows than the rank, a row is assessed with all responses, or with a random
    sketch of them if there are many; after that along the row space of the fit. Rows that are added
    together are selected one by one, and the gains of the others are updated in between, so that
    predictors that are almost equal are not added together.

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
        squares = arrays.divide_or_zero(form.cross_norms()[0], form.diagonal())
        taken = top_positions(squares, 1)
        if taken.shape[0] == 0:
            return Factors.zero(loss.shape, like=loss.prototype)
        fit = fit_rows(form, taken, everything, sketch, 1, columns)
        while taken.shape[0] < rows:
            count = min(max(taken.shape[0] // 4, 1), rows - taken.shape[0])
            new = _best_rows(form, fit, count, sketch if taken.shape[0] < rank else fit.Q)
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
        if fit.U.shape[1] == 0:
            return Factors.zero(loss.shape, like=loss.prototype)
        return fit.factors.balanced()


def _sketch(form: QuadraticForm, rank: int, seed: int) -> Array:
    """Random directions that preserve squared norms on average; the identity if there are few."""
    width = rank + 24  # the relative error of row norms is about a quarter, enough for a short list
    if form.shape[1] <= width:
        return arrays.identity(form.shape[1], like=form.prototype)
    return linalg.random_block(form.shape[1], width, form.prototype, seed) / width**0.5


def _best_rows(form: QuadraticForm, fit: Fit, count: int, along: Array) -> Array:
    """At most ``count`` rows outside a fit, each the best after those before it were added.

    ``along``: the responses, or combinations of them, with which rows are assessed.
    """
    scores = exchange_scores(form, replace(fit, U=fit.U @ (fit.Q.T @ along), Q=along), 0)
    if scores.exact.shape[0] == 0:  # lower bounds are sufficient
        return arrays.take_rows(scores.candidates, descending(scores.gains, count))
    exact = arrays.take_rows(scores.gains, scores.exact)
    listed = top_positions(exact, max(64, 2 * count))
    rows = arrays.take_rows(scores.candidates, arrays.take_rows(scores.exact, listed))
    slopes = arrays.take_rows(scores.slopes, listed)
    curvature = arrays.take_rows(scores.curvature, listed)
    whitened = arrays.take_columns(scores.whitened, listed)
    kernel = form.gram(rows) - whitened.T @ whitened
    xp = arrays.namespace(slopes)
    picked: list[int] = []
    for _ in range(min(count, rows.shape[0])):
        left_over = xp.linalg.diagonal(kernel)
        # what the rows explain up to rounding would only make the fit unstable
        clear = left_over > 1e3 * arrays.eps(curvature) * curvature
        gains = arrays.divide_or_zero(arrays.row_norms_squared(slopes), left_over, clear)
        j = int(xp.argmax(gains))
        if not gains[j] > 0:
            break
        picked.append(j)
        share = kernel[:, j] / kernel[j, j]
        slopes = slopes - share[:, None] * slopes[j, :]
        kernel = kernel - share[:, None] * kernel[j, :]
    return arrays.take_rows(rows, arrays.indices(sorted(picked), form.prototype))
