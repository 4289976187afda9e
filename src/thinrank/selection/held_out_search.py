"""Search for the sizes with the least held-out error, and for thinner models almost as good."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from thinrank.core.journal import recalled
from thinrank.core.sizes import Sizes
from thinrank.selection.block_samples import BlockSample, stack_of
from thinrank.selection.choice import (
    RefitRule,
    allowance,
    choices_in_turn,
    column_limit,
    contenders,
    may_be_thinner,
    most_accurate,
    thinnest,
)
from thinrank.selection.coarse_grid import CoarseGrid
from thinrank.selection.elimination import MOST_FORECAST
from thinrank.selection.evaluation import Evaluation, HeldOutErrors, ResponseErrors
from thinrank.selection.held_out_descent import MAX_RATIO, HeldOutDescent
from thinrank.selection.held_out_sample import HeldOutSample
from thinrank.selection.mean_scores import mean_score, mean_table, table_entry
from thinrank.selection.records import amend_scores
from thinrank.selection.space import Space
from thinrank.selection.tables import RowFits
from thinrank.solvers.pursuit import MANY_ROWS, Fit, Pursuit

__all__ = ["HeldOutSearch"]

# The search continues from further points if the score of the best model is above this fraction of
# that of the means: if it is lower, ridges and rows of other points are far worse. Rule of thumb.
_LITTLE = 0.5
# Largest number of points that are evaluated again on further splits.
_MAX_FINALISTS = 4
# Largest number of iterations of a fit with many rows.
_MOST_ITERATIONS = 8
# Largest number of thinner models that are tried, for rows and for columns.
_MAX_THINNER = 6


class HeldOutSearch(HeldOutDescent):
    """A search over a coarse grid of rows and ridges, then over sizes with low predicted scores.

    Every fit begins from its own start, as in an estimator with these sizes. Pursuit does not try
    neighbouring supports at the end, except on a grid of which all points are tried.

    Parameters
    ----------
    samples : sequence of HeldOutSample
        One sample per split.
    space : Space
        The sizes to choose from.
    rule : {"best", "one_se", "thinnest"}
        Rule for the choice of the model; see :func:`thinrank.selection.choice.allowance`.
    rows : int
        Number of rows of the data.
    **options
        Options of :class:`thinrank.selection.search.Search`.
    """

    def __init__(
        self,
        samples: Sequence[HeldOutSample],
        space: Space,
        *,
        rule: RefitRule,
        rows: int,
        **options: Any,
    ) -> None:
        super().__init__(samples, space, **options)
        if space.exhaustive is None:
            # fits of a search need not be exact, since its result is fitted again
            self._pursuit = replace(self._pursuit, neighbours=False)
        self._rule = rule
        self._rows = rows
        self._starts: Sequence[Sizes] = ()
        self._finalists: list[Evaluation] = []
        self.loss: Any = None  # of all rows, in the units of the samples

    @property
    def chosen(self) -> Evaluation:
        """The model that the rule chooses, among the finalists if there are any, else among all."""
        return thinnest(self._rule, self._finalists or self.evaluations, self.shape[0])

    def confirm(self, samples: Iterable[Sequence[HeldOutSample]]) -> None:
        """Evaluate the best points again on further samples, since one partition may favour some.

        Among points that differ only in the ridge, only the best is evaluated again, until the rule
        can choose only one of the points.

        Parameters
        ----------
        samples : iterable of sequences of HeldOutSample
            One sequence per partition of the rows.
        """
        best: dict[tuple[int, int, int], Evaluation] = {}
        for e in sorted(self.evaluations, key=lambda e: e.score):
            best.setdefault(e.sizes[:3], e)
        choices = choices_in_turn(self._rule, self.evaluations, self.shape[0], _MAX_FINALISTS)
        finalists = {e.sizes: e for e in [*list(best.values())[:_MAX_FINALISTS], *choices]}
        finalists |= {e.sizes: e for e in self.evaluations if e.sizes.rank == 0}
        self._finalists = contenders(self._rule, list(finalists.values()), self.shape[0])
        partitions = iter(samples)
        while len(self._finalists) > 1 and (partition := next(partitions, None)) is not None:
            confirmed = [self._confirmed(e, partition) for e in self._finalists]
            amend_scores(self.records, self._round, {e.sizes: e for e in confirmed})
            self._finalists = contenders(self._rule, confirmed, self.shape[0])

    def _confirmed(self, point: Evaluation, samples: Sequence[HeldOutSample]) -> Evaluation:
        """A point with its scores on further samples added."""

        def evaluated(sample: HeldOutSample) -> tuple[float, HeldOutErrors]:
            sizes = point.sizes
            fit = sample.fit(sizes, self._solver(sizes)) if sizes.rank > 0 else None
            errors = sample.errors(fit)
            return sample.score_of(errors), errors

        jobs = [(sample,) for sample in samples]
        results = recalled(
            f"confirmed {tuple(point.sizes)}", lambda: self._in_parallel(evaluated, jobs)
        )
        parts = (*point.parts, *(score for score, _ in results))
        found = [errors for _, errors in results]
        errors, responses = self._mean_errors(samples, found), ResponseErrors.of(samples, found)
        if point.row_errors is not None:
            share = len(samples) / len(parts)
            errors = share * errors + (1 - share) * point.row_errors
        if point.responses is not None:
            responses = point.responses.and_those_of(responses)
        return replace(
            point, score=mean_score(parts), parts=parts, row_errors=errors, responses=responses
        )

    def coarse(self) -> CoarseGrid:
        """Predicted scores of a coarse grid of rows and ridges, by backward elimination."""
        return recalled("coarse grid", self._coarse)

    def _coarse(self) -> CoarseGrid:
        predicted: list[tuple[float, Sizes]] = []
        least = self._response_errors([s.null_errors() for s in self._held_out])
        for rows, ridges in reversed(self._space.coarse_grid()):
            if predicted and self.rules_out(rows, min(predicted)[0]):
                break
            found = list(self._after_elimination(rows, ridges))
            predicted = [*(prediction for prediction, _ in found), *predicted]
            least = np.min([least, *(errors for _, errors in found)], axis=0)
        predicted.sort(key=lambda prediction: prediction[0])
        scores, points = zip(*predicted, strict=True)
        return CoarseGrid(list(points), np.sqrt(least), scores[0])

    def rules_out(self, rows: int, score: float) -> bool:
        """Whether models of up to ``rows`` rows seem to be far worse than a given score.

        Models on some rows hardly have a lower error than the variance that these rows do not
        explain, and fewer rows, which are among them after backward elimination, explain less.
        Other rows may explain more, hence the score is multiplied. It is False for small fits,
        which take hardly longer.
        """
        form = self._samples[0].form
        if self._is_small(rows) or not form.exact or rows >= form.samples:
            return False
        unexplained = float(np.mean([sample.unexplained(rows) for sample in self._held_out]))
        return unexplained > MAX_RATIO * score

    def _after_elimination(
        self, rows: int, ridges: Sequence[float]
    ) -> Iterator[tuple[tuple[float, Sizes], np.ndarray]]:
        """For each ridge the best sizes with their score, and the errors of the responses.

        The latter are those of the fit of full rank.
        """
        most = min(int(self._space.ranks[-1]), rows)

        def evaluated(few: Sequence[float], group: Sequence[int]) -> list[Any]:
            pairs = [(self._held_out[i], ridge) for ridge in few for i in group]
            fits = [sample.eliminated(rows, ridge) for sample, ridge in pairs]
            stack = stack_of([sample for sample, _ in pairs], fits)
            return list(zip(stack.tables(most, of_all=True), stack.response_errors(), strict=True))

        for ridge, results in zip(ridges, self._by_ridge(evaluated, rows, ridges), strict=True):
            tables, errors = zip(*results, strict=True)
            table = mean_table(tables)
            sizes = self._space.like(rows, None)._replace(ridge=ridge)
            choice = self._space.best_of(table, sizes._replace(rank=most))
            yield (table_entry(table, choice), choice), self._response_errors(errors)

    def _tables(
        self, group: Sequence[int], fits: RowFits, ridges: Sequence[float], most: int
    ) -> list[np.ndarray]:
        return stack_of([self._held_out[i] for i in group], fits).tables(most)

    def _response_errors(self, errors: Sequence[np.ndarray]) -> np.ndarray:
        """Mean squared errors of the responses, from their sums over the rows of the samples."""
        return np.sum(errors, axis=0) / sum(sample.weight for sample in self._held_out)

    @property
    def _held_out(self) -> Sequence[HeldOutSample]:
        return cast(Sequence[HeldOutSample], self._samples)

    def first_look(self, starts: Sequence[Sizes]) -> Evaluation:
        """The best of some points, after moves to better ranks and numbers of columns.

        After an interruption it is the best point so far.
        """

        def look() -> None:
            if self._space.null:
                self._evaluate_null()
            self._settle_all(self._evaluate(starts))

        self._until_stopped(look)
        return self.best if self.stopped else self._best_model

    def _settle_all(self, evaluations: Sequence[Evaluation]) -> None:
        """Settle points, the best first; others only if their predicted scores are lower."""
        limit = np.inf
        for evaluation in sorted(evaluations, key=lambda e: e.score):
            limit = min(limit, self._settle(evaluation, limit).score)

    def run_from(self, starts: Sequence[Sizes]) -> Evaluation:
        """Search from some points and return the best point found, also after an interruption."""
        self._starts = starts
        return self.run()

    def _search(self) -> None:
        if self._space.null:
            self._evaluate_null()
        if self._space.exhaustive is not None:
            self._evaluate(self._space.exhaustive)
            return
        self._settle_all(self._evaluate(self._starts))
        self._descend(self._best_model)

    def _fit(self, sizes: Sizes, i: int, screened: bool) -> Fit | None:
        return self._samples[i].fit(sizes, self._solver(sizes))

    def _solver(self, sizes: Sizes) -> Pursuit:
        solver = self._pursuit
        if sizes.rows > MANY_ROWS and self._space.exhaustive is None:
            # with far too few rows there is no end of single exchanges, which hardly change a score
            solver = replace(solver, max_iter=min(solver.max_iter, _MOST_ITERATIONS))
        return solver.sized(*sizes[:3])

    def _scored(self, i: int, fit: Fit | None, sizes: Sizes) -> tuple[float, HeldOutErrors]:
        errors = self._held_out[i].errors(fit)
        return self._held_out[i].score_of(errors), errors

    def _row_errors(self, errors: Sequence[HeldOutErrors | None]) -> Any:
        return self._mean_errors(self._held_out, cast(Sequence[HeldOutErrors], errors))

    def _responses(self, errors: Sequence[HeldOutErrors | None]) -> ResponseErrors:
        return ResponseErrors.of(self._held_out, cast(Sequence[HeldOutErrors], errors))

    def _mean_errors(self, samples: Sequence[Any], errors: Sequence[HeldOutErrors]) -> Any:
        """Mean squared errors of the rows, averaged over the splits that hold them out."""
        if isinstance(samples[0], BlockSample):
            return samples[0].ledger.added([each.rows for each in errors])
        total, times = np.zeros(self._rows), np.zeros(self._rows)
        for sample, (squares, _) in zip(samples, errors, strict=True):
            total[sample.index] += squares * (len(squares) / sample.entries)
            times[sample.index] += 1
        with np.errstate(invalid="ignore"):
            return total / times

    def look_elsewhere(self) -> None:
        """Search from further points, if the best model explains less than half.

        The coarse grid leaves out regions: its ridges are far apart, and its rows, by backward
        elimination, do not depend on the ridge. The further points are in the largest of these
        regions. The search continues from one of them if it leads to a better model. Points with
        many rows are left out, since their fits take long.
        """
        if self._space.exhaustive is None and self.best.score > _LITTLE * self.null_score:
            self._until_stopped(self._from_elsewhere)

    def _from_elsewhere(self) -> None:
        for sizes in self._space.further_starts(MOST_FORECAST):
            best = self._best_model.score
            limit = MAX_RATIO * best
            found = self._settle(self._evaluate([sizes])[0], limit)
            if found.score <= limit:
                found = self._by_forecast(self._over_ridges(found))
            if found.score < best:
                self._descend(found)

    def look_thinner(self) -> None:
        """Try models with fewer rows and fewer columns, as far as the rule allows them."""
        if self._space.exhaustive is not None or self.best.sizes.rank == 0:
            return
        self._until_stopped(self._half_of_the_rows)
        if not self.stopped and may_be_thinner(self._rule, self._most_accurate):
            self._until_stopped(self._fewer_rows)
        if not self.stopped:
            self._until_stopped(self._fewer_columns)

    @property
    def _most_accurate(self) -> Evaluation:
        return most_accurate(self.evaluations, self.shape[0])

    def _half_of_the_rows(self) -> None:
        """Try half of the predictors, if the best model has more."""
        rows = self._space.rows
        half = rows[(2 * rows <= self.shape[0]) & (rows >= self._space.ranks[0])]
        if 2 * self.best.sizes.rows > self.shape[0] and half.size > 0:
            point = self._space.like(int(half[-1]), self.best.sizes)
            self._over_ridges(self._settle(self._evaluate([point])[0]))

    def _fewer_columns(self) -> None:
        """Try fewer columns, while by the table the rule will allow them."""
        chosen = self.chosen
        limit = max(column_limit(self._most_accurate), chosen.score)
        for _ in range(_MAX_THINNER if chosen.sizes.rank > 0 else 0):
            fewest = self._space.fewest_columns(chosen.table, chosen.sizes, limit)
            if fewest == chosen.sizes or fewest in self._known:
                return
            tried = self._evaluate([fewest])[0]
            if self.chosen is not tried:
                return
            chosen = tried

    def _fewer_rows(self) -> None:
        """Try fewer rows, by bisection."""
        chosen, best = self.chosen, self._most_accurate
        limit = MAX_RATIO * best.score
        further = {sizes.ridge for sizes in self._space.further_starts(MOST_FORECAST)}
        # further starts, whose ridge and rank may be unsuitable, say nothing about numbers of rows
        fits = [e for e in self.evaluations if e.sizes.ridge not in further - {chosen.sizes.ridge}]
        too_few = max((e.sizes.rows for e in fits if e.score > limit), default=0)
        too_few = max(too_few, self._far_too_few(self._best_model, limit))
        for _ in range(_MAX_THINNER):
            rows = self._space.between(too_few, chosen.sizes.rows)
            if rows is None:
                return
            point = self._space.like(rows, chosen.sizes)
            tried = self._settle(self._evaluate([point])[0])
            if tried.score <= limit:
                tried = self._over_ridges(tried)
            if tried.score <= best.score + allowance(self._rule, best, tried):
                chosen = tried
            else:
                too_few = rows
