"""Families of different columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.losses.families.base import Family


def combined(families: Sequence[Family], columns: Sequence[Any]) -> Family:
    """The families as one: the only family if it has all columns in order, else :class:`Mixed`."""
    mixed = Mixed(families, columns)
    return families[0] if len(families) == 1 and mixed.in_order else mixed


class Mixed(Family):
    """Several families, each on its own columns of the responses.

    Every method splits its arrays by columns, calls the members, and puts the results back in
    order. ``curvature_bound`` is the largest bound of the members, None if one of them has none;
    ``units`` says whether a member has units, and :meth:`units_of` which columns have.

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
        self.columns = tuple(_positions(index).tolist() for index in columns)
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
        bounds = [family.curvature_bound for family in self.families]
        known = [bound for bound in bounds if bound is not None]
        self.curvature_bound = max(known) if len(known) == len(bounds) else None

    def prepared(self, y: Array) -> list[tuple[Array, Any]]:
        """The responses of every family, with what it needs of them."""
        pairs = zip(self.families, self.columns, strict=True)
        parts = [(family, _part(y, index)) for family, index in pairs]
        return [(part, family.prepared(part)) for family, part in parts]

    def for_fit(self, y: Array, eta: Array, prepared: Any = None) -> tuple[Array, Array, Array]:
        """Values, derivatives and weights of all columns, each of shape (n, q)."""
        own = self.prepared(y) if prepared is None else prepared
        parts = [
            family.for_fit(part, _part(eta, index), known)
            for family, index, (part, known) in zip(self.families, self.columns, own, strict=True)
        ]
        values, derivatives, weights = zip(*parts, strict=True)
        return self._joined(values), self._joined(derivatives), self._joined(weights)

    def for_newton(self, y: Array, weight: Array) -> Array:
        """Curvatures for Newton's method of all columns, of shape (n, q)."""
        return self._each(lambda family, *parts: family.for_newton(*parts), y, weight)

    def curvature(self, y: Array, eta: Array) -> Array:
        """Curvatures of all columns, of shape (n, q)."""
        return self._each(lambda family, *parts: family.curvature(*parts), y, eta)

    def hessian_product(self, y: Array, eta: Array, direction: Array) -> Array:
        """The second derivative, applied to a direction, of shape (n, q)."""
        return self._each(lambda family, *parts: family.hessian_product(*parts), y, eta, direction)

    def mean(self, eta: Array) -> Array:
        """Means of all columns, of shape (n, q)."""
        return self._each(lambda family, part: family.mean(part), eta)

    def link(self, mean: Array) -> Array:
        """Linear predictors of the means of all columns, of shape (n, q)."""
        return self._each(lambda family, part: family.link(part), mean)

    def null_link(self, y: Array, weight: Array | None = None) -> Array:
        """Intercepts of all columns, of shape (q,)."""
        rows = [
            family.null_link(_part(y, index), _part(weight, index))
            for family, index in zip(self.families, self.columns, strict=True)
        ]
        return self._joined([row[None, :] for row in rows])[0, :]

    def intercept(self, y: Array, weight: Array | None, linear: Array) -> Array:
        """Intercepts of all columns beside other linear predictors, of shape (q,)."""
        full = None if weight is None else weight + 0 * y
        rows = self._each(lambda family, *parts: family.intercept(*parts)[None, :], y, full, linear)
        return rows[0, :]

    def with_events(self, y: Array, weight: Array | None, linear: Array) -> Array:
        """The responses, those on the border of the valid range as in each family."""
        full = None if weight is None else weight + 0 * y
        return self._each(lambda family, *parts: family.with_events(*parts), y, full, linear)

    def check(self, y: Array, observed: Array | None, names: Sequence[str]) -> None:
        """Raise a ValueError if an observed entry is not valid for the family of its column."""
        for family, index in zip(self.families, self.columns, strict=True):
            own = [names[column] for column in index]
            family.check(_part(y, index), _part(observed, index), own)

    def take(self, columns: Any) -> Family:
        """The families of some of the columns; a single family is returned as itself.

        All columns of a multinomial response, or none of them, must be taken.
        """
        wanted = _positions(columns).tolist()
        families, places = [], []
        for family, index in zip(self.families, self.columns, strict=True):
            members = set(index)
            own = [place for place, column in enumerate(wanted) if column in members]
            if not own:
                continue
            inner = [index.index(wanted[place]) for place in own]
            if not family.separable and len(own) < len(index):
                raise ValueError(
                    f"the columns {index} of a {family.name} response must be taken together, got "
                    f"only {[wanted[place] for place in own]}"
                )
            families.append(family.take(inner))
            places.append(own)
        return combined(families, places)

    def whole(self, columns: Any, count: int) -> list[int]:
        """Some of the columns, sorted, with all columns that belong to the same block."""
        wanted = set(_positions(columns).tolist())
        found: set[int] = set()
        for family, index in zip(self.families, self.columns, strict=True):
            own = [i for i, column in enumerate(index) if column in wanted]
            if own:
                found.update(index[i] for i in family.whole(own, len(index)))
        return sorted(found)

    def blocks(self, count: int) -> list[list[int]]:
        """The columns of each categorical response."""
        pairs = zip(self.families, self.columns, strict=True)
        return [
            [index[i] for i in block]
            for family, index in pairs
            for block in family.blocks(len(index))
        ]

    def with_scale(self, scale: np.ndarray) -> Mixed:
        """The families with other scales of the columns that have units."""
        pairs = zip(self.families, self.columns, strict=True)
        return Mixed([family.with_scale(scale[index]) for family, index in pairs], self.columns)

    def fitted_to(self, y: Array, eta: Array, weight: Array | None, freedom: Any) -> Mixed:
        """The families with their parameters estimated from the residuals of a fit."""
        count = y.shape[1]
        if arrays.is_array(freedom):
            freedom = arrays.to_numpy(freedom)
        freedom = np.broadcast_to(np.asarray(freedom, dtype=np.float64), (count,))
        fitted = [
            family.fitted_to(
                _part(y, index), _part(eta, index), _part(weight, index), freedom[index]
            )
            for family, index in zip(self.families, self.columns, strict=True)
        ]
        return Mixed(fitted, self.columns)

    def overdispersion(self, y: Array, eta: Array, weight: Array, freedom: np.ndarray) -> float:
        """That of the family where it is largest."""
        return max(
            family.overdispersion(
                _part(y, index), _part(eta, index), _part(weight, index), freedom[index]
            )
            for family, index in zip(self.families, self.columns, strict=True)
        )

    def scale_of(self, count: int) -> np.ndarray:
        """Scale of each column; 1 in columns without a scale."""
        out = np.ones(count)
        for family, index in zip(self.families, self.columns, strict=True):
            out[index] = family.scale_of(len(index))
        return out

    def units_of(self, count: int) -> np.ndarray:
        """Whether each column has units."""
        out = np.zeros(count, dtype=bool)
        for family, index in zip(self.families, self.columns, strict=True):
            out[index] = family.units_of(len(index))
        return out

    def _each(self, function: Callable[..., Array], *given: Array | None) -> Array:
        """Call the function with every family and its columns of the arrays; join the results."""
        return self._joined(
            [
                function(family, *(_part(x, index) for x in given))
                for family, index in zip(self.families, self.columns, strict=True)
            ]
        )

    def _joined(self, parts: Sequence[Array]) -> Array:
        """The parts side by side, with columns in order."""
        out = arrays.namespace(*parts).concat(list(parts), axis=1)
        return out if self.in_order else arrays.take_columns(out, arrays.indices(self._places, out))


def _part(x: Array | None, index: list[int]) -> Any:
    """Some columns of ``x``; a view, without a copy, if they are adjacent."""
    if x is None:
        return None
    first, end = index[0], index[0] + len(index)
    if index == list(range(first, end)):
        return x[:, first:end]
    return arrays.take_columns(x, arrays.indices(index, x))


def _positions(columns: Any) -> np.ndarray:
    index = arrays.to_numpy(columns) if arrays.is_array(columns) else np.asarray(columns)
    return np.asarray(index, dtype=int)
