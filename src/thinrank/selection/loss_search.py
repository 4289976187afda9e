"""Search for the sizes with the least held-out loss, for any loss with the capability folds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from thinrank.core.contracts import Start, require
from thinrank.core.factors import Factors
from thinrank.core.result import Callback
from thinrank.core.sizes import Sizes
from thinrank.minimize import solve
from thinrank.selection.base_search import BaseSearch
from thinrank.selection.choice import RefitRule, thinnest
from thinrank.selection.evaluation import Evaluation
from thinrank.selection.mean_scores import mean_score
from thinrank.selection.space import Space
from thinrank.solvers import Pursuit

__all__ = ["LossSearch"]

# Rank of the first models; a low rank is enough to compare numbers of rows.
_FIRST_RANK = 2
# Tolerance of pursuit in the search: held-out losses of models differ by more than this.
_TOLERANCE = 1e-4
# Steps of the moves, from coarse to fine: factors of rows, columns and rank, and numbers of
# positions in the list of ridges.
_STEPS = ((2.0, 4), (1.4, 2), (1.0, 1))


class LossSearch(BaseSearch):
    """Coordinate search over rank, rows, columns and ridge by the loss on held-out folds.

    For least squares one exact fit gives the scores of other ranks and numbers of columns, which
    :class:`thinrank.selection.held_out_search.HeldOutSearch` uses. For other losses each model is
    fitted: some numbers of rows first, then larger and smaller values of every size, starting from
    the best model and with decreasing steps.

    Parameters
    ----------
    loss : Loss
        A loss with the capabilities ``folds`` and ``with_ridge``.
    space : Space
        The sizes to choose from.
    solver : Solver
        The solver; its sizes are set for each model.
    start : Start
        Starting point of each fit.
    folds : int, default=5
        Number of folds.
    seed : int, default=0
        Seed of the folds and of randomised decompositions in the start.
    callback : callable or None, default=None
        Called with a Record after each model; if it returns True, the search ends.
    """

    def __init__(
        self,
        loss: Any,
        space: Space,
        solver: Any,
        start: Start,
        *,
        folds: int = 5,
        seed: int = 0,
        callback: Callback | None = None,
    ) -> None:
        super().__init__(callback=callback)
        for capability in ("folds", "with_ridge"):
            require(loss, capability, "a search for sizes")
        if isinstance(solver, Pursuit):
            solver = replace(solver, tol=max(solver.tol, _TOLERANCE))
        self._space, self._solver, self._start = space, solver, start
        self._pairs = loss.folds(folds, seed)
        self._seed = seed
        self.shape: tuple[int, int] = loss.shape

    def chosen(self, rule: RefitRule = "best") -> Evaluation:
        """The model that a rule chooses."""
        return thinnest(rule, self.evaluations, self.shape[0])

    def _search(self) -> None:
        space = self._space
        if space.null:
            self._evaluate(Sizes(0, 0, 0, 0.0))
        if space.exhaustive is not None:
            for sizes in space.exhaustive:
                self._evaluate(sizes)
            return
        middle = space.ridges[len(space.ridges) // 2]
        first = Sizes(_FIRST_RANK, self.shape[0], int(space.columns[-1]), middle)
        tried = [self._evaluate(space.like(rows, first)) for rows in space.row_grid()]
        best = min(tried, key=lambda e: e.score)
        for factor, places in _STEPS:
            moved = True
            while moved:
                moved = False
                for sizes in self._moves(best.sizes, factor, places):
                    if sizes in self._known:
                        continue
                    if (other := self._evaluate(sizes)).score < best.score:
                        best, moved = other, True
                        break

    def _moves(self, here: Sizes, factor: float, places: int) -> Iterator[Sizes]:
        """Models that differ in one size; more rows than samples may need another ridge."""
        space = self._space
        for rows in _around(space.rows, here.rows, factor):
            yield space.like(rows, here)
        for rank in _around(space.ranks, here.rank, factor):
            if rank <= min(here.rows, here.columns):
                yield here._replace(rank=rank)
        place = space.ridges.index(here.ridge)
        for i in (place - places, place + places):
            if i in space.ridges_for(here.rows):
                yield here._replace(ridge=space.ridges[i])
        for columns in _around(space.columns, here.columns, factor):
            if columns >= here.rank:
                yield here._replace(columns=columns)

    def _evaluate(self, sizes: Sizes) -> Evaluation:
        if sizes in self._known:
            return self._known[sizes]
        began = time.perf_counter()
        parts = tuple(self._score(training, test, sizes) for training, test in self._pairs)
        seconds = time.perf_counter() - began
        found = Evaluation(sizes, mean_score(parts), parts, (), np.empty((0, 0)), seconds)
        self._keep(found)
        return found

    def _score(self, training: Any, held_out: Any, sizes: Sizes) -> float:
        """The held-out loss, without ridge, of a fit to the training rows."""
        factors = Factors.zero(self.shape, like=training.prototype, rank=1)
        if sizes.rank > 0:
            bound = self._solver.sized(*sizes[:3])
            loss = training.with_ridge(sizes.ridge)
            found = solve(loss, bound, self._start, self._seed, records=False)
            if found is not None and found.state.factors.rank > 0:
                factors = found.state.factors
        return held_out.with_ridge(0.0).value_and_gradient(factors)[0]


def _around(values: np.ndarray, here: int, factor: float) -> list[int]:
    """Allowed values on both sides, about a factor apart and at least the next ones."""
    place = int(np.searchsorted(values, here))
    low = min(int(np.searchsorted(values, here / factor)), place - 1)
    high = max(int(np.searchsorted(values, here * factor, "right")) - 1, place + 1)
    return [int(values[i]) for i in (high, low) if 0 <= i < len(values)]
