"""Quadratic forms of a regression, and its second moments: all in memory, or of columns in use."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core import resources
from thinrank.core.contracts import Design, QuadraticForm
from thinrank.designs.dense import slices
from thinrank.designs.transformed import Transformed


class AdjustableRidge:
    """A form of some samples whose ridge can be changed without copying its arrays."""

    column_scale: Array | None = None

    def __init__(
        self, shape: tuple[int, int], prototype: Array, constant: float, samples: float
    ) -> None:
        self.shape, self.prototype = shape, prototype
        self.constant, self.samples = constant, samples
        self.observations = samples * shape[1]
        self.ridge = 0.0

    def with_ridge(self, ridge: float) -> Self:
        """The same form with another ridge; stored and cached arrays are shared."""
        other = copy.copy(self)
        other.ridge = ridge
        return other

    def gram(self, rows: Array) -> Array:
        """H over ``rows``."""
        raise NotImplementedError

    def inverse_root(self, rows: Array) -> tuple[Array, bool]:
        """R (q, s) with Rᵀ R = H_SS⁻¹ on the columns of C_S and of H between S and other rows."""
        return linalg.inverse_cholesky(self.gram(rows))


class HeldCross(AdjustableRidge):
    """A form with a dense C in memory."""

    def __init__(self, cross: Array, constant: float, samples: float, ridge: float = 0.0) -> None:
        shape = cross.shape[0], cross.shape[1]
        super().__init__(shape, arrays.zeros((0,), like=cross), constant, samples)
        self._cross = cross
        self.ridge = ridge

    def cross_rows(self, rows: Array) -> Array:
        """Rows of C."""
        return arrays.take_rows(self._cross, rows)

    def cross_columns(self, first: int, last: int) -> Array:
        """Columns of C from ``first`` to before ``last``."""
        return self._cross[:, first:last]

    def cross_norms(self) -> tuple[Array, Array]:
        """Squared norms of the rows and of the columns of C."""
        return arrays.row_norms_squared(self._cross), arrays.column_norms_squared(self._cross)


def blockwise_cross_norms(form: Any) -> tuple[Array, Array]:
    """Squared norms of the rows and columns of C, a block of columns at a time."""
    xp = arrays.namespace(form.prototype)
    by_row = arrays.zeros((form.shape[0],), like=form.prototype)
    by_column = []
    # at most an eighth of the memory of X, but products with fewer than 16 columns are slower
    for columns in slices(form.shape[1], max(16, min(256, int(form.samples) // 8))):
        part = form.cross_columns(columns.start, columns.stop)
        by_row += arrays.row_norms_squared(part)
        by_column.append(arrays.column_norms_squared(part))
        del part  # before the next is computed
    return by_row, xp.concat(by_column)


def plus_ridge(gram: Array, ridge: float) -> Array:
    """Add the ridge to the diagonal of a matrix that may be overwritten."""
    return arrays.add_to_diagonal(gram, ridge) if ridge else gram


def plus_rows(gradient: Array, rows: Array, U: Array, ridge: float) -> Array:
    """Add the gradient of ridge/2·‖U‖² to a gradient, in place."""
    if ridge:
        gradient += ridge * arrays.scatter_rows(U, rows, gradient.shape[0])
    return gradient


class GramForm(HeldCross):
    """A form with all of H in memory, for problems with few predictors."""

    def __init__(self, gram: Array, cross: Array, constant: float, samples: float) -> None:
        super().__init__(cross, constant, samples)
        self._gram = gram

    def diagonal(self) -> Array:
        """Diagonal of H."""
        diagonal = arrays.namespace(self._gram).linalg.diagonal(self._gram)
        return diagonal + self.ridge if self.ridge else diagonal

    def gram(self, rows: Array) -> Array:
        """H over ``rows``."""
        return plus_ridge(arrays.submatrix(self._gram, rows, rows), self.ridge)

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between ``rows`` and ``others``."""
        return arrays.submatrix(self._gram, rows, others)

    def gradient(self, rows: Array, U: Array, V: Array | None = None) -> Array:
        """H[:, rows] @ U − C @ V; H is symmetric, and its rows are contiguous."""
        gradient = arrays.take_rows(self._gram, rows).T @ U
        if V is not None:
            gradient -= self._cross @ V
        return plus_rows(gradient, rows, U, self.ridge)


class IdentityForm(HeldCross):
    """The form of denoising, with H = (1 + ridge)·I."""

    def __init__(self, cross: Array, constant: float, ridge: float) -> None:
        super().__init__(cross, constant, cross.shape[0], ridge)

    def diagonal(self) -> Array:
        """Diagonal of H, all entries 1 + ridge."""
        return arrays.zeros((self.shape[0],), like=self.prototype) + (1 + self.ridge)

    def gram(self, rows: Array) -> Array:
        """H over ``rows``, a multiple of the identity."""
        return (1 + self.ridge) * arrays.identity(rows.shape[0], like=self.prototype)

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between different rows, which is zero."""
        return arrays.zeros((rows.shape[0], others.shape[0]), like=self.prototype)

    def gradient(self, rows: Array, U: Array, V: Array | None = None) -> Array:
        """H[:, rows] @ U − C @ V."""
        image = arrays.scatter_rows((1 + self.ridge) * U, rows, self.shape[0])
        return image if V is None else image - self._cross @ V


FormName = Literal["auto", "direct", "gram"]

# XᵀX is computed for a search for sizes if it takes at most this number of multiplications, some
# hundredths of a second with one thread, and for a single fit if it takes a twentieth.
CHEAP_FOR_SEARCH = 1_000_000_000
_CHEAP_GRAM = CHEAP_FOR_SEARCH // 20


class Moments:
    """XᵀX/n and XᵀY/n, computed when first needed and kept where that saves time.

    All decisions about memory are made here:

    - how the loss is evaluated (``evaluates_by_gram``): with XᵀX if that takes fewer operations
      than products with X and XᵀX is no larger than X;
    - which quadratic form a solver gets (:meth:`form`): one with all of XᵀX if that is cheap to
      compute, else one that multiplies by X and keeps inner products of the columns in use;
    - whether XᵀX is computed for a search with many fits (:meth:`hold_for_search`).
    """

    def __init__(self, X: Design, Y: Design, samples: float, form: FormName = "auto") -> None:
        if form not in ("auto", "direct", "gram"):
            raise ValueError(f'form must be "auto", "direct" or "gram", got {form!r}')
        self.X, self.Y, self.samples = X, Y, samples
        self.target_norms = Y.column_norms()  # (n_targets,)
        # shared with the moments of scaled responses, which are these ones times the units
        self._shared = SharedProducts(X, Y, samples)
        self._units: Array | None = None
        self._form: QuadraticForm | None = None
        # with XᵀX an evaluation takes fewer operations, p(p + 2k) < n(2p + 2k), and no more memory
        p, k = self.shape
        self.evaluates_by_gram = form == "gram" or (
            form == "auto" and max(p, k) <= X.shape[0] and self._fits(p * max(p, k))
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of Θ."""
        return self.X.shape[1], self.Y.shape[1]

    @property
    def constant(self) -> float:
        """‖Y‖²/n."""
        return arrays.norm(arrays.to_numpy(self.target_norms)) ** 2 / self.samples

    def gram(self) -> Array:
        """XᵀX/n, computed once and kept."""
        return self._shared.whole_gram

    def cross(self) -> Array:
        """XᵀY/n, computed once and kept."""
        resources.check_fits(
            self.shape,
            arrays.itemsize(self.X.prototype),
            "XᵀY",
            'use form="direct" and a start that does not need it ("spectral")',
        )
        return _times(self._shared.whole_cross, self._units)

    def form(self) -> QuadraticForm:
        """The quadratic form without ridge, computed once."""
        if self._form is None:
            (n, p), k = self.X.shape, self.shape[1]
            quick = n * p * p <= _CHEAP_GRAM and p * k <= _CHEAP_GRAM / 10 and self._gram_is_small()
            if self.evaluates_by_gram or (quick and self._fits(p * max(p, k))):
                self._hold()
            else:
                self._form = ProductForm(self._shared, self.constant, self._units)
        assert self._form is not None
        return self._form

    def scores(self, U: Array) -> Array:
        """X @ U; if X is large and U has few rows that are not zero, from their columns alone."""
        if self.X.shape[0] * U.shape[0] < resources.BLOCK_ENTRIES:
            return self.X @ U
        rows = arrays.nonzero_rows(U)
        if 8 * rows.shape[0] > U.shape[0]:  # the columns of a sparse X would take much memory
            return self.X @ U
        active = arrays.take_rows(U, rows)
        if self._shared.holds(rows):
            return self._shared.combine(rows, active)
        return self.X.columns(rows) @ active

    def hold_for_search(self) -> None:
        """Compute all of XᵀX if that saves time in a search with many fits."""
        (n, p), k = self.X.shape, self.shape[1]
        pays = n * p * p <= CHEAP_FOR_SEARCH or p <= 8 * k
        # an eighth of the budget, since every split has its own
        if self._form is None and pays and self._fits(8 * p * p) and self._gram_is_small():
            self._hold()

    def with_target_scale(self, scale: Array) -> Moments:
        """The moments with every response divided by a scale; products with X are shared."""
        # few numbers: on the host
        numbers = arrays.divide_or_zero(1.0, arrays.to_numpy(scale))
        inverse = arrays.from_numpy(numbers, self.Y.prototype)
        other = copy.copy(self)
        other.Y = Transformed(self.Y, column_scale=inverse)
        norms = arrays.to_numpy(self.target_norms) * numbers
        other.target_norms = arrays.from_numpy(norms, self.Y.prototype)
        other._units = inverse if self._units is None else self._units * inverse
        other._form = None
        if isinstance(self._form, GramForm):
            other._hold()
        return other

    def _hold(self) -> None:
        self._form = GramForm(self.gram(), self.cross(), self.constant, self.samples)

    def _fits(self, entries: int) -> bool:
        return resources.fits(entries, arrays.itemsize(self.X.prototype))

    def _gram_is_small(self) -> bool:
        """Whether products with XᵀX take about as long as products with X, or hardly any time."""
        n, p = self.X.shape
        return p <= max(4 * n, 256)


@dataclass(frozen=True, eq=False)
class _ColumnsInUse:
    """Copies of some columns of X, with their inner products with one another and with Y."""

    held: np.ndarray  # their numbers
    total: int  # number of columns of X
    columns: Array
    gram: Array
    cross: Array

    @cached_property
    def place(self) -> np.ndarray:
        """The place of each column of X among those held, −1 for none."""
        place = np.full(self.total, -1)
        place[self.held] = np.arange(len(self.held))
        return place


class SharedProducts:
    """Products with X that forms with other units of the responses, or other ridges, share.

    The columns of X in use are copied once and kept, with their inner products; when they become
    more than twice as many as are needed, those in use are copied anew. Threads share them: what is
    in use is replaced as a whole, and each call works with what it found.
    """

    def __init__(self, X: Design, Y: Design, samples: float) -> None:
        self.X, self.Y, self.samples = X, Y, samples
        like, k = X.prototype, Y.shape[1]
        # XᵀY is kept if it takes at most an eighth of the memory of X
        fits = resources.fits(X.shape[1] * k, arrays.itemsize(like))
        self.keeps_cross = 8 * k <= samples and fits
        columns, gram, cross = (
            arrays.zeros(size, like) for size in ((X.shape[0], 0), (0, 0), (0, k))
        )
        none = np.zeros(0, dtype=np.int64)
        self._used = self._none = _ColumnsInUse(none, X.shape[1], columns, gram, cross)

    @cached_property
    def mean_squares(self) -> Array:
        """Mean squares of the columns of X."""
        return self.X.column_norms() ** 2 / self.samples

    @cached_property
    def whole_gram(self) -> Array:
        """XᵀX/n."""
        return self.X.gram() / self.samples

    @cached_property
    def whole_cross(self) -> Array:
        """XᵀY/n."""
        return self.X.transposed_product(self.responses() / self.samples)

    def responses(self) -> Array:
        """Y, dense."""
        return self.Y.columns(arrays.indices(range(self.Y.shape[1]), self.X.prototype))

    def gram(self, index: Array) -> Array:
        """Inner products of the columns ``index``, as a new array."""
        used, places = self._with(index)
        return arrays.submatrix(used.gram, places, places)

    def cross(self, index: Array) -> Array:
        """Rows of XᵀY/n."""
        if self.keeps_cross:
            return arrays.take_rows(self.whole_cross, index)
        if self.more_than_samples(index):
            parts = [self.Y.transposed_product(block).T for block in self.blocks(index)]
            return arrays.namespace(index).concat(parts) / self.samples
        used, places = self._with(index)
        return arrays.take_rows(used.cross, places) / self.samples

    def products(self, index: Array, block: Array) -> Array:
        """X[:, index]ᵀ @ block."""
        used, places = self._with(index)
        return arrays.take_rows(arrays.transposed_product(used.columns, block), places)

    def combine(self, index: Array, block: Array) -> Array:
        """X[:, index] @ block."""
        used, places = self._with(index)
        return used.columns @ arrays.scatter_rows(block, places, used.columns.shape[1])

    def holds(self, index: Array) -> bool:
        """Whether all of the columns ``index`` have been copied."""
        return bool((self._used.place[arrays.to_numpy(index)] >= 0).all())

    def _with(self, index: Array) -> tuple[_ColumnsInUse, Array]:
        """The columns in use, after copying those that are missing, and the places of some."""
        used, wanted = self._used, arrays.to_numpy(index)
        missing = wanted[used.place[wanted] < 0]
        if len(missing):
            if len(used.held) + len(missing) > 2 * len(wanted) + 64:
                used, missing = self._none, wanted
            used = self._used = self._with_more(used, missing)
        return used, arrays.indices(used.place[wanted], self.X.prototype)

    def _with_more(self, used: _ColumnsInUse, missing: np.ndarray) -> _ColumnsInUse:
        xp, like = arrays.namespace(used.gram), self.X.prototype
        new, count = self.X.columns(arrays.indices(missing, like)), len(used.held)
        columns = xp.concat([used.columns, new], axis=1)
        products = arrays.transposed_product(columns, new)
        gram = xp.concat([used.gram, products[:count, :].T], axis=0)
        gram = xp.concat([gram, products], axis=1)
        cross = used.cross
        if not self.keeps_cross:
            cross = xp.concat([cross, self.Y.transposed_product(new).T], axis=0)
        held = np.concatenate([used.held, missing])
        return _ColumnsInUse(held, self.X.shape[1], columns, gram, cross)

    def more_than_samples(self, rows: Array) -> bool:
        """Whether there are more rows than samples; the columns of X are not kept then."""
        return rows.shape[0] > self.X.shape[0]

    def blocks(self, rows: Array) -> Iterator[Array]:
        """The columns ``rows`` of X, some at a time."""
        for some in slices(rows.shape[0], 4096):
            yield self.X.columns(rows[some])

    def spectrum(self, rows: Array) -> tuple[Array, Array]:
        """Eigenvalues D²/n and E of X_S = E D Fᵀ; those of all rows are kept."""
        return self._whole_spectrum if rows.shape[0] == self.X.shape[1] else self._decomposed(rows)

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

    The responses are multiplied by ``units`` (n_targets,), or None for ones.
    """

    def __init__(self, shared: SharedProducts, constant: float, units: Array | None) -> None:
        shape = shared.X.shape[1], shared.Y.shape[1]
        super().__init__(shape, shared.X.prototype, constant, shared.samples)
        self.shared, self._units = shared, units
        # once they are known, shared by copies with other ridges
        self._cross_norms: list[tuple[Array, Array]] = []

    def diagonal(self) -> Array:
        """Mean squares of the columns of X, plus the ridge."""
        mean_squares = self.shared.mean_squares
        return mean_squares + self.ridge if self.ridge else mean_squares

    def cross_rows(self, rows: Array) -> Array:
        """Rows of XᵀY/n."""
        return _times(self.shared.cross(rows), self._units)

    def inverse_root(self, rows: Array) -> tuple[Array, bool]:
        """As above, or with more rows than samples (D²/n + ridge)^(−½) Fᵀ, with X_S = E D Fᵀ."""
        if not self.has_dual(rows):
            return super().inverse_root(rows)
        values, vectors = self.shared.spectrum(rows)
        xp = arrays.namespace(values)
        scale = xp.sqrt(values * self.samples * (values + self.ridge))
        left = (vectors / scale).T
        return xp.concat([left @ block for block in self.shared.blocks(rows)], axis=1), False

    def has_dual(self, rows: Array) -> bool:
        """Whether :func:`dual_fits` applies: a ridge, and more rows than samples."""
        return bool(self.ridge) and self.shared.more_than_samples(rows)

    def responses(self) -> Array:
        """Y, dense."""
        return _times(self.shared.responses(), self._units)

    def cross_columns(self, first: int, last: int) -> Array:
        """Columns of XᵀY/n from ``first`` to before ``last``."""
        shared, units = self.shared, None if self._units is None else self._units[first:last]
        if shared.keeps_cross:
            return _times(shared.whole_cross[:, first:last], units)
        targets = arrays.indices(range(first, last), self.prototype)
        return _times(shared.X.transposed_product(shared.Y.columns(targets) / self.samples), units)

    def cross_norms(self) -> tuple[Array, Array]:
        """Squared norms of the rows and columns of XᵀY/n, a block of columns at a time."""
        if not self._cross_norms:
            self._cross_norms.append(blockwise_cross_norms(self))
        return self._cross_norms[0]

    def gram(self, rows: Array) -> Array:
        """H over ``rows``, from the columns in use."""
        return plus_ridge(self.shared.gram(rows) / self.samples, self.ridge)

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between ``rows`` and ``others``; the columns of the others are not kept."""
        return self.shared.products(rows, self.shared.X.columns(others)) / self.samples

    def gradient(self, rows: Array, U: Array, V: Array | None = None) -> Array:
        """Xᵀ(X_S U − YV)/n, plus the ridge."""
        shared = self.shared
        residual = shared.combine(rows, U)
        if V is not None:
            residual -= shared.Y @ (V if self._units is None else V * self._units[:, None])
        gradient = shared.X.transposed_product(residual / self.samples)
        return plus_rows(gradient, rows, U, self.ridge)


def _times(cross: Array, units: Any) -> Array:
    return cross if units is None else cross * units


def dual_fits(forms: Sequence[ProductForm], rows: Array) -> tuple[Array, Array]:
    """H_SS⁻¹C_S and the diagonal of H_SS⁻¹, for more rows S than samples, of shape (m, s).

    With K = X_S X_Sᵀ + n·ridge·I the former is X_Sᵀ K⁻¹ Y, and ridge times entry j of the latter is
    1 − xⱼᵀ K⁻¹ xⱼ: matrices with a row per sample suffice.
    """
    xp = arrays.namespace(rows)

    def blocks() -> Iterator[Array]:
        own = [form.shared.blocks(rows[i, :]) for i, form in enumerate(forms)]
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
