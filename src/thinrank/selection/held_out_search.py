"""The search for the sizes of least held-out error, and for thinner ones that are as good."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from thinrank.selection.choice import (
    RefitRule,
    allowance,
    column_limit,
    contenders,
    may_be_thinner,
    thinnest,
)
from thinrank.selection.evaluation import Evaluation, SearchCallback, SearchRecord
from thinrank.selection.held_out_sample import MOST_FORECAST, HeldOutSample
from thinrank.selection.samples import Sizes
from thinrank.selection.search import Search, mean_score, mean_table, table_entry
from thinrank.selection.space import Space
from thinrank.selection.stacks import Stack, stacks
from thinrank.selection.tables import RowFit
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


@dataclass(frozen=True)
class CoarseGrid:
    """What a look at a coarse grid showed.

    Attributes
    ----------
    points : list of Sizes
        With the best rank and number of columns for their rows and ridges; the most promising
        first.
    noise : ndarray of shape (k,)
        The least root mean squared error of every response, whatever the point.
    """

    points: list[Sizes]
    noise: np.ndarray

    @property
    def starts(self) -> list[Sizes]:
        """The most promising points of different numbers of rows."""
        best: dict[int, Sizes] = {}
        for sizes in self.points:
            best.setdefault(sizes.rows, sizes)
        return list(best.values())[:_MOST_STARTS]


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

    def confirm(self, samples: Iterable[Sequence[HeldOutSample]]) -> None:
        """Judge the best points again on further samples: one partition favours some by chance.

        Of points that differ in nothing but the ridge only the best is judged again, and the
        others as long as it is in doubt which one the rule takes.

        Parameters
        ----------
        samples : iterable of sequences of HeldOutSample
            One sequence a partition of the rows.
        """
        best: dict[tuple[int, int, int], Evaluation] = {}
        for tried in sorted(self.evaluations, key=lambda e: e.score):
            best.setdefault(tried.sizes[:3], tried)
        finalists = {e.sizes: e for e in [*list(best.values())[:_MOST_FINALISTS], self.chosen]}
        finalists |= {e.sizes: e for e in self.evaluations if e.sizes.rank == 0}
        self._finalists = contenders(self._rule, list(finalists.values()))
        for partition in samples:
            if len(self._finalists) == 1:
                break
            judged = [self._confirmed(e, partition) for e in self._finalists]
            self._finalists = contenders(self._rule, judged)

    def _confirmed(self, point: Evaluation, samples: Sequence[HeldOutSample]) -> Evaluation:
        """A point judged on further samples as well."""

        def fitted(sample: HeldOutSample) -> Fit | None:
            sizes = point.sizes
            return sample.fit(sizes, self._solver(sizes)) if sizes.rank > 0 else None

        fits = self._in_parallel(fitted, [(sample,) for sample in samples])
        parts = (
            *point.parts,
            *(sample.score(fit, point.sizes) for sample, fit in zip(samples, fits, strict=True)),
        )
        errors = self._row_errors_of(samples, fits)
        if point.row_errors is not None:
            share = len(samples) / len(parts)
            errors = share * errors + (1 - share) * point.row_errors
        return replace(point, score=mean_score(parts), parts=parts, row_errors=errors)

    def coarse(self) -> CoarseGrid:
        """A coarse grid of rows and ridges, on the rows that elimination leaves."""
        promises: list[tuple[float, Sizes]] = []
        least = self._response_errors([s.null_errors() for s in self._held_out])
        for rows, ridge in self._space.coarse_grid():
            promise, errors = self._promise_after_elimination(rows, ridge)
            promises.append(promise)
            least = np.minimum(least, errors)
        promises.sort(key=lambda promise: promise[0])
        return CoarseGrid([sizes for _, sizes in promises], np.sqrt(least))

    def _promise_after_elimination(
        self, rows: int, ridge: float
    ) -> tuple[tuple[float, Sizes], np.ndarray]:
        """The best rank and number of columns, and the errors of the responses at full rank."""
        most = min(int(self._space.ranks[-1]), rows)

        def fitted(sample: HeldOutSample) -> RowFit:
            return sample.eliminated(rows, ridge)

        def judged(stack: Stack) -> tuple[np.ndarray, np.ndarray]:
            return stack.table(most, of_all=True), stack.response_errors()

        fits = self._in_parallel(fitted, [(sample,) for sample in self._held_out])
        live, rest = self._stacks(fits)
        results = self._in_parallel(judged, [(stack,) for stack in live])
        table = mean_table([*(t for tables, _ in results for t in tables), *_null_tables(rest)])
        errors = [*(e for _, e in results), *(sample.null_errors() for sample in rest)]
        sizes = self._space.like(rows, None)._replace(ridge=ridge)
        choice = self._space.best_of(table, sizes._replace(rank=most))
        return (table_entry(table, choice), choice), self._response_errors(errors)

    def _stacks(self, fits: Sequence[RowFit | None]) -> tuple[list[Stack], list[HeldOutSample]]:
        """Stacks of the fits, and the samples that have nothing to fit."""
        live: list[tuple[HeldOutSample, RowFit]] = []
        rest: list[HeldOutSample] = []
        for sample, fit in zip(self._held_out, fits, strict=True):
            if fit is None or fit.rows.shape[0] == 0:
                rest.append(sample)
            else:
                live.append((sample, fit))
        return list(stacks(live)), rest

    def _table(self, fits: Sequence[RowFit | None], ridge: float, most: int) -> np.ndarray:
        live, rest = self._stacks(fits)
        tables = self._in_parallel(Stack.table, [(stack, most) for stack in live])
        return mean_table([*(t for stack in tables for t in stack), *_null_tables(rest)])

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

        def look() -> None:
            if self._space.null:
                self._evaluate_null()
            self._settle_all(self._evaluate(starts))

        self._until_stopped(look)
        return self.best if self.stopped else self._best_model

    def _settle_all(self, evaluations: Sequence[Evaluation]) -> None:
        """Settle some points, the best first: the others only where that promises to be better."""
        bar = np.inf
        for evaluation in sorted(evaluations, key=lambda e: e.score):
            bar = min(bar, self._settle(evaluation, bar).score)

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
        self._settle_all(self._evaluate(self._starts))
        best = self._over_rows(self._over_ridges(self._best_model))
        best = self._neighbours(best)
        for _ in range(_MOST_ROUNDS):
            before = best
            best = self._neighbours(self._by_forecast(self._over_ridges(best)))
            if best is before:
                break

    def _to_keep(self, fit: Fit) -> Fit:
        """Supports alone where nothing is forecast from the rest."""
        return fit if fit.rows.shape[0] <= MOST_FORECAST else fit.supports_alone()

    def _fit(self, sizes: Sizes, i: int, screened: bool) -> Fit | None:
        return self._samples[i].fit(sizes, self._solver(sizes))

    def _solver(self, sizes: Sizes) -> Pursuit:
        # what a search looks at once more need not be exact
        exact = self._space.exhaustive is not None
        return Pursuit(*sizes[:3], max_iter=self._max_iter, tol=self._tol, neighbours=exact)

    def _row_errors(self, fits: Sequence[Fit | None]) -> np.ndarray | None:
        """Mean squared errors of the rows, averaged over the splits that hold them out."""
        return self._row_errors_of(self._held_out, fits)

    def _row_errors_of(
        self, samples: Sequence[HeldOutSample], fits: Sequence[Fit | None]
    ) -> np.ndarray:
        total, times = np.zeros(self._rows), np.zeros(self._rows)
        for sample, fit in zip(samples, fits, strict=True):
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

    def look_thinner(self) -> None:
        """Look for fewer rows and fewer columns that the rule allows."""
        if self._space.exhaustive is not None or self.best.sizes.rank == 0:
            return
        if may_be_thinner(self._rule, self.best):
            self._until_stopped(self._fewer_rows)
        if not self.stopped:
            self._until_stopped(self._fewer_columns)

    def _fewer_columns(self) -> None:
        """Fewer columns, while the table promises that the rule will allow them."""
        chosen = self.chosen
        limit = max(column_limit(self.best), chosen.score)
        for _ in range(_MOST_THINNER if chosen.sizes.rank > 0 else 0):
            fewest = self._space.fewest_columns(chosen.table, chosen.sizes, limit)
            if fewest == chosen.sizes or fewest in self._known:
                return
            tried = self._evaluate([fewest])[0]
            if self.chosen is not tried:
                return
            chosen = tried

    def _fewer_rows(self) -> None:
        """Fewer rows, by bisection."""
        chosen = self.chosen
        limit = _HOPELESS * self.best.score
        too_few = max((e.sizes.rows for e in self.evaluations if e.score > limit), default=0)
        too_few = max(too_few, self._far_too_few(limit))
        for _ in range(_MOST_THINNER):
            rows = self._space.between(too_few, chosen.sizes.rows)
            if rows is None:
                return
            point = self._space.like(rows, chosen.sizes)
            tried = self._settle(self._evaluate([point])[0])
            if tried.score <= limit:
                tried = self._over_ridges(tried)
            if tried.score <= self.best.score + allowance(self._rule, self.best, tried):
                chosen = tried
            else:
                too_few = rows

    def _far_too_few(self, limit: float) -> int:
        """The most rows of which the fits of the best model forecast that they are hopeless.

        They forecast more error than fits of so few rows will have: hence twice the distance.
        """
        best = self._best_model
        expected = self._expected(best)
        hopeless = np.isfinite(expected) & (expected > 2 * limit - best.score)
        fewer = self._space.rows[hopeless & (self._space.rows < best.sizes.rows)]
        return int(fewer.max(initial=0))


def _null_tables(samples: Iterable[HeldOutSample]) -> list[np.ndarray]:
    """Tables of samples with nothing to fit: the zero matrix at any size."""
    return [np.full((1, sample.form.shape[1]), sample.null()) for sample in samples]
