"""Families of different columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.losses.families.base import Family, positions


def combined(families: Sequence[Family], columns: Sequence[Any]) -> Family:
    """The families as one: the only family if it has all columns in order, else :class:`Mixed`."""
    mixed = Mixed(families, columns)
    return families[0] if len(families) == 1 and mixed.in_order else mixed


class Mixed(Family):
    """Several families, each on its own columns of the responses.

    Every method splits its arrays by columns, calls the members, and puts the results back in
    order. ``units`` says whether a member has units, and :meth:`units_of` which columns have.

    Parameters
    ----------
    families : sequence of Family
        The members. Two categorical responses are two members.
    columns : sequence of arrays of int
        Columns of each member; together they contain every column once.

    Examples
    --------
    >>> import numpy as np
    >>> from thinrank.losses.families import Gaussian, Poisson
    >>> family = Mixed([Gaussian(), Poisson()], [[0, 2], [1]])
    >>> family.mean(np.array([[3.0, 0.0, 5.0]]))
    array([[3., 1., 5.]])
    """

    name = "mixed"
    parameters = ("families", "columns")

    def __init__(self, families: Sequence[Family], columns: Sequence[Any]) -> None:
        self.families = tuple(families)
        self.columns = tuple(positions(index).tolist() for index in columns)
        flat = [column for index in self.columns for column in index]
        one_each = len(self.families) == len(self.columns) > 0 and all(self.columns)
        if not one_each or sorted(flat) != list(range(len(flat))):
            raise ValueError(
                "columns must have one list per family, none of them empty, and contain every "
                f"column from 0 once, got {list(self.columns)} for {len(self.families)} families"
            )
        self.in_order = flat == sorted(flat)
        self._places = np.argsort(flat, kind="stable").tolist()
        self.units = any(family.units for family in self.families)
        self.has_parameters = any(family.has_parameters for family in self.families)
        self.quadratic = all(family.quadratic for family in self.families)
        self.separable = all(family.separable for family in self.families)

    def _members(self, *given: Array | None) -> Iterator[tuple[Any, list[int], Any]]:
        """Each family with its columns, and these columns of some arrays."""
        for family, index in zip(self.families, self.columns, strict=True):
            yield family, index, [_part(x, index) for x in given]

    def _each(self, method: str, *given: Array | None) -> Array:
        """The results of a method of every family for its columns, joined."""
        members = self._members(*given)
        return self._joined([getattr(family, method)(*parts) for family, _, parts in members])

    def _joined(self, parts: Sequence[Array]) -> Array:
        """The parts side by side, with columns in order."""
        out = arrays.namespace(*parts).concat(list(parts), axis=parts[0].ndim - 1)
        if self.in_order:
            return out
        places = arrays.indices(self._places, out)
        return arrays.take_columns(out, places) if out.ndim > 1 else arrays.take_rows(out, places)

    def prepared(self, y: Array) -> list[tuple[Array, Any]]:
        """The responses of every family, with what it needs of them."""
        return [(part, family.prepared(part)) for family, _, (part,) in self._members(y)]

    def for_fit(self, y: Array, eta: Array, prepared: Any = None) -> tuple[Array, Array, Array]:
        """Values, derivatives and weights of all columns, each of shape (n, q)."""
        known = self.prepared(y) if prepared is None else prepared
        members = zip(self._members(eta), known, strict=True)
        parts = [family.for_fit(own, part, more) for (family, _, (part,)), (own, more) in members]
        values, derivatives, weights = map(self._joined, zip(*parts, strict=True))
        return values, derivatives, weights

    def for_newton(self, y: Array, curvature: Array) -> Array:
        """Curvatures for Newton's method of all columns, of shape (n, q)."""
        return self._each("for_newton", y, curvature)

    def hessian_product(self, y: Array, eta: Array, direction: Array) -> Array:
        """The second derivative, applied to a direction, of shape (n, q)."""
        return self._each("hessian_product", y, eta, direction)

    def mean(self, eta: Array) -> Array:
        """Means of all columns, of shape (n, q)."""
        return self._each("mean", eta)

    def link(self, mean: Array) -> Array:
        """Linear predictors of the means of all columns, of shape (n, q)."""
        return self._each("link", mean)

    def null_link(self, y: Array, weight: Array | None = None) -> Array:
        """Intercepts of all columns, of shape (q,)."""
        return self._each("null_link", y, weight)

    def intercept(self, null: Array, weight: Array | None, linear: Array) -> Array:
        """Intercepts of all columns beside other linear predictors, of shape (q,)."""
        return self._each("intercept", null[None, :], weight, linear)[0, :]

    def with_events(self, y: Array, weight: Array | None, linear: Array) -> Array:
        """The responses, those on the border of the valid range as in each family."""
        return self._each("with_events", y, weight, linear)

    def check(self, y: Array, observed: Array | None, names: Sequence[str]) -> None:
        """Raise a ValueError if an observed entry is not valid for the family of its column."""
        for family, index, parts in self._members(y, observed):
            family.check(*parts, [names[column] for column in index])

    def take(self, columns: Any) -> Family:
        """The families of some of the columns; a single family is returned as itself.

        All columns of a multinomial response, or none of them, must be taken.
        """
        wanted = positions(columns).tolist()
        families, places = [], []
        for family, index, _ in self._members():
            own = [place for place, column in enumerate(wanted) if column in index]
            if not own:
                continue
            if not family.separable and len(own) < len(index):
                raise ValueError(
                    f"the columns {index} of a {family.name} response must be taken together, got "
                    f"only {[wanted[place] for place in own]}"
                )
            families.append(family.take([index.index(wanted[place]) for place in own]))
            places.append(own)
        return combined(families, places)

    def blocks(self, count: int) -> list[list[int]]:
        """The columns of each categorical response."""
        return [
            [index[i] for i in block]
            for family, index, _ in self._members()
            for block in family.blocks(len(index))
        ]

    def with_scale(self, scale: np.ndarray) -> Mixed:
        """The families with other scales of the columns that have units."""
        scaled = [family.with_scale(scale[index]) for family, index, _ in self._members()]
        return Mixed(scaled, self.columns)

    def fitted_to(self, y: Array, eta: Array, weight: Array | None, freedom: Any) -> Mixed:
        """The families with their parameters estimated from the residuals of a fit."""
        freedom = np.broadcast_to(freedom, (y.shape[1],))
        members = self._members(y, eta, weight)
        fitted = [family.fitted_to(*parts, freedom[index]) for family, index, parts in members]
        return Mixed(fitted, self.columns)

    def overdispersion(self, y: Array, eta: Array, weight: Array, freedom: np.ndarray) -> float:
        """That of the family where it is largest."""
        members = self._members(y, eta, weight)
        return max(
            family.overdispersion(*parts, freedom[index]) for family, index, parts in members
        )

    def scale_of(self, count: int) -> np.ndarray:
        """Scale of each column; 1 in columns without a scale."""
        return self._joined([family.scale_of(len(index)) for family, index, _ in self._members()])

    def units_of(self, count: int) -> np.ndarray:
        """Whether each column has units."""
        return self._joined([family.units_of(len(index)) for family, index, _ in self._members()])


def _part(x: Array | None, index: list[int]) -> Any:
    """Some columns of ``x``, or its only one; a view, without a copy, if they are adjacent."""
    if x is None or x.shape[1] == 1:
        return x
    first, end = index[0], index[0] + len(index)
    if index == list(range(first, end)):
        return x[:, first:end]
    return arrays.take_columns(x, arrays.indices(index, x))
