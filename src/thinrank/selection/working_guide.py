"""Sizes to start a search from, by a criterion on working responses."""

from __future__ import annotations

from typing import Any

from thinrank.core.factors import Factors
from thinrank.core.sizes import Sizes
from thinrank.losses.form_loss import FormLoss
from thinrank.losses.generalized_linear import GeneralizedLinear
from thinrank.minimize import solve
from thinrank.selection.automatic import by_criterion
from thinrank.selection.criteria import Criterion
from thinrank.selection.space import Space
from thinrank.solvers.pursuit import Pursuit
from thinrank.starts import complete_rank

__all__ = ["working_guide"]

# Largest number of times that working responses are computed; the sizes seldom change after the
# third.
_MAX_ROUNDS = 5


def working_guide(loss: GeneralizedLinear, space: Space, **options: Any) -> list[Sizes]:
    """The sizes that the predictive information criterion chooses; empty for rank 0.

    The criterion is computed for the quadratic approximation of the loss, first around zero, then
    around fits of the sizes that it chose, until these do not change. Missing entries are thus
    filled in with the fit.

    Parameters
    ----------
    loss : GeneralizedLinear
        The loss without ridge.
    space : Space
        The sizes to choose from.
    **options
        ``solver``, ``start`` and ``seed`` of :func:`thinrank.selection.automatic.by_criterion`.

    Returns
    -------
    list of Sizes
        The last sizes, and those before them.
    """
    thin = space.thin()
    if thin.rows[-1] < thin.ranks[0]:
        return []
    tried: list[Sizes] = []
    around = loss.null.factors
    solver = options.get("solver", Pursuit())
    for _ in range(_MAX_ROUNDS):
        form = loss.majorizer(around).as_quadratic()
        found = by_criterion(FormLoss(form), thin, Criterion(), rough=True, **options).best.sizes
        if found.rank == 0 or found in tried:
            break
        tried.append(found)
        shrunk = loss.with_ridge(found.ridge)
        start = around if len(tried) > 1 else _start(loss, found, options)
        start = complete_rank(start, shrunk, found.rank, options.get("seed", 0))
        run = solve(shrunk, solver.sized(*found[:3]), start, records=False)
        if run is None:
            break
        around = run.state.factors
    return [space.like(sizes.rows, sizes) for sizes in tried[:-3:-1]]


def _start(loss: GeneralizedLinear, sizes: Sizes, options: dict[str, Any]) -> Factors:
    return options["start"](loss.with_ridge(sizes.ridge), *sizes[:3], options.get("seed", 0))
