"""The best coefficients of free predictors, such as the intercept, by Newton's method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array

# Largest number of Newton steps, and of times that a step is halved. Rules of thumb: a start from
# the last point takes one or two steps.
_MAX_STEPS = 50
_MAX_HALVINGS = 30
# Newton's method ends when the expected decrease is below this fraction of the value, or below the
# rounding error if that is smaller: the error of the coefficients is about its square root.
_TOL = 1e-12
# With separable classes the optimum is at infinity, and every step divides the loss, or what is
# left of it, by about e. Newton's method ends if the loss per entry is below the first number (for
# families without units), or if a step leaves more than the second fraction of the expected
# decrease and it is below the third fraction of the loss. The fourth is for categorical responses
# alone; for others, such as Huber's loss, all steps may be slow, and the last ones still change the
# coefficients. Rules of thumb: solvers ask for seven digits of the loss.
_PERFECT = 1e-9
_SLOW = 0.2
_NEGLIGIBLE = 1e-13
_NEGLIGIBLE_OF_CATEGORIES = 1e-10
# Newton's method also ends after this number of steps in a row that decrease the loss by no more
# than rounding errors.
_MAX_IDLE = 3
# A categorical response whose curvatures are all below this is fitted perfectly.
_NO_CURVATURE = 1e-200
# Newton's method has failed if a slope is above this fraction of the sum of the absolute slopes of
# the entries, unless these are all below the second number.
_STUCK = 1e-2
_NO_SLOPE = 1e-6
# Largest change of a linear predictor in the first step, which avoids overflow in exponentials. It
# doubles with every step that reaches it and is accepted, as far from the optimum there is hardly
# any curvature. Responses with units have no exponentials, and no limit.
_MAX_CHANGE = 10.0
# Free coefficients that give linear predictors beyond this, where a probability is below 1e-6, are
# not used again unless the loss is lower there than at the intercepts of the family: where the
# other linear predictors do not balance them, there is no curvature for Newton steps.
_MAX_LINEAR = 15.0


def profiled(
    family: Any,
    y: Array,
    weight: Array | None,
    linear: Array,
    free: Array | None,
    start: Array | None,
    prepared: Any = None,
) -> tuple[Array, Array, Array, Array, Array]:
    """Minimise Σᵢⱼ wᵢⱼ·v(yᵢⱼ, linearᵢⱼ + (Zβ)ᵢⱼ) over β, one problem per response.

    Shapes: ``y``, ``linear`` (n_samples, n_targets), ``free`` (n_samples, n_free), ``start``
    (n_free, n_targets), ``beta`` (n_free, n_targets), ``linear`` (n_samples, n_targets),
    ``derivative``, ``curvature`` (n_samples, n_targets). ``start``: None for the intercepts of
    the family.
    """
    xp = arrays.namespace(y)
    prepared = family.prepared(y) if prepared is None else prepared
    if free is None or free.shape[1] == 0:
        value, derivative, curvature, _ = _entries(family, y, weight, linear, prepared)
        beta = arrays.zeros((0, y.shape[1]), like=y)
        return beta, linear, xp.sum(value, axis=0), derivative, curvature
    blocks = [arrays.indices(block, y) for block in family.blocks(y.shape[1])]
    if start is None:
        beta = _first(family, y, weight, linear, free)
    elif family.quadratic or float(xp.max(xp.abs(free @ start))) < _MAX_LINEAR:
        beta = start
    else:
        beta = _lower(family, y, weight, linear, free, start, blocks, prepared)
    here = linear + free @ beta
    value, derivative, curvature, second = _entries(family, y, weight, here, prepared)
    totals = xp.sum(value, axis=0)
    if family.quadratic:
        return _one_step(free, beta, here, totals, derivative, curvature)
    only_blocks = sum(index.shape[0] for index in blocks) == y.shape[1]
    slack = max(_TOL, 8 * arrays.eps(y))  # rounding errors of the values
    tol = min(_TOL, arrays.eps(y))
    entries = _number_of_entries(y, weight)
    limits = np.where(family.units_of(y.shape[1]), np.inf, _MAX_CHANGE)
    radius, last = arrays.from_numpy(limits, y), float("inf")
    least, idle = float("inf"), 0
    negligible = _NEGLIGIBLE_OF_CATEGORIES if only_blocks else _NEGLIGIBLE
    for _ in range(_MAX_STEPS):
        slope = free.T @ derivative
        with arrays.without_overflow_warnings():
            step = slope * 0 if only_blocks else _newton(free, slope, second)
        for index in blocks:
            own = _block_newton(
                free, arrays.take_columns(slope, index), arrays.take_columns(second, index)
            )
            step = arrays.put_rows(step.T, index, own.T).T
        # a response that is fitted perfectly has no curvature left
        step = xp.where(xp.isfinite(step), step, arrays.zeros((1,), y))
        expected = float(xp.sum(slope * step))  # twice the decrease
        total = float(xp.sum(totals))
        if not expected > tol * max(total, arrays.eps(y)) or is_perfect(family, total, entries):
            break
        if expected > _SLOW * last and expected <= negligible * total:
            break
        idle = 0 if total < least - 8 * arrays.eps(y) * total else idle + 1
        least = min(least, total)
        if idle >= _MAX_IDLE:
            break
        last = expected
        change = free @ step
        # the columns of a categorical response have one size, or there need not be a decrease
        largest = _of_responses(xp.max(xp.abs(change), axis=0), blocks, xp.max)
        first = xp.where(largest > radius, arrays.divide_or_zero(radius, largest), totals * 0 + 1)
        size = first
        before = _of_responses(totals, blocks, xp.sum)
        for _ in range(_MAX_HALVINGS):
            trial = here - change * size
            new_value, *new = _entries(family, y, weight, trial, prepared)
            new_totals = xp.sum(new_value, axis=0)
            after = _of_responses(new_totals, blocks, xp.sum)
            worse = ~(after <= before + slack * xp.abs(before))
            if not bool(xp.any(worse)):
                break
            size = xp.where(worse, 0.5 * size, size)
        else:
            break
        radius = xp.where(size < first, 0.5 * radius, xp.where(first < 1, 2 * radius, radius))
        beta = beta - step * size
        here, totals = trial, new_totals
        derivative, curvature, second = new
    if start is not None and _is_stuck(free, derivative, weight):
        again = profiled(family, y, weight, linear, free, None, prepared)
        if float(xp.sum(again[2])) < float(xp.sum(totals)):
            return again
    return beta, here, totals, derivative, curvature


def _one_step(
    free: Array, beta: Array, here: Array, totals: Array, derivative: Array, curvature: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """The minimum of squared errors, which one Newton step reaches."""
    xp = arrays.namespace(free)
    slope = free.T @ derivative
    step = _newton(free, slope, curvature)
    expected = xp.sum(slope * step, axis=0)  # twice the decrease
    if not float(xp.sum(expected)) > _TOL * max(float(xp.sum(totals)), arrays.eps(free)):
        return beta, here, totals, derivative, curvature
    change = free @ step
    beta, here, totals = beta - step, here - change, totals - 0.5 * expected
    return beta, here, totals, derivative - curvature * change, curvature


def _of_responses(values: Array, blocks: list[Array], combine: Callable[[Array], Array]) -> Array:
    """Values of the responses: the columns of a categorical one have their sum or maximum."""
    values = values + 0.0 if blocks else values  # put_rows writes in place
    for index in blocks:
        own = arrays.take_rows(values, index)
        values = arrays.put_rows(values, index, own * 0 + combine(own))
    return values


def _number_of_entries(y: Array, weight: Array | None) -> float:
    """The number of entries, or the sum of their weights."""
    count = y.shape[0] * y.shape[1]
    if weight is None:
        return float(count)
    xp = arrays.namespace(weight)
    return float(xp.sum(weight)) * count / (weight.shape[0] * weight.shape[1])


def _is_stuck(free: Array, derivative: Array, weight: Array | None) -> bool:
    """Whether the slopes do not vanish: from a start far away there may be no curvature."""
    xp = arrays.namespace(free)
    size = xp.abs(free).T @ xp.abs(derivative)
    full = xp.abs(free) if weight is None else xp.abs(free) * xp.max(weight, axis=1, keepdims=True)
    total = xp.sum(full, axis=0)[:, None]
    clear = size > _NO_SLOPE * total  # others belong to a perfect fit
    return bool(xp.any(clear & (xp.abs(free.T @ derivative) > _STUCK * size)))


def _first(family: Any, y: Array, weight: Array | None, linear: Array, free: Array) -> Array:
    """Coefficients whose linear predictors are closest to the intercepts of the family."""
    xp = arrays.namespace(y)
    ones = arrays.zeros((y.shape[0], 1), like=y) + 1
    best = xp.linalg.pinv(free) @ ones
    full = None if weight is None else weight + 0 * y
    start = family.null_link(y, full) - xp.mean(linear, axis=0)
    return best * start


def _lower(
    family: Any,
    y: Array,
    weight: Array | None,
    linear: Array,
    free: Array,
    start: Array,
    blocks: list[Array],
    prepared: Any,
) -> Array:
    """For every response the better of a start and the intercepts of the family."""
    xp = arrays.namespace(y)
    first = _first(family, y, weight, linear, free)
    with arrays.without_overflow_warnings():
        there, at_first = (
            _of_responses(
                xp.sum(_entries(family, y, weight, linear + free @ beta, prepared)[0], axis=0),
                blocks,
                xp.sum,
            )
            for beta in (start, first)
        )
    return xp.where(there < at_first, start, first)


def _entries(
    family: Any, y: Array, weight: Array | None, linear: Array, prepared: Any
) -> tuple[Array, Array, Array, Array]:
    """Values, derivatives, curvatures for quadratic models, and those of Newton's method."""
    if weight is not None:  # what overflows there would not be 0 times the weight
        linear = arrays.namespace(y).where(weight > 0, linear, arrays.zeros((1,), y))
    value, derivative, curvature = family.for_fit(y, linear, prepared)
    second = family.for_newton(y, curvature)
    if weight is None:
        return value, derivative, curvature, second
    same = second is curvature
    curvature = curvature * weight
    return value * weight, derivative * weight, curvature, curvature if same else second * weight


def _newton(free: Array, slope: Array, curvature: Array) -> Array:
    """Newton steps of all responses, of shape (n_free, n_targets)."""
    xp = arrays.namespace(free)
    q, k = slope.shape
    if q == 1:
        return arrays.divide_or_zero(slope, (free**2).T @ curvature)
    n = free.shape[0]
    products = xp.reshape(free[:, :, None] * free[:, None, :], (n, q * q))
    hessian = xp.reshape(curvature.T @ products, (k, q, q))
    trace = xp.sum(hessian * arrays.identity(q, like=free), axis=(1, 2)) / q
    # keeps the matrices regular if predictors are dependent or curvatures vanish
    floor = 1e3 * arrays.eps(free) * trace + 1e-300
    hessian = hessian + floor[:, None, None] * arrays.identity(q, like=free)
    return xp.linalg.solve(hessian, slope.T[:, :, None])[:, :, 0].T


def _block_newton(free: Array, slope: Array, curvature: Array) -> Array:
    """Newton step of a categorical response, of shape (n_free, n_categories).

    With p the probabilities and m the weight of a row, the curvatures are m·p, and the second
    derivative is m·(diag(p) − ppᵀ), which is zero along equal changes of all categories.
    """
    xp = arrays.namespace(free)
    q, count = slope.shape
    total = xp.sum(curvature, axis=1, keepdims=True)
    shares = curvature * arrays.divide_or_zero(1.0, total)
    outer = shares[:, :, None] * curvature[:, None, :]
    same = arrays.identity(count, like=free)
    between = outer * (1 - same)
    # m·p·(1 − p) as a sum over the other categories: the difference has no digits if p is almost 1
    weights = xp.sum(between, axis=2)[:, :, None] * same - between
    products = free[:, :, None] * free[:, None, :]
    n = free.shape[0]
    hessian = xp.reshape(weights, (n, count * count)).T @ xp.reshape(products, (n, q * q))
    size = float(xp.max(xp.abs(hessian)))
    if not size > _NO_CURVATURE:
        return slope * 0
    # made regular along equal changes of all categories, where the slope is zero, and along other
    # directions without curvature
    hessian = xp.reshape(hessian / size, (count, count, q, q)) + arrays.identity(q, free) / count
    hessian = xp.reshape(xp.permute_dims(hessian, (0, 2, 1, 3)), (count * q, count * q))
    hessian = hessian + 1e4 * arrays.eps(free) * arrays.identity(count * q, like=free)
    step = xp.linalg.solve(hessian, xp.reshape(slope.T / size, (count * q, 1)))
    return xp.reshape(step, (count, q)).T


def is_perfect(family: Any, total: float, entries: float) -> bool:
    """Whether a loss is negligible, so that nothing is left to fit.

    Families with units have no such limit: their losses may have any size.
    """
    return not family.units and total <= _PERFECT * entries
