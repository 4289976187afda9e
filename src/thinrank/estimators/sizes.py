"""The sizes of an estimator, with those that are "auto" chosen by a search."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.checks import check_callback, is_auto
from thinrank.core.contracts import Solver
from thinrank.core.factors import Factors
from thinrank.core.progress import progress_bar
from thinrank.core.result import Record, Sizes
from thinrank.core.warnings import SelectionWarning
from thinrank.estimators.explained import held_out_r2
from thinrank.estimators.noise import fit_rounds
from thinrank.estimators.problem import Problem
from thinrank.estimators.validation import check_criterion
from thinrank.minimize import seed_from
from thinrank.selection.choice import Evaluation, check_refit_rule
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

_NOTHING = "The predictors or the responses are constant: all coefficients are zero."
_MEANS = "the means of the responses"
_KEPT = "the predictors that are always kept"
_NOTHING_LEFT = (
    "The predictors that are always kept explain all others, or the responses: all other "
    "coefficients are zero."
)
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
    problem: Problem  # in units of the noise levels or dispersions of the last search

    @property
    def evaluations(self) -> list[Evaluation]:
        """All models that were tried in the last search."""
        return [self.chosen] if self.search is None else self.search.evaluations

    @property
    def records(self) -> list[Record]:
        """One record per model that was tried."""
        return [] if self.search is None else self.search.records

    def held_out_r2(self, problem: Problem) -> np.ndarray | None:
        """Share of each response that the chosen model explains in held-out rows.

        None if there were no held-out rows.
        """
        known = self.chosen.responses
        if known is None:
            return None
        live, count = problem.live_columns, problem.shape[1]
        places = np.arange(count) if live is None else arrays.to_numpy(live)
        return held_out_r2(known.errors, known.totals, problem.family, places, count)


def chosen_sizes(
    estimator: Any, problem: Problem, weight: Array | None, solver: Solver, groups: Any = None
) -> tuple[dict[str, Any], Found | None]:
    """The sizes as given, with those that are "auto" chosen; None if all sizes were given."""
    names = ("rank", "row_sparsity", "column_sparsity", "ridge")
    given = {name: getattr(estimator, name) for name in names}
    if not any(is_auto(value) for value in list(given.values())[:3]):
        if is_auto(estimator.ridge):
            given["ridge"] = 0.0
        given["exchange"] = is_auto(estimator.exchange) or estimator.exchange
        return given, None
    grid = [None if is_auto(value) else [value] for value in given.values()]
    found = find_sizes(estimator, problem, weight, solver, grid, estimator.criterion, groups)
    return found.params, found


def find_sizes(
    estimator: Any,
    problem: Problem,
    weight: Array | None,
    solver: Solver,
    grid: Sequence[Sequence[Any] | None],
    criterion: Any,
    groups: Any = None,
) -> Found:
    """Search for sizes, by held-out error or by a criterion, and warn of what is doubtful.

    ``grid``: ranks, numbers of rows, of columns, and ridges; None for all that make sense.
    """
    with _progress(estimator.callback, estimator.verbose) as progress:
        found = _searched(estimator, problem, weight, solver, grid, criterion, groups, progress)
    for message in found.warnings:
        warnings.warn(message, SelectionWarning, stacklevel=4)
    return found


@contextmanager
def _progress(
    callback: Callable[[Any], object] | None, verbose: int
) -> Iterator[Callable[[float, str], None] | None]:
    """Check the callback of a search, and show a bar on standard error if ``verbose`` is positive.

    Yields a function of the share of the search that is done and of a text, or None.
    """
    check_callback(callback)
    if not verbose > 0:
        yield None
        return
    with progress_bar("searching", 1.0, count=False, time_left=True) as update:
        yield lambda share, text: update(share, text=text)
        update(1.0)


def _searched(
    estimator: Any,
    problem: Problem,
    weight: Array | None,
    solver: Solver,
    grid: Sequence[Sequence[Any] | None],
    criterion: Any,
    groups: Any,
    progress: Any,
) -> Found:
    ranks, rows, columns, ridges = grid
    seed = seed_from(estimator.random_state)
    start = as_start(estimator.start, solver.exchanges_rows)
    loss: Any = problem.loss
    problem.hold_for_search()
    curvatures = loss.row_scales() ** 2
    own = automatic_ridges(curvatures)
    if problem.needs_ridge:
        own = own[1:]
    known = check_criterion(criterion)
    numbers = None if weight is None else arrays.to_numpy(weight)
    n = problem.columns.design.shape[0]
    partitions = (
        [] if known is not None else make_partitions(estimator.cv, numbers, n, seed, groups)
    )
    partitions = [checked_splits(indices, n) for indices in partitions]
    alone = problem.alone_in_class(numbers)
    if alone is not None:
        partitions = [_never_held_out(alone, indices) for indices in partitions]
    positive = _least_positive(numbers, n, partitions)
    kept = problem.kept
    small = min(n, loss.shape[0]) <= MOST_ROWS
    form = None if small else loss.majorizer(Factors.zero(loss.shape, loss.prototype, rank=1))
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
        exchanges=(False, True) if is_auto(estimator.exchange) else (bool(estimator.exchange),),
    )
    if not problem.explainable or not bool(arrays.namespace(curvatures).any(curvatures > 0)):
        null = Evaluation(Sizes(0, 0, 0, 0.0), 0.0, (0.0,), (), np.empty((0, 0)), 0.0)
        message = _NOTHING if kept is None else _NOTHING_LEFT
        return Found(None, space, null, space.params(null.sizes), [message], problem)
    fits: dict[str, Any] = {
        "start": Auto(exchanges_rows=True) if isinstance(start, (Auto, Given)) else start,
        "seed": seed,
    }
    selects = space.rows[0] < p, space.columns[0] < k

    def splits_of(loss: Any) -> list[Any]:
        if known is not None:
            return [[criterion_split(loss, known, *selects, **fits)]]
        training = {
            "center": estimator.fit_intercept,
            "scale": estimator.standardize,
            "forced": None if kept is None else kept.values,
        }
        return [held_out_splits(loss, indices, **training, **fits) for indices in partitions]

    options = {
        "rule": check_refit_rule(estimator.refit_rule),
        "rows": n,
        "solver": solver if isinstance(solver, Pursuit) else Pursuit(),
        "n_jobs": estimator.n_jobs,
        "callback": estimator.callback,
        "progress": progress,
    }
    search, last = _in_units_of_noise(problem, space, splits_of, options, fits)
    messages = _warnings(search, space, positive, _MEANS if kept is None else _KEPT)
    chosen = search.chosen
    return Found(search, space, chosen, space.params(chosen.sizes), messages, last)


def _in_units_of_noise(
    problem: Problem, space: Space, splits_of: Any, options: dict[str, Any], fits: dict[str, Any]
) -> tuple[Search, Problem]:
    """A search in units of the noise in each response, which a first look estimates.

    Returns the search and the problem in its units.
    """
    scaled = problem
    splits = splits_of(problem.loss)
    search = Search(splits[:1], space, part=(0.0, _LOOK), **options)
    if space.exhaustive is not None or not problem.noise_matters(0):
        search = Search(splits, space, **options)
        search.run()
        return search, problem
    before: Search | None = None
    for i in range(_LOOKS):
        coarse = search.first_look(exchange=i > 0)
        found = search.best
        if search.stopped:
            return _with_a_model(search, before), scaled
        if found.sizes.rank == 0:
            break
        before, scaled = search, _left_by(problem, found, options["solver"], fits["seed"])
        splits = splits_of(scaled.loss)
        part = (i + 1) * _LOOK, (i + 2) * _LOOK
        search = Search(splits[:1], space, records=search.records, part=part, **options)
    last = found.sizes if found.sizes.rank else None
    part = _LOOKS * _LOOK, 1.0
    search = Search(splits, space, records=search.records, part=part, **options)
    search.run(coarse, last)
    return _with_a_model(search, before), scaled


def _with_a_model(search: Search, before: Search | None) -> Search:
    """The search, or the one before if it was stopped before the first model."""
    if search.stopped and search.best.sizes.rank == 0 and before is not None:
        before.stopped = True
        return before
    return search


def _left_by(problem: Problem, found: Evaluation, solver: Any, seed: int) -> Problem:
    """The problem with the noise levels or dispersions that a model leaves."""
    known = problem.left_by_model(found)
    if known is not None:
        return known
    sizes, quick = found.sizes, replace(solver, thorough=False)
    ridge, exchange = sizes.ridge, sizes.exchange
    fit, last = fit_rounds(problem, quick, sizes[:3], ridge, exchange=exchange, random_state=seed)
    return last.settled(fit)


def automatic_ridges(curvatures: Array) -> list[float]:
    """Zero, and values from 1e-5 to 100 times the mean curvature, three per decade.

    They have five digits: 1e-05, 2.1544e-05, … for standardised predictors.
    """
    mean = float(arrays.namespace(curvatures).mean(curvatures))
    # few digits, so that rounding errors of the mean do not show in the ridges: the curvatures of
    # standardised predictors are 1 up to rounding, in single precision up to 1e-6
    return [0.0, *(float(f"{mean * ridge:.5g}") for ridge in np.geomspace(1e-5, 1e2, 22))]


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
