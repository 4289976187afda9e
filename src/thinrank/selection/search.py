"""Base class of searches over rank, number of rows, number of columns and ridge."""

from __future__ import annotations

import abc
import functools
import math
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from thinrank.core.journal import recalled
from thinrank.core.sizes import Sizes
from thinrank.core.stored_values import storable
from thinrank.core.threads import one_use_of_cores
from thinrank.selection.base_search import BaseSearch
from thinrank.selection.evaluation import Evaluation, HeldOutErrors, ResponseErrors
from thinrank.selection.mean_scores import mean_score, mean_table, table_entry
from thinrank.selection.samples import Sample
from thinrank.selection.space import Space
from thinrank.selection.tables import RowFits
from thinrank.solvers.pursuit import MANY_ROWS, Fit, Pursuit

__all__ = ["Search"]

# Largest number of moves of rank and columns for one number of rows.
_MAX_MOVES = 4
# Factor on the least predicted gain of a move after a predicted gain was not confirmed.
_AFTER_FAILURE = 3.0
# Largest number of numbers of rows that are tried because of forecasts.
_MAX_FORECASTS = 12
# Every third ridge is examined before those next to the best.
COARSE_RIDGES = 3
# Samples are processed together, which saves function calls, up to this number of matrix entries.
_SMALL_GROUP = 100_000
# A search is long if its largest fits take more multiplications than this, some 50 milliseconds.
_LONG = 1e9
_PURSUIT = Pursuit()


@storable
class Fitted(NamedTuple):
    """Results of a point for one sample.

    Attributes
    ----------
    fit : Fit or None
        The fit, possibly without its coefficients.
    score : float
        The score of the fit.
    table : ndarray of shape (q, n_targets)
        Scores of other ranks and numbers of columns on the same rows.
    errors : HeldOutErrors or None
        Squared errors of the held-out rows.
    """

    fit: Fit | None
    score: float
    table: np.ndarray
    errors: HeldOutErrors | None


class Search(BaseSearch):
    """Search for the sizes with the least score.

    One fit gives a table of the scores of all ranks and numbers of columns on its rows. The best
    entry is a predicted score, which a fit with these sizes confirms or not; ridges are compared in
    the same way. Scores of other numbers of rows are forecast from the costs and gains of single
    rows. The result is the best of all points that were fitted.

    Parameters
    ----------
    samples : sequence of Sample
        The samples; the score of a point is the mean over them.
    space : Space
        The sizes to choose from.
    solver : Pursuit, default=Pursuit()
        The solver; its sizes are set for each point.
    n_jobs : int, default=None
        Number of threads over samples and points.
    **options
        Of :class:`thinrank.selection.base_search.BaseSearch`.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        space: Space,
        *,
        solver: Pursuit = _PURSUIT,
        n_jobs: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._samples = samples
        self._space = space
        self._pursuit = solver
        self._n_jobs = n_jobs
        # only as many points at a time as there are workers, since a callback may end the search
        self._at_once = -(-effective_n_jobs(n_jobs) // len(samples))
        self._gain_factor = 1.0  # larger after a predicted gain was not confirmed
        self._expectations: dict[Sizes, np.ndarray] = {}  # forecasts for all numbers of rows

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of Θ."""
        return self._samples[0].form.shape

    @property
    def null_score(self) -> float:
        """Score of the zero matrix."""
        return float(np.mean([sample.null() for sample in self._samples]))

    # ------------------------------------------------------------------ one point

    def _evaluate_null(self) -> None:
        nothing = Sizes(0, 0, 0, 0.0)
        if nothing in self._known:
            return
        parts = tuple(sample.null() for sample in self._samples)
        errors = [self._scored(i, None, nothing)[1] for i in range(len(self._samples))]
        rows, responses = self._row_errors(errors), self._responses(errors)
        self._keep(
            Evaluation(
                nothing, mean_score(parts), parts, (), np.empty((0, 0)), 0.0, rows, responses
            )
        )

    def _evaluate(self, points: Iterable[Sizes], screened: bool = False) -> list[Evaluation]:
        """Evaluate the points that are not yet known, in parallel over points and samples."""
        points = list(points)
        new = [sizes for sizes in dict.fromkeys(points) if sizes not in self._known]
        for first in range(0, len(new), self._at_once):
            some = new[first : first + self._at_once]
            began = time.perf_counter()
            results = recalled(
                f"models {[tuple(sizes) for sizes in some]}",
                functools.partial(self._fit_all, some, screened),
            )
            seconds = (time.perf_counter() - began) / len(some)
            for j, sizes in enumerate(some):
                mine = results[j * len(self._samples) : (j + 1) * len(self._samples)]
                fits, parts, tables, errors = zip(*mine, strict=True)
                table, row_errors = mean_table(tables), self._row_errors(errors)
                score, responses = mean_score(parts), self._responses(errors)
                self._keep(
                    Evaluation(sizes, score, parts, fits, table, seconds, row_errors, responses)
                )
        return [self._known[sizes] for sizes in points]

    def _fit_all(self, points: Sequence[Sizes], screened: bool) -> list[Fitted]:
        """Fit points to all samples; the results of a point are next to one another."""
        jobs = [(sizes, i, screened) for sizes in points for i in self._groups(sizes.rows)]
        return [result for group in self._in_parallel(self._fit_group, jobs) for result in group]

    def _groups(self, rows: int) -> list[tuple[int, ...]]:
        """One group of all samples if fits of ``rows`` rows are small, else one per sample."""
        every = range(len(self._samples))
        if effective_n_jobs(self._n_jobs) == 1 and self._is_small(rows):
            return [tuple(every)]
        return [(i,) for i in every]

    def _is_small(self, rows: int) -> bool:
        """Whether fits of ``rows`` rows to all samples together have few entries."""
        form = self._samples[0].form
        entries = min(rows, form.samples) * (rows + form.shape[1])
        return len(self._samples) * entries <= _SMALL_GROUP

    @cached_property
    def is_long(self) -> bool:
        """Whether fits of the largest number of rows take long."""
        form = self._samples[0].form
        most = min(int(self._space.rows[-1]), form.samples)
        return form.samples * most * (most + form.shape[1]) > _LONG

    def _by_ridge(
        self,
        work: Callable[[Sequence[float], Sequence[int]], list[Any]],
        rows: int,
        ridges: Sequence[float],
    ) -> list[list[Any]]:
        """For each ridge one result per sample, of fits with ``rows`` rows.

        ``work(ridges, group)`` returns the results of some ridges for a group of samples, one ridge
        after the other. If fits are small, it gets all ridges and samples at once.
        """
        groups = self._groups(rows)
        together = [ridges] if len(groups) == 1 else [[ridge] for ridge in ridges]
        jobs = [(few, group) for few in together if few for group in groups]
        results = [each for job in self._in_parallel(work, jobs) for each in job]
        count = len(self._samples)
        return [results[i * count : (i + 1) * count] for i in range(len(ridges))]

    def _in_parallel(self, work: Callable[..., Any], jobs: list[tuple[Any, ...]]) -> list[Any]:
        count = effective_n_jobs(self._n_jobs)
        if count == 1:
            return [work(*job) for job in jobs]
        with one_use_of_cores(count):
            return Parallel(count, prefer="threads")(delayed(work)(*job) for job in jobs)

    def _fit_group(self, sizes: Sizes, group: Sequence[int], screened: bool) -> list[Fitted]:
        """Fit a point to some samples and compute scores, tables and errors."""
        fits = [self._fit(sizes, i, screened) for i in group]
        ridges = [sizes.ridge] * len(fits)
        tables = self._tables(group, fits, ridges, self._space.most_ranks(sizes))
        results = []
        for i, fit, table in zip(group, fits, tables, strict=True):
            score, errors = self._scored(i, fit, sizes)
            kept = None if fit is None else self._to_keep(fit)
            results.append(Fitted(kept, score, table, errors))
        return results

    @abc.abstractmethod
    def _tables(
        self, group: Sequence[int], fits: RowFits, ridges: Sequence[float], most: int
    ) -> list[np.ndarray]:
        """Scores of all ranks up to ``most`` and all numbers of columns, on the rows of the fits.

        One table for each fit, to the sample of the same position in ``group`` and with the ridge
        at this position; entry (r − 1, s − 1) is for rank r and s columns.
        """

    @abc.abstractmethod
    def _fit(self, sizes: Sizes, i: int, screened: bool) -> Fit | None:
        """The fit of a point to sample i."""

    def _to_keep(self, fit: Fit) -> Fit:
        """The fit to keep in memory; costs and gains of all rows for few fits, which take long."""
        return fit if fit.rows.shape[0] > MANY_ROWS else fit.changed(prospects=None)

    def _scored(self, i: int, fit: Fit | None, sizes: Sizes) -> tuple[float, HeldOutErrors | None]:
        """Score and errors of a fit to sample i; no errors without held-out rows."""
        return self._samples[i].score(fit, sizes), None

    def _row_errors(self, errors: Sequence[HeldOutErrors | None]) -> Any:
        """Errors of all rows, from those of the samples; None without held-out rows."""
        return None

    def _responses(self, errors: Sequence[HeldOutErrors | None]) -> ResponseErrors | None:
        """Errors of the responses, from those of the samples; None without held-out rows."""
        return None

    def _rank_scores(self, evaluation: Evaluation) -> tuple[tuple[int, float], ...]:
        if evaluation.table.size == 0:
            return ()
        return self._space.best_by_rank(evaluation.table, evaluation.sizes)

    # ------------------------------------------------------------------ coordinates

    _ridge_tolerance = 0.0

    def _least_gain(self, score: float) -> float:
        """The least predicted gain for which a move is tried."""
        return 0.0

    def _settle(self, start: Evaluation, limit: float = math.inf) -> Evaluation:
        """Move to the best rank and columns of the table, while fits confirm its prediction.

        Moves whose predicted score is not below ``limit`` are not tried.
        """
        best = start
        for _ in range(_MAX_MOVES):
            choice = self._space.best_of(best.table, best.sizes)
            limit = min(limit, best.score - self._least_gain(best.score))
            if choice in self._known or not table_entry(best.table, choice) < limit:
                break
            moved = self._evaluate([choice])[0]
            if not moved.score < best.score:
                self._gain_factor = _AFTER_FAILURE
                break
            best = moved
        return best

    def _by_forecast(self, start: Evaluation) -> Evaluation:
        """Move to the number of rows with the best forecast, while fits confirm it."""
        best = start
        for _ in range(_MAX_FORECASTS):
            wanted = self._forecast(best)
            if wanted is None or wanted in self._tried_rows(best.sizes.ridge):
                break
            best = self._best_with([wanted], best)
            if best.sizes.rows != wanted:
                break
        return best

    def _forecast(self, near: Evaluation) -> int | None:
        """The number of rows with the least forecast score; None without forecasts."""
        rows = self._space.rows
        expected = np.where(rows < self._space.ranks[0], np.inf, self._expected(near))
        least = int(np.argmin(expected))
        return int(rows[least]) if np.isfinite(expected[least]) else None

    def _expected(self, near: Evaluation) -> np.ndarray:
        """Forecast scores of all numbers of rows; infinite where there is no forecast."""
        if near.sizes not in self._expectations:
            pairs = zip(self._samples, near.fits, strict=True)
            fitted = [(sample, fit) for sample, fit in pairs if fit is not None]
            expected = np.full(len(self._space.rows), np.inf)
            if fitted:
                expected = np.mean(self._forecasts(fitted, near.sizes), axis=0)
            self._expectations[near.sizes] = expected
        return self._expectations[near.sizes]

    def _forecasts(self, fitted: Sequence[tuple[Any, Fit]], sizes: Sizes) -> np.ndarray:
        """Forecast scores of all numbers of rows, one row for each sample and its fit."""
        rows = self._space.rows
        return np.array([sample.rows_forecast(fit, sizes, rows) for sample, fit in fitted])

    def _neighbours(self, best: Evaluation) -> Evaluation:
        """Move to a neighbouring number of rows, while that is better."""
        while True:
            around = self._space.next_to(best.sizes.rows)
            tried = self._tried_rows(best.sizes.ridge)
            probes = [rows for rows in around if rows not in tried]
            if probes and probes[0] < best.sizes.rows and probes[0] <= self._far_too_few(best):
                del probes[0]
            if not probes:
                return best
            best = self._best_with(probes, best, screened=True)

    def _far_too_few(self, best: Evaluation) -> int:
        """The largest number of rows that is certainly too small."""
        return 0

    def _tried_rows(self, ridge: float) -> set[int]:
        """Numbers of rows tried with a ridge or one next to it, which changes little."""
        ridges = self._space.ridges
        here = ridges.index(ridge)
        near = ridges[max(here - 1, 0) : here + 2]
        return {sizes.rows for sizes in self._known if sizes.ridge in near}

    def _best_with(
        self, probes: Sequence[int], best: Evaluation, screened: bool = False
    ) -> Evaluation:
        """The best of a point and of similar points with other numbers of rows."""
        points = [self._space.like(rows, best.sizes) for rows in probes]
        for tried in self._evaluate(points, screened):
            settled = self._settle(tried, limit=best.score)
            if settled.score < best.score:
                best = settled
        return best

    def _over_ridges(self, best: Evaluation) -> Evaluation:
        """Move to the ridge with the best predicted score, if a fit confirms it."""
        predicted = self._compared(best).values()
        others = [each for each in predicted if each[1].ridge != best.sizes.ridge]
        if not others:
            return best
        score, choice = min(others, key=lambda prediction: prediction[0])
        # a fit with this ridge chooses its own rows and may be better than predicted
        limit = best.score + self._ridge_tolerance * abs(best.score)
        if choice in self._known or not score < limit:
            return best
        moved = self._settle(self._evaluate([choice])[0])
        return moved if moved.score < best.score else best

    def _compared(self, near: Evaluation) -> dict[int, tuple[float, Sizes]]:
        """Predictions for ridges, by their positions: for some, and for those next to the best."""
        ridges = self._space.ridges
        predicted: dict[int, tuple[float, Sizes]] = {}
        look = {ridges.index(near.sizes.ridge)}
        if near.sizes.ridge == ridges[0]:
            look.update(range(0, len(ridges), COARSE_RIDGES))
        allowed = self._space.ridges_for(near.sizes.rows)
        if not allowed - look:
            return {}
        while look := look & allowed:
            few = sorted(look)
            found = self._predicted(near, [ridges[i] for i in few])
            predicted |= dict(zip(few, found, strict=True))
            leader = min(predicted, key=lambda i: predicted[i][0])
            look = {leader - 1, leader + 1} - predicted.keys()
        return predicted

    def _predicted(self, near: Evaluation, ridges: Sequence[float]) -> list[tuple[float, Sizes]]:
        """For each ridge the best sizes, and their score, on the rows of known fits."""
        most = self._space.most_ranks(near.sizes)

        def refitted(few: Sequence[float], group: Sequence[int]) -> list[np.ndarray]:
            pairs = [(i, ridge) for ridge in few for i in group]
            fits = [self._samples[i].refit(near.fits[i], ridge) for i, ridge in pairs]
            places, of_fits = zip(*pairs, strict=True)
            return self._tables(places, fits, of_fits, most)

        others = [ridge for ridge in ridges if ridge != near.sizes.ridge]
        tables = {near.sizes.ridge: near.table}
        for ridge, results in zip(
            others, self._by_ridge(refitted, near.sizes.rows, others), strict=True
        ):
            tables[ridge] = mean_table(results)
        choices = [
            self._space.best_of(tables[ridge], near.sizes._replace(ridge=ridge)) for ridge in ridges
        ]
        return [(table_entry(tables[choice.ridge], choice), choice) for choice in choices]
