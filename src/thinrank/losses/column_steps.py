"""Coefficients of every response for given scores, and how much each decreases the loss."""

from __future__ import annotations

from typing import Any

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.factors import Factors

# Largest number of products of columns that are held in memory at a time.
_MAX_PRODUCTS = 4_000_000


def column_steps(loss: Any, factors: Factors) -> tuple[Array, Array]:
    """Newton steps from zero of the responses that Θ does not predict, for the scores XU.

    An approximation with the mean curvature of a response knows nothing of which entries are
    missing, so that it finds a response much worse than it is before that is fitted. Here every
    entry has its own curvature. For squared errors the steps are exact.

    Shapes: ``V`` (n_targets, r), ``gains`` (n_targets,).
    """
    xp = arrays.namespace(factors.V)
    point, null, n = loss.at(factors), loss.null, loss.samples
    inside = arrays.row_norms_squared(factors.V) > 0
    outside = arrays.true_positions(~inside)
    unit = arrays.take_rows(loss.unit, outside)
    derivative, curvature = (
        arrays.take_columns(block, outside) / n for block in (null.derivative, null.curvature)
    )
    design = point.scores
    if loss.free is not None:
        design = xp.concat([design, loss.free], axis=1)
    rank, width, count = point.scores.shape[1], design.shape[1], outside.shape[0]
    hessian = xp.reshape(_weighted_products(design, curvature), (count, width, width))
    # the ridge shrinks V, the steps are those of V·unit and of the free coefficients
    padding = arrays.zeros((factors.U.shape[0], width - rank), like=design)
    padded = xp.concat([factors.U, padding], axis=1)
    overlap = loss.ridge * (padded.T @ padded)
    hessian = hessian + overlap / (unit**2)[:, None, None]
    trace = xp.sum(hessian * arrays.identity(width, like=design), axis=(1, 2)) / width
    # keeps the matrices regular if the entries of a response are too few
    floor = 1e3 * arrays.eps(design) * trace + 1e-300
    hessian = hessian + floor[:, None, None] * arrays.identity(width, like=design)
    slope = derivative.T @ design
    step = -xp.linalg.solve(hessian, slope[:, :, None])[:, :, 0]
    expected = -0.5 * xp.sum(slope * step, axis=1)
    V = arrays.put_rows(factors.V + 0.0, outside, step[:, :rank] / unit[:, None])
    penalty = 0.5 * xp.sum((factors.V @ overlap[:rank, :rank]) * factors.V, axis=1)
    gains = null.values - point.values - penalty
    return V, arrays.put_rows(gains, outside, expected)


def _weighted_products(design: Array, weight: Array) -> Array:
    """Σᵢ wᵢⱼ·dᵢdᵢᵀ for every response j, of shape (n_targets, width²), in blocks of rows."""
    n, width = design.shape
    size = max(_MAX_PRODUCTS // width**2, 1)
    total = arrays.zeros((weight.shape[1], width**2), like=design)
    xp = arrays.namespace(design)
    for first in range(0, n, size):
        last = min(first + size, n)
        some = design[first:last, :]
        products = xp.reshape(some[:, :, None] * some[:, None, :], (some.shape[0], width**2))
        total = total + weight[first:last, :].T @ products
    return total
