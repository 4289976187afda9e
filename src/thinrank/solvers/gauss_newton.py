"""Fits of a loss that is not quadratic on given rows, by Gauss-Newton steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from thinrank import arrays, linalg
from thinrank.arrays import Array, top_rows
from thinrank.core.factors import Factors
from thinrank.solvers.row_fit import Fit, as_fit, fit_rows

# Conjugate gradients end when the residual is below this fraction of the gradient, in the metric of
# the preconditioner, or after 20 steps. With 0.05 and 50 steps a Poisson fit of rank 40 to
# overdispersed counts took 1.5 times as long.
_PRECISION = 0.3
# A loss below this part of its magnitude is compared as if it were that large: near a perfect fit
# the relative decrease stays the same from one step to the next. Rule of thumb.
_NEARLY_PERFECT = 1e-4


def refitted(
    loss: Any, fit: Fit, most_columns: int, tol: float, around: Factors | None = None
) -> Fit:
    """The fit of a loss on the rows of a fit of its form, until the columns do not change.

    ``around``: the factors that the form is around; None for the fit itself.
    """
    if "restrict" not in loss.capabilities:
        return _refitted_by_forms(loss, fit, most_columns, tol)
    best = None
    around = fit.factors if around is None else around
    for _ in range(20):
        if fit.U.shape[1] == 0:
            zero = Factors.zero(loss.shape, loss.prototype, rank=1)
            nothing = replace(fit, objective=loss.value_and_gradient(zero)[0])
            return nothing if best is None else best
        inner = loss.restrict(fit.rows, fit.columns)
        factors, value = refined(inner, _lowest(inner, fit, around), tol)
        if best is not None and not value < best.objective:
            return best
        V = arrays.scatter_rows(factors.V, inner.targets, fit.shape[1])
        around = Factors(arrays.scatter_rows(factors.U, fit.rows, fit.shape[0]), V)
        form = loss.majorizer(around)
        settled = best is not None and best.objective - value <= tol * size_of(loss, value)
        best = as_fit(form, fit.rows, fit.columns, around, value)
        fit = _next_columns(loss, form, best, most_columns)
        same = fit.columns.shape == best.columns.shape and bool(
            arrays.namespace(fit.columns).all(fit.columns == best.columns)
        )
        if same or settled:
            break
    assert best is not None
    return best


def _refitted_by_forms(loss: Any, fit: Fit, most_columns: int, tol: float) -> Fit:
    """The same for a loss that has forms only: each form is around the last fit."""
    best = replace(fit, objective=loss.value_and_gradient(fit.factors)[0])
    for _ in range(50 if fit.U.shape[1] else 0):
        form, rank = loss.majorizer(best.factors), best.U.shape[1]
        trial = fit_rows(form, best.rows, best.columns, best.Q, rank, most_columns)
        value = loss.value_and_gradient(trial.factors)[0]
        if not best.objective - value > tol * size_of(loss, best.objective):
            break
        best = replace(trial, objective=value)
    return best


def size_of(loss: Any, objective: float) -> float:
    """What decreases of the loss are compared with."""
    return max(objective, _NEARLY_PERFECT * loss.magnitude)


def _next_columns(loss: Any, form: Any, fit: Fit, most: int) -> Fit:
    """The fit with the best columns for its scores, or the fit of the form around it."""
    count = fit.columns.shape[0]
    steps = None if count == form.shape[1] else loss.column_steps(form.factors)
    if steps is None:
        return fit_rows(form, fit.rows, fit.columns, fit.Q, fit.U.shape[1], most)
    V, gains = steps
    xp = arrays.namespace(gains)
    columns = top_rows(xp.sqrt(xp.clip(gains, min=0.0))[:, None], count)
    keep = arrays.scatter_rows(arrays.zeros((columns.shape[0],), V) + 1, columns, V.shape[0])
    return as_fit(form, fit.rows, columns, Factors(form.factors.U, V * keep[:, None]))


def _lowest(inner: Any, fit: Fit, before: Factors) -> Factors:
    """The start of lower loss: a fit of the form, or the factors around which it was made."""
    proposal = Factors(
        arrays.take_rows(fit.factors.U, fit.rows), arrays.take_rows(fit.factors.V, inner.targets)
    )
    V = arrays.take_rows(before.V, inner.targets)
    if inner.fixed is not None:
        V = V * inner.fixed[:, None]
    old = Factors(arrays.take_rows(before.U, fit.rows), V)
    if old.rank == proposal.rank and inner.value(old) < inner.value(proposal):
        proposal = old
    return shrunk(inner, proposal)


def shrunk(loss: Any, factors: Factors) -> Factors:
    """Factors that are halved until the loss is not above that of zero.

    A fit of a form with hardly any curvature, as around probabilities near 0 and 1, can be far too
    large, and the form around such a point says nothing about other points.
    """
    for _ in range(40):
        if loss.value(factors) <= loss.magnitude:
            break
        factors = Factors(factors.U, 0.5 * factors.V)
    return factors


def refined(loss: Any, factors: Factors, tol: float) -> tuple[Factors, float]:
    """Decrease a loss over the factors, without limits on rows and columns.

    The loss is approximated by a quadratic function of dη = X(dU·Vᵀ + U·dVᵀ) + Z·dβ, with the
    curvature of every entry, and minimized by conjugate gradients.
    """
    # The largest change of a linear predictor in a step. It doubles with every step that reaches it
    # and is accepted, since the minimum is far away or at infinity if classes are nearly separable,
    # and is halved with every step that is not accepted at once.
    value, radius = loss.value(factors), 10.0
    for _ in range(50):
        model = _Model(loss, factors)
        step, slope = model.step()
        if not slope < 0:
            break
        size, found = model.longest(step, radius), None
        longest = size
        for _ in range(20):
            trial = model.moved(step, size)
            lower = loss.value(trial)
            if lower <= value + 1e-4 * size * slope:  # Armijo's rule
                found = trial
                break
            size *= 0.5
        if found is None:
            break
        if size < longest:
            radius *= 0.5
        elif size < 1:
            radius *= 2
        decrease, value, factors = value - lower, lower, found
        if decrease <= tol * size_of(loss, value):
            break
    return factors, value


@dataclass(frozen=True, eq=False)
class _Step:
    """Changes of U, V and β."""

    U: Array
    V: Array
    free: Array

    def plus(self, factor: float, other: _Step) -> _Step:
        return _Step(
            self.U + factor * other.U, self.V + factor * other.V, self.free + factor * other.free
        )

    def dot(self, other: _Step) -> float:
        return (
            arrays.inner(self.U, other.U)
            + arrays.inner(self.V, other.V)
            + arrays.inner(self.free, other.free)
        )


class _Model:
    """The quadratic approximation of a loss in U, V and β, with UᵀXᵀXU/n = I at its center."""

    def __init__(self, loss: Any, factors: Factors) -> None:
        self._loss = loss
        point = loss.at(factors)
        xp = arrays.namespace(point.scores)
        n, ridge = loss.samples, loss.ridge
        self._X = loss.everything()
        triangle = xp.linalg.qr(point.scores / n**0.5)[1]
        sign = xp.linalg.diagonal(triangle)
        ok = bool(xp.all(xp.abs(sign) > 1e-12 * float(xp.max(xp.abs(triangle)))))
        self._U, self._V, self._scores = factors.U, factors.V, point.scores
        self._free = loss.free
        if ok:
            inverse = xp.linalg.inv(triangle)
            self._U, self._V = factors.U @ inverse, factors.V @ triangle.T
            self._scores = point.scores @ inverse
        self._mixing = self._V * loss.unit[:, None]
        self._point = point
        slope = point.derivative / n
        gradient_u = self._X.T @ (slope @ self._mixing)
        gradient_v = (slope.T @ self._scores) * loss.unit[:, None]
        self._UU, self._VV = self._U.T @ self._U, self._V.T @ self._V
        if ridge:
            gradient_u = gradient_u + ridge * (self._U @ self._VV)
            gradient_v = gradient_v + ridge * (self._V @ self._UU)
        # the free coefficients are at their best, so that their slopes vanish
        nothing = arrays.zeros(
            (0 if self._free is None else self._free.shape[1], self._V.shape[0]), self._U
        )
        self._gradient = _Step(gradient_u, self._allowed(gradient_v), nothing)
        self._prepare(loss, point, ridge)

    def _prepare(self, loss: Any, point: Any, ridge: float) -> None:
        """The preconditioner: blocks of the Hessian with the mean curvature of each response."""
        xp = arrays.namespace(self._U)
        # compared in the units of Θ, since curvatures of responses in different units differ
        relative = loss.mean_curvatures(point) * loss.unit**2
        relative = xp.clip(relative, min=1e-6 * float(xp.max(relative)) + 1e-300)
        self._inverse_mean = loss.unit**2 / relative
        inner = (self._V * relative[:, None]).T @ self._V
        small = 1e-10 * float(xp.max(xp.abs(inner))) + 1e-300
        self._inverse_inner = xp.linalg.inv(arrays.add_to_diagonal(inner + 0.0, small))
        common = ridge / float(xp.mean(relative)) if ridge else 0.0
        self._root, _ = linalg.inverse_cholesky(loss.gram(common))
        kernel = self._scores.T @ self._scores / loss.samples
        kernel = arrays.add_to_diagonal(kernel + 0.0, common + 1e-10)
        self._inverse_kernel = xp.linalg.inv(kernel)
        self._inverse_relative = 1.0 / relative
        self._inverse_free = None
        if self._free is not None:
            gram = self._free.T @ self._free / loss.samples
            trace = float(xp.sum(xp.linalg.diagonal(gram)))
            self._inverse_free = xp.linalg.inv(
                arrays.add_to_diagonal(gram, 1e-10 * trace / gram.shape[0] + 1e-300)
            )

    def _preconditioned(self, step: _Step) -> _Step:
        U = self._root.T @ (self._root @ (step.U @ self._inverse_inner))
        V = (step.V @ self._inverse_kernel) * self._inverse_relative[:, None]
        free = step.free
        if self._inverse_free is not None:
            free = (self._inverse_free @ free) * self._inverse_mean
        return _Step(U, V, free)

    def _product(self, step: _Step) -> _Step:
        """The Gauss-Newton matrix times a step."""
        loss = self._loss
        change = loss.hessian_product(self._point, self._linear_change(step)) / loss.samples
        U = self._X.T @ (change @ self._mixing)
        V = (change.T @ self._scores) * loss.unit[:, None]
        free = step.free if self._free is None else self._free.T @ change
        if loss.ridge:
            U = U + loss.ridge * (step.U @ self._VV + self._U @ (step.V.T @ self._V))
            V = V + loss.ridge * (step.V @ self._UU + self._V @ (step.U.T @ self._U))
        return _Step(U, self._allowed(V), free)

    def _allowed(self, V: Array) -> Array:
        """V without the rows that must stay zero."""
        fixed = self._loss.fixed
        return V if fixed is None else V * fixed[:, None]

    def step(self) -> tuple[_Step, float]:
        """The step of conjugate gradients, and the slope of the loss along it."""
        residual = self._gradient
        zero = _Step(0 * residual.U, 0 * residual.V, 0 * residual.free)
        solution = zero
        z = self._preconditioned(residual)
        direction = zero.plus(-1.0, z)
        size = first = residual.dot(z)
        for _ in range(20):
            if not size > _PRECISION**2 * first or not size > 0:
                break
            image = self._product(direction)
            curvature = direction.dot(image)
            if not curvature > 0:
                break
            length = size / curvature
            solution = solution.plus(length, direction)
            residual = residual.plus(length, image)
            z = self._preconditioned(residual)
            last, size = size, residual.dot(z)
            direction = zero.plus(-1.0, z).plus(size / last, direction)
        return solution, self._gradient.dot(solution)

    def longest(self, step: _Step, radius: float) -> float:
        """The largest step size to try, at most 1, that changes linear predictors by ``radius``."""
        if self._loss.family.quadratic:
            return 1.0
        xp = arrays.namespace(self._U)
        largest = float(xp.max(xp.abs(self._linear_change(step))))
        return 1.0 if largest <= radius else radius / largest

    def _linear_change(self, step: _Step) -> Array:
        """The change of the linear predictors along a step."""
        change = (self._X @ step.U) @ self._mixing.T
        change += self._scores @ (step.V * self._loss.unit[:, None]).T
        if self._free is not None:
            change += self._free @ step.free
        return change

    def moved(self, step: _Step, size: float) -> Factors:
        """The factors after a step."""
        return Factors(self._U + size * step.U, self._V + size * step.V)
