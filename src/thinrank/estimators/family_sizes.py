"""The search for sizes under any family, by held-out deviance or by a criterion."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.core.factors import Factors
from thinrank.core.sizes import Sizes
from thinrank.estimators.family_problem import FamilyProblem, explainable
from thinrank.estimators.search_setup import Found, check_criterion, prepared, search_options
from thinrank.losses.generalized_linear import GeneralizedLinear
from thinrank.minimize import solve
from thinrank.selection.automatic import automatic_ridges, by_criterion, in_held_out_rows
from thinrank.selection.choice import RefitRule
from thinrank.selection.deviance_splits import deviance_samples
from thinrank.selection.loss_criterion_sample import LossCriterionSample
from thinrank.selection.space import Space
from thinrank.selection.working_guide import criterion_guide, noise_guide
from thinrank.solvers.filled_pursuit import FilledPursuit
from thinrank.solvers.pursuit import Pursuit
from thinrank.starts import Auto
from thinrank.starts.backward import most_at_once

__all__ = ["find_family_sizes"]

# Largest number of searches by a criterion; each uses the noise levels that the last one left.
_MAX_SCALINGS = 3


def find_family_sizes(
    problem: FamilyProblem,
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
    """Search for sizes; the parameters are those of :func:`thinrank.estimators.sizes.find_sizes`.

    Returns
    -------
    Found
        With the loss of the last search.
    """
    loss = problem.loss
    known = check_criterion(criterion)
    curvatures = loss.row_scales() ** 2
    setup = prepared(
        loss,
        problem.kept,
        weight,
        (ranks, rows, columns, _ridges(problem) if ridges is None else ridges),
        known=known,
        cv=cv,
        seed=seed,
        groups=groups,
        most_rows=lambda: most_at_once(loss.majorizer(loss.null.factors)),
    )
    xp = arrays.namespace(curvatures)
    if not explainable(loss) or not bool(xp.any(curvatures > 0)):
        return replace(setup.nothing(), loss=loss)
    options = search_options(solver, start, seed, n_jobs, callback)
    space = setup.space
    if known is not None:
        options["sample"] = LossCriterionSample
        search: Any = by_criterion(loss, space, known, **options)
        for _ in range(_MAX_SCALINGS - 1 if problem.rescales else 0):
            before = search.best
            if search.stopped or before.sizes.rank == 0 or before.fits[0] is None:
                break
            loss = problem.left_by(loss, before.fits[0].factors)
            search = by_criterion(loss, space, known, **options)
            if search.best.sizes == before.sizes:
                break
        return replace(setup.found(search, search.best), loss=loss)
    fits = {name: options[name] for name in ("solver", "start", "seed")}
    rescaled, guide = _guided(problem, space, fits)
    search = in_held_out_rows(
        loss,
        space,
        setup.splits,
        functools.partial(
            deviance_samples,
            center=center,
            scale=scale,
            kept=None if problem.kept is None else problem.kept.values,
            start=options.pop("start"),
            seed=options.pop("seed"),
        ),
        further=setup.further,
        rule=rule,
        rescaled=rescaled,
        guide=guide,
        # the coarse grid is computed with other noise levels, so the guide is closer
        beside=1,
        **options,
    )
    return replace(setup.found(search, search.chosen), loss=search.loss)


def _ridges(problem: FamilyProblem) -> list[float]:
    """Ridges to choose from; none is 0 for probabilities and counts, which may have no optimum."""
    loss = problem.loss
    ridges = automatic_ridges(loss.row_scales() ** 2)
    return ridges if bool(np.all(loss.family.units_of(loss.shape[1]))) else ridges[1:]


_Rescaled = Callable[[Sizes | np.ndarray], tuple[GeneralizedLinear, np.ndarray]]


def _guided(
    problem: FamilyProblem, space: Space, fits: dict[str, Any]
) -> tuple[_Rescaled | None, Callable[[Any], list[Sizes]]]:
    """How a search updates noise levels, and the sizes that it starts from."""
    family, k = problem.loss.family, problem.loss.shape[1]
    if not problem.rescales:
        return None, functools.partial(criterion_guide, space=space, **fits)
    few_missing = problem.loss.nearly_quadratic
    several = bool(np.all(family.units_of(k))) and k > 1 and not few_missing
    known: dict[Sizes, GeneralizedLinear] = {}
    solver = (FilledPursuit if few_missing else Pursuit)(thorough=False)

    def guide(loss: GeneralizedLinear) -> list[Sizes]:
        if not several:
            return criterion_guide(loss, space, **fits)
        found = noise_guide(loss, space, problem.left_by, **fits)
        if found is None:
            return []
        known[found.sizes] = found.loss
        return [found.sizes]

    def rescaled(sizes: Sizes | np.ndarray) -> tuple[GeneralizedLinear, np.ndarray]:
        if isinstance(sizes, np.ndarray):
            # with many missing entries errors of the coarse grid say little
            loss = problem.with_noise(sizes) if few_missing else problem.loss
            return loss, _levels(loss)
        if sizes not in known:
            near = list(known.values())[-1] if known else problem.loss
            known[sizes] = _left_by_sizes(problem, near, sizes, solver, fits)
        return known[sizes], _levels(known[sizes])

    return rescaled, guide


def _left_by_sizes(
    problem: FamilyProblem,
    loss: GeneralizedLinear,
    sizes: Sizes,
    solver: Pursuit,
    fits: dict[str, Any],
) -> GeneralizedLinear:
    """The loss with the parameters that a fit of given sizes leaves, from a loss nearby."""
    start: Any = fits["start"]
    if not isinstance(start, Auto):
        start = Auto(exchanges_rows=True)
    for _ in range(_MAX_SCALINGS):
        shrunk = loss.with_ridge(sizes.ridge)
        found = solve(shrunk, solver.sized(*sizes[:3]), start, fits["seed"], records=False)
        factors = Factors.zero(loss.shape, loss.prototype, rank=1)
        if found is not None and found.state.factors.rank:
            factors = found.state.factors
        before, loss = loss, problem.left_by(loss, factors)
        if np.all(np.abs(np.log(_levels(loss) / _levels(before))) < np.log(1.1)):
            break
    return loss


def _levels(loss: GeneralizedLinear) -> np.ndarray:
    """The units of the columns of Θ, which change with noise levels and dispersions."""
    return arrays.to_numpy(loss.unit).astype(np.float64)
