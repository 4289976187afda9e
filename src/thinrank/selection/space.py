"""The sizes that a search may choose from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from thinrank.core.checks import is_list
from thinrank.core.result import Sizes
from thinrank.minimize import check_size
from thinrank.starts.elimination import numbers_of_rows

# All points of a given grid are evaluated if there are at most this number of them.
_SMALL_GRID = 100
# After a fit, numbers of rows down to half of its own are looked at in steps of this fraction.
_STEPS = 16


@dataclass(frozen=True, eq=False)
class Space:
    """Allowed values of each size, sorted."""

    ranks: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    ridges: tuple[float, ...]
    null: bool  # whether rank 0 is allowed
    explicit: bool  # whether ranks, rows and columns were all given as lists
    most_unshrunk: int  # largest number of rows of a fit without ridge
    most_rows: int  # number of rows that elimination begins with
    samples: float  # number of rows of data in the smallest training part
    given_rows: bool  # whether numbers of rows were given
    exchanges: tuple[bool, ...] = (False, True)  # whether rows may be exchanged, and may not be
    # numbers of rows and of columns that mean no limit, if None was among the given values
    unlimited: tuple[int | None, int | None] = (None, None)

    @cached_property
    def exhaustive(self) -> list[Sizes] | None:
        """All points of a small grid if the values were given; otherwise None."""
        if not self.explicit:
            return None
        axes = [axis.tolist() for axis in (self.rows, self.columns, self.ranks)]
        if math.prod(map(len, (self.ridges, *axes))) > _SMALL_GRID:
            return None
        return [
            Sizes(rank, rows, columns, ridge, self.exchanges[-1])
            for ridge, rows, columns, rank in itertools.product(self.ridges, *axes)
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
            "exchange": sizes.exchange,
        }

    @cached_property
    def path_rows(self) -> list[int]:
        """Numbers of rows that elimination goes through, decreasing."""
        given = set(self.rows.tolist()) if self.given_rows else set()
        return sorted({*numbers_of_rows(self.most_rows, self.samples), *given}, reverse=True)

    @cached_property
    def proposed_rows(self) -> list[int]:
        """Those of which tables are computed."""
        most, least = int(self.rows[-1]), int(self.ranks[0])
        allowed = set(self.rows.tolist() if self.given_rows else self.path_rows)
        return [rows for rows in self.path_rows if least <= rows <= most and rows in allowed]

    def allows(self, rows: int, ridge: float) -> bool:
        """Whether a number of rows may have a ridge, which is positive for more than samples."""
        return ridge > 0 or rows <= self.most_unshrunk

    def fewer_rows(self, rows: int) -> list[int]:
        """Allowed numbers of rows below one, close to it in steps of a sixteenth, decreasing."""
        step = max(rows // _STEPS, 1)
        wanted = {*range(rows - step, rows // 2, -step), *numbers_of_rows(rows, rows)} - {rows}
        return sorted({self.rows_near(count) for count in wanted} & set(range(rows)), reverse=True)

    def rows_near(self, rows: int) -> int:
        """The least allowed number of rows from a given one on, or the largest."""
        least = max(rows, int(self.ranks[0]))
        return int(self.rows[min(int(np.searchsorted(self.rows, least)), len(self.rows) - 1)])

    def with_rows(self, sizes: Sizes, rows: int) -> Sizes:
        """A point with another number of rows, and a rank and ridge that it may have."""
        ranks = self.ranks[self.ranks <= min(rows, sizes.rank)]
        rank, ridge = int(ranks[-1] if ranks.size else self.ranks[0]), sizes.ridge
        if not self.allows(rows, ridge):
            ridge = next((r for r in self.ridges if r > 0), ridge)
        return sizes._replace(rank=rank, rows=rows, ridge=ridge)

    def moves(self, here: Sizes, factor: float, places: int) -> Iterator[Sizes]:
        """Points that differ in one size; more rows than samples may need another ridge."""
        for rows in _around(self.rows, here.rows, factor):
            if rows >= self.ranks[0]:
                yield self.with_rows(here, rows)
        for rank in _around(self.ranks, here.rank, factor):
            if rank <= min(here.rows, here.columns):
                yield here._replace(rank=rank)
        place = self.ridges.index(here.ridge)
        for i in (place - places, place + places):
            if 0 <= i < len(self.ridges) and self.allows(here.rows, self.ridges[i]):
                yield here._replace(ridge=self.ridges[i])
        for columns in _around(self.columns, here.columns, factor):
            if columns >= here.rank:
                yield here._replace(columns=columns)

    def fewest_columns(self, table: np.ndarray, sizes: Sizes, limit: float) -> Sizes:
        """The point with the fewest columns whose score in the table is at most ``limit``."""
        scores = table[min(sizes.rank, table.shape[0]) - 1, self.columns - 1]
        allowed = (self.columns >= sizes.rank) & (self.columns < sizes.columns) & (scores <= limit)
        fewer = self.columns[allowed]
        return sizes._replace(columns=int(fewer[0])) if fewer.size else sizes

    def best_of(
        self, table: np.ndarray, ridge: float, rows: int, all_columns: bool = False
    ) -> tuple[float, Sizes]:
        """The least score of an allowed rank and number of columns in a table, and the point."""
        ranks, scores = self._allowed(table, rows)
        if all_columns:
            scores[:, :-1] = np.inf
        i, j = np.unravel_index(int(np.argmin(scores)), scores.shape)
        return float(scores[i, j]), Sizes(int(ranks[i]), rows, int(self.columns[j]), ridge)

    def best_by_rank(self, table: np.ndarray, sizes: Sizes) -> tuple[tuple[int, float], ...]:
        """The allowed ranks of a table, each with its least score over the numbers of columns."""
        if table.size == 0:
            return ()
        ranks, scores = self._allowed(table, sizes.rows)
        return tuple(zip(ranks.tolist(), scores.min(axis=1).tolist(), strict=True))

    def _allowed(self, table: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """The allowed ranks in a table, and the scores of their allowed numbers of columns."""
        ranks = self.ranks[self.ranks <= min(rows, len(table))]
        ranks = ranks if ranks.size else self.ranks[:1]
        scores = table[np.minimum(ranks, len(table)) - 1][:, self.columns - 1]
        return ranks, np.where(ranks[:, None] > self.columns, np.inf, scores)


def _around(values: np.ndarray, here: int, factor: float) -> list[int]:
    """Allowed values on both sides, about a factor apart and at least the next ones."""
    place = int(np.searchsorted(values, here))
    low = min(int(np.searchsorted(values, here / factor)), place - 1)
    high = max(int(np.searchsorted(values, here * factor, "right")) - 1, place + 1)
    return [int(values[i]) for i in (high, low) if 0 <= i < len(values)]


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
    exchanges: tuple[bool, ...] = (False, True),
) -> Space:
    """The space of allowed sizes, after a check of given values.

    ``ranks``, ``rows`` and ``columns`` are None for all; None among rows or columns means no limit.
    ``thick`` allows models with a ridge and more rows than samples.
    """
    p, k = shape
    most_rows = p if most_rows is None else min(most_rows, p)
    # with as many predictors as rows of data the fit is perfect
    unshrunk = min(most_rows, max(int(samples) - 1, 1))
    row_axis = np.arange(1, (most_rows if thick and max(ridges) > 0 else unshrunk) + 1)
    if rows is not None:
        row_axis = _axis("row_sparsity", rows, p)
    column_axis = np.arange(1, k + 1) if columns is None else _axis("column_sparsity", columns, k)
    most = min(int(row_axis[-1]), int(column_axis[-1]), max(int(samples), 1))
    rank_axis = np.arange(1, most + 1) if ranks is None else _axis("rank", ranks, most)
    all_rows = p if rows is not None and None in rows else None
    all_columns = k if columns is not None and None in columns else None
    return Space(
        rank_axis,
        row_axis,
        column_axis,
        tuple(sorted(ridges)),
        null=ranks is None,
        explicit=ranks is not None and rows is not None and columns is not None,
        most_unshrunk=unshrunk if rows is None else p,
        most_rows=most_rows if rows is None else p,
        samples=samples,
        given_rows=rows is not None,
        exchanges=exchanges,
        unlimited=(all_rows, all_columns),
    )


def check_axes(shape: tuple[int, int], ranks: Any, rows: Any, columns: Any) -> None:
    """Raise a ValueError unless the given values are possible for a matrix of this shape."""
    p, k = shape
    names, limits = ("ranks", "row_sparsities", "column_sparsities"), (min(p, k), p, k)
    for name, values, limit in zip(names, (ranks, rows, columns), limits, strict=True):
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
    for value in (value for value in values if value is not None):
        check_size(f"each of {name}", value, limit, "the most for this data")
    return np.unique([limit if value is None else int(value) for value in values])
