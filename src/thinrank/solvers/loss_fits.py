"""Fits of a loss that is not quadratic, on given rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import top_rows
from thinrank.core.factors import Factors
from thinrank.solvers.fits import Fit, as_fit
from thinrank.solvers.gauss_newton import refined

# Largest number of majorizers on one set of rows: with curvatures that differ by a factor of 4,
# fifty reduce the distance to the minimum to less than a millionth.
_MAX_MAJORIZERS = 50
# A loss below this part of its magnitude is compared as if it were that large: near a perfect fit
# the relative decrease stays the same from one majorizer to the next. Rule of thumb.
_NEARLY_PERFECT = 1e-4
# All further majorizers are assumed to decrease the loss by less than this times the last one.
_MAX_FURTHER_DECREASE = 10.0
# Largest number of changes of the columns in use on one set of rows.
_MAX_ALTERNATIONS = 20
# Largest number of times that a start is halved.
_MAX_HALVINGS = 40
# Numbers of columns that single exchanges remove and add, and of exchanges that are tried.
_MAX_LEAVING = 2
_MAX_ENTERING = 3
_MAX_EXCHANGES = 4

# fit_form(form, rows, columns, guess): the best fit of a quadratic form
FitForm = Callable[..., Fit]


def by_majorizers(loss: Any, fit: Fit, fit_form: FitForm, enough: float, target: float) -> Fit:
    """Repeat fits of majorizers, each around the last fit and valid on its rows only."""
    fit = replace(fit, objective=value_at(loss, fit))
    last, count = fit, 0
    for _ in range(_MAX_MAJORIZERS):
        point = fit.factors
        if count:  # extrapolate, as accelerated gradient methods do
            point = _extrapolated(last.factors, point, count / (count + 3))
        trial = fit_form(loss.majorizer(point, fit.rows), fit.rows, fit.columns, fit.Q)
        trial = replace(trial, objective=value_at(loss, trial))
        if not trial.objective < fit.objective:
            if count == 0:
                break
            count = 0  # once more without extrapolation
            continue
        last, fit, count = fit, trial, count + 1
        decrease = last.objective - fit.objective
        further = _MAX_FURTHER_DECREASE * decrease
        if decrease <= enough * size_of(loss, last.objective) or fit.objective - further > target:
            break
    return fit


def by_gauss_newton(loss: Any, form: Any, fit: Fit, fit_form: FitForm, tol: float) -> Fit:
    """Fit the loss by Gauss-Newton steps, until the columns in use do not change."""
    best = None
    for _ in range(_MAX_ALTERNATIONS):
        if fit.U.shape[1] == 0:
            return replace(fit, objective=value_at(loss, fit)) if best is None else best
        inner = loss.restrict(fit.rows, fit.columns)
        start = _lowest(inner, fit, form)
        factors, value = refined(inner, start, tol)
        V = arrays.scatter_rows(factors.V, inner.targets, form.shape[1])
        full = Factors(arrays.scatter_rows(factors.U, fit.rows, form.shape[0]), V)
        form = loss.majorizer(full, fit.rows)
        found = as_fit(form, fit.rows, fit.columns, full, value)
        if best is not None and not value < best.objective:
            return best
        settled = best is not None and best.objective - value <= tol * size_of(loss, value)
        best = found
        fit = _next_columns(loss, form, found, fit_form)
        same = fit.columns.shape == best.columns.shape and bool(
            arrays.namespace(fit.columns).all(fit.columns == best.columns)
        )
        if same or settled:
            break
    assert best is not None
    return best


def column_exchanges(loss: Any, form: Any, fit: Fit) -> Iterator[Fit]:
    """Fits to begin from after single exchanges of columns, those of largest net gain first."""
    steps = None if fit.columns.shape[0] == form.shape[1] else loss.column_steps(form.factors)
    if steps is None:
        return
    V, gains = steps
    inside = np.isin(np.arange(form.shape[1]), arrays.to_numpy(fit.columns))
    size = arrays.to_numpy(arrays.half_the_digits(gains))
    leaving = [j for j in np.argsort(size) if inside[j]][:_MAX_LEAVING]
    entering = [j for j in np.argsort(-size) if not inside[j]][:_MAX_ENTERING]
    pairs = sorted(product(leaving, entering), key=lambda pair: size[pair[0]] - size[pair[1]])
    for out, new in pairs[:_MAX_EXCHANGES]:
        kept = inside.copy()
        kept[[out, new]] = False, True
        columns = arrays.indices(np.flatnonzero(kept).tolist(), form.prototype)
        mask = arrays.from_numpy(kept * 1.0, V)
        yield as_fit(form, fit.rows, columns, Factors(form.factors.U, V * mask[:, None]))


def _next_columns(loss: Any, form: Any, fit: Fit, fit_form: FitForm) -> Fit:
    """The fit with the best columns for its scores, or the fit of the form around it."""
    count = fit.columns.shape[0]
    steps = None if count == form.shape[1] else loss.column_steps(form.factors)
    if steps is None:
        return fit_form(form, fit.rows, fit.columns, fit.Q)
    V, gains = steps
    xp = arrays.namespace(gains)
    columns = top_rows(xp.sqrt(xp.clip(gains, min=0.0))[:, None], count)
    keep = arrays.scatter_rows(arrays.zeros((columns.shape[0],), V) + 1, columns, V.shape[0])
    return as_fit(form, fit.rows, columns, Factors(form.factors.U, V * keep[:, None]))


def _lowest(inner: Any, fit: Fit, form: Any) -> Factors:
    """The start of lower loss: a fit of the form, or the factors around which it was made.

    A fit of a form with hardly any curvature, as around probabilities near 0 and 1, can be far too
    large. If both starts are worse than zero, the better one is shrunk until it is not.
    """
    proposal = Factors(
        arrays.take_rows(fit.factors.U, fit.rows), arrays.take_rows(fit.factors.V, inner.targets)
    )
    before = form.factors
    V = arrays.take_rows(before.V, inner.targets)
    if inner.fixed is not None:
        V = V * inner.fixed[:, None]
    old = Factors(arrays.take_rows(before.U, fit.rows), V)
    guess = None if form.free is None else arrays.take_columns(form.free, inner.targets)
    start, value = proposal, inner.value(proposal, guess)
    if old.rank == proposal.rank and (before_value := inner.value(old, guess)) < value:
        start, value = old, before_value
    for _ in range(_MAX_HALVINGS):
        if value <= inner.magnitude:
            break
        start = Factors(start.U, 0.5 * start.V)
        value = inner.value(start)
    return start


def _extrapolated(before: Factors, here: Factors, momentum: float) -> Factors:
    """Θ + momentum·(Θ − Θ before)."""
    xp = arrays.namespace(here.U)
    U = xp.concat([(1 + momentum) * here.U, -momentum * before.U], axis=1)
    return Factors(U, xp.concat([here.V, before.V], axis=1))


def value_at(loss: Any, fit: Fit) -> float:
    """The loss at a fit."""
    factors = fit.factors if fit.U.shape[1] else Factors.zero(fit.shape, fit.root, rank=1)
    return loss.value_and_gradient(factors)[0]


def size_of(loss: Any, objective: float) -> float:
    """What decreases of the loss are compared with."""
    return max(objective, _NEARLY_PERFECT * loss.magnitude)
