"""Costs of removing the rows of a fit and gains of adding others, with the row space held fixed."""

from __future__ import annotations

from thinrank import arrays
from thinrank.core.contracts import QuadraticForm
from thinrank.solvers.exchanges import descending, outside, promising
from thinrank.solvers.fits import Fit, Prospects

# Number of rows whose gains are computed exactly, with lower bounds for the others. Rule of thumb.
_EXACT_GAINS = 128


def prospects_of(form: QuadraticForm, fit: Fit, free: int) -> Prospects:
    """Costs of removing the rows of S and gains of adding others, with Q held fixed.

    Removing row i increases the objective by ½‖Uᵢ‖²/(H_SS⁻¹)ᵢᵢ. Adding row j decreases it by
    ½‖gⱼ‖²/(H_jj − H_jS H_SS⁻¹ H_Sj), where g is the gradient. The denominator is at most H_jj,
    which gives lower bounds; the largest gains are computed exactly. All are doubled.
    """
    gradient = form.gradient(fit.rows, fit.U, fit.Q)
    slopes, curvature, costs = arrays.row_norms_squared(gradient), form.diagonal(), fit.costs
    candidates = outside(fit.rows, form.shape[0])
    gains = arrays.take_rows(arrays.divide_or_zero(slopes, curvature), candidates)
    count = min(candidates.shape[0], _EXACT_GAINS)
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
        return Prospects(costs, candidates, gains, exact, steep, own, own, nothing)
    whitened = fit.root @ form.gram_between(fit.rows, rows)
    left_over = own - arrays.column_norms_squared(whitened)
    # a column that S explains up to rounding would only make the fit unstable
    clear = left_over > 1e3 * arrays.eps(own) * own
    best = arrays.divide_or_zero(arrays.take_rows(slopes, rows), left_over, clear)
    gains = arrays.put_rows(gains, exact, best)
    return Prospects(costs, candidates, gains, exact, steep, own, left_over, whitened)
