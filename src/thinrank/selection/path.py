"""A warm-started search over rank, row sparsity, column sparsity and ridge."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from joblib import Parallel, delayed

from thinrank.selection.samples import Sample, Sizes
from thinrank.selection.space import Space
from thinrank.solvers.pursuit import Fit, Pursuit

MODE = "scratch"
WORTH = 2.0

__all__ = ["Evaluation", "Search", "SearchRecord"]

# Ranks beyond the present one that a table covers: twice as many, and these.
_FURTHER_RANKS = 8
# Moves of rank, columns and ridge on one number of rows.
_MOST_MOVES = 4
# Numbers of rows in a row that must be worse than the best before the grid ends.
_PATIENCE = 2
_MOST_ROUNDS = 4


@dataclass(frozen=True)
class Evaluation:
    """A point that was fitted to every sample.

    Attributes
    ----------
    sizes : Sizes
    score : float
        Mean of the samples' scores; less is better.
    parts : tuple of float
        The samples' scores.
    fits : tuple of Fit
        The samples' fits; empty for rank 0.
    table : ndarray of shape (q, k)
        What score other ranks and numbers of columns would have on the rows of the fits.
    seconds : float
    """

    sizes: Sizes
    score: float
    parts: tuple[float, ...]
    fits: tuple[Fit, ...] = field(repr=False)
    table: np.ndarray = field(repr=False)
    seconds: float


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """One step of a search, for callbacks.

    Attributes
    ----------
    iteration : int
        Points evaluated so far.
    objective : float
        Score of this point; less is better.
    best : float
        Lowest score so far.
    sizes : Sizes
        The point.
    seconds : float
        Since the search began.
    """

    iteration: int
    objective: float
    best: float
    sizes: Sizes
    seconds: float


class Stopped(Exception):
    """The callback has seen enough."""


class Search:
    """Find the sizes of least score.

    The number of rows is searched over a grid of doublings, then by bisection about the best;
    at each number the ranks and numbers of columns come from tables (one fit tells about all of
    them) that a fit confirms, and so does the ridge. Every point is fitted from the nearest one
    before. What is returned is the best of all the points that were fitted: never worse than the
    grid.

    Parameters
    ----------
    samples : sequence of Sample
    space : Space
        What may be chosen.
    max_iter, tol
        Of the solver.
    n_jobs : int, optional
        Threads over samples and points.
    callback : callable, optional
        Called with a SearchRecord after each point; returning True ends the search.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        space: Space,
        *,
        max_iter: int = 100,
        tol: float = 1e-7,
        n_jobs: int | None = None,
        callback: Callable[[SearchRecord], object] | None = None,
    ) -> None:
        self._samples = samples
        self._space = space
        self._max_iter, self._tol = max_iter, tol
        self._n_jobs = n_jobs
        self._callback = callback
        self._known: dict[Sizes, Evaluation] = {}
        self._began = time.perf_counter()
        self.stopped = False

    @property
    def evaluations(self) -> list[Evaluation]:
        """All points, in the order of their evaluation."""
        return list(self._known.values())

    def run(self) -> Evaluation:
        """Search, and return the best point; after an interruption the best so far."""
        try:
            self._search()
        except (Stopped, KeyboardInterrupt):
            self.stopped = True
            if not self._known:
                raise
        return self.best

    @property
    def best(self) -> Evaluation:
        """The point of least score; of equals the one evaluated first."""
        return min(self._known.values(), key=lambda e: e.score)

    def _search(self) -> None:
        space = self._space
        if space.null:
            self._evaluate_null()
        if space.exhaustive is not None:
            self._evaluate_all(space.exhaustive)
            return
        best = self._over_doublings()
        for _ in range(_MOST_ROUNDS):
            settled = self._over_ridges(self._between(best))
            if settled.score >= best.score and settled.sizes == best.sizes:
                return
            best = settled

    # ------------------------------------------------------------------ one point

    def _evaluate_null(self) -> None:
        parts = tuple(sample.null() for sample in self._samples)
        nothing = Sizes(0, 0, 0, 0.0)
        self._keep(Evaluation(nothing, float(np.mean(parts)), parts, (), np.empty((0, 0)), 0.0))

    def _evaluate(self, sizes: Sizes, screened: bool = False) -> Evaluation:
        return self._evaluate_all([sizes], screened)[0]

    def _evaluate_all(self, points: Iterable[Sizes], screened: bool = False) -> list[Evaluation]:
        """Evaluate what is not yet known, in parallel over points and samples."""
        points = list(points)
        new = [sizes for sizes in dict.fromkeys(points) if sizes not in self._known]
        jobs = [(sizes, i) for sizes in new for i in range(len(self._samples))]
        if self._n_jobs in (None, 1) or len(jobs) < 2:
            done = map(lambda job: self._fit_and_score(*job, screened), jobs)
        else:
            done = iter(
                Parallel(n_jobs=self._n_jobs, prefer="threads")(
                    delayed(self._fit_and_score)(*job, screened) for job in jobs
                )
            )
        for sizes in new:
            began = time.perf_counter()
            results = [next(done) for _ in self._samples]
            fits, tables = zip(*results, strict=True)
            table = np.mean(_same_height(tables), axis=0)
            parts = tuple(_entry(t, sizes) for t in tables)
            seconds = time.perf_counter() - began
            self._keep(Evaluation(sizes, float(np.mean(parts)), parts, fits, table, seconds))
        return [self._known[sizes] for sizes in points]

    def _fit_and_score(self, sizes: Sizes, i: int, screened: bool) -> tuple[Fit, np.ndarray]:
        sample = self._samples[i]
        solver = Pursuit(*sizes[:3], max_iter=self._max_iter, tol=self._tol, worth=WORTH)
        near = self._nearest(sizes)
        fit = None
        if MODE in ("scratch", "both") or near is None or screened:
            fit = sample.fit(sizes, solver)
        if near is not None and MODE != "scratch":
            other = sample.grow(sizes, solver, near.fits[i])
            if fit is None or other.objective < fit.objective:
                fit = other
        most = self._space.most_ranks(sizes, _FURTHER_RANKS)
        return fit, sample.scores(fit, sizes.ridge, most)

    def _nearest(self, sizes: Sizes) -> Evaluation | None:
        """The fitted point that is most like this one, the number of rows mattering most."""
        fitted = [e for e in self._known.values() if e.fits]
        if not fitted:
            return None

        def distance(e: Evaluation) -> tuple[float, float]:
            other = e.sizes
            return (
                abs(np.log(other.rows / sizes.rows)) + (other.ridge != sizes.ridge) * 1e-3,
                abs(np.log(other.rank / sizes.rank)) + abs(np.log(other.columns / sizes.columns)),
            )

        return min(fitted, key=distance)

    def _keep(self, evaluation: Evaluation) -> None:
        self._known[evaluation.sizes] = evaluation
        if self._callback is None:
            return
        record = SearchRecord(
            len(self._known),
            evaluation.score,
            self.best.score,
            evaluation.sizes,
            time.perf_counter() - self._began,
        )
        if self._callback(record):
            raise Stopped

    # ------------------------------------------------------------------ coordinates

    def _settle(self, start: Evaluation) -> Evaluation:
        """Move to the rank and columns that the table promises, while fits confirm it."""
        best = start
        for _ in range(_MOST_MOVES):
            choice = self._space.best_of(best.table, best.sizes)
            if choice in self._known or choice == best.sizes:
                break
            moved = self._evaluate(choice)
            if not moved.score < best.score:
                break
            best = moved
        return best

    def _over_doublings(self) -> Evaluation:
        """The grid: each number of rows from the one before."""
        best = None
        last: Evaluation | None = None
        worse = 0
        for rows in self._space.row_grid():
            sizes = self._space.first(rows, None if last is None else last.sizes)
            last = self._settle(self._evaluate(sizes, screened=True))
            if best is None or last.score < best.score:
                best, worse = last, 0
            else:
                worse += 1
                if worse >= _PATIENCE:
                    break
        assert best is not None
        return best

    def _between(self, best: Evaluation) -> Evaluation:
        """Bisection: numbers of rows halfway to the neighbours that were tried."""
        while True:
            probes = self._space.halfway(best.sizes.rows, {s.rows for s in self._known})
            if not probes:
                return best
            points = [self._space.first(rows, best.sizes) for rows in probes]
            self._evaluate_all(points)
            tried = [self._settle(self._known[sizes]) for sizes in points]
            winner = min(tried, key=lambda e: e.score)
            if winner.score < best.score:
                best = winner

    def _over_ridges(self, best: Evaluation) -> Evaluation:
        """The ridge that the tables promise on the rows of the best fits."""
        if len(self._space.ridges) < 2:
            return best
        for _ in range(_MOST_MOVES):
            promised = [self._promise(best, ridge) for ridge in self._space.ridges]
            _, choice = min(promised, key=lambda pair: pair[0])
            if choice in self._known:
                return best
            moved = self._settle(self._evaluate(choice))
            if not moved.score < best.score:
                return best
            best = moved
        return best

    def _promise(self, near: Evaluation, ridge: float) -> tuple[float, Sizes]:
        """The best score at a ridge, on the rows of known fits."""
        if ridge == near.sizes.ridge:
            table = near.table
        else:
            sizes = near.sizes._replace(ridge=ridge)
            most = self._space.most_ranks(sizes, _FURTHER_RANKS)
            table = np.mean(
                _same_height(
                    [
                        sample.scores(sample.refit(sizes, fit), ridge, most)
                        for sample, fit in zip(self._samples, near.fits, strict=True)
                    ]
                ),
                axis=0,
            )
        choice = self._space.best_of(table, near.sizes._replace(ridge=ridge))
        return _entry(table, choice), choice


def _same_height(tables: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Tables of as many ranks; those beyond what a fit has are that fit."""
    height = max(table.shape[0] for table in tables)
    return [
        np.concatenate([table, np.repeat(table[-1:], height - table.shape[0], axis=0)])
        for table in tables
    ]


def _entry(table: np.ndarray, sizes: Sizes) -> float:
    return float(table[min(sizes.rank, table.shape[0]) - 1, sizes.columns - 1])
