"""Matrices with missing cells: sizes and ridge chosen by held-out cells, and the fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtri

from thinrank.designs import as_design
from thinrank.matrices.cells import Centre, ObservedCells
from thinrank.matrices.decomposition import CLEAR_ERRORS, PATIENCE
from thinrank.matrices.given_sizes import nearest
from thinrank.matrices.layers import LEVEL
from thinrank.matrices.masked_factors import (
    EXACT,
    Fit,
    RidgePath,
    alternate,
    best_rows,
    fit_sizes,
    noise_variance,
    regressions,
    ridges,
)

# Fewer rows or columns are preferred if the error exceeds the smallest one by at most this number
# of standard errors of the difference. For a lower rank it is twice as much, and again for rank 0:
# the smallest error is that of the best of many candidates, one of which may look better than
# nothing by chance.
_MARGIN = 0.5


class Limits(NamedTuple):
    """Sizes and ridge that are given; None stands for what is to be chosen."""

    rank: Any
    rows: Any
    columns: Any
    ridge: Any


@dataclass(frozen=True, eq=False)
class Candidate:
    """Sizes with the best of their ridges, and the squared errors in held-out cells."""

    rank: int  # sizes
    rows: int
    columns: int
    ridge: float  # the ridge with the smallest error
    errors: np.ndarray  # (n_groups,) sums of the squared errors in random groups of cells
    # one fit for each split; empty once the candidate was used
    fits: tuple[Fit, ...] = field(default=(), repr=False)

    @property
    def error(self) -> float:
        """Sum of the squared errors."""
        return float(np.sum(self.errors))

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Rank, rows and columns."""
        return self.rank, self.rows, self.columns

    @property
    def size(self) -> int:
        """Number of free parameters."""
        return self.rank * (self.rows + self.columns - self.rank)

    def is_near(self, best: Candidate, margin: float) -> bool:
        """Whether the error exceeds that of the best by some standard errors of the difference."""
        standard_error = float(np.linalg.norm(self.errors - best.errors))
        return self.error - best.error <= margin * standard_error


_error = attrgetter("error")


class Search:
    """The choice of what is not given, by the squared errors in held-out cells.

    Cells are divided at random into ``cv`` parts. For each part the model is fitted to the other
    cells, with their center. For each rank the numbers of rows and columns start from those that
    stand out and from all, and are improved with the held-out errors that more or fewer rows
    (columns) would have.
    """

    def __init__(
        self,
        cells: ObservedCells,
        limits: Limits,
        *,
        centre: str | None,
        cv: int,
        seed: int,
        report: Callable[[Candidate], None],
    ) -> None:
        self.shape, self.limits, self.report = cells.shape, limits, report
        # cells of a few rows would not do as groups: all that a small block explains is in them
        self.n_groups = sum(cells.shape)
        place = np.random.default_rng(seed).permutation(len(cells))
        self.splits = [_split(cells, place % cv == k, centre) for k in range(cv)]
        self.groups = [place[place % cv == k] % self.n_groups for k in range(cv)]
        self.first = _standing_out(Centre.of(cells, centre).removed(cells))
        nothing = np.zeros((self.shape[0], 0)), np.zeros((self.shape[1], 0))
        self.zero = Candidate(0, 0, 0, 0.0, self._errors([nothing] * cv))
        self.done: dict[tuple[int, int, int], Candidate] = {}
        self.proposed: dict[tuple[int, int, int], tuple[tuple[int, int], tuple[int, int]]] = {}

    def run(self) -> tuple[Candidate, list[Candidate]]:
        """The thinnest candidate whose error is near the smallest, and all that were tried."""
        best, tried = self._best(), [self.zero, *self.done.values()]
        if self.limits.rank is None and self.zero.is_near(best, 4 * _MARGIN):
            return self.zero, tried
        near = [
            each
            for each in self.done.values()
            if each.is_near(best, _MARGIN * (1 if each.rank == best.rank else 2))
        ]
        chosen = min(near, key=lambda each: (each.size, each.error))
        return chosen, [*tried, chosen]

    def _best(self) -> Candidate:
        """The candidate with the smallest error."""
        best, without_gain = self.zero, 0
        given, rows, columns = self.limits[:3]
        most = min(rows or self.shape[0], columns or self.shape[1])
        for rank in range(1, most + 1) if given is None else (given,):
            starts = [self.first, self.shape, *([(best.rows, best.columns)] if best.rank else [])]
            sizes = sorted({self._sizes(rank, *each) for each in starts})
            winner = min((self._candidate(*each) for each in sizes), key=_error)
            if winner.error < best.error or given is not None:
                winner, without_gain = self._refined(winner), 0
            else:
                without_gain += 1
            best = winner if given is not None else min(best, winner, key=_error)
            if without_gain == PATIENCE:
                break
        return self._polished(best) if best.rank else best

    def _sizes(self, rank: int, rows: int, columns: int) -> tuple[int, int, int]:
        """Possible sizes nearest to those asked for."""
        rows = min(max(rows, rank), self.shape[0]) if self.limits.rows is None else self.limits.rows
        if self.limits.columns is not None:
            return rank, rows, self.limits.columns
        return rank, rows, min(max(columns, rank), self.shape[1])

    def _refined(self, here: Candidate) -> Candidate:
        """Improve the numbers of rows and columns of a candidate."""
        while True:
            (rows, _), (columns, _) = self.proposed[here.sizes]
            found = self._candidate(*self._sizes(here.rank, rows, columns))
            if not found.error < here.error:
                return here
            here = found

    def _polished(self, here: Candidate) -> Candidate:
        """Improve numbers of rows and columns in fits that start from the last ones.

        Fits with a common starting point differ by the sizes only, and not by the solution that
        alternations happen to reach, so that their errors can be compared closely.
        """
        while True:
            (rows, thin_rows), (columns, thin_columns) = self.proposed[here.sizes]
            pairs = {
                (rows, columns),
                (thin_rows, thin_columns),
                (thin_rows, here.columns),
                (here.rows, thin_columns),
                *((here.rows + step, here.columns) for step in (-1, 1)),
                *((here.rows, here.columns + step) for step in (-1, 1)),
            }
            near = sorted({self._sizes(here.rank, *pair) for pair in pairs} - {here.sizes})
            tried = [self._kept(self._continued(here, sizes)) for sizes in near]
            found = min(tried, key=_error, default=here)
            if not found.error < here.error:
                return here
            here = found

    def _continued(self, here: Candidate, sizes: tuple[int, int, int]) -> Candidate:
        """Other numbers of rows and columns, from the fits of a candidate."""
        rank, rows, columns = sizes
        fits = tuple(
            alternate(train, V, rows, columns, here.ridge)
            for (train, _), (_, V) in zip(self.splits, here.fits, strict=True)
        )
        return Candidate(rank, rows, columns, here.ridge, self._errors(fits), fits)

    def _candidate(self, rank: int, rows: int, columns: int) -> Candidate:
        sizes = (rank, rows, columns)
        return self.done[sizes] if sizes in self.done else self._kept(self._along_ridges(*sizes))

    def _kept(self, found: Candidate) -> Candidate:
        """The candidate, or an earlier one of the same sizes if that is better."""
        sizes = found.sizes
        self.report(found)
        if sizes in self.done and self.done[sizes].error <= found.error:
            return self.done[sizes]
        self.proposed[sizes] = self._numbers(found, False), self._numbers(found, True)
        self.done[sizes] = found
        best = min(self.done.values(), key=_error)
        for each in [each for each in self.done.values() if each.fits and each is not best]:
            self.done[each.sizes] = replace(each, fits=())  # only the best one is continued
        return self.done[sizes]

    def _along_ridges(self, rank: int, rows: int, columns: int) -> Candidate:
        """Held-out errors along decreasing ridges; the best of them."""
        paths = [RidgePath(train, rank, rows, columns) for train, _ in self.splits]
        largest, best, worse = max(path.largest for path in paths), None, 0
        for ridge in ridges(largest, self.limits.ridge):
            fits = tuple(path.fit(ridge) for path in paths)
            if self.limits.ridge is not None and ridge > self.limits.ridge:
                continue
            found = Candidate(rank, rows, columns, ridge, self._errors(fits), fits)
            if best is None or found.error < best.error:
                best, worse = found, 0
            else:
                worse += 1
            if worse == PATIENCE:
                break
        assert best is not None
        return best

    def _errors(self, fits: Iterable[Fit]) -> np.ndarray:
        errors = np.zeros(self.n_groups)
        for (_, cells), groups, (U, V) in zip(self.splits, self.groups, fits, strict=True):
            squares = (cells.values - cells.products(U, V)) ** 2
            errors += np.bincount(groups, squares, self.n_groups)
        return errors

    def _numbers(self, candidate: Candidate, transposed: bool) -> tuple[int, int]:
        """Numbers of rows that the held-out errors suggest: the best, and a thinner one.

        For the right factor of each split every row is judged: those which the fit leaves out by
        their regressions, too. Rows are added in the order of their gains in the cells of the fit.
        """
        changes = []
        for (train, held_out), (left, W) in zip(self.splits, candidate.fits, strict=True):
            if transposed:
                train, held_out, W = train.transposed, held_out.transposed, left
            if not W.any():
                return 1, 1
            U, gains = best_rows(train, W, train.shape[0], candidate.ridge)
            squares = (held_out.values - held_out.products(U, W)) ** 2 - held_out.values**2
            changes.append(held_out.row_sums(squares)[np.argsort(-gains, kind="stable")])
        steps = np.array(changes)
        error = np.cumsum(np.sum(steps, axis=0))
        spread = np.cumsum(np.sum(steps**2, axis=0))
        best = int(np.argmin(error))
        near = error - error[best] <= _MARGIN * np.sqrt(np.abs(spread - spread[best]))
        return best + 1, int(np.argmax(near)) + 1


def _split(
    cells: ObservedCells, held_out: np.ndarray, centre: str | None
) -> tuple[ObservedCells, ObservedCells]:
    """Cells to fit and held-out cells, about the center of those to fit."""
    train = cells.subset(~held_out)
    fitted = Centre.of(train, centre)
    return fitted.removed(train), fitted.removed(cells.subset(held_out))


def _standing_out(cells: ObservedCells) -> tuple[int, int]:
    """Numbers of rows and columns whose sums of squares are larger than those of noise."""
    variance, numbers = noise_variance(cells), []
    for each in (cells, cells.transposed):
        squares, counts = each.row_sums(each.values**2), each.counts
        excess = squares - variance * counts
        numbers.append(int(np.sum(excess > CLEAR_ERRORS * variance * np.sqrt(2.0 * counts))))
    return numbers[0], numbers[1]


# --------------------------------------------------------------------------- the fit


def fit_completion(
    cells: ObservedCells, chosen: Limits, given: Limits
) -> tuple[np.ndarray, np.ndarray, float]:
    """Factors of chosen sizes, and the smallest gain of a row in use; 0 if all rows are in use.

    Rows and columns that only all cells confirm are added, unless their numbers were ``given``.
    """
    rank, rows, columns, ridge = chosen
    V = np.zeros((cells.shape[1], 0))
    if rank and cells.complete and ridge == 0:  # the sparse SVD
        V = np.asarray(nearest(as_design(cells.by_row.values), rank, rows, columns).V)
    elif rank:
        _, V = fit_sizes(cells, rank, rows, columns, ridge)
    if not V.any():
        return np.zeros((cells.shape[0], 0)), np.zeros((cells.shape[1], 0)), 0.0
    V, rows = _extended(cells, V, chosen, given)
    U, gains = best_rows(cells, V, rows, ridge)
    return U, V, float(np.min(gains[U.any(axis=1)])) if rows < cells.shape[0] else 0.0


def _extended(
    cells: ObservedCells, V: np.ndarray, chosen: Limits, given: Limits
) -> tuple[np.ndarray, int]:
    """Right factor and number of rows, with the rows and columns that only all cells confirm."""
    _, rows, columns, ridge = chosen
    while True:
        U, _ = best_rows(cells, V, rows, ridge)
        in_rows, in_columns = (np.asarray(W.any(axis=1)) for W in (U, V))
        more_rows = further_rows(cells, V, in_rows, ridge) if given.rows is None else 0
        more_columns = 0
        if given.columns is None:
            more_columns = further_rows(cells.transposed, U, in_columns, ridge)
        if not more_rows and not more_columns:
            return V, rows
        rows, columns = rows + more_rows, columns + more_columns
        _, V = alternate(cells, V, rows, columns, ridge, EXACT)


def table_of(tried: list[Candidate], cells: int) -> dict[str, np.ndarray]:
    """Sizes, ridges and mean squared errors of the candidates, as columns."""
    numbers = [(*each.sizes, each.ridge, each.error / cells) for each in tried]
    columns = np.array(numbers, dtype=np.float64).reshape(-1, 5).T
    names = "rank", "row_sparsity", "column_sparsity", "ridge", "error"
    kinds = (np.int64, np.int64, np.int64, np.float64, np.float64)
    return {n: x.astype(kind) for n, x, kind in zip(names, columns, kinds, strict=True)}


# --------------------------------------------------------------------------- further rows


def further_rows(cells: ObservedCells, V: np.ndarray, used: np.ndarray, ridge: float) -> int:
    """Number of rows not in use that stand out from the others in their regressions on V.

    The gains of rows of noise are multiples of chi-square variables. The scale is the larger one of
    that of the median of the rows not in use, which must be the majority, and of the mean square of
    the cells of the row in columns outside of V: rows may differ in the variance of their noise.
    """
    support = np.flatnonzero(V.any(axis=1))
    rank = V.shape[1]
    block, W = cells.block(None, support), V[support]
    _, gains = regressions(block, W, ridge)
    counts = np.asarray(block.mask.sum(axis=1)).ravel()
    others = ~used & (counts > rank)  # fewer cells are fitted whatever they are
    if np.count_nonzero(others) < 0.5 * len(used):
        return 0
    common = float(np.median(gains[others])) / float(chdtri(rank, 0.5))
    limits = np.maximum(common, _noise(cells, support)) * float(chdtri(rank, LEVEL / len(used)))
    candidates = np.flatnonzero(others & (gains > limits)).tolist()
    return sum(_predicted(cells, i, V, support, ridge) for i in candidates)


def _noise(cells: ObservedCells, support: np.ndarray) -> np.ndarray:
    """Mean square of the cells of each row outside of some columns; 0 without such cells."""
    outside = ~np.isin(cells.columns, support)
    counts = cells.row_sums(outside.astype(float))
    return cells.row_sums(np.where(outside, cells.values**2, 0.0)) / np.maximum(counts, 1.0)


def _predicted(
    cells: ObservedCells, row: int, V: np.ndarray, support: np.ndarray, ridge: float
) -> bool:
    """Whether each cell of a row is predicted by the others, better than by zero.

    This is not so if the regression of the row explains much because single cells are large.
    """
    own = (cells.rows == row) & np.isin(cells.columns, support)
    A, y = V[cells.columns[own]], cells.values[own]
    inverse = np.linalg.pinv(A.T @ A + ridge * np.eye(V.shape[1]))
    leverage = np.einsum("ij,jk,ik->i", A, inverse, A)
    errors = (y - A @ (inverse @ (A.T @ y))) / np.maximum(1 - leverage, np.finfo(float).eps)
    return float(errors @ errors) < float(y @ y)
