"""The search for sizes that an estimator leaves to the data."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.core.result import Record
from thinrank.core.sizes import Sizes
from thinrank.estimators.problem import Problem
from thinrank.losses import LeastSquares
from thinrank.minimize import solve
from thinrank.selection.automatic import automatic_ridges, by_criterion, by_held_out
from thinrank.selection.choice import RefitRule
from thinrank.selection.criteria import Criterion, as_criterion
from thinrank.selection.cv_splits import Splits, make_splits
from thinrank.selection.evaluation import Evaluation
from thinrank.selection.held_out_search import HeldOutSearch
from thinrank.selection.search import Search
from thinrank.selection.space import Space, make_space
from thinrank.solvers.pursuit import Pursuit
from thinrank.starts import Auto, Given, complete_rank
from thinrank.starts.backward import MOST_ROWS, most_at_once

__all__ = ["Found", "check_criterion", "find_sizes"]

# Largest number of fits from which the noise in the responses is estimated, each with responses
# divided by the last estimate. The estimates seldom change after the second.
_MAX_SCALINGS = 3
_NOTHING = "The predictors or the responses are constant: all coefficients are zero."
_KEPT = "the predictors that are always kept"
_NOTHING_LEFT = (
    "The predictors that are always kept explain all others, or the responses: all other "
    "coefficients are zero."
)
# Criteria that mean the error on held-out rows.
_HELD_OUT = ("auto", "cv")


@dataclass(frozen=True)
class Found:
    """The result of a search for sizes.

    Attributes
    ----------
    search : Search or None
        The search; None if all responses or all predictors are constant.
    space : Space
        The values that could be chosen.
    chosen : Evaluation
        The chosen model.
    params : dict
        Its sizes, as parameters of the regressor.
    warnings : list of str
        Messages for the user.
    """

    search: Search | None
    space: Space
    chosen: Evaluation
    params: dict[str, Any]
    warnings: list[str]

    @property
    def evaluations(self) -> list[Evaluation]:
        """All models that were tried in the last search."""
        return [self.chosen] if self.search is None else self.search.evaluations

    @property
    def records(self) -> list[Record]:
        """One record per model that was tried."""
        return [] if self.search is None else self.search.records


def check_criterion(criterion: Any) -> Criterion | None:
    """The criterion; None for the error on held-out rows."""
    if isinstance(criterion, str) and criterion in _HELD_OUT:
        return None
    return as_criterion(criterion)


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
    samples = loss.X.shape[0]
    numbers = None if weight is None else arrays.to_numpy(weight)
    positive = samples if numbers is None else int(np.count_nonzero(numbers))
    splits: Splits = []
    further: list[Splits] = []
    if known is None:
        splits, further = make_splits(cv, numbers, samples, seed, groups)
    if splits:
        positive = min(_count(train, numbers) for train, _ in splits)
    p, k = loss.shape
    small = min(samples, p) <= MOST_ROWS
    kept = problem.kept
    space = make_space(
        loss.shape,
        positive if kept is None else max(positive - kept.rank, 1),
        ranks=None if ranks is None else _at_most(ranks, min(p, k)),
        rows=None if rows is None else _at_most(rows, p),
        columns=None if columns is None else _at_most(columns, k),
        ridges=automatic_ridges(loss.quadratic().diagonal()) if ridges is None else ridges,
        thick=known is None and small,
        most_rows=None if small else most_at_once(loss.quadratic()),
    )
    if loss.constant <= 0 or not bool(xp.any(loss.quadratic().diagonal() > 0)):
        nothing = Evaluation(Sizes(0, 0, 0, 0.0), 0.0, (0.0,), (), np.empty((0, 0)), 0.0)
        message = _NOTHING if kept is None else _NOTHING_LEFT
        return Found(None, space, nothing, space.params(nothing.sizes), [message])
    options: dict[str, Any] = {
        "solver": solver if isinstance(solver, Pursuit) else Pursuit(),
        "start": Auto(exchanges_rows=True) if isinstance(start, (Auto, Given)) else start,
        "seed": seed,
        "n_jobs": n_jobs,
        "callback": callback,
    }
    if known is not None:
        search: Search = _by_criterion(problem, space, known, options)
        chosen = search.best
    else:
        rescaled = None if problem.target_scale is None else _rescaled(problem)
        held_out = by_held_out(
            loss,
            space,
            splits,
            further=further,
            center=center,
            scale=scale,
            rule=rule,
            rescaled=rescaled,
            kept=None if kept is None else kept.values,
            **options,
        )
        search, chosen = held_out, held_out.chosen
    params = space.params(chosen.sizes)
    null = "the means of the responses" if kept is None else _KEPT
    return Found(search, space, chosen, params, _warnings(search, space, chosen, positive, null))


def _by_criterion(
    problem: Problem, space: Space, criterion: Criterion, options: dict[str, Any]
) -> Search:
    """Search by a criterion, again while the choice changes the noise that it is made with."""
    search = by_criterion(problem.loss, space, criterion, **options)
    rescaled = _rescaled(problem)
    for _ in range(_MAX_SCALINGS - 1):
        before = search.best.sizes
        if search.stopped or before.rank == 0 or not problem.noise_matters(before.rows):
            break
        search = by_criterion(rescaled(before)[0], space, criterion, **options)
        if search.best.sizes == before:
            break
    return search


def _rescaled(
    problem: Problem,
) -> Callable[[Sizes | np.ndarray], tuple[LeastSquares, np.ndarray]]:
    """The loss in units of the noise in every response, given or left by a fit of given sizes."""

    @functools.cache
    def left_by(sizes: Sizes) -> tuple[LeastSquares, np.ndarray]:
        if not problem.noise_matters(sizes.rows):
            return problem.loss, np.ones(problem.loss.shape[1])
        solver = Pursuit(thorough=False).sized(*sizes[:3])
        scaled, near = problem, Auto(exchanges_rows=True)(problem.loss, *sizes[:3], 0)
        for _ in range(_MAX_SCALINGS):
            loss = scaled.loss.with_ridge(sizes.ridge)
            near = complete_rank(near, loss, sizes.rank, 0)
            found = solve(loss, solver, near, records=False)
            if found is None:
                break
            factors = scaled.in_units_of(problem, found.state.factors)
            before, scaled = scaled, problem.with_noise(problem.noise(factors))
            if scaled.has_about_the_scales_of(before):
                break
            near = problem.in_units_of(scaled, factors)
        assert scaled.target_scale is not None  # or noise would not matter
        noise = scaled.target_scale / problem.target_scale
        return scaled.loss, arrays.to_numpy(noise).astype(np.float64)

    def rescaled(sizes: Sizes | np.ndarray) -> tuple[LeastSquares, np.ndarray]:
        if isinstance(sizes, np.ndarray):
            given = arrays.from_numpy(sizes, problem.loss.prototype)
            return problem.with_noise(given).loss, sizes
        return left_by(sizes)

    return rescaled


def _count(rows: np.ndarray, weight: np.ndarray | None) -> int:
    """Number of rows of positive weight among some."""
    rows = np.asarray(rows)
    if weight is None:
        return int(np.count_nonzero(rows)) if rows.dtype == bool else len(rows)
    return int(np.count_nonzero(weight[rows]))


def _at_most(values: Sequence[Any], limit: int) -> list[Any]:
    """Sizes of no more rows or columns than are not constant; what is no size passes."""
    return [
        min(value, limit) if isinstance(value, (int, np.integer)) and value > 0 else value
        for value in values
    ]


def _warnings(
    search: Search, space: Space, chosen: Evaluation, samples: int, null: str
) -> list[str]:
    """What is known for free and makes the answer doubtful; ``null`` is the model of rank 0."""
    messages = [search.message] if search.stopped else []
    sizes = chosen.sizes
    if sizes.rank == 0:
        messages.append(
            f"No model predicts better than {null}, by the estimate that chooses the sizes: all "
            f"{'other ' * (null == _KEPT)}coefficients are zero."
        )
        return messages
    if isinstance(search, HeldOutSearch) and not chosen.score < search.null_score:
        messages.append(f"The chosen model predicts held-out rows no better than {null}.")
    if 2 * sizes.rows > samples:
        messages.append(
            f"The chosen model keeps {sizes.rows} predictors, more than half of the {samples} "
            "samples that it was fitted to: do not read it as a selection of predictors."
        )
    if len(space.ridges) > 1 and sizes.ridge == space.ridges[-1]:
        messages.append(
            f"The chosen ridge, {sizes.ridge:.3g}, is the largest that was allowed: hardly "
            "anything can be predicted."
        )
    if len(space.rows) > 1 and sizes.rows == space.rows[-1] < search.shape[0]:
        messages.append(
            f"The chosen number of predictors, {sizes.rows}, is the largest that was allowed."
        )
    return messages
