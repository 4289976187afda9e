"""The sizes of an estimator, with those that are "auto" chosen by a search."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.checks import is_auto
from thinrank.core.contracts import Solver
from thinrank.core.factors import Factors
from thinrank.core.result import Record
from thinrank.core.sizes import Sizes
from thinrank.core.warnings import SelectionWarning
from thinrank.estimators.explained import held_out_r2
from thinrank.estimators.family_problem import FamilyProblem, explainable
from thinrank.estimators.problem import Problem
from thinrank.estimators.progress import searching
from thinrank.estimators.rounds import fit_in_rounds
from thinrank.losses.generalized_linear import GeneralizedLinear
from thinrank.minimize import seed_from, solve
from thinrank.selection.choice import Evaluation, RefitRule, check_refit_rule
from thinrank.selection.criteria import Criterion, as_criterion
from thinrank.selection.search import Search
from thinrank.selection.space import Space, make_space
from thinrank.selection.splits import (
    checked_splits,
    criterion_split,
    held_out_splits,
    make_partitions,
)
from thinrank.solvers.pursuit import Pursuit
from thinrank.starts import Auto, Given, as_start
from thinrank.starts.elimination import MOST_ROWS, most_at_once

if TYPE_CHECKING:
    from thinrank.losses.families import Family

_NOTHING = "The predictors or the responses are constant: all coefficients are zero."
_MEANS = "the means of the responses"
_KEPT = "the predictors that are always kept"
_NOTHING_LEFT = (
    "The predictors that are always kept explain all others, or the responses: all other "
    "coefficients are zero."
)
# Criteria that mean the error on held-out rows.
_HELD_OUT = ("auto", "cv")
# Largest number of fits from which the dispersions of a family are estimated.
_MAX_FITS = 3
# Number of looks at the data, each in units of the noise that the best model of the last leaves.
_LOOKS = 2
# Part of a progress bar for one of them.
_LOOK = 0.2


@dataclass(frozen=True)
class Found:
    """The result of a search for sizes."""

    search: Search | None  # the search; None if all responses or all predictors are constant
    space: Space  # the values that could be chosen
    chosen: Evaluation  # the chosen model
    params: dict[str, Any]  # its sizes, as parameters of the regressor
    warnings: list[str]  # messages for the user
    loss: Any  # the loss with the noise levels or dispersions of the last search

    @property
    def evaluations(self) -> list[Evaluation]:
        """All models that were tried in the last search."""
        return [self.chosen] if self.search is None else self.search.evaluations

    @property
    def records(self) -> list[Record]:
        """One record per model that was tried."""
        return [] if self.search is None else self.search.records

    def held_out_r2(self, problem: Any, family: Family | None = None) -> np.ndarray | None:
        """Share of each response that the chosen model explains in held-out rows.

        None if there were no held-out rows. The problem knows the responses that are not constant;
        the family is that of all responses, None for least squares.
        """
        known = self.chosen.responses
        if known is None:
            return None
        live, count = problem.live_columns, problem.shape[1]
        places = np.arange(count) if live is None else arrays.to_numpy(live)
        return held_out_r2(known.errors, known.totals, family, places, count)


def chosen_sizes(
    estimator: Any, problem: Problem | FamilyProblem, weight: Array | None, solver: Solver
) -> tuple[dict[str, Any], Found | None]:
    """The sizes as given, with those that are "auto" chosen; None if all sizes were given."""
    names = ("rank", "row_sparsity", "column_sparsity", "ridge")
    given = {name: getattr(estimator, name) for name in names}
    if not any(is_auto(value) for value in list(given.values())[:3]):
        if is_auto(estimator.ridge):
            given["ridge"] = 0.0
        given["exchange"] = is_auto(estimator.exchange) or estimator.exchange
        return given, None
    with searching(estimator.callback, estimator.verbose) as progress:
        found = find_sizes(
            problem,
            weight,
            *(None if is_auto(value) else [value] for value in given.values()),
            exchange=estimator.exchange,
            criterion=estimator.criterion,
            cv=estimator.cv,
            rule=check_refit_rule(estimator.refit_rule),
            center=estimator.fit_intercept,
            scale=estimator.standardize,
            seed=seed_from(estimator.random_state),
            solver=solver,
            start=as_start(estimator.start, solver.exchanges_rows),
            n_jobs=estimator.n_jobs,
            callback=estimator.callback,
            progress=progress,
        )
    for message in found.warnings:
        warnings.warn(message, SelectionWarning, stacklevel=4)
    return found.params, found


def find_sizes(
    problem: Problem | FamilyProblem,
    weight: Any,
    ranks: Sequence[Any] | None,
    rows: Sequence[Any] | None,
    columns: Sequence[Any] | None,
    ridges: Sequence[float] | None,
    *,
    exchange: Any,
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
    progress: Any = None,
    groups: Any = None,
) -> Found:
    """Search for sizes, by held-out error or by a criterion.

    ``ranks``, ``rows``, ``columns``, ``ridges``: None for all that make sense.
    """
    loss: Any = problem.loss
    general = isinstance(loss, GeneralizedLinear)
    if not general:
        loss.hold_for_search()
    curvatures = loss.row_scales() ** 2 if general else loss.quadratic().diagonal()
    own = automatic_ridges(curvatures)
    if general and not np.all(loss.family.units_of(loss.shape[1])):
        own = own[1:]  # without ridge probabilities and counts may have no optimum
    known = check_criterion(criterion)
    numbers = None if weight is None else arrays.to_numpy(weight)
    n = loss.X.shape[0]
    partitions = [] if known is not None else make_partitions(cv, numbers, n, seed, groups)
    partitions = [checked_splits(indices, n) for indices in partitions]
    if general:
        alone = _alone_in_class(loss, numbers)
        partitions = [_never_held_out(alone, indices) for indices in partitions]
    positive = _least_positive(numbers, n, partitions)
    kept = problem.kept
    small = min(n, loss.shape[0]) <= MOST_ROWS
    form = None if small else (loss.majorizer(loss.null.factors) if general else loss.quadratic())
    p, k = loss.shape
    space = make_space(
        loss.shape,
        positive if kept is None else max(positive - kept.rank, 1),
        ranks=None if ranks is None else _at_most(ranks, min(p, k)),
        rows=None if rows is None else _at_most(rows, p),
        columns=None if columns is None else _at_most(columns, k),
        ridges=own if ridges is None else ridges,
        thick=known is None,
        most_rows=None if form is None else most_at_once(form),
        exchanges=(False, True) if is_auto(exchange) else (bool(exchange),),
    )
    constant = not explainable(loss) if general else loss.constant <= 0
    if constant or not bool(arrays.namespace(curvatures).any(curvatures > 0)):
        null = Evaluation(Sizes(0, 0, 0, 0.0), 0.0, (0.0,), (), np.empty((0, 0)), 0.0)
        message = _NOTHING if kept is None else _NOTHING_LEFT
        return Found(None, space, null, space.params(null.sizes), [message], loss)
    fits: dict[str, Any] = {
        "start": Auto(exchanges_rows=True) if isinstance(start, (Auto, Given)) else start,
        "seed": seed,
    }
    selects = space.rows[0] < p, space.columns[0] < k

    def splits_of(loss: Any) -> list[Any]:
        if known is not None:
            return [[criterion_split(loss, known, *selects, **fits)]]
        forced = None if kept is None else kept.values
        return [
            held_out_splits(loss, indices, center=center, scale=scale, forced=forced, **fits)
            for indices in partitions
        ]

    options = {
        "rule": rule,
        "rows": n,
        "solver": solver if isinstance(solver, Pursuit) else Pursuit(),
        "n_jobs": n_jobs,
        "callback": callback,
        "progress": progress,
    }
    search, loss = _in_units_of_noise(problem, space, splits_of, options, fits)
    messages = _warnings(search, space, positive, _MEANS if kept is None else _KEPT)
    chosen = search.chosen
    return Found(search, space, chosen, space.params(chosen.sizes), messages, loss)


def _in_units_of_noise(
    problem: Any, space: Space, splits_of: Any, options: dict[str, Any], fits: dict[str, Any]
) -> tuple[Search, Any]:
    """A search in units of the noise in each response, which a first look estimates.

    Returns the search and the loss in its units.
    """
    loss = problem.loss
    splits = splits_of(loss)
    search = Search(splits[:1], space, part=(0.0, _LOOK), **options)
    if space.exhaustive is not None or not problem.weights_by_noise:
        search = Search(splits, space, **options)
        search.run()
        return search, loss
    before: Search | None = None
    for i in range(_LOOKS):
        coarse = search.first_look()
        found = search.best
        if search.stopped:
            return _with_a_model(search, before), loss
        if found.sizes.rank == 0:
            break
        before, loss = search, _units_left_by(problem, found, options["solver"], fits)
        splits = splits_of(loss)
        part = (i + 1) * _LOOK, (i + 2) * _LOOK
        search = Search(splits[:1], space, records=search.records, part=part, **options)
    last = found.sizes if found.sizes.rank else None
    part = _LOOKS * _LOOK, 1.0
    search = Search(splits, space, records=search.records, part=part, **options)
    search.run(coarse, last)
    return _with_a_model(search, before), loss


def _with_a_model(search: Search, before: Search | None) -> Search:
    """The search, or the one before if it was stopped before the first model."""
    if search.stopped and search.best.sizes.rank == 0 and before is not None:
        before.stopped = True
        return before
    return search


def _units_left_by(
    problem: Problem | FamilyProblem, found: Evaluation, solver: Any, fits: dict[str, Any]
) -> Any:
    """The loss with the noise levels or dispersions that fits of a model to all rows leave."""
    loss, sizes = problem.loss, found.sizes
    if isinstance(problem, Problem):
        _, scaled = fit_in_rounds(
            problem,
            replace(solver, thorough=False),
            sizes[:3],
            sizes.ridge,
            exchange=sizes.exchange,
            start="auto",
            random_state=fits["seed"],
            callback=None,
            verbose=0,
        )
        return scaled.loss
    if loss.nearly_quadratic and found.responses is not None:
        return problem.with_noise(found.responses.noise)
    pursuit = Pursuit(thorough=False)
    for _ in range(_MAX_FITS):
        shrunk = loss.with_ridge(sizes.ridge)
        bound = pursuit.sized(*sizes[:3])
        result = solve(shrunk, bound, Auto(exchanges_rows=True), fits["seed"], records=False)
        factors = Factors.zero(loss.shape, loss.prototype, rank=1)
        if result is not None and result.state.factors.rank:
            factors = result.state.factors
        before, loss = loss, problem.left_by(loss, factors)
        levels = [arrays.to_numpy(each.unit).astype(np.float64) for each in (before, loss)]
        if np.all(np.abs(np.log(levels[1] / levels[0])) < np.log(1.1)):
            break
    return loss


def automatic_ridges(curvatures: Array) -> list[float]:
    """Zero, and values from 1e-5 to 100 times the mean curvature, three per decade.

    They have five digits: 1e-05, 2.1544e-05, … for standardised predictors.
    """
    mean = float(arrays.namespace(curvatures).mean(curvatures))
    # few digits, so that rounding errors of the mean do not show in the ridges: the curvatures of
    # standardised predictors are 1 up to rounding, in single precision up to 1e-6
    return [0.0, *(float(f"{mean * ridge:.5g}") for ridge in np.geomspace(1e-5, 1e2, 22))]


def check_criterion(criterion: Any) -> Criterion | None:
    """The criterion; None for the error on held-out rows."""
    if isinstance(criterion, str) and criterion in _HELD_OUT:
        return None
    return as_criterion(criterion)


def score_name(estimator: Any) -> str:
    """What the sizes of an estimator were chosen by, for figures and pages."""
    known = check_criterion(getattr(estimator, "criterion", "cv"))
    if known is not None:
        return known.name.upper()
    return "held-out deviance" if hasattr(estimator, "family_") else "held-out error"


def _least_positive(weight: np.ndarray | None, rows: int, partitions: Sequence[Any]) -> int:
    """Number of rows of positive weight, in the smallest training part if there are any."""
    positive = np.ones(rows, dtype=bool) if weight is None else weight > 0
    parts = [train for splits in partitions for train, _ in splits]
    return min((int(np.count_nonzero(positive[part])) for part in parts), default=positive.sum())


def _alone_in_class(loss: GeneralizedLinear, weight: np.ndarray | None) -> np.ndarray:
    """Whether a row is the only one of positive weight in its category of a response."""
    alone = np.zeros(loss.X.shape[0], dtype=bool)
    for block in loss.family.blocks(loss.shape[1]):
        member = arrays.to_numpy(loss.Y)[:, block] > 0
        member &= True if weight is None else (weight > 0)[:, None]
        alone |= np.any(member[:, member.sum(axis=0) == 1], axis=1)
    return alone


def _never_held_out(alone: np.ndarray, splits: Sequence[Any]) -> list[Any]:
    """Splits with some rows in every training part: without them it lacks a whole class."""
    moved = [(np.union1d(a, b[alone[b]]), b[~alone[b]]) for a, b in splits]
    moved = [(train, test) for train, test in moved if len(test)]
    if sum(len(test) for _, test in moved) < sum(np.sum(alone[test]) for _, test in splits):
        raise ValueError(
            "y must have at least 2 samples of most classes, one of them to be held out, for sizes "
            f'that are "auto"; got {np.count_nonzero(alone)} classes with a single sample and '
            f"{len(alone)} samples; give rank, row_sparsity and column_sparsity, or leave these "
            "classes out"
        )
    return moved


def _at_most(values: Sequence[Any], limit: int) -> list[Any]:
    """Sizes of no more rows or columns than are not constant; what is no size passes."""
    return [
        min(value, limit) if isinstance(value, (int, np.integer)) and value > 0 else value
        for value in values
    ]


def _warnings(search: Search, space: Space, samples: int, null: str) -> list[str]:
    """What is known for free and makes the answer doubtful; ``null`` is the model of rank 0."""
    messages = [search.message] if search.stopped else []
    chosen = search.chosen
    sizes = chosen.sizes
    if sizes.rank == 0:
        messages.append(
            f"No model predicts better than {null}, by the estimate that chooses the sizes: all "
            f"{'other ' * (null == _KEPT)}coefficients are zero."
        )
        return messages
    if search.holds_out and not chosen.score < search.null_score:
        messages.append(f"The chosen model predicts held-out rows no better than {null}.")
    if 2 * sizes.rows > samples:
        part = " of a training part" if search.holds_out else ""
        messages.append(
            f"The chosen model keeps {sizes.rows} predictors, more than half of the {samples} "
            f"samples{part}: do not read it as a selection of predictors. With "
            'refit_rule="thinnest", or a limit such as row_sparsity=10, it keeps fewer.'
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
