"""A fit from start to end: the choice of sizes, and the fit in rounds of noise levels."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib.metadata import version
from numbers import Integral
from typing import Any, cast

import joblib
import numpy as np
from scipy.sparse.linalg import LinearOperator
from sklearn.exceptions import ConvergenceWarning

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.checks import is_auto
from thinrank.core.contracts import Solver, is_design
from thinrank.core.factors import Factors
from thinrank.core.journal import PATH as CHECKPOINT
from thinrank.core.journal import Journal, is_recording, recording
from thinrank.core.progress import progress_bar, with_progress_bar
from thinrank.core.resources import explained, one_thread_if_small
from thinrank.core.result import Outcome, Record, Sizes, Solution, Status
from thinrank.core.warnings import SelectionWarning
from thinrank.designs import Standardization, as_design
from thinrank.designs.blocks import RowBlocks
from thinrank.designs.dense import MeanFilled
from thinrank.estimators.description import by_block
from thinrank.estimators.problem import FitResult, Problem, TrainingData, live
from thinrank.estimators.validation import criterion_of, lazy_rows, without_mask
from thinrank.minimize import as_solver, as_start, seed_from, solution_of, solve
from thinrank.selection.choice import Evaluation
from thinrank.selection.scores import CriterionScore
from thinrank.selection.search import Search
from thinrank.selection.space import Space, make_space
from thinrank.selection.splits import (
    Split,
    checked_splits,
    held_out_splits,
    make_partitions,
)
from thinrank.solvers.pursuit import MANY_ROWS, Pursuit
from thinrank.starts import Auto, Backward, Given
from thinrank.starts.elimination import MOST_ROWS, eliminates_quickly, most_at_once

SIZES = "rank", "row_sparsity", "column_sparsity"
_MEANS = "the means of the responses"
_KEPT = "the predictors that are always kept"
# Number of looks at the data, each in units of the noise that the best model of the last leaves. In
# 11 simulations one look had 3.6 % more error than two, in 86 % of the time. There is one for
# dispersions, which change less than noise levels do.
_LOOKS = 2
# Largest number of partitions of the rows for families without units, whose fits take long.
_MOST_PARTITIONS = 2
# Number of ridges that are too small for families with probabilities or means, those below 1e-3:
# separated classes then have linear predictors of several hundred, and fits take ten times as long.
_TOO_SMALL = 7
_COUNTS = (
    "The responses are counts with many zeros, whose variance grows with their mean: "
    'SparseReducedRankGLM("negative_binomial") is the model for them.'
)


@contextmanager
def whole_fit(estimator: Any, **arguments: Any) -> Iterator[None]:
    """Undo what a fit changed in an estimator if it ends by an error or by Ctrl-C.

    If the memory did not suffice, the error says how much was needed and what to do. In the block
    of a checkpoint the fit is stored. A fit of small data uses one thread, which is faster. Nothing
    is recorded for derivatives.
    """
    before, X = dict(vars(estimator)), arguments["X"]
    try:
        with (
            _recorded(estimator, arguments),
            one_thread_if_small(_multiplications(**arguments)),
            arrays.without_gradients(X),
        ):
            yield
    except BaseException as error:  # also on Ctrl-C
        vars(estimator).clear()
        vars(estimator).update(before)
        if isinstance(error, MemoryError):
            raise explained(error) from error
        raise


def _recorded(estimator: Any, arguments: dict[str, Any]) -> Any:
    """A context in which a fit is stored, if it is in the block of a checkpoint."""
    path = CHECKPOINT.get()
    if path is None or is_recording():  # a fit within a fit is part of it
        return nullcontext()
    parameters = estimator.get_params(deep=False)
    without_effect = ("callback", "verbose")
    known = {**arguments, **{k: v for k, v in parameters.items() if k not in without_effect}}
    identity = {name: _fingerprint(name, value) for name, value in known.items()}
    identity["the estimator"] = type(estimator).__qualname__
    identity["the version of thinrank"] = version("thinrank")
    return recording(Journal(path, identity))


def _fingerprint(name: str, value: Any) -> str:
    """A text that is the same for equal values, in any process, and hardly for others."""
    value = without_mask(lazy_rows(name, value))
    if isinstance(value, Iterator):
        raise ValueError(
            f"{name} cannot be compared with that of a checkpoint: pass a list instead of an "
            "iterator"
        )
    if isinstance(value, LinearOperator) or is_design(value):
        # products with three vectors, since the entries may not be known
        design = as_design(value)
        probes = np.random.default_rng(0).standard_normal((design.shape[1], 3))
        value = design @ arrays.from_numpy(probes, design.prototype)
    if arrays.is_array(value):
        value = arrays.to_numpy(value)
    try:
        return str(joblib.hash(value))
    except Exception as error:  # whatever an object raises that cannot be pickled
        raise ValueError(f"{name} cannot be compared with that of a checkpoint: {error}") from error


def _multiplications(X: Any, y: Any = None, **others: Any) -> float:
    """Multiplications on the host in the larger of XᵀX (or XXᵀ) and XᵀY; infinite if unknown."""
    if arrays.is_array(X) and not arrays.on_host(X):
        return 0.0
    rows, columns = (*getattr(X, "shape", ()), 0, 0)[:2]
    targets = (*getattr(y, "shape", ()), 1, 1)[1]
    try:
        return float(rows) * columns * max(min(rows, columns), targets)
    except TypeError:  # a side may be None
        return math.inf


def fit_data(estimator: Any, data: TrainingData, single: bool, names: Any) -> FitResult:
    """Choose the sizes that are not given, fit, and store the result; ``single``: y is a vector."""
    solver = as_solver(estimator.solver, estimator.max_iter, estimator.tol)
    if data.family is None and isinstance(data.design, RowBlocks) and not len(data.kept):
        problem = _of_blocks(estimator, solver, data)
    else:
        problem = Problem.prepare(
            data,
            fit_intercept=estimator.fit_intercept,
            standardize_columns=estimator.standardize,
            scale=estimator.standardize and solver.adapts_to_units,
        )
    grid = estimator._grid()
    if grid is None:
        given = {name: getattr(estimator, name) for name in SIZES}
        given["ridge"] = 0.0 if is_auto(estimator.ridge) else estimator.ridge
        given["exchange"] = is_auto(estimator.exchange) or estimator.exchange
        found = Found(given, problem)
    else:
        found = find_sizes(estimator, problem, data, solver, grid)
        estimator._keep_search(found)
    params = found.params
    doubts: list[tuple[str, type[Warning]]]
    doubts = [(message, SelectionWarning) for message in found.messages]
    # the final fit of a family begins with the noise levels of the search
    last = problem if problem.family is None else found.problem
    if params["rank"] == 0 or not problem.explainable:
        null = "means" if problem.kept is None else "predictors that are always kept"
        message = f"No model is better than the {null}: the rank is 0."
        if params["rank"]:
            message = f"The {null} explain the responses: the rank is 0."
        zero = Factors.zero(problem.loss.shape, like=problem.loss.prototype)
        solution = Solution(zero, 0.0, Status(Outcome.ZERO, message))
    else:
        solution, last = fit_rounds(
            last,
            solver,
            (params["rank"], params["row_sparsity"], params["column_sparsity"]),
            params["ridge"],
            exchange=params["exchange"],
            start=estimator.start,
            random_state=estimator.random_state,
            callback=estimator.callback,
            verbose=estimator.verbose,
        )
        if solution.status.outcome in (Outcome.ITERATION_LIMIT, Outcome.DIVERGED):
            doubts.append((solution.status.message, ConvergenceWarning))
    family = None
    if problem.family is not None:
        family = last.fitted_family(solution.factors)
        doubts += [(message, SelectionWarning) for message in last.doubts(solution.factors)]
    messages = [message for message, _ in doubts]
    if family is None and _are_counts(data.Y):
        messages.append(_COUNTS)
    for message, category in doubts:
        warnings.warn(message, category, stacklevel=4)  # the line of the user
    result = FitResult(
        *last.to_user(solution.factors),
        family,
        params,
        found.records,
        solution.status,
        solution.history,
        messages,
        None if problem.kept is not None else problem.columns.scale,
        found.held_out_r2,
        last.target_units(),
        problem.moments,
    )
    estimator._keep(result, data, single, names)
    return result


def _are_counts(Y: Any) -> bool:
    """Whether all responses are whole numbers from 0 to more than 10, a tenth of them 0."""
    if not isinstance(Y, np.ndarray) or Y.size == 0 or not np.array_equal(Y[0], np.round(Y[0])):
        return False
    whole = bool(np.all(Y >= 0)) and np.array_equal(Y, np.round(Y))
    return whole and bool(Y.max() > 10) and bool(np.mean(Y == 0) >= 0.1)


def _of_blocks(estimator: Any, solver: Solver, data: TrainingData) -> Problem:
    """The least squares problem of row blocks, from their moments, after one pass."""
    from thinrank.forms.block_moments import BlockForm, BlockMoments  # few data are in blocks
    from thinrank.losses.quadratic import FormLoss

    X: Any = data.design
    weight, center, scale = data.sample_weight, estimator.fit_intercept, estimator.standardize
    Y, splits = X.beside(data.Y), []
    searched = estimator._grid() is not None
    held_out = searched and criterion_of(estimator) is None
    if held_out and isinstance(estimator.cv, Integral) and not isinstance(estimator.cv, bool):
        seed = seed_from(estimator.random_state)
        splits = make_partitions(estimator.cv, weight, X.shape[0], seed)[0]
    moments = BlockMoments(
        X,
        Y,
        weight,
        center=center,
        scale=scale,
        splits=checked_splits(splits, X.shape[0]),
        whole_gram=searched and X.shape[1] <= MOST_ROWS,
    )
    part = moments.whole
    mean_x, mean_y, deviation_x = (
        arrays.from_numpy(x, X.prototype) for x in (part.mean_x, part.mean_y, part.deviation_x)
    )
    scaled = scale and solver.adapts_to_units
    live_columns = live(part.deviation_y) if scaled else None
    targets = np.arange(Y.shape[1]) if live_columns is None else live_columns
    own = part.deviation_y[targets]
    constant = not own.any() and (scaled or center)
    form = BlockForm(moments, part, targets, own if scaled or constant else np.ones(len(own)))
    target_scale = arrays.from_numpy(own, X.prototype) if scaled and not constant else None
    return Problem(
        FormLoss(form, ridge=0.0),
        Standardization(X, mean_x if center else None, deviation_x if scale else None),
        Standardization(Y, mean_y if center else None, None),
        target_scale,
        target_scale,
        live(part.deviation_x) if scale else None,
        live_columns,
        (X.shape[1], Y.shape[1]),
        rescales=target_scale is not None and len(own) > 1,
        moments=form,
    )


# ---------------------------------------------------------------------- the fit


def fit_rounds(
    problem: Problem,
    solver: Solver,
    sizes: tuple[int, int | None, int | None],
    ridge: float,
    *,
    exchange: bool,
    start: Any = "auto",
    random_state: Any = None,
    callback: Any = None,
    verbose: int = 0,
) -> tuple[Solution, Problem]:
    """Fit with given sizes, until the supports or the noise in the responses do not change.

    Every fit but the first has the responses in units of the noise that the fit before left.
    Returns the last fit, and the problem in its units. ``sizes``: None for no limit.
    """
    rank, rows, columns = problem.limited(*sizes)
    quadratic = "quadratic" in problem.loss.capabilities
    if not exchange and isinstance(solver, Pursuit):
        solver = replace(solver, exchanges=False)
        if is_auto(start) and quadratic:  # for other losses "auto" is elimination
            start = Backward()
    bound = now = solver.sized(rank, rows, columns)
    continues = is_auto(start) and quadratic
    many = isinstance(solver, Pursuit) and rows > MANY_ROWS
    if many and continues and problem.noise_matters(rows):
        # the next fit, in better units, begins with this one and replaces many rows at once
        now = replace(cast(Pursuit, solver), exchanges=False).sized(rank, rows, columns)
    begin = as_start(problem.start(start), solver.exchanges_rows)
    supports = None
    # more than two further fits of least squares rarely change the supports
    fits_left = 3 if problem.family is None else 6
    while True:
        loss = problem.loss.with_ridge(ridge)
        text = "objective {0.objective:.6g}  change {0.change:.1e}".format
        shown = callback, text, "fitting", solver.max_iter
        with with_progress_bar(*shown, show=verbose > 0) as report:
            found = solve(loss, now, begin, seed_from(random_state), report)
        fits_left -= 1
        if found is None or not found.state.factors.rank:
            break
        factors = found.state.factors
        both = factors.row_support, factors.column_support
        before, supports = supports, [arrays.to_numpy(each).tolist() for each in both]
        ended = found.status.outcome is Outcome.STOPPED or supports == before
        if ended or not (fits_left and problem.noise_matters(rows, ridge)):
            break
        again = problem.left_by(found.state, rows, ridge)
        if again is problem and now is bound:
            break
        begin = as_start(again.start(start), solver.exchanges_rows)
        if continues and not eliminates_quickly(loss):
            begin = factors
            if again is not problem:
                begin = factors.with_column_units(problem.target_scale / again.target_scale)
        problem, now = again, bound
        del factors, found  # they may be large, and the next fit needs memory
    return solution_of(found, loss, rank, None if found is None else found.state.factors), problem


# ---------------------------------------------------------------------- the choice of sizes


@dataclass(frozen=True)
class Found:
    """The sizes of the final fit, and what was compared to choose them, if they were not given."""

    params: dict[str, Any]  # the sizes, as parameters of the regressor
    problem: Problem  # in units of the noise levels or dispersions of the last search
    messages: Sequence[str] = ()  # what the user was warned of
    records: Sequence[Record] = ()  # one per model that was tried
    evaluations: Sequence[Evaluation] = ()  # all models that were tried in the last search
    tried: Sequence[dict[str, Any]] = ()  # their sizes, like ``params``
    held_out_r2: np.ndarray | None = None  # share explained of each response in held-out rows


def _found(
    space: Space, problem: Problem, messages: list[str], chosen: Evaluation, search: Search | None
) -> Found:
    """The result of a search, which is None if there is nothing to choose."""
    evaluations, held_out = [chosen] if search is None else search.evaluations, None
    if chosen.responses is not None:
        both = np.zeros((2, problem.shape[1]))
        live = problem.live_columns
        both[:, slice(None) if live is None else arrays.to_numpy(live)] = chosen.responses
        errors, totals = (by_block(problem.family, each) for each in both)
        nothing = np.full_like(totals, np.nan)
        held_out = np.divide(totals - errors, totals, nothing, where=totals > 0)
    return Found(
        space.params(chosen.sizes),
        problem,
        messages,
        [] if search is None else search.records,
        evaluations,
        [space.params(each.sizes) for each in evaluations],
        held_out,
    )


def find_sizes(
    estimator: Any,
    problem: Problem,
    data: TrainingData,
    solver: Solver,
    grid: Sequence[Sequence[Any] | None],
) -> Found:
    """Search for sizes, by held-out error or by a criterion, and warn of what is doubtful."""
    seed, known = seed_from(estimator.random_state), criterion_of(estimator)
    weight = data.sample_weight
    numbers = None if weight is None else arrays.to_numpy(weight)
    n = problem.columns.design.shape[0]
    partitions = []
    if known is None:
        partitions = make_partitions(estimator.cv, numbers, n, seed, data.groups)
    partitions = [checked_splits(indices, n) for indices in partitions]
    if not problem.has_units.any():
        partitions = partitions[:_MOST_PARTITIONS]
    if problem.family is None:
        problem.loss.hold_for_search()  # other fits have weights of their own
    else:
        partitions = [_with_every_class(problem.loss, numbers, each) for each in partitions]
    samples = _least_positive(numbers, n, partitions)
    curvatures = problem.loss.row_scales() ** 2
    space = _space(estimator, problem, grid, samples, curvatures, known is None)
    if not problem.explainable or not bool(arrays.namespace(curvatures).any(curvatures > 0)):
        null = Evaluation(Sizes(0, 0, 0, 0.0), 0.0, (0.0,), (), np.empty((0, 0)), 0.0)
        message = "The predictors or the responses are constant: all coefficients are zero."
        if problem.kept is not None:
            message = (
                f"{_KEPT[0].upper()}{_KEPT[1:]} explain all others, or the responses: all other "
                "coefficients are zero."
            )
        return _found(space, problem, [message], null, None)
    start = as_start(estimator.start, solver.exchanges_rows)
    fits: dict[str, Any] = {
        "start": Auto(exchanges_rows=True) if isinstance(start, (Auto, Given)) else start,
        "seed": seed,
    }

    def splits_of(loss: Any, count: int | None = None) -> list[Any]:
        """The splits of every partition of the rows, or of the first ones."""
        if known is not None:
            selects = space.rows[0] < loss.shape[0], space.columns[0] < loss.shape[1]
            return [[Split(loss, CriterionScore(loss, known, *selects), **fits)]]
        training = {
            "center": estimator.fit_intercept,
            "scale": estimator.standardize,
            "forced": problem.forced,
            "filled": problem.filled(data) if isinstance(data.design, MeanFilled) else None,
        }
        return [
            held_out_splits(loss, indices, **training, **fits) for indices in partitions[:count]
        ]

    options: dict[str, Any] = {
        "rule": estimator.refit_rule,
        "rows": n,
        "solver": solver if isinstance(solver, Pursuit) else Pursuit(),
        "n_jobs": estimator.n_jobs,
        "callback": estimator.callback,
    }
    shows = estimator.verbose > 0
    with progress_bar("choosing sizes", 1.0, show=shows, count=False, time_left=True) as update:
        if shows:
            options["progress"] = lambda share, text: update(share, text=text)
        search, last = _in_units_of_noise(problem, space, splits_of, options, seed)
        update(1.0)
    without = _MEANS if problem.kept is None else _KEPT
    messages = list(_warnings(search, space, samples, without))
    return _found(space, last, messages, search.chosen, search)


def _space(
    estimator: Any,
    problem: Problem,
    grid: Sequence[Sequence[Any] | None],
    samples: int,
    curvatures: Array,
    thick: bool,
) -> Space:
    """The sizes to choose from; ``thick`` if there may be more predictors than samples."""
    loss: Any = problem.loss
    ranks, rows, columns, ridges = grid
    p, k = loss.shape
    most_rows, least = None, 0 if problem.has_units.all() else _TOO_SMALL
    if min(problem.columns.design.shape[0], p) > MOST_ROWS:
        most_rows = most_at_once(loss.majorizer(Factors.zero(loss.shape, loss.prototype, rank=1)))
    return make_space(
        loss.shape,
        samples if problem.kept is None else max(samples - problem.kept.basis.shape[1], 1),
        ranks=_at_most(ranks, min(p, k)),
        rows=_at_most(rows, p),
        columns=_at_most(columns, k),
        ridges=automatic_ridges(curvatures)[least:] if ridges is None else ridges,
        thick=thick,
        most_rows=most_rows,
        exchanges=(False, True) if is_auto(estimator.exchange) else (bool(estimator.exchange),),
    )


def _in_units_of_noise(
    problem: Problem, space: Space, splits_of: Any, options: dict[str, Any], seed: int
) -> tuple[Search, Problem]:
    """A search in units of the noise that first looks estimate, and the problem in these units."""
    looks = _LOOKS if problem.has_units.any() else 1
    if space.exhaustive is not None or not problem.noise_matters(0):
        looks = 0
    missing = getattr(problem.loss, "entry_weight", None) is not None
    step = 1 / (looks + 3)  # of a progress bar, for every look
    scaled, coarse, last = problem, None, None
    search: Search | None = None
    before: Search | None = None
    records: list[Record] = []
    for i in range(looks):
        part = i * step, (i + 1) * step
        first = splits_of(scaled.loss, 1)
        search = Search(first, space, records=records, part=part, **options)
        # without exchanges the first look is quick; with missing entries its rows are too poor
        coarse = search.first_look(exchange=i > 0 or missing)
        found = search.best
        last = found.sizes if found.sizes.rank else None
        if search.stopped or last is None:
            break
        quick = replace(options["solver"], thorough=False)
        exchange, ridge = last.exchange, last.ridge
        fit, scaled = fit_rounds(
            problem, quick, last[:3], ridge, exchange=exchange, random_state=seed
        )
        if problem.family is not None and fit.factors.rank:
            scaled = scaled.left_by(fit)
        before = search
    if search is None or not search.stopped:
        splits, part = splits_of(scaled.loss), (looks * step, 1.0)
        search = Search(splits, space, records=records, part=part, **options)
        search.run(coarse, last)
    if search.stopped and search.best.sizes.rank == 0 and before is not None:
        before.stopped, search = True, before  # it was stopped before the first model
    return search, scaled


def automatic_ridges(curvatures: Array) -> list[float]:
    """Zero, and values from 1e-5 to 100 times the mean curvature, three per decade."""
    mean = float(arrays.namespace(curvatures).mean(curvatures))
    # few digits, so that rounding errors of the mean do not show in the ridges: the curvatures of
    # standardized predictors are 1 up to rounding, in single precision up to 1e-6
    return [0.0, *(float(f"{mean * ridge:.5g}") for ridge in np.geomspace(1e-5, 1e2, 22))]


def _least_positive(weight: np.ndarray | None, rows: int, partitions: Sequence[Any]) -> int:
    """Number of rows of positive weight, in the smallest training part if there are any."""
    positive = np.ones(rows, dtype=bool) if weight is None else weight > 0
    parts = [train for splits in partitions for train, _ in splits]
    return min((int(np.count_nonzero(positive[part])) for part in parts), default=positive.sum())


def _with_every_class(loss: Any, weight: np.ndarray | None, splits: Sequence[Any]) -> list[Any]:
    """Splits with the only row of a class, of positive weight, in every training part."""
    alone = np.zeros(loss.X.shape[0], dtype=bool)
    for block in loss.family.blocks(loss.shape[1]):
        member = arrays.to_numpy(loss.Y)[:, block] > 0
        member &= True if weight is None else (weight > 0)[:, None]
        alone |= np.any(member[:, member.sum(axis=0) == 1], axis=1)
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


def _at_most(values: Sequence[Any] | None, limit: int) -> list[Any] | None:
    """Sizes of no more rows or columns than are not constant; what is no size passes."""
    if values is None:
        return None
    return [
        min(value, limit) if isinstance(value, (int, np.integer)) and value > 0 else value
        for value in values
    ]


def _warnings(search: Search, space: Space, samples: int, null: str) -> Iterator[str]:
    """What is known for free and makes the answer doubtful; ``null`` is the model of rank 0."""
    chosen, sizes = search.chosen, search.chosen.sizes
    if search.stopped:
        count = len(search.records)
        yield f"The search was stopped after {count} models; the best of them is kept."
    if sizes.rank == 0:
        yield (
            f"No model predicts better than {null}, by the estimate that chooses the sizes: all "
            f"{'other ' * (null == _KEPT)}coefficients are zero."
        )
        return
    if search.holds_out and not chosen.score < search.null_score:
        yield f"The chosen model predicts held-out rows no better than {null}."
    if 2 * sizes.rows > samples:
        part = " of a training part" if search.holds_out else ""
        yield (
            f"The chosen model keeps {sizes.rows} predictors, more than half of the {samples} "
            f"samples{part}: do not read it as a selection of predictors. With "
            'refit_rule="thinnest", or a limit such as row_sparsity=10, it keeps fewer.'
        )
    if len(space.ridges) > 1 and sizes.ridge == space.ridges[-1]:
        yield (
            f"The chosen ridge, {sizes.ridge:.3g}, is the largest that was allowed: hardly "
            "anything can be predicted."
        )
    if len(space.rows) > 1 and sizes.rows == space.rows[-1] < search.shape[0]:
        yield f"The chosen number of predictors, {sizes.rows}, is the largest that was allowed."
