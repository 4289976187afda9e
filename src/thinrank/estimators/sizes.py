"""The search for sizes that an estimator leaves to the data."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from thinrank import arrays, entrywise
from thinrank.core.factors import Factors
from thinrank.core.sizes import Sizes
from thinrank.estimators.problem import Problem
from thinrank.estimators.search_setup import Found, check_criterion, prepared, search_options
from thinrank.losses import LeastSquares
from thinrank.minimize import solve
from thinrank.selection.automatic import automatic_ridges, by_criterion, by_held_out
from thinrank.selection.choice import RefitRule
from thinrank.selection.criteria import Criterion
from thinrank.selection.criterion_search import CriterionSearch
from thinrank.selection.space import Space
from thinrank.solvers.pursuit import Pursuit
from thinrank.starts import Auto, complete_rank
from thinrank.starts.backward import most_at_once

__all__ = ["find_sizes"]

# Largest number of fits from which the noise in the responses is estimated, each with responses
# divided by the last estimate. The estimates seldom change after the second.
_MAX_SCALINGS = 3


def find_sizes(
    problem: Problem,
    weight: Any,
    ranks: Sequence[Any] | None,
    rows: Sequence[Any] | None,
    columns: Sequence[Any] | None,
    ridges: Sequence[float] | None,
    *,
    criterion: Any,
    cv: Any,
    rule: RefitRule,
    center: bool,
    scale: bool,
    seed: int,
    solver: Any,
    start: Any,
    n_jobs: int | None,
    callback: Any,
    groups: Any = None,
) -> Found:
    """Search for sizes, by held-out error or by a criterion.

    Parameters
    ----------
    problem : Problem
    weight : array of shape (n,) or None
    ranks, rows, columns, ridges : sequence or None
        Values to choose from; None for all that make sense.
    criterion, cv, rule, seed, groups
        How to choose.
    center, scale : bool
        Whether every training part is centred and standardised.
    solver : Solver
        Of the final fit. The search is by pursuit in any case: its tables and forecasts need
        exact fits. Where the final fit is by pursuit too, the search has its options.
    start : Start
        Of the final fit. A matrix is not used by the search, since it may hold information
        about rows that are held out.
    n_jobs, callback
        Of the search.
    """
    loss = problem.loss
    loss.hold_for_search()
    xp = arrays.namespace(loss.prototype)
    known = check_criterion(criterion)
    diagonal = loss.quadratic().diagonal()
    setup = prepared(
        loss,
        problem.kept,
        weight,
        (ranks, rows, columns, automatic_ridges(diagonal) if ridges is None else ridges),
        known=known,
        cv=cv,
        seed=seed,
        groups=groups,
        most_rows=lambda: most_at_once(loss.quadratic()),
    )
    if loss.constant <= 0 or not bool(xp.any(diagonal > 0)):
        return setup.nothing()
    options = search_options(solver, start, seed, n_jobs, callback)
    if known is not None:
        search = _by_criterion(problem, setup.space, known, options)
        return setup.found(search, search.best)
    held_out = by_held_out(
        loss,
        setup.space,
        setup.splits,
        further=setup.further,
        center=center,
        scale=scale,
        rule=rule,
        rescaled=None if problem.target_scale is None else _rescaled(problem),
        kept=None if problem.kept is None else problem.kept.values,
        **options,
    )
    return setup.found(held_out, held_out.chosen)


def _by_criterion(
    problem: Problem, space: Space, criterion: Criterion, options: dict[str, Any]
) -> CriterionSearch:
    """Search by a criterion, again while the choice changes the noise that it is made with.

    Noise of the same part of all responses is no change: criteria do not depend on a common unit.
    """
    search = by_criterion(problem.loss, space, criterion, **options)
    scaled, noise = problem, np.ones(problem.loss.shape[1])
    for _ in range(_MAX_SCALINGS - 1):
        before, last = search.best.sizes, noise
        if search.stopped or before.rank == 0 or not problem.noise_matters(before.rows):
            break
        # where fits take long, that of the search gives the noise, and the next begins with it
        fit = search.best.fits[0] if search.is_long else None
        if fit is None:
            scaled, noise, known = _in_units_of_noise(problem, before)
        else:
            known = scaled.in_units_of(problem, fit.factors)
            scaled = problem.with_noise(problem.noise(known))
            noise = _units(scaled, problem)
        if entrywise.about_proportional(noise, last, problem.negligible_change):
            break
        again = options
        if search.is_long:
            begin = None if known is None else problem.in_units_of(scaled, known)
            again = options | {"near": before, "begin": begin}
        search = by_criterion(scaled.loss, space, criterion, **again)
        if search.best.sizes == before:
            break
    return search


class _Scaled(NamedTuple):
    """The problem in units of the noise that a fit leaves in every response.

    Attributes
    ----------
    problem : Problem
        The problem in these units.
    noise : ndarray of shape (n_live_targets,)
        The noise, in the units of the original problem.
    factors : Factors or None
        The fit, in the units of the original problem; None if there is nothing to fit.
    """

    problem: Problem
    noise: np.ndarray
    factors: Factors | None


def _units(scaled: Problem, problem: Problem) -> np.ndarray:
    """What every response is divided by in a scaled problem."""
    assert scaled.target_scale is not None  # or noise would not matter
    return arrays.to_numpy(scaled.target_scale / problem.target_scale).astype(np.float64)


def _in_units_of_noise(problem: Problem, sizes: Sizes) -> _Scaled:
    """The problem in units of the noise that is left by a fit of given sizes.

    The fit is repeated in these units.
    """
    solver = Pursuit(thorough=False).sized(*sizes[:3])

    def fitted(scaled: Problem, near: Factors) -> Factors | None:
        loss = scaled.loss.with_ridge(sizes.ridge)
        near = complete_rank(near, loss, sizes.rank, 0)
        found = solve(loss, solver, near, records=False)
        return None if found is None else scaled.in_units_of(problem, found.state.factors)

    scaled = problem
    factors = fitted(problem, Auto(exchanges_rows=True)(problem.loss, *sizes[:3], 0))
    for fits_left in reversed(range(_MAX_SCALINGS)):
        if factors is None:
            break
        before, scaled = scaled, problem.with_noise(problem.noise(factors))
        if scaled.has_about_the_scales_of(before) or not fits_left:
            break
        factors = fitted(scaled, problem.in_units_of(scaled, factors))
    return _Scaled(scaled, _units(scaled, problem), factors)


def _rescaled(
    problem: Problem,
) -> Callable[[Sizes | np.ndarray], tuple[LeastSquares, np.ndarray]]:
    """The loss in units of the noise in every response, given or left by a fit of given sizes."""

    @functools.cache
    def left_by(sizes: Sizes) -> tuple[LeastSquares, np.ndarray]:
        if not problem.noise_matters(sizes.rows):
            return problem.loss, np.ones(problem.loss.shape[1])
        found = _in_units_of_noise(problem, sizes)
        return found.problem.loss, found.noise

    def rescaled(sizes: Sizes | np.ndarray) -> tuple[LeastSquares, np.ndarray]:
        if isinstance(sizes, np.ndarray):
            given = arrays.from_numpy(sizes, problem.loss.prototype)
            return problem.with_noise(given).loss, sizes
        return left_by(sizes)

    return rescaled
