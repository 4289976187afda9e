"""Noise levels of responses: estimates from fits, and fits in rounds of such estimates."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.special import fdtrc

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.checks import is_auto
from thinrank.core.contracts import Solver
from thinrank.core.factors import Factors
from thinrank.core.progress import with_progress_bar
from thinrank.core.result import Callback, Outcome, Record, Solution
from thinrank.estimators.kept import KeptPredictors
from thinrank.losses.families import Family
from thinrank.losses.generalized_linear import GeneralizedLinear
from thinrank.minimize import as_start, check_sizes, seed_from, solution_of, solve
from thinrank.solvers.exchanges import MANY_ROWS
from thinrank.solvers.pursuit import Pursuit
from thinrank.starts import Auto, Backward

if TYPE_CHECKING:
    from thinrank.estimators.problem import Problem

# The noise in a response is taken to be at least this fraction of its standard deviation, so that
# a response that is explained almost completely does not outweigh all others. Rule of thumb.
LEAST = 0.1
# With this many degrees of freedom an estimate of the noise has the same weight as the standard
# deviation of the response. Rule of thumb.
_PRIOR_FREEDOM = 2.0
# With many missing entries noise levels are estimated by regressions of the responses on the
# predictors of a fit if there are at most this number of them, since more would take long, and only
# for responses of which such a regression leaves this fraction of the entries as degrees of
# freedom. Rules of thumb.
_MOST_REGRESSED = 100
_LEAST_LEFT = 0.25
# Level of the test that a fit lacks something of a response.
_LACKS = 0.01


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
    check_sizes(problem.loss.shape, rank, rows, columns)
    quadratic = "quadratic" in problem.loss.capabilities
    if not exchange and isinstance(solver, Pursuit):
        solver = replace(solver, exchanges=False)
        if is_auto(start) and quadratic:  # for other losses "auto" is elimination
            start = Backward()
    bound = now = solver.sized(rank, rows, columns)
    continues = is_auto(start) and quadratic
    many = isinstance(solver, Pursuit) and rows > MANY_ROWS
    if many and continues and problem.noise_matters(rows):
        # partial covariances, with which the next fit begins, replace many rows at once
        now = replace(cast(Pursuit, solver), exchanges=False).sized(rank, rows, columns)
    begin = as_start(problem.start(start), solver.exchanges_rows)
    supports = None
    fits_left = problem.max_rounds
    while True:
        loss = problem.loss.with_ridge(ridge)
        with _shown(callback, solver.max_iter, verbose) as report:
            found = solve(loss, now, begin, seed_from(random_state), report)
        fits_left -= 1
        if found is None:  # nothing to fit
            return solution_of(None, loss, rank), problem
        factors = found.state.factors
        before, supports = supports, _supports_of(factors)
        ended = found.status.outcome is Outcome.STOPPED or supports == before or not factors.rank
        if ended or not (fits_left and problem.noise_matters(rows, ridge)):
            return solution_of(found, loss, rank, factors), problem
        again = problem.left_by(found.state, rows, ridge)
        if again is problem and now is bound:
            return solution_of(found, loss, rank, factors), problem
        begin = as_start(again.start(start), solver.exchanges_rows)
        if continues:
            known = problem.in_units_of(again, factors)
            near = again.has_about_the_scales_of(problem)
            begin = Auto(solver.exchanges_rows, known=known, near=near)
        problem, now = again, bound
        del factors, found  # they may be large, and the next fit needs memory


def _shown(
    callback: Callback | None, limit: int, verbose: int
) -> AbstractContextManager[Callback | None]:
    """The callback of a fit, with a progress bar on standard error if ``verbose`` is positive."""

    def text(record: Record) -> str:
        return f"objective {record.objective:.6g}  change {record.change:.1e}"

    if not verbose > 0:
        return nullcontext(callback)
    return with_progress_bar(callback, text, "fitting", limit, show=True)


def _supports_of(factors: Factors) -> tuple[list[int], list[int]]:
    """Row and column support as lists, which can be compared."""
    rows, columns = factors.row_support, factors.column_support
    return arrays.to_numpy(rows).tolist(), arrays.to_numpy(columns).tolist()


# ---------------------------------------------------------------------- degrees of freedom


def share_of_freedom(factors: Factors, shrunk: float = 0.0) -> float:
    """Degrees of freedom of a fit per response in use: (s₁ + s₂ − r)·r/s₂, 0 for rank 0."""
    rows, columns = factors.row_support.shape[0] - shrunk, factors.column_support.shape[0]
    if not columns:
        return 0.0
    return (rows + columns - factors.rank) * factors.rank / columns


def ridge_freedom(fit: Any, ridge: float) -> float:
    """The degrees of freedom that a ridge takes from the rows of a fit by pursuit."""
    root = getattr(fit, "root", None)
    if not ridge or root is None or root.shape[0] == 0:
        return 0.0
    return root.shape[1] - root.shape[0] + ridge * arrays.norm(root) ** 2


def freedom(loss: GeneralizedLinear, factors: Factors, kept: KeptPredictors | None) -> np.ndarray:
    """Entries of every response minus its share of the degrees of freedom, at least half."""
    entries, free = _entries(loss, kept)
    return _left(factors, entries, free)


def _left(factors: Factors, entries: np.ndarray, free: int, shrunk: float = 0.0) -> np.ndarray:
    share = np.zeros(factors.shape[1])
    share[arrays.to_numpy(factors.column_support)] = share_of_freedom(factors, shrunk)
    return np.maximum(entries - free - share, entries / 2)


def _entries(loss: GeneralizedLinear, kept: KeptPredictors | None) -> tuple[np.ndarray, int]:
    """Number of entries of every response, and of free coefficients."""
    entries = arrays.to_numpy(relative_weights(loss)).astype(np.float64).sum(axis=0)
    return entries, 1 if kept is None else 1 + kept.rank  # as for least squares


# ---------------------------------------------------------------------- estimates


def of_squares(
    factors: Factors, squares: np.ndarray, total: np.ndarray, n: float, free: int, shrunk: float
) -> np.ndarray:
    """Standard deviations of the noise in the responses of a least squares fit.

    The residual sums of squares are divided by ν = n − 1 − q − (s₁ + s₂ − r)·r/s₂, where q is the
    number of predictors that are always kept and the last term is the share of a response in use
    in the degrees of freedom of the fit, but not by less than n/2. As the estimate is uncertain
    with few samples, it is averaged on the logarithmic scale with the standard deviation of the
    response, with weights ν/(ν + 2) and 2/(ν + 2).

    Shapes: ``squares``, the residual sums, ``total`` and result (n_targets,).
    """
    # few numbers, many operations: on the host
    left = _left(factors, np.full(len(total), n), free, shrunk)
    trust = left / (left + _PRIOR_FREEDOM)
    found, deviation = np.sqrt(np.maximum(squares, 0.0) / left), np.sqrt(total / n)
    return found**trust * deviation ** (1 - trust)


def family_left_by(
    loss: GeneralizedLinear, factors: Factors, kept: KeptPredictors | None, deviations: np.ndarray
) -> Family:
    """The family with the noise levels or dispersions that a fit leaves.

    As an estimate of a noise level is uncertain with few entries, it is averaged on the
    logarithmic scale with the scale of the response without predictors, with weights
    ν/(ν + 2) and 2/(ν + 2), where ν is the number of entries minus the response's share of
    the degrees of freedom. For squared errors the noise in responses that the fit leaves out
    is estimated from regressions on its scores; with many missing entries the noise in
    responses of which the fit lacks something, from regressions on its predictors. It is at
    least a tenth of that scale.

    Shapes: ``deviations``, the scales without predictors, (n_targets,).
    """
    left = freedom(loss, factors, kept)
    linear = loss.null.linear
    if factors.rank:
        linear, left = _predicted(loss, factors, left, kept)
    family = loss.family.fitted_to(loss.Y, linear, relative_weights(loss), left)
    if np.any(family.units_of(loss.shape[1])):
        trust = left / (left + _PRIOR_FREEDOM)
        found = np.log(np.maximum(family.scale_of(loss.shape[1]), 1e-300))
        scale = np.exp(trust * found + (1 - trust) * np.log(deviations))
        family = family.with_scale(np.maximum(scale, LEAST * deviations))
    return family


def _predicted(
    loss: GeneralizedLinear, factors: Factors, freedom: np.ndarray, kept: KeptPredictors | None
) -> tuple[Array, np.ndarray]:
    """Linear predictors of all responses by the predictors of a fit, and degrees of freedom.

    A fit of too low a rank, or one that leaves a response out, would count what it lacks as
    noise. The response would then count for little in the next fit, and no search would find
    that more is worthwhile. So a response that the fit leaves out is regressed on its scores.
    With many missing entries, where this is not enough, every response is regressed on the
    predictors of the fit, with no limit on the rank, unless these are too many. The regression
    is used where an F test says that the fit lacks something; elsewhere the fit, which has
    fewer coefficients, says more about the noise.
    """
    steps = loss.column_steps(factors)
    if steps is None:
        return loss.at(factors).linear, freedom
    outside = arrays.to_numpy(arrays.row_norms_squared(factors.V)) == 0
    left = np.where(outside, freedom - factors.rank, freedom)
    used = ~outside | (left > 0)  # others have too few entries
    V = steps[0] * arrays.from_numpy(used * 1.0, steps[0])[:, None]
    linear, freedom = loss.at(Factors(factors.U, V)).linear, np.where(used, left, freedom)
    rows = factors.row_support
    if loss.nearly_quadratic or not 0 < rows.shape[0] <= _MOST_REGRESSED:
        return linear, freedom
    entries, free = _entries(loss, kept)
    left = entries - free - rows.shape[0]
    whole = _regressed(loss, rows)
    lacks = _explains_more(loss, linear, whole, freedom, left) & (left >= _LEAST_LEFT * entries)
    mask = arrays.from_numpy(lacks * 1.0, linear)
    return mask * whole + (1 - mask) * linear, np.where(lacks, left, freedom)


def _explains_more(
    loss: GeneralizedLinear, fit: Array, whole: Array, freedom: np.ndarray, left: np.ndarray
) -> np.ndarray:
    """Whether an F test says that a fit lacks something that regressions explain, per response.

    Shapes: ``fit``, ``whole`` (n_samples, n_targets), ``freedom``, ``left`` (n_targets,),
    result (n_targets,).
    """
    weight = relative_weights(loss)
    xp = arrays.namespace(fit)
    before, after = (
        arrays.to_numpy(
            xp.sum(xp.where(weight > 0, weight * (loss.Y - linear) ** 2, 0.0), axis=0)
        ).astype(np.float64)
        for linear in (fit, whole)
    )
    more, left = np.maximum(freedom - left, 1.0), np.maximum(left, 1.0)
    ratio = np.maximum(before - after, 0) / more / np.maximum(after / left, 1e-300)
    return np.asarray(fdtrc(more, left, ratio) < _LACKS)


def _regressed(loss: GeneralizedLinear, rows: Array) -> Array:
    """Linear predictors of separate regressions of all responses on some predictors.

    Shapes: result (n_samples, n_targets).
    """
    inner = loss.restrict(rows, loss.targets)
    every = arrays.identity(rows.shape[0], like=loss.prototype)
    nothing = arrays.zeros((loss.shape[1], rows.shape[0]), like=loss.prototype)
    steps = inner.column_steps(Factors(every, nothing))
    assert steps is not None  # as for the loss itself
    return inner.at(Factors(every, steps[0])).linear


def relative_weights(loss: GeneralizedLinear) -> Array:
    """Weights of all entries, with a mean of 1 over those that are positive."""
    weight = loss.weights()
    xp = arrays.namespace(weight)
    return weight * (loss.observations / float(xp.sum(weight)))


def in_own_units(loss: GeneralizedLinear) -> GeneralizedLinear:
    """The loss with columns of Θ in units of the information of an entry without predictors."""
    xp = arrays.namespace(loss.prototype)
    entries = xp.sum(loss.weights(), axis=0) / loss.samples
    mean = loss.mean_curvatures(loss.null) / entries
    floor = arrays.eps(mean) * max(float(xp.max(mean)), 1e-300)
    return loss.with_family(loss.family, 1.0 / xp.sqrt(xp.clip(mean, min=floor)))
