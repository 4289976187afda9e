"""Search for the sizes of a model by a criterion or by held-out error."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Start
from thinrank.core.result import Record
from thinrank.core.sizes import Sizes
from thinrank.losses import LeastSquares
from thinrank.selection.choice import RefitRule
from thinrank.selection.criteria import Criterion
from thinrank.selection.criterion_sample import CriterionSample
from thinrank.selection.criterion_search import CriterionSearch
from thinrank.selection.held_out_search import HeldOutSearch
from thinrank.selection.long_search import LongSearch
from thinrank.selection.space import Space
from thinrank.selection.splits import held_out_samples
from thinrank.solvers import Pursuit
from thinrank.starts import Auto

__all__ = ["automatic_ridges", "by_criterion", "by_held_out", "in_held_out_rows"]

Splits = Sequence[tuple[np.ndarray, np.ndarray]]

# Largest number of searches; each scales the responses by the noise estimated in the last one.
_MAX_SEARCHES = 3
# Estimates of the noise are considered equal if their logarithms differ by at most this (22 %).
_SAME_NOISE = 0.2
# If the score of a start exceeds the best one by this factor, the next search leaves it out.
_FAR = 1.15
_AUTO = Auto(exchanges_rows=True)
_PURSUIT = Pursuit()


def automatic_ridges(curvatures: Array) -> list[float]:
    """Zero, and 15 values from 1e-4 to 1e3 times the mean of the curvatures, two per decade.

    They have five digits: 0.0001, 0.00031623, … for standardised predictors.

    Parameters
    ----------
    curvatures : array of shape (n_features,)
        Diagonal of H, the curvature of the loss in each predictor.

    Returns
    -------
    list of float
    """
    mean = float(arrays.namespace(curvatures).mean(curvatures))
    # few digits, so that rounding errors of the mean do not show in the ridges: the curvatures of
    # standardised predictors are 1 up to rounding, in single precision up to 1e-6
    return [0.0, *(float(f"{mean * ridge:.5g}") for ridge in np.geomspace(1e-4, 1e3, 15))]


def least_squares_sample(
    loss: LeastSquares, criterion: Criterion, *chosen: bool, **options: Any
) -> CriterionSample:
    """All rows of the data as a sample, with models scored by a criterion."""
    return CriterionSample(loss.quadratic(), loss.noise, criterion, *chosen, **options)


def by_criterion(
    loss: Any,
    space: Space,
    criterion: Criterion,
    *,
    sample: Callable[..., Any] = least_squares_sample,
    start: Start = _AUTO,
    seed: int = 0,
    **options: Any,
) -> CriterionSearch:
    """Search by a criterion on all rows; each fit starts from the nearest earlier one.

    Parameters
    ----------
    loss : LeastSquares or GeneralizedLinear
        The loss without ridge.
    space : Space
        The sizes to choose from.
    criterion : Criterion
        The criterion.
    sample : callable, default=least_squares_sample
        Makes the sample from the loss, the criterion and whether rows and columns are chosen:
        :class:`thinrank.selection.loss_criterion_sample.LossCriterionSample` for other losses.
    start : Start, default=Auto(exchanges_rows=True)
        Starting point of the first fit.
    seed : int, default=0
        Seed of randomised decompositions in the start.
    **options
        Options of :class:`thinrank.selection.criterion_search.CriterionSearch`.

    Returns
    -------
    CriterionSearch
        The finished search.
    """
    p, k = loss.shape
    chosen = space.rows[0] < p, space.columns[0] < k
    rows = sample(loss, criterion, *chosen, start=start, seed=seed)
    search = CriterionSearch([rows], space, **options)
    if search.is_long and rows.form.exact:
        search = LongSearch([rows], space, **options)
    search.run()
    return search


def by_held_out(
    loss: LeastSquares,
    space: Space,
    splits: Splits,
    *,
    further: Sequence[Splits] = (),
    center: bool,
    scale: bool,
    rule: RefitRule = "best",
    rescaled: Callable[[Sizes | np.ndarray], tuple[LeastSquares, np.ndarray]] | None = None,
    kept: Array | None = None,
    solver: Pursuit = _PURSUIT,
    start: Start = _AUTO,
    seed: int = 0,
    **options: Any,
) -> HeldOutSearch:
    """Search by the mean squared error on held-out rows.

    Parameters
    ----------
    loss : LeastSquares
        The loss without ridge.
    space : Space
        The sizes to choose from.
    splits : sequence of (ndarray, ndarray)
        Pairs of training rows and held-out rows.
    further : sequence of splits, default=()
        Further partitions of the rows, on which the best models are evaluated again.
    center, scale : bool
        Whether to centre each training part, and to scale its columns to unit root mean square.
    rule : {"best", "one_se", "thinnest"}, default="best"
        Rule for the choice of the model; see :func:`thinrank.selection.choice.allowance`.
    rescaled : callable, default=None
        ``rescaled(sizes) -> (loss, noise)``: the loss with the responses divided by their noise,
        and the noise, as estimated by a fit of the given sizes (or given as an array). It is
        called after a coarse search, and again while better sizes change the noise. None not to
        scale the responses.
    kept : array of shape (n_samples, n_kept), default=None
        Predictors that are always kept, if they are projected out of X and Y.
    solver : Pursuit, default=Pursuit()
        The solver; its sizes are set for each point.
    start : Start, default=Auto(exchanges_rows=True)
        Starting point of each fit.
    seed : int, default=0
        Seed of randomised decompositions in the start.
    **options
        Options of :class:`thinrank.selection.search.Search`.

    Returns
    -------
    HeldOutSearch
        The finished search.
    """
    fits: dict[str, Any] = {"solver": solver, "start": start, "seed": seed}
    return in_held_out_rows(
        loss,
        space,
        splits,
        functools.partial(
            held_out_samples, center=center, scale=scale, kept=kept, start=start, seed=seed
        ),
        guide=functools.partial(_guide, space=space, **fits),
        most_guided=int(space.thin().rows[-1]),
        further=further,
        rule=rule,
        rescaled=rescaled,
        solver=solver,
        **options,
    )


def in_held_out_rows(
    loss: Any,
    space: Space,
    splits: Splits,
    samples: Callable[[Any, Splits], Sequence[Any]],
    *,
    guide: Callable[[Any], list[Sizes]] | None = None,
    most_guided: int = 0,
    beside: int | None = None,
    further: Sequence[Splits] = (),
    rule: RefitRule = "best",
    rescaled: Callable[[Sizes | np.ndarray], tuple[Any, np.ndarray]] | None = None,
    **options: Any,
) -> HeldOutSearch:
    """Search by a score on held-out rows, for any loss.

    Parameters
    ----------
    loss : Loss
        The loss without ridge.
    space, splits, further, rule, rescaled
        As in :func:`by_held_out`.
    samples : callable
        ``samples(loss, splits) -> list``: one sample per split, with the methods of
        :class:`thinrank.selection.held_out_sample.HeldOutSample`.
    guide : callable, default=None
        ``guide(loss) -> list of Sizes``: further sizes to start from.
    most_guided : int, default=0
        Largest number of rows of these sizes, if they are not worth a start where models of so many
        rows are ruled out.
    beside : int, default=None
        Number of starts from the coarse grid beside those of the guide; None for all.
    **options
        Options of :class:`thinrank.selection.search.Search`.

    Returns
    -------
    HeldOutSearch
        The finished search.
    """
    rows = loss.X.shape[0]
    records: list[Record] = []

    def search_in(loss: Any) -> HeldOutSearch:
        held_out = samples(loss, splits)
        search = HeldOutSearch(held_out, space, rule=rule, rows=rows, records=records, **options)
        search.loss = loss
        return search

    search = search_in(loss)
    if space.exhaustive is not None:
        search.run_from([])
        return _finished(search, samples, loss, further)
    coarse = search.coarse()
    if search.rules_out(most_guided, coarse.score):
        guide = None
    if rescaled is None:
        search.run_from([*coarse.starts, *(guide(loss) if guide else [])])
        return _finished(search, samples, loss, further)
    loss, noise = rescaled(coarse.noise)
    guided = guide(loss) if guide else []
    for sizes in guided:
        loss, noise = rescaled(sizes)
    search = search_in(loss)
    starts = [*coarse.starts[: beside if guided else None], *guided]
    found = search.first_look(starts).sizes
    for i in range(_MAX_SEARCHES):
        if search.stopped or found.rank == 0:
            break
        before, (loss_now, noise_now) = search, rescaled(found)
        if np.any(np.abs(np.log(noise_now / noise)) > _SAME_NOISE):
            loss, noise = loss_now, noise_now
            search = search_in(loss)
        elif i > 0:
            break
        search.run_from(_again(before, found, starts[0]))
        if search.stopped and search.best.sizes.rank == 0:
            before.stopped = True
            return before
        del before  # frees its samples, which may be large
        found = search.best.sizes
    return _finished(search, samples, loss, further)


def _again(search: HeldOutSearch, found: Sizes, first: Sizes) -> list[Sizes]:
    """Where a search in other units begins: ``found``, and ``first`` unless it is far worse.

    The fit of ``first`` is known, and so is whether another rank or number of columns makes it
    better, so that other units of the responses do not make it the best from far above.
    """
    scores = {e.sizes: e.score for e in search.evaluations}
    near = first != found and scores.get(first, np.inf) <= _FAR * scores[found]
    return [found, first] if near else [found]


def _finished(
    search: HeldOutSearch,
    samples: Callable[[Any, Splits], Sequence[Any]],
    loss: Any,
    further: Sequence[Splits],
) -> HeldOutSearch:
    if not search.stopped:
        search.look_elsewhere()
    if not search.stopped:
        search.look_thinner()
    if not search.stopped:
        search.confirm(samples(loss, splits) for splits in further)
    return search


def _guide(loss: LeastSquares, space: Space, **options: Any) -> list[Sizes]:
    """The sizes that the predictive information criterion chooses on all rows; empty for rank 0.

    The criterion assumes independent noise. If that is true, it is more precise than held-out
    error, so its choice is a good starting point of the search.
    """
    thin = space.thin()
    if thin.rows[-1] < thin.ranks[0]:
        return []
    guide = by_criterion(loss, thin, Criterion(), rough=True, **options).best.sizes
    return [space.like(guide.rows, guide)] if guide.rank > 0 else []
