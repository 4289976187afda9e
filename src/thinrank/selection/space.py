"""What a search may choose from."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from thinrank.minimize import check_size
from thinrank.selection.samples import Sizes

__all__ = ["Space", "make_space"]

# Grids of at most this many points are evaluated in full.
_SMALL_GRID = 100


@dataclass(frozen=True)
class Space:
    """Allowed values, each axis sorted.

    Attributes
    ----------
    ranks, rows, columns : ndarray of int
    ridges : tuple of float
    null : bool
        Whether rank 0 competes.
    explicit : bool
        Whether all axes were given as lists.
    """

    ranks: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    ridges: tuple[float, ...]
    null: bool
    explicit: bool

    @cached_property
    def exhaustive(self) -> list[Sizes] | None:
        """Every point of a small grid that was given in full, else None."""
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

    def row_grid(self) -> list[int]:
        """Doublings, moved to allowed values."""
        most = int(self.rows[-1])
        doublings = [2**i for i in range(most.bit_length())] + [most]
        places = np.searchsorted(self.rows, doublings)
        feasible = self.rows >= self.ranks[0]
        return [int(r) for r in np.unique(self.rows[places]) if feasible[self.rows == r][0]]

    def first(self, rows: int, near: Sizes | None) -> Sizes:
        """A point with so many rows, otherwise like another one."""
        if near is None:
            columns = int(self.columns[-1])
            rank, ridge = int(self.ranks[0]), self.ridges[0]
        else:
            rank, columns, ridge = near.rank, near.columns, near.ridge
        ranks = self.ranks[self.ranks <= min(rows, columns)]
        rank = int(ranks[ranks <= rank][-1]) if np.any(ranks <= rank) else int(ranks[0])
        return Sizes(rank, rows, columns, ridge)

    def most_ranks(self, sizes: Sizes, further: int) -> int:
        """How many ranks a table about a point should cover."""
        return min(int(self.ranks[-1]), 2 * sizes.rank + further, sizes.rows)

    def best_of(self, table: np.ndarray, sizes: Sizes) -> Sizes:
        """The allowed rank and number of columns of least score in a table."""
        height = max(table.shape[0], sizes.rank)
        ranks = self.ranks[self.ranks <= min(sizes.rows, height)]
        scores = table[np.ix_(np.minimum(ranks, table.shape[0]) - 1, self.columns - 1)]
        scores = np.where(ranks[:, None] <= self.columns[None, :], scores, np.inf)
        i, j = np.unravel_index(int(np.argmin(scores)), scores.shape)
        return sizes._replace(rank=int(ranks[i]), columns=int(self.columns[j]))

    def halfway(self, rows: int, tried: set[int]) -> list[int]:
        """Allowed numbers of rows halfway from one to the nearest ones tried."""
        probes = []
        here = int(np.searchsorted(self.rows, rows))
        places = sorted(int(np.searchsorted(self.rows, r)) for r in tried if r in self.rows)
        lower = max((i for i in places if i < here), default=-1)
        upper = min((i for i in places if i > here), default=len(self.rows))
        if here - lower > 1:
            probes.append(int(self.rows[(here + lower) // 2 if lower >= 0 else here // 2]))
        if upper - here > 1:
            probes.append(int(self.rows[(here + upper + 1) // 2 - (upper == len(self.rows))]))
        return [r for r in probes if self.ranks[0] <= r]


def make_space(
    shape: tuple[int, int],
    samples: float,
    *,
    ranks: Sequence[int] | None,
    rows: Sequence[int | None] | None,
    columns: Sequence[int | None] | None,
    ridges: Sequence[float],
) -> Space:
    """Validated axes; None is everything that makes sense.

    Parameters
    ----------
    shape : (p, k)
    samples : float
        Number of rows of data in the smallest sample.
    """
    p, k = shape
    row_axis = np.arange(1, p + 1) if rows is None else _axis("row_sparsity", rows, p)
    column_axis = np.arange(1, k + 1) if columns is None else _axis("column_sparsity", columns, k)
    most = min(int(row_axis[-1]), int(column_axis[-1]), max(int(samples), 1))
    rank_axis = np.arange(1, most + 1) if ranks is None else _axis("rank", ranks, most)
    return Space(
        rank_axis,
        row_axis,
        column_axis,
        tuple(sorted(ridges)),
        null=ranks is None,
        explicit=None not in (ranks, rows, columns),
    )


def _axis(name: str, values: Sequence[Any], limit: int) -> np.ndarray:
    if len(values) == 0:
        raise ValueError(f"{name} must have at least one value to choose from, got none")
    for value in values:
        if value is not None:
            check_size(name, value, limit, "each value")
    return np.unique([limit if value is None else int(value) for value in values])
