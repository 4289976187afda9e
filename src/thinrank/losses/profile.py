"""The best coefficients of free predictors, such as the intercept, by Newton's method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thinrank import arrays
from thinrank.arrays import Array

# Largest number of Newton steps. Rule of thumb: most take two or three.
_MAX_STEPS = 50
# Newton's method ends when the expected decrease is below this fraction of the value: the error of
# the coefficients is about its square root.
_TOL = 1e-13
# Length of a step, in linear predictors, at which it is shortened by half; it doubles with every
# step that is accepted at once. A probability near 0 or a tiny mean has hardly any curvature.
_LONG = 10.0
# Families without units are fitted perfectly if the loss per entry is below this.
_PERFECT = 1e-9
# A categorical response whose curvatures are all below this is fitted perfectly.
_NO_CURVATURE = 1e-200


class Prepared:
    """What the best coefficients depend on, apart from the linear predictors of others."""

    def __init__(self, family: Any, y: Array, weight: Array | None, free: Array | None) -> None:
        self.entries = family.prepared(y)
        self.has_free = free is not None and free.shape[1] > 0
        if free is not None and self.has_free:
            self.null = family.null_link(y, weight)
            self.basis, self.inverse = _basis(free)
            ones = arrays.zeros((y.shape[0], 1), like=y) + 1
            self.ones = self.basis @ (self.basis.T @ ones)  # as near as free predictors come


def profiled(
    family: Any,
    y: Array,
    weight: Array | None,
    linear: Array,
    free: Array | None,
    prepared: Prepared | None = None,
) -> tuple[Array, Array, Array, Array, Array]:
    """Minimise Σᵢⱼ wᵢⱼ·v(yᵢⱼ, linearᵢⱼ + (Zβ)ᵢⱼ) over β, one problem per response.

    Returns β (n_free, n_targets), the linear predictors, the values of the responses, and the
    derivatives and curvatures of the entries. They do not depend on the points before, not even in
    the last bit.
    """
    xp = arrays.namespace(y)
    known = Prepared(family, y, weight, free) if prepared is None else prepared
    if not known.has_free:
        value, derivative, curvature, _ = _entries(family, y, weight, linear, known.entries)
        beta = arrays.zeros((0, y.shape[1]), like=y)
        return beta, linear, xp.sum(value, axis=0), derivative, curvature
    basis = known.basis
    here = linear + known.ones * family.intercept(known.null, weight, linear)
    value, derivative, curvature, second = _entries(family, y, weight, here, known.entries)
    totals = xp.sum(value, axis=0)
    blocks = [arrays.indices(block, y) for block in family.blocks(y.shape[1])]
    slack = max(1e-12, 8 * arrays.eps(y))  # rounding errors of the values
    count = float(xp.sum(y * 0 + (1.0 if weight is None else weight)))
    shorter = arrays.from_numpy((1.0 - family.units_of(y.shape[1])) / _LONG, y)
    for _ in range(_MAX_STEPS):
        slope = basis.T @ derivative
        step = _step(basis, slope, second, shorter, blocks)
        expected = xp.sum(slope * step, axis=0)  # twice the decrease
        total = float(xp.sum(totals))
        negligible = _TOL * max(total, arrays.eps(y))
        if not float(xp.sum(expected)) > negligible or is_perfect(family, total, count):
            break
        expected = _of_responses(expected, blocks, xp.sum)
        change, before = basis @ step, _of_responses(totals, blocks, xp.sum)
        size = totals * 0 + 1
        while True:
            trial = here - change * size
            new_value, *new = _entries(family, y, weight, trial, known.entries)
            new_totals = xp.sum(new_value, axis=0)
            after = _of_responses(new_totals, blocks, xp.sum)
            worse = ~(after <= before + slack * xp.abs(before))
            if not bool(xp.any(worse)):
                break
            # where only rounding errors are left the response stays
            shrunk = xp.where(size * expected > negligible, 0.5 * size, 0 * size)
            size = xp.where(worse, shrunk, size)
        if not bool(xp.any(size > 0)):
            break
        shorter = xp.where(size < 1, 2 * shorter, 0.5 * shorter)
        here, totals = trial, new_totals
        derivative, curvature, second = new
    return known.inverse @ (here - linear), here, totals, derivative, curvature


def _basis(free: Array) -> tuple[Array, Array]:
    """An orthonormal basis of the free predictors, and their pseudo-inverse."""
    xp = arrays.namespace(free)
    left, sizes, right = xp.linalg.svd(free, full_matrices=False)
    clear = sizes > free.shape[0] * arrays.eps(free) * sizes[:1]
    count = max(int(xp.count_nonzero(clear)), 1)
    left, sizes, right = left[:, :count], sizes[:count], right[:count, :]
    return left, (right.T * arrays.divide_or_zero(1.0, sizes)) @ left.T


def _step(
    basis: Array, slope: Array, curvature: Array, shorter: Array, blocks: list[Array]
) -> Array:
    """Newton steps of all responses, of shape (n_free, n_targets).

    The second derivatives get the length of the slope times ``shorter`` on the diagonal. So a step
    is shortened if it is long, and has a bound where there is no curvature.
    """
    xp = arrays.namespace(slope)
    longest = _of_responses(xp.max(xp.abs(basis @ slope), axis=0), blocks, xp.max)
    added = longest * shorter
    step = _newton(basis, slope, curvature, added)
    for index in blocks:
        own, second = arrays.take_columns(slope, index), arrays.take_columns(curvature, index)
        found = _block_newton(basis, own, second, float(added[index[0]]))
        step = arrays.put_rows(step.T, index, found.T).T
    # a response that is fitted perfectly has no curvature left
    return xp.where(xp.isfinite(step), step, arrays.zeros((1,), step))


def _of_responses(values: Array, blocks: list[Array], combine: Callable[[Array], Array]) -> Array:
    """Values of the responses: the columns of a categorical one have their sum or maximum."""
    values = values + 0.0 if blocks else values  # put_rows writes in place
    for index in blocks:
        own = arrays.take_rows(values, index)
        values = arrays.put_rows(values, index, own * 0 + combine(own))
    return values


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


def _newton(basis: Array, slope: Array, curvature: Array, added: Array) -> Array:
    """Newton steps of the responses that are not categorical."""
    xp = arrays.namespace(basis)
    q, k = slope.shape
    if q == 1:
        return arrays.divide_or_zero(slope, (basis**2).T @ curvature + added)
    products = xp.reshape(basis[:, :, None] * basis[:, None, :], (basis.shape[0], q * q))
    hessian = xp.reshape(curvature.T @ products, (k, q, q))
    trace = xp.sum(hessian * arrays.identity(q, like=basis), axis=(1, 2)) / q
    # keeps the matrices regular if curvatures vanish
    diagonal = added + 1e3 * arrays.eps(basis) * trace + 1e-300
    hessian = hessian + diagonal[:, None, None] * arrays.identity(q, like=basis)
    return xp.linalg.solve(hessian, slope.T[:, :, None])[:, :, 0].T


def _block_newton(free: Array, slope: Array, curvature: Array, added: float) -> Array:
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
    size = float(xp.max(xp.abs(hessian))) + added
    if not size > _NO_CURVATURE:
        return slope * 0
    # made regular along equal changes of all categories, where the slope is zero, and along other
    # directions without curvature
    hessian = xp.reshape(hessian / size, (count, count, q, q)) + arrays.identity(q, free) / count
    hessian = xp.reshape(xp.permute_dims(hessian, (0, 2, 1, 3)), (count * q, count * q))
    more = added / size + 1e4 * arrays.eps(free)
    hessian = hessian + more * arrays.identity(count * q, like=free)
    step = xp.linalg.solve(hessian, xp.reshape(slope.T / size, (count * q, 1)))
    return xp.reshape(step, (count, q)).T


def is_perfect(family: Any, total: float, entries: float) -> bool:
    """Whether a loss is negligible; those of families with units may have any size."""
    return not family.units and total <= _PERFECT * entries
