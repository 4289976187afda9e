"""Pursuit for squared errors of which few are missing: exchanges of rows on completed responses."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

from thinrank import arrays
from thinrank.core.contracts import QuadraticForm
from thinrank.core.factors import Factors
from thinrank.solvers.fits import Fit
from thinrank.solvers.loss_fits import by_gauss_newton, size_of, value_at
from thinrank.solvers.pursuit import Pursuit


@dataclass(frozen=True)
class FilledPursuit(Pursuit):
    """Pursuit of quadratic approximations as if they were the loss, each around a fit of the loss.

    For squared errors the approximation is least squares on responses whose missing entries are
    filled in with a fit. One iteration is a complete run of pursuit on it, followed by a fit of the
    loss itself on the rows that were found. :class:`Pursuit` fits the loss for every exchange that
    it tries, which is more precise but takes much longer; with few missing entries the results
    differ little.
    """

    @classmethod
    def like(cls, solver: Pursuit) -> Self:
        """A solver with the options and sizes of another."""
        options = {field.name: getattr(solver, field.name) for field in fields(solver)}
        return cls(**options).sized(solver.rank, solver.rows, solver.columns)

    def init(self, loss: Any, start: Factors) -> Fit:
        """The fit after pursuit on the responses that the start completes."""
        return self._fitted(loss, *self._pursued(loss, start))

    def step(self, loss: Any, state: Fit) -> Fit:
        """The fit after pursuit on the responses that the last fit completes."""
        if state.U.shape[1] == 0:
            return replace(state, change=0.0, final=True)
        form, found = self._pursued(loss, state.factors)
        if _same(found.rows, state.rows) and _same(found.columns, state.columns):
            return replace(state, change=0.0, final=True)
        trial = self._fitted(loss, form, found)
        decrease = state.objective - trial.objective
        if not decrease > self.tol * size_of(loss, state.objective):
            return replace(state, change=0.0, final=True)
        return replace(trial, change=decrease / state.objective)

    def _pursued(self, loss: Any, around: Factors) -> tuple[QuadraticForm, Fit]:
        """The approximation around some factors, and the result of pursuit on it."""
        form = loss.majorizer(around).taken_as_exact()
        alone = _Alone(form)
        fit = super().init(alone, around)
        for _ in range(self.max_iter):
            fit = super().step(alone, fit)
            if fit.final:
                break
        return form, replace(fit, final=False)

    def _fitted(self, loss: Any, form: QuadraticForm, fit: Fit) -> Fit:
        """The fit of the loss on the rows of a fit of its approximation."""
        if fit.U.shape[1] == 0:
            return replace(fit, objective=value_at(loss, fit))
        return by_gauss_newton(loss, form, fit, self._fit_form, self.tol)


class _Alone:
    """A quadratic form as a loss."""

    capabilities: frozenset[str] = frozenset()

    def __init__(self, form: QuadraticForm) -> None:
        self._form = form
        self.magnitude = form.constant

    def majorizer(self, factors: Factors) -> QuadraticForm:
        """The form itself."""
        return self._form


def _same(some: arrays.Array, others: arrays.Array) -> bool:
    """Whether two supports are equal."""
    return some.shape == others.shape and bool(arrays.namespace(some).all(some == others))
