"""Explicit quadratic forms for solvers that need more of a loss than its gradient."""

from __future__ import annotations

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design

__all__ = ["GramForm", "IdentityForm", "ProductForm"]

# Responses that are visited at a time when XᵀY is not held.
_BLOCK_TARGETS = 256
# Columns of X that are fetched at a time.
_BLOCK_COLUMNS = 128


class _HeldCross:
    """What all forms with a dense C share."""

    def __init__(self, cross: Array, constant: float, samples: float) -> None:
        self._cross = cross
        self.constant = constant
        self.observations = samples * cross.shape[1]
        self.shape = (cross.shape[0], cross.shape[1])
        self.prototype = arrays.zeros((0,), like=cross)

    def cross_rows(self, rows: Array) -> Array:
        """Rows of C."""
        return arrays.take_rows(self._cross, rows)

    def cross_norms(self) -> tuple[Array, Array]:
        """Squared norms of the rows and of the columns of C."""
        return arrays.row_norms_squared(self._cross), arrays.column_norms_squared(self._cross)


class IdentityForm(_HeldCross):
    """H = scale·I: denoising."""

    def __init__(self, cross: Array, constant: float, scale: float) -> None:
        super().__init__(cross, constant, cross.shape[0])
        self._scale = scale

    def diagonal(self) -> Array:
        """The scale, everywhere."""
        return arrays.zeros((self.shape[0],), like=self.prototype) + self._scale

    def gram(self, rows: Array) -> Array:
        """scale·I."""
        return self._scale * arrays.identity(rows.shape[0], like=self.prototype)

    def gram_between(self, rows: Array, others: Array) -> Array:
        """Zero between different rows."""
        return arrays.zeros((rows.shape[0], others.shape[0]), like=self.prototype)

    def gradient(self, rows: Array, U: Array, V: Array) -> Array:
        """scale·U in its place, less C @ V."""
        return arrays.scatter_rows(self._scale * U, rows, self.shape[0]) - self._cross @ V


class GramForm(_HeldCross):
    """H held in full: cheap when there are few predictors.

    Parameters
    ----------
    gram : array of shape (p, p)
        XᵀX/n.
    cross : array of shape (p, k)
        XᵀY/n.
    constant : float
        ‖Y‖²/n.
    samples : float
        n, the sum of the weights.
    ridge : float
        Added to the diagonal.
    """

    def __init__(
        self, gram: Array, cross: Array, constant: float, samples: float, ridge: float
    ) -> None:
        super().__init__(cross, constant, samples)
        self._gram = gram
        if ridge:
            self._gram = gram + ridge * arrays.identity(gram.shape[0], like=gram)

    def diagonal(self) -> Array:
        """Diagonal of H."""
        return arrays.namespace(self._gram).linalg.diagonal(self._gram)

    def gram(self, rows: Array) -> Array:
        """H over ``rows``."""
        return self.gram_between(rows, rows)

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between ``rows`` and ``others``."""
        return arrays.submatrix(self._gram, rows, others)

    def gradient(self, rows: Array, U: Array, V: Array) -> Array:
        """H[:, rows] @ U − C @ V; H is symmetric, and its rows are contiguous."""
        return arrays.take_rows(self._gram, rows).T @ U - self._cross @ V


class ProductForm:
    """H and C through products with X and Y; what concerns active columns is kept.

    XᵀY is computed once, for the norms of its rows and columns, and not held: of its rows only
    those of active columns are needed, and the gradient takes one product with Xᵀ,
    Xᵀ(X_S U − YV)/n.

    Parameters
    ----------
    X : Design of shape (n, p)
        With weights, centring and scaling inside.
    Y : Design of shape (n, k)
        Likewise.
    samples : float
        n, the sum of the weights.
    constant : float
        ‖Y‖²/n.
    ridge : float
        Added to the diagonal of H.
    """

    def __init__(self, X: Design, Y: Design, samples: float, constant: float, ridge: float) -> None:
        self.constant = constant
        self.observations = samples * Y.shape[1]
        self.shape = (X.shape[1], Y.shape[1])
        self.prototype = X.prototype
        self._X, self._Y = X, Y
        self._samples = samples
        self._ridge = ridge
        self._diagonal: Array | None = None
        self._norms: tuple[Array, Array] | None = None
        self._active = ActiveColumns(X, Y)

    def diagonal(self) -> Array:
        """Mean squares of the columns of X, plus the ridge."""
        if self._diagonal is None:
            self._diagonal = self._X.column_norms() ** 2 / self._samples + self._ridge
        return self._diagonal

    def cross_rows(self, rows: Array) -> Array:
        """Rows of XᵀY/n."""
        return self._active.cross(rows) / self._samples

    def cross_norms(self) -> tuple[Array, Array]:
        """Squared norms of the rows and columns of XᵀY/n, a few columns at a time."""
        if self._norms is None:
            xp = arrays.namespace(self.prototype)
            by_row = arrays.zeros((self.shape[0],), like=self.prototype)
            by_column = []
            targets = xp.arange(self.shape[1], device=arrays.device_of(self.prototype))
            for first in range(0, self.shape[1], _BLOCK_TARGETS):
                last = min(first + _BLOCK_TARGETS, self.shape[1])
                block = self._Y.columns(targets[first:last]) / self._samples
                part = self._X.transposed_product(block)
                by_row += arrays.row_norms_squared(part)
                by_column.append(arrays.column_norms_squared(part))
            self._norms = by_row, xp.concat(by_column)
        return self._norms

    def gram(self, rows: Array) -> Array:
        """H over ``rows``, from the kept columns."""
        gram = self._active.gram(rows)
        gram /= self._samples
        if self._ridge:
            gram += self._ridge * arrays.identity(rows.shape[0], like=gram)
        return gram

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between ``rows`` and ``others``; the others are not kept."""
        return self._active.products(rows, self._X.columns(others)) / self._samples

    def gradient(self, rows: Array, U: Array, V: Array) -> Array:
        """Xᵀ(X_S U − YV)/n, plus the ridge."""
        residual = (self._active.combine(rows, U) - self._Y @ V) / self._samples
        gradient = self._X.transposed_product(residual)
        if self._ridge:
            gradient += self._ridge * arrays.scatter_rows(U, rows, self.shape[0])
        return gradient


class ActiveColumns:
    """Columns of X that are in use, with their inner products with one another and with Y.

    Each is taken from X once and kept as a row of one array with some room to spare; when that is
    full, columns that went out of use give up their places.

    Parameters
    ----------
    X, Y : Design
        With the same number of rows.
    """

    def __init__(self, X: Design, Y: Design) -> None:
        self._X, self._Y = X, Y
        self._place: dict[int, int] = {}  # the row that holds a column of X
        self._allot(0)

    def gram(self, index: Array) -> Array:
        """Inner products of the columns ``index``; a fresh array."""
        places = self._places(index)
        return arrays.submatrix(self._gram, places, places)

    def cross(self, index: Array) -> Array:
        """Inner products of the columns ``index`` with those of Y; a fresh array."""
        places = self._places(index)
        return arrays.take_rows(self._cross, places)

    def products(self, index: Array, block: Array) -> Array:
        """X[:, index]ᵀ @ block."""
        places = self._places(index)
        return arrays.take_rows(self._rows @ block, places)

    def combine(self, index: Array, block: Array) -> Array:
        """X[:, index] @ block."""
        places = self._places(index)
        order = arrays.namespace(places).argsort(places)
        spread = arrays.scatter_rows(
            arrays.take_rows(block, order), arrays.take_rows(places, order), self._rows.shape[0]
        )
        return self._rows.T @ spread

    def _places(self, index: Array) -> Array:
        """Where the columns are, after fetching those that are missing."""
        wanted = arrays.to_numpy(index).tolist()
        missing = [column for column in wanted if column not in self._place]
        if missing and len(wanted) > self._rows.shape[0]:
            self._allot(len(wanted) + 32 + len(wanted) // 32)
            missing = wanted
        if missing:
            self._fetch(missing, set(wanted))
        return arrays.indices([self._place[column] for column in wanted], self._X.prototype)

    def _allot(self, room: int) -> None:
        """Empty places."""
        like = self._X.prototype
        self._place = {}
        # the old ones go before the new ones come: they may be large
        self._rows = self._gram = self._cross = arrays.zeros((0, 0), like)
        self._rows = arrays.zeros((room, self._X.shape[0]), like)
        self._gram = arrays.zeros((room, room), like)
        self._cross = arrays.zeros((room, self._Y.shape[1]), like)

    def _fetch(self, missing: list[int], wanted: set[int]) -> None:
        empty = set(range(self._rows.shape[0])) - set(self._place.values())
        given_up = {place for column, place in self._place.items() if column not in wanted}
        chosen = sorted([*sorted(empty), *sorted(given_up)][: len(missing)])
        reused = set(chosen)
        self._place = {c: place for c, place in self._place.items() if place not in reused}
        for first in range(0, len(missing), _BLOCK_COLUMNS):
            some = slice(first, first + _BLOCK_COLUMNS)
            self._load(missing[some], chosen[some])
        if len(missing) == len(wanted):  # everything is new: one symmetric product
            self._gram = self._rows @ self._rows.T
        self._place.update(zip(missing, chosen, strict=True))

    def _load(self, columns: list[int], chosen: list[int]) -> None:
        block = self._X.columns(arrays.indices(columns, self._X.prototype))
        places = arrays.indices(chosen, self._X.prototype)
        self._rows = arrays.put_rows(self._rows, places, block.T)
        self._cross = arrays.put_rows(self._cross, places, self._Y.transposed_product(block).T)
        if self._place:
            products = (self._rows @ block).T
            self._gram = arrays.put_rows(self._gram, places, products)
            self._gram = arrays.put_rows(self._gram.T, places, products).T
