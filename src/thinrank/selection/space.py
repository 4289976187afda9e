"""The sizes that a search may choose from."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from thinrank.core.checks import is_list
from thinrank.core.sizes import Sizes
from thinrank.minimize import check_size

__all__ = ["Space", "as_choices", "check_axes", "make_space"]

# All points of a given grid are evaluated if there are at most this number of them.
_SMALL_GRID = 100
# A table covers this number of ranks more than twice the present one.
_FURTHER_RANKS = 8
# Number of ridges on the coarse grid.
_COARSE_RIDGES = 4
# Further points to start from: numbers of rows as shares of the largest one without ridge, and the
# position of the ridge as a share of all.
_FURTHER_ROWS = 0.2, 0.66
_FURTHER_RIDGE = 0.6
# Ratio of consecutive numbers of rows above the number of samples, about √2.
_THICK_STEP = 1.4


@dataclass(frozen=True, eq=False)
class Space:
    """Allowed values of each size, sorted.

    Attributes
    ----------
    ranks, rows, columns : ndarray of int
        Allowed ranks, numbers of rows and numbers of columns.
    ridges : tuple of float
        Allowed ridges.
    null : bool
        Whether rank 0 is allowed.
    explicit : bool
        Whether ranks, rows and columns were all given as lists.
    most_unshrunk : int
        Largest number of rows of a fit without ridge.
    unlimited : (int or None, int or None)
        Numbers of rows and of columns that mean no limit, if None was among the given values.
    """

    ranks: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    ridges: tuple[float, ...]
    null: bool
    explicit: bool
    most_unshrunk: int
    unlimited: tuple[int | None, int | None] = (None, None)

    @cached_property
    def exhaustive(self) -> list[Sizes] | None:
        """All points of a small grid if the values were given; otherwise None."""
        if not self.explicit:
            return None
        product = itertools.product(
            self.ridges, self.rows.tolist(), self.columns.tolist(), self.ranks.tolist()
        )
        points = list(itertools.islice(product, _SMALL_GRID + 1))
        if len(points) > _SMALL_GRID:
            return None
        return [
            Sizes(rank, rows, columns, ridge)
            for ridge, rows, columns, rank in points
            if rank <= min(rows, columns)
        ]

    def params(self, sizes: Sizes) -> dict[str, Any]:
        """The parameters of SparseReducedRankRegressor for this model."""
        all_rows, all_columns = self.unlimited
        return {
            "rank": sizes.rank,
            "row_sparsity": None if sizes.rows == all_rows else sizes.rows,
            "column_sparsity": None if sizes.columns == all_columns else sizes.columns,
            "ridge": float(sizes.ridge),
        }

    def thin(self) -> Space:
        """The same space with only the least ridge and at most a third as many rows as samples."""
        few = self.rows[self.rows <= max(self.most_unshrunk // 3, int(self.rows[0]))]
        return replace(self, ridges=self.ridges[:1], rows=few)

    def coarse_grid(self) -> list[tuple[int, list[float]]]:
        """Some numbers of rows, each with some ridges.

        Numbers of rows are powers of two (of four above the number of samples) and the largest
        value. Ridges are the least one and a few others; it is positive for more rows than samples.
        """
        most, thin = int(self.rows[-1]), self.most_unshrunk
        powers = [2**i for i in range(most.bit_length()) if 2**i <= thin or i % 2 == 0]
        grid = np.unique(self.rows[np.searchsorted(self.rows, [*powers, min(thin, most), most])])
        few = self.ridges[:: max(len(self.ridges) // _COARSE_RIDGES, 1)][:_COARSE_RIDGES]
        return [
            (int(rows), [ridge for ridge in few if ridge > 0 or rows <= thin])
            for rows in grid
            if self.ranks[0] <= rows
        ]

    def further_starts(self, most_rows: int) -> list[Sizes]:
        """Points of full rank with few and many rows, and a ridge that the coarse grid lacks.

        Of the default ridges it is the mean curvature. Points with more than ``most_rows`` rows are
        left out.
        """
        ridge = self.ridges[int(_FURTHER_RIDGE * len(self.ridges))]
        wanted = [max(int(share * self.most_unshrunk), 1) for share in _FURTHER_ROWS]
        places = np.minimum(np.searchsorted(self.rows, wanted), len(self.rows) - 1)
        most, columns = int(self.ranks[-1]), int(self.columns[-1])
        return [
            self.like(int(rows), Sizes(most, int(rows), columns, ridge))
            for rows in np.unique(self.rows[places])
            if self.ranks[0] <= rows <= most_rows
        ]

    def ridges_for(self, rows: int) -> set[int]:
        """Positions of the ridges allowed for a number of rows; positive for more than samples."""
        thick = rows > self.most_unshrunk
        return {i for i, ridge in enumerate(self.ridges) if ridge > 0 or not thick}

    def between(self, low: int, high: int) -> int | None:
        """An allowed number of rows close to the geometric mean of two; None if there is none."""
        inside = self.rows[(self.rows > max(low, int(self.ranks[0]) - 1)) & (self.rows < high)]
        if inside.size == 0:
            return None
        middle = (max(low, 0.5) * high) ** 0.5
        return int(inside[np.argmin(np.abs(np.log(inside / middle)))])

    def row_grid(self) -> list[int]:
        """Powers of four, rounded up to allowed values, and the largest value."""
        most = int(self.rows[-1])
        powers = [4**i for i in range((most.bit_length() + 1) // 2)] + [most]
        grid = np.unique(self.rows[np.searchsorted(self.rows, powers)])
        return [int(rows) for rows in grid if rows >= self.ranks[0]]

    def next_to(self, rows: int) -> list[int]:
        """The allowed numbers of rows next to ``rows``."""
        here = int(np.searchsorted(self.rows, rows))
        around = self.rows[[i for i in (here - 1, here + 1) if 0 <= i < len(self.rows)]]
        return [int(count) for count in around if count >= self.ranks[0]]

    def like(self, rows: int, near: Sizes | None) -> Sizes:
        """A point with ``rows`` rows, otherwise similar to ``near``; of least rank without that."""
        if near is None:
            near = Sizes(int(self.ranks[0]), rows, int(self.columns[-1]), self.ridges[0])
        columns = _at_most(self.columns, near.columns)
        fitting = self.ranks[self.ranks <= min(rows, columns)]
        if fitting.size == 0:  # more columns, for the least allowed rank
            fitting = self.ranks[:1]
            columns = int(self.columns[self.columns >= self.ranks[0]][0])
        rank = _at_most(fitting, near.rank)
        wanted = near.ridge
        allowed = [self.ridges[i] for i in sorted(self.ridges_for(rows))]
        ridge = float(min(allowed, key=lambda value: abs(value - wanted)))
        return Sizes(rank, rows, columns, ridge)

    def most_ranks(self, sizes: Sizes) -> int:
        """Number of ranks in the table of a point."""
        return min(int(self.ranks[-1]), 2 * sizes.rank + _FURTHER_RANKS, sizes.rows)

    def above(self, rows: int) -> int | None:
        """An allowed number of rows about 1.5 times as large; None if there is none."""
        place = min(int(np.searchsorted(self.rows, 3 * rows // 2 + 1)), len(self.rows) - 1)
        larger = int(self.rows[place])
        return larger if larger > rows else None

    def fewest_columns(self, table: np.ndarray, sizes: Sizes, limit: float) -> Sizes:
        """The point with the fewest columns whose score in the table is at most ``limit``."""
        scores = table[min(sizes.rank, table.shape[0]) - 1, self.columns - 1]
        allowed = (self.columns >= sizes.rank) & (self.columns < sizes.columns) & (scores <= limit)
        fewer = self.columns[allowed]
        return sizes._replace(columns=int(fewer[0])) if fewer.size else sizes

    def best_of(self, table: np.ndarray, sizes: Sizes) -> Sizes:
        """The allowed rank and number of columns of least score in a table."""
        ranks, scores = self._allowed(table, sizes)
        i, j = np.unravel_index(int(np.argmin(scores)), scores.shape)
        if not np.isfinite(scores[i, j]):  # all models are near saturation
            return sizes
        return sizes._replace(rank=int(ranks[i]), columns=int(self.columns[j]))

    def best_by_rank(self, table: np.ndarray, sizes: Sizes) -> tuple[tuple[int, float], ...]:
        """The allowed ranks of a table, each with its least score over the numbers of columns."""
        ranks, scores = self._allowed(table, sizes)
        least = scores.min(axis=1)
        return tuple(zip(ranks.tolist(), least.tolist(), strict=True))

    def _allowed(self, table: np.ndarray, sizes: Sizes) -> tuple[np.ndarray, np.ndarray]:
        """The allowed ranks in a table, and the scores of their allowed numbers of columns."""
        height = max(table.shape[0], sizes.rank)
        ranks = self.ranks[self.ranks <= min(sizes.rows, height)]
        scores = table[np.minimum(ranks, table.shape[0]) - 1]
        if len(self.columns) < table.shape[1]:
            scores = scores[:, self.columns - 1]
        scores[ranks[:, None] > self.columns] = np.inf
        return ranks, scores


def _at_most(values: np.ndarray, limit: int) -> int:
    """The largest of sorted values up to a limit, or the first."""
    return int(values[max(int(np.searchsorted(values, limit, "right")) - 1, 0)])


def make_space(
    shape: tuple[int, int],
    samples: float,
    *,
    ranks: Sequence[int] | None,
    rows: Sequence[int | None] | None,
    columns: Sequence[int | None] | None,
    ridges: Sequence[float],
    thick: bool = False,
    most_rows: int | None = None,
) -> Space:
    """The space of allowed sizes, after a check of given values.

    Parameters
    ----------
    shape : (int, int)
        Shape of Θ.
    samples : float
        Number of rows of data in the smallest sample.
    ranks : sequence of int or None
        Allowed ranks; None for all up to the numbers of rows, columns and samples.
    rows, columns : sequence of (int or None), or None
        Allowed numbers of rows and columns, in which None means no limit; None for all.
    ridges : sequence of float
        Allowed ridges.
    thick : bool, default=False
        Whether models with a ridge and more rows than samples are allowed.
    most_rows : int, default=None
        Largest number of rows, if ``rows`` is None.

    Returns
    -------
    Space
    """
    p, k = shape
    # with as many predictors as rows of data the fit is perfect
    unshrunk = min(p, max(int(samples) - 1, 1), p if most_rows is None else most_rows)
    row_axis = np.arange(1, unshrunk + 1)
    if rows is not None:
        row_axis = _axis("row_sparsity", rows, p)
    elif thick and p > unshrunk and max(ridges) > 0:
        row_axis = np.concatenate([row_axis, _thick_rows(unshrunk, p)])
    column_axis = np.arange(1, k + 1) if columns is None else _axis("column_sparsity", columns, k)
    most = min(int(row_axis[-1]), int(column_axis[-1]), max(int(samples), 1))
    rank_axis = np.arange(1, most + 1) if ranks is None else _axis("rank", ranks, most)
    return Space(
        rank_axis,
        row_axis,
        column_axis,
        tuple(sorted(ridges)),
        null=ranks is None,
        explicit=ranks is not None and rows is not None and columns is not None,
        most_unshrunk=unshrunk if rows is None else p,
        unlimited=(
            p if rows is not None and None in rows else None,
            k if columns is not None and None in columns else None,
        ),
    )


def _thick_rows(most: int, p: int) -> np.ndarray:
    """Numbers of rows from the number of samples to p, a geometric sequence with p/2 and p."""
    half = max(p // 2, 1)
    steps = [p, half]
    while steps[-1] / _THICK_STEP > most:
        steps.append(int(steps[-1] / _THICK_STEP))
    return np.unique([rows for rows in steps if rows > most])


def check_axes(shape: tuple[int, int], ranks: Any, rows: Any, columns: Any) -> None:
    """Raise a ValueError unless the given values are possible for a matrix of this shape."""
    p, k = shape
    limits = {
        "rank": (ranks, min(p, k)),
        "row_sparsity": (rows, p),
        "column_sparsity": (columns, k),
    }
    for name, (values, limit) in limits.items():
        if values is not None:
            _axis(name, values, limit)


def as_choices(name: str, values: Any) -> list[Any]:
    """The values as a list; raise a ValueError if there are none."""
    if not is_list(values):
        raise ValueError(f"{name} must be a list of values to choose from, got {values!r}")
    values = list(values)
    if not values:
        raise ValueError(f"{name} must have at least one value to choose from, got none")
    return values


def _axis(name: str, values: Sequence[Any], limit: int) -> np.ndarray:
    values = as_choices(name, values)
    for value in values:
        if value is not None:
            check_size(name, value, limit, "each value")
    return np.unique([limit if value is None else int(value) for value in values])
