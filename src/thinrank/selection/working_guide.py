"""Sizes to start a search from, by a criterion on all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from thinrank.core.factors import Factors
from thinrank.core.sizes import Sizes
from thinrank.losses.generalized_linear import GeneralizedLinear
from thinrank.selection.automatic import by_criterion
from thinrank.selection.criteria import Criterion
from thinrank.selection.loss_criterion_sample import LossCriterionSample
from thinrank.selection.loss_sample import has_many_missing
from thinrank.selection.mean_scores import table_entry
from thinrank.selection.space import Space
from thinrank.solvers.fits import Fit
from thinrank.solvers.pursuit import Pursuit

__all__ = ["Guide", "criterion_guide", "noise_guide"]

# Numbers of rows that are tried first, and the largest number of fits for one of them, each with
# the noise levels that the last one left.
_ROWS = (4, 8, 16, 32)
_MAX_ROUNDS = 6
# Largest number of rows that are tried first, relative to the number of entries per response.
_MOST_ROWS = 0.7
# A fit is better if it decreases the criterion by this; after two that are not, there are no more.
_LEAST_GAIN = 1.0
_MAX_FAILURES = 2
# Largest number of moves to a better rank, number of columns or number of rows.
_MAX_MOVES = 8


class Guide(NamedTuple):
    """Sizes, and the loss with the noise levels that a fit with them left."""

    sizes: Sizes
    loss: GeneralizedLinear


class _Found(NamedTuple):
    """A fit, the sample that it was fitted to, and the sample with the noise levels it leaves."""

    sizes: Sizes
    score: float
    sample: LossCriterionSample
    fit: Fit
    rescaled: LossCriterionSample


def criterion_guide(loss: GeneralizedLinear, space: Space, **options: Any) -> list[Sizes]:
    """The sizes that the predictive information criterion chooses; empty for rank 0."""
    thin = space.thin()
    if thin.rows[-1] < thin.ranks[0]:
        return []
    search = by_criterion(
        loss, thin, Criterion(), sample=LossCriterionSample, rough=True, **options
    )
    guide = search.best.sizes
    return [space.like(guide.rows, guide)] if guide.rank > 0 else []


def noise_guide(
    loss: GeneralizedLinear,
    space: Space,
    left_by: Callable[[GeneralizedLinear, Factors], GeneralizedLinear],
    **options: Any,
) -> Guide | None:
    """Sizes and noise levels of the responses, from fits that alternate with estimates of noise.

    A response that is explained well counts for little until its noise is known to be small, so
    that few sizes are found with all noise levels equal. Each of some sizes is therefore fitted
    several times, with the noise levels left by the last fit, while the criterion decreases. From
    the best of them there are moves to other sizes.

    Parameters
    ----------
    loss : GeneralizedLinear
        The loss without ridge.
    space : Space
        The sizes to choose from.
    left_by : callable
        ``left_by(loss, factors) -> loss``: the loss with the noise levels that a fit leaves.
    **options
        ``start`` and ``seed`` of :class:`LossCriterionSample`, and ``solver``.

    Returns
    -------
    Guide or None
        None if no model is better than the zero matrix.
    """
    thin = space.thin()
    solver = replace(options.pop("solver", Pursuit()), thorough=has_many_missing(loss))
    p, k = loss.shape
    chosen = bool(space.rows[0] < p), bool(space.columns[0] < k)

    def sample_of(loss: GeneralizedLinear) -> LossCriterionSample:
        return LossCriterionSample(loss, Criterion(), *chosen, **options)

    def rounds(sizes: Sizes, sample: LossCriterionSample) -> _Found | None:
        best: _Found | None = None
        failures = 0
        for _ in range(_MAX_ROUNDS):
            fit = sample.fit(sizes, solver.sized(*sizes[:3]))
            if fit is None or fit.U.shape[1] == 0:
                break
            score = sample.score(fit, sizes)
            rescaled = sample_of(left_by(sample.loss, fit.factors))
            if best is None or score < best.score - _LEAST_GAIN:
                best, failures = _Found(sizes, score, sample, fit, rescaled), 0
            else:
                failures += 1
            if failures == _MAX_FAILURES:
                break
            sample = rescaled
        return best

    first = sample_of(loss)
    found = [rounds(sizes, first) for sizes in _candidates(loss, thin)]
    best = min((each for each in found if each is not None), key=lambda e: e.score, default=None)
    if best is None:
        return None
    tried = {each.sizes for each in found if each is not None}
    for _ in range(_MAX_MOVES):
        before = best
        for sizes in _moves(thin, best):
            if sizes in tried:
                continue
            tried.add(sizes)
            moved = rounds(sizes, best.rescaled)
            if moved is not None and moved.score < best.score:
                best = moved
                break
        if best is before:
            break
    return (
        Guide(space.like(best.sizes.rows, best.sizes), best.rescaled.loss)
        if best.score < 0
        else None
    )


def _candidates(loss: GeneralizedLinear, space: Space) -> list[Sizes]:
    """Sizes with few rows and as many columns; moves from them lead to more columns."""
    entries = loss.observations / loss.shape[1]
    k = loss.shape[1]
    found = []
    for rows in _ROWS:
        if rows > max(_MOST_ROWS * entries, _ROWS[0]):
            break
        columns = min(rows, k)
        near = Sizes(max(columns // 2, 1), rows, columns, space.ridges[0])
        allowed = int(space.rows[np.argmin(np.abs(space.rows - rows))])
        if allowed >= space.ranks[0]:
            found.append(space.like(allowed, near))
    return list(dict.fromkeys(found))


def _moves(space: Space, found: _Found) -> Iterator[Sizes]:
    """Better sizes by the table of the fit, and by forecasts for other numbers of rows."""
    sizes, sample = found.sizes, found.sample
    table = sample.table(found.fit, sizes.ridge, space.most_ranks(sizes))
    choice = space.best_of(table, sizes)
    if table_entry(table, choice) < found.score:
        yield choice
    forecast = sample.rows_forecast(found.fit, sizes, space.rows)
    forecast = np.where(space.rows < sizes.rank, np.inf, forecast)
    wanted = [int(space.rows[int(np.argmin(forecast))])] if np.isfinite(forecast).any() else []
    for rows in dict.fromkeys((*wanted, *space.next_to(sizes.rows))):
        yield space.like(rows, sizes)
