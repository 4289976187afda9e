"""A quadratic form through products with X and Y."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core import resources
from thinrank.core.contracts import Design
from thinrank.forms.base import AdjustableRidge, blockwise_cross_norms, plus_ridge, plus_rows

# Columns of X that are copied at a time, at least this number and this part of all of them: bounds
# the memory of the block.
_BLOCK_COLUMNS, _PART_OF_COLUMNS = 128, 32
# Columns of X that are copied at a time if more columns are in use than there are samples.
_BLOCK_ROWS = 4096
# XᵀY is kept if it takes at most this part of the memory of X.
_PART_OF_X = 8


class ActiveColumns:
    """The columns of X that are in use, with their inner products with one another and with Y.

    Every column is copied from X once and kept as a row of one array, which has some free rows.
    When none is free, rows of columns that are no longer in use are overwritten. Inner products
    with Y are computed when they are first asked for.
    """

    def __init__(self, X: Design, Y: Design) -> None:
        self._X, self._Y = X, Y
        self._place = np.full(X.shape[1], -1)  # the row that holds each column of X, −1 for none
        self._column = np.zeros(0, dtype=np.int64)  # the column in each row, −1 for none
        self._crossed = np.zeros(0, dtype=bool)  # whether a row's products with Y are known
        self._rows = arrays.zeros((0, X.shape[0]), X.prototype)
        self._gram = arrays.zeros((0, 0), X.prototype)
        self._cross = arrays.zeros((0, Y.shape[1]), X.prototype)

    def gram(self, index: Array) -> Array:
        """Inner products of the columns ``index``, as a new array."""
        places = self._indices(self._places(index))
        return arrays.submatrix(self._gram, places, places)

    def cross(self, index: Array) -> Array:
        """Inner products of the columns ``index`` with those of Y, as a new array."""
        places = self._places(index)
        missing = np.sort(places[~self._crossed[places]])
        for some in self._blocks(missing):
            products = self._Y.transposed_product(arrays.take_rows(self._rows, some).T).T
            self._cross = arrays.put_rows(self._cross, some, products)
        self._crossed[missing] = True
        return arrays.take_rows(self._cross, self._indices(places))

    def products(self, index: Array, block: Array) -> Array:
        """X[:, index]ᵀ @ block."""
        places = self._indices(self._places(index))
        return arrays.take_rows(self._rows @ block, places)

    def combine(self, index: Array, block: Array) -> Array:
        """X[:, index] @ block."""
        places = self._indices(self._places(index))
        spread = arrays.scatter_rows(block, places, self._rows.shape[0])
        return arrays.transposed_product(self._rows, spread)

    def holds(self, index: Array) -> bool:
        """Whether all of the columns ``index`` have been copied."""
        return bool((self._place[arrays.to_numpy(index)] >= 0).all())

    def _places(self, index: Array) -> np.ndarray:
        """The rows that hold the columns, after copying columns that are missing."""
        wanted = arrays.to_numpy(index)
        missing = wanted[self._place[wanted] < 0]
        if len(missing) and len(wanted) > self._rows.shape[0]:
            self._allot(len(wanted) + 32 + len(wanted) // 32)
        if len(missing):
            self._fetch(missing, wanted)
        return self._place[wanted]

    def _allot(self, room: int) -> None:
        """Make room for columns, beside those that are already there."""
        like, more = self._X.prototype, room - self._rows.shape[0]
        xp = arrays.namespace(like)

        def below(block: Array, width: int) -> Array:
            free = arrays.zeros((more, width), like)
            return xp.concat([block, free]) if block.shape[0] else free

        self._rows = below(self._rows, self._X.shape[0])
        self._cross = below(self._cross, self._Y.shape[1])
        self._gram = below(below(self._gram, self._gram.shape[1]).T, room)
        self._column = np.concatenate([self._column, np.full(more, -1)])
        self._crossed = np.concatenate([self._crossed, np.zeros(more, dtype=bool)])

    def _fetch(self, missing: np.ndarray, wanted: np.ndarray) -> None:
        """Copy columns from X to rows that are free or no longer in use."""
        empty = self._column < 0
        unused = ~empty
        held = self._place[wanted]
        unused[held[held >= 0]] = False
        available = np.concatenate([np.flatnonzero(empty), np.flatnonzero(unused)])
        chosen = np.sort(available[: len(missing)])
        before = self._column[chosen]
        self._place[before[before >= 0]] = -1
        self._column[chosen] = -1
        self._crossed[chosen] = False
        columns = self._blocks(missing)
        for some, places in zip(columns, self._blocks(chosen), strict=True):
            self._rows = arrays.put_rows(self._rows, places, self._X.columns(some).T)
        self._update_gram(chosen)
        self._place[missing], self._column[chosen] = chosen, missing  # last, if it is interrupted

    def _update_gram(self, new: np.ndarray) -> None:
        """Inner products with the rows ``new``."""
        if 2 * len(new) > self._rows.shape[0]:  # most are new: one symmetric product
            self._gram = self._rows @ self._rows.T
            return
        for places in self._blocks(new):
            products = arrays.take_rows(self._rows, places) @ self._rows.T
            self._gram = arrays.put_rows(self._gram, places, products)
            self._gram = arrays.put_rows(self._gram.T, places, products).T

    def _blocks(self, positions: np.ndarray) -> Iterator[Array]:
        """Index arrays of a few positions each."""
        few = max(_BLOCK_COLUMNS, self._X.shape[1] // _PART_OF_COLUMNS)
        width = few
        for first in range(0, len(positions), width):
            yield self._indices(positions[first : first + width])

    def _indices(self, positions: np.ndarray) -> Array:
        return arrays.indices(positions, self._X.prototype)


class SharedProducts:
    """Products with X that forms with other units of the responses, or other ridges, share."""

    def __init__(self, X: Design, Y: Design, samples: float) -> None:
        self.X, self.samples = X, samples
        self.active = ActiveColumns(X, Y)
        self.cross: Array | None = None  # XᵀY/n in the first units, once it is kept
        self._Y = Y

    @cached_property
    def mean_squares(self) -> Array:
        """Mean squares of the columns of X."""
        return self.X.column_norms() ** 2 / self.samples

    def keep_cross(self) -> None:
        """Compute XᵀY/n if it is small compared with X, or on an accelerator within the budget."""
        X, m2 = self.X, self._Y.shape[1]
        little = _PART_OF_X * m2 <= self.samples or not arrays.on_host(X.prototype)
        fits = resources.fits(X.shape[1] * m2, arrays.itemsize(X.prototype))
        if self.cross is None and little and fits:
            everything = arrays.indices(range(m2), X.prototype)
            self.cross = X.transposed_product(self._Y.columns(everything) / self.samples)

    def blocks(self, rows: Array) -> Iterator[Array]:
        """The columns ``rows`` of X, a block at a time."""
        for first in range(0, rows.shape[0], _BLOCK_ROWS):
            yield self.X.columns(rows[first : min(first + _BLOCK_ROWS, rows.shape[0])])

    def spectrum(self, rows: Array) -> tuple[Array, Array]:
        """Eigenvalues D²/n and E of X_S = E D Fᵀ."""
        if rows.shape[0] == self.X.shape[1]:
            return self._whole_spectrum
        return self._decomposed(rows)

    @cached_property
    def _whole_spectrum(self) -> tuple[Array, Array]:
        return self._decomposed(arrays.indices(range(self.X.shape[1]), self.X.prototype))

    def _decomposed(self, rows: Array) -> tuple[Array, Array]:
        products = sum(block @ block.T for block in self.blocks(rows))
        values, vectors = arrays.namespace(rows).linalg.eigh(products / self.samples)
        floor = 10 * self.X.shape[0] * arrays.eps(values) * float(values[-1])
        kept = arrays.true_positions(values > floor)
        return arrays.take_rows(values, kept), arrays.take_columns(vectors, kept)


class ProductForm(AdjustableRidge):
    """A form that multiplies by X and Y, and keeps inner products of the columns in use.

    XᵀY is computed once, for the norms of its rows and columns, and kept only if it is small
    compared with X. Otherwise its rows for the columns in use are computed, and the gradient is one
    product with Xᵀ, Xᵀ(X_S U − YV)/n.

    Shapes: ``cross`` (n_features, n_targets), ``units`` (n_targets,). ``shared``: None if there
    are none. ``units``: None for the same units.
    """

    def __init__(
        self,
        X: Design,
        Y: Design,
        samples: float,
        constant: float,
        ridge: float,
        cross: Array | None = None,
        shared: SharedProducts | None = None,
        units: Array | None = None,
    ) -> None:
        self.constant = constant
        self.samples = samples
        self.observations = samples * Y.shape[1]
        self.shape = (X.shape[1], Y.shape[1])
        self.prototype = X.prototype
        self._X, self._Y = X, Y
        self._ridge = ridge
        self._cross = cross
        self._shared = SharedProducts(X, Y, samples) if shared is None else shared
        self._active = self._shared.active
        self._units = units
        # once they are known, shared by copies with other ridges
        self._cross_norms: list[tuple[Array, Array]] = []

    def diagonal(self) -> Array:
        """Mean squares of the columns of X, plus the ridge."""
        mean_squares = self._shared.mean_squares
        return mean_squares + self._ridge if self._ridge else mean_squares

    def cross_rows(self, rows: Array) -> Array:
        """Rows of XᵀY/n."""
        if self._cross is not None:
            return arrays.take_rows(self._cross, rows)
        if self._many(rows):
            blocks = self._shared.blocks(rows)
            parts = [self._Y.transposed_product(block).T for block in blocks]
            return arrays.namespace(rows).concat(parts) / self.samples
        if self._shared.cross is not None:
            return self._in_units(arrays.take_rows(self._shared.cross, rows), slice(None))
        return self._in_units(self._active.cross(rows) / self.samples, slice(None))

    def inverse_root(self, rows: Array) -> tuple[Array, bool]:
        """R with Rᵀ R = H_SS⁻¹ and whether a ridge was needed; see :class:`AdjustableRidge`.

        With more rows than samples R comes from the inner products of the samples: with
        X_S = E D Fᵀ it is (D²/n + ridge)^(−½) Fᵀ, which leaves out directions orthogonal to all
        samples.
        """
        if not (self._ridge and self._many(rows)):
            return super().inverse_root(rows)
        values, vectors = self._shared.spectrum(rows)
        xp = arrays.namespace(values)
        scale = xp.sqrt(values * self.samples * (values + self._ridge))
        left = (vectors / scale).T
        return xp.concat([left @ block for block in self._shared.blocks(rows)], axis=1), False

    def has_dual(self, rows: Array) -> bool:
        """Whether :func:`dual_fits` applies: a ridge, and more rows than samples."""
        return bool(self._ridge) and self._many(rows)

    def blocks(self, rows: Array) -> Iterator[Array]:
        """The columns ``rows`` of X, a block at a time."""
        return self._shared.blocks(rows)

    def responses(self) -> Array:
        """Y, dense."""
        return self._Y.columns(arrays.indices(range(self.shape[1]), self.prototype))

    def _many(self, rows: Array) -> bool:
        """Whether there are more rows than samples; the columns of X are not kept then."""
        return rows.shape[0] > self._X.shape[0]

    def cross_columns(self, first: int, last: int) -> Array:
        """Columns of XᵀY/n from ``first`` to before ``last``."""
        if self._cross is not None:
            return self._cross[:, first:last]
        if self._shared.cross is not None:
            return self._in_units(self._shared.cross[:, first:last], slice(first, last))
        targets = arrays.indices(range(first, last), self.prototype)
        return self._X.transposed_product(self._Y.columns(targets) / self.samples)

    def cross_norms(self) -> tuple[Array, Array]:
        """Squared norms of the rows and columns of XᵀY/n, a block of columns at a time."""
        if not self._cross_norms:
            if self._cross is None:
                self._shared.keep_cross()
            self._cross_norms.append(blockwise_cross_norms(self))
        return self._cross_norms[0]

    def _in_units(self, cross: Array, targets: slice) -> Array:
        return cross if self._units is None else cross * self._units[targets]

    def gram(self, rows: Array) -> Array:
        """H over ``rows``, from the columns in use."""
        gram = self._active.gram(rows)
        gram /= self.samples
        return plus_ridge(gram, self._ridge)

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between ``rows`` and ``others``; the columns of the others are not kept."""
        return self._active.products(rows, self._X.columns(others)) / self.samples

    def gradient(self, rows: Array, U: Array, V: Array) -> Array:
        """Xᵀ(X_S U − YV)/n, plus the ridge."""
        residual = (self._active.combine(rows, U) - self._Y @ V) / self.samples
        return plus_rows(self._X.transposed_product(residual), rows, U, self._ridge)


def dual_fits(forms: Sequence[ProductForm], rows: Array) -> tuple[Array, Array]:
    """H_SS⁻¹C_S and the diagonal of H_SS⁻¹, for more rows S than samples, of shape (m, s).

    With K = X_S X_Sᵀ + n·ridge·I the former is X_Sᵀ K⁻¹ Y, and ridge times entry j of the latter is
    1 − xⱼᵀ K⁻¹ xⱼ: matrices with a row per sample suffice.
    """
    xp = arrays.namespace(rows)

    def blocks() -> Iterator[Array]:
        own = [form.blocks(rows[i, :]) for i, form in enumerate(forms)]
        return map(linalg.stacked, zip(*own, strict=True))

    products = sum(block @ xp.matrix_transpose(block) for block in blocks())
    products = xp.astype(products, xp.float64, copy=False)
    ridges = arrays.from_numpy(np.asarray([form.samples * form.ridge for form in forms]), products)
    identity = arrays.identity(products.shape[1], like=products)
    inverse = xp.linalg.inv(products + ridges[:, None, None] * identity)
    inverse = xp.astype(inverse, forms[0].prototype.dtype, copy=False)
    dual = inverse @ linalg.stacked([form.responses() for form in forms])
    coefficients, explained = [], []
    for block in blocks():
        coefficients.append(xp.matrix_transpose(block) @ dual)
        explained.append(xp.sum((inverse @ block) * block, axis=1))
    left = xp.clip(1 - xp.concat(explained, axis=1), min=arrays.eps(dual))
    own = arrays.from_numpy(np.asarray([form.ridge for form in forms]), left)
    return xp.concat(coefficients, axis=1), left / own[:, None]
