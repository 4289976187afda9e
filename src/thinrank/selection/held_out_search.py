"""The search for the sizes of least held-out error, and for thinner ones that are as good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from thinrank.selection.choice import RefitRule, allowance, thinnest
from thinrank.selection.evaluation import Evaluation, SearchCallback, SearchRecord
from thinrank.selection.samples import HeldOutSample, Sizes
from thinrank.selection.search import Search, StopSearch, mean_score, mean_table, table_entry
from thinrank.selection.space import Space
from thinrank.solvers.pursuit import Fit, Pursuit

__all__ = ["HeldOutSearch"]

# Points of the coarse grid from which the search goes on.
_MOST_STARTS = 2
# Rounds of ridges and rows after the first.
_MOST_ROUNDS = 3
# Fewer rows than those of a model that is worse by this factor are not looked at.
_HOPELESS = 1.15
# Points that are judged again on further splits.
_MOST_FINALISTS = 4
# Models that may be tried for being thinner.
_MOST_THINNER = 6


class HeldOutSearch(Search):
    """A coarse grid over rows and ridges first, then what tables and forecasts propose.

    Every fit begins from its own start, as that of an estimator with these sizes would: what is
    judged is what the estimator will give.

    Parameters
    ----------
    samples : sequence of HeldOutSample
    space : Space
    rule : {"best", "one_se", "thinnest"}
        What is searched for in the end; see :func:`thinrank.selection.choice.allowance`.
    rows : int
        Number of rows of the data.
    **options
        Of :class:`thinrank.selection.search.Search`.
    """

    def __init__(
        self,
        samples: Sequence[HeldOutSample],
        space: Space,
        *,
        rule: RefitRule,
        rows: int,
        records: list[SearchRecord] | None = None,
        max_iter: int = 100,
        tol: float = 1e-7,
        n_jobs: int | None = None,
        callback: SearchCallback | None = None,
    ) -> None:
        super().__init__(
            samples,
            space,
            records=records,
            max_iter=max_iter,
            tol=tol,
            n_jobs=n_jobs,
            callback=callback,
        )
        self._rule = rule
        self._rows = rows
        self._starts: Sequence[Sizes] = ()
        self._finalists: list[Evaluation] = []

    @property
    def chosen(self) -> Evaluation:
        """What the rule chooses among the points that were tried, or among the finalists."""
        return thinnest(self._rule, self._finalists or self.evaluations)

    def confirm(self, samples: Sequence[HeldOutSample]) -> None:
        """Judge the best points again on further splits: one partition favours some by chance."""
        tried = sorted(self.evaluations, key=lambda e: e.score)
        finalists = dict.fromkeys(e.sizes for e in [*tried[:_MOST_FINALISTS], self.chosen])
        again = HeldOutSearch(samples, self._space, rule=self._rule, rows=self._rows)
        again._max_iter, again._tol, again._n_jobs = self._max_iter, self._tol, self._n_jobs
        if self._space.null:
            again._evaluate_null()
            finalists[Sizes(0, 0, 0, 0.0)] = None
        again._evaluate(sizes for sizes in finalists if sizes.rank > 0)
        self._finalists = [_together(self._known[s], again._known[s]) for s in finalists]

    def coarse(self) -> tuple[list[Sizes], np.ndarray]:
        """A coarse grid of rows and ridges, on the rows that elimination leaves.

        Returns
        -------
        starts : list of Sizes
            The most promising points.
        noise : ndarray of shape (k,)
            The least root mean squared error of every response, whatever the point.
        """
        promises: list[tuple[float, Sizes]] = []
        least = self._response_errors([s.null_errors() for s in self._held_out])
        for rows in self._space.coarse_rows():
            for ridge in self._space.coarse_ridges(rows):
                promise, errors = self._promise_after_elimination(rows, ridge)
                promises.append(promise)
                least = np.minimum(least, errors)
        promises.sort(key=lambda promise: promise[0])
        starts: list[Sizes] = []
        for _, sizes in promises:
            if all(sizes.rows != other.rows for other in starts):
                starts.append(sizes)
        return starts[:_MOST_STARTS], np.sqrt(least)

    def _promise_after_elimination(
        self, rows: int, ridge: float
    ) -> tuple[tuple[float, Sizes], np.ndarray]:
        """The best rank and number of columns, and the errors of the responses at full rank."""
        most = min(int(self._space.ranks[-1]), rows)

        def judged(sample: HeldOutSample) -> tuple[np.ndarray, np.ndarray]:
            fit = sample.eliminated(rows, ridge)
            if fit.rows.shape[0] == 0:
                return sample.scores(None, ridge, most), sample.null_errors()
            return sample.row_scores(fit, ridge, most), sample.response_errors(fit)

        results = self._in_parallel(judged, [(sample,) for sample in self._held_out])
        tables, errors = zip(*results, strict=True)
        table = mean_table(tables)
        sizes = self._space.like(rows, None)._replace(ridge=ridge)
        choice = self._space.best_of(table, sizes._replace(rank=most))
        return (table_entry(table, choice), choice), self._response_errors(errors)

    def _response_errors(self, errors: Sequence[np.ndarray]) -> np.ndarray:
        """Mean squared errors of the responses, from their sums over the rows of the samples."""
        return np.sum(errors, axis=0) / sum(sample.weight for sample in self._held_out)

    @property
    def _best_model(self) -> Evaluation:
        """The best point that is not rank 0."""
        return min((e for e in self.evaluations if e.sizes.rank > 0), key=lambda e: e.score)

    @property
    def _held_out(self) -> Sequence[HeldOutSample]:
        return cast(Sequence[HeldOutSample], self._samples)

    def first_look(self, starts: Sequence[Sizes]) -> Evaluation:
        """The best of some points, with the ranks and numbers of columns that tables propose.

        After an interruption the best so far.
        """
        try:
            if self._space.null:
                self._evaluate_null()
            for evaluation in self._evaluate(starts):
                self._settle(evaluation)
        except (StopSearch, KeyboardInterrupt):
            if not self._known:
                raise
            self.stopped = True
            return self.best
        return self._best_model

    def run_from(self, starts: Sequence[Sizes]) -> Evaluation:
        """Search from some points, and return the best; after an interruption the best so far."""
        self._starts = starts
        return self.run()

    def _search(self) -> None:
        if self._space.null:
            self._evaluate_null()
        if self._space.exhaustive is not None:
            self._evaluate(self._space.exhaustive)
            return
        for evaluation in self._evaluate(self._starts):
            self._settle(evaluation)
        best = self._over_rows(self._over_ridges(self._best_model))
        best = self._neighbours(best)
        for _ in range(_MOST_ROUNDS):
            before = best
            best = self._neighbours(self._by_forecast(self._over_ridges(best)))
            if best is before:
                break
        self._thinner()

    def _fit(self, sizes: Sizes, i: int, screened: bool) -> Fit | None:
        return self._samples[i].fit(sizes, self._solver(sizes))

    def _solver(self, sizes: Sizes) -> Pursuit:
        # what a search looks at once more need not be exact
        exact = self._space.exhaustive is not None
        return Pursuit(*sizes[:3], max_iter=self._max_iter, tol=self._tol, neighbours=exact)

    def _row_errors(self, fits: Sequence[Fit | None]) -> np.ndarray | None:
        """Mean squared errors of the rows, averaged over the splits that hold them out."""
        total, times = np.zeros(self._rows), np.zeros(self._rows)
        for sample, fit in zip(self._held_out, fits, strict=True):
            errors = sample.row_errors(fit)
            total[sample.index] += errors * (len(errors) / sample.entries)
            times[sample.index] += 1
        with np.errstate(invalid="ignore"):
            return total / times

    _optimism = 0.02

    def _worth(self, score: float) -> float:
        """What a move must promise: as held-out error, the price of one coefficient in AIC.

        Less than that is noise, and choosing among many points by noise does harm.
        """
        return self._doubt * 2 * score / self._samples[0].form.observations

    def _over_rows(self, start: Evaluation) -> Evaluation:
        """Other numbers of rows at the same ridge.

        Held-out samples can forecast fewer rows, not more: so they begin with half again as
        many, and go on while that is better.
        """
        best = start
        while True:
            here = best.sizes.rows
            above = self._space.above(here)
            if above is None or above in self._tried_rows(best.sizes.ridge):
                break
            upper = self._evaluate([self._space.like(above, best.sizes)])[0]
            best = min(best, self._by_forecast(upper), key=lambda e: e.score)
            if best.sizes.rows <= here:
                break
        return self._by_forecast(best)

    def _thinner(self) -> None:
        """Look for fewer rows that the rule allows, by bisection."""
        chosen = self.chosen
        limit = _HOPELESS * self.best.score
        too_few = max((e.sizes.rows for e in self.evaluations if e.score > limit), default=0)
        for _ in range(_MOST_THINNER):
            rows = self._space.between(too_few, chosen.sizes.rows)
            if rows is None:
                return
            point = self._space.like(rows, chosen.sizes)
            tried = self._over_ridges(self._settle(self._evaluate([point])[0]))
            if tried.score <= self.best.score + allowance(self._rule, self.best, tried):
                chosen = tried
            else:
                too_few = rows


def _together(one: Evaluation, other: Evaluation) -> Evaluation:
    """A point judged on two sets of splits."""
    parts = (*one.parts, *other.parts)
    shares = len(one.parts) / len(parts), len(other.parts) / len(parts)
    errors = None
    if one.row_errors is not None and other.row_errors is not None:
        errors = shares[0] * one.row_errors + shares[1] * other.row_errors
    return replace(one, score=mean_score(parts), parts=parts, row_errors=errors)
