"""Explicit quadratic forms for solvers that need more of a loss than its gradient."""

from __future__ import annotations

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design

__all__ = ["GramForm", "IdentityForm", "ProductForm"]

# Responses that are visited at a time when XᵀY is not held.
_BLOCK_TARGETS = 256


class _HeldCross:
    """What all forms with a dense C share."""

    def __init__(self, cross: Array, constant: float, samples: float) -> None:
        self._cross = cross
        self.constant = constant
        self.observations = samples * cross.shape[1]
        self.shape = (cross.shape[0], cross.shape[1])
        self.prototype = arrays.zeros((0,), like=cross)

    def cross(self, block: Array) -> Array:
        """C @ block."""
        return self._cross @ block

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

    def product(self, rows: Array, block: Array) -> Array:
        """scale·block in its place."""
        return arrays.scatter_rows(self._scale * block, rows, self.shape[0])


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
        return arrays.take_columns(arrays.take_rows(self._gram, rows), others)

    def product(self, rows: Array, block: Array) -> Array:
        """H[:, rows] @ block; H is symmetric, and its rows are contiguous."""
        return arrays.take_rows(self._gram, rows).T @ block


class ProductForm:
    """H through products with X; each active column is taken from X once and kept.

    Parameters
    ----------
    X : Design of shape (n, p)
        With weights, centring and scaling inside.
    Y : Design of shape (n, k)
        Likewise.
    samples : float
        n, the sum of the weights.
    cross : array of shape (p, k) or None
        XᵀY/n, when it is held.
    constant : float
        ‖Y‖²/n.
    ridge : float
        Added to the diagonal of H.
    """

    def __init__(
        self,
        X: Design,
        Y: Design,
        samples: float,
        cross: Array | None,
        constant: float,
        ridge: float,
    ) -> None:
        self.constant = constant
        self.observations = samples * Y.shape[1]
        self.shape = (X.shape[1], Y.shape[1])
        self.prototype = X.prototype
        self._X, self._Y = X, Y
        self._samples = samples
        self._held = None if cross is None else _HeldCross(cross, constant, samples)
        self._ridge = ridge
        self._diagonal: Array | None = None
        self._norms: tuple[Array, Array] | None = None
        self._active = ActiveColumns(X)

    def diagonal(self) -> Array:
        """Mean squares of the columns of X, plus the ridge."""
        if self._diagonal is None:
            self._diagonal = self._X.column_norms() ** 2 / self._samples + self._ridge
        return self._diagonal

    def cross(self, block: Array) -> Array:
        """XᵀY block/n, from XᵀY or on the fly."""
        if self._held is not None:
            return self._held.cross(block)
        return self._X.transposed_product((self._Y @ block) / self._samples)

    def cross_rows(self, rows: Array) -> Array:
        """Rows of XᵀY/n."""
        if self._held is not None:
            return self._held.cross_rows(rows)
        return self._Y.transposed_product(self._X.columns(rows) / self._samples).T

    def cross_norms(self) -> tuple[Array, Array]:
        """Squared norms of the rows and columns of XᵀY/n, a few columns at a time."""
        if self._held is not None:
            return self._held.cross_norms()
        if self._norms is None:
            self._norms = self._blockwise_cross_norms()
        return self._norms

    def _blockwise_cross_norms(self) -> tuple[Array, Array]:
        xp = arrays.namespace(self.prototype)
        row_norms = arrays.zeros((self.shape[0],), like=self.prototype)
        column_norms = []
        targets = xp.arange(self.shape[1], device=arrays.device_of(self.prototype))
        for first in range(0, self.shape[1], _BLOCK_TARGETS):
            last = min(first + _BLOCK_TARGETS, self.shape[1])  # the standard knows no longer slices
            block = self._Y.columns(targets[first:last]) / self._samples
            part = self._X.transposed_product(block)
            row_norms = row_norms + arrays.row_norms_squared(part)
            column_norms.append(arrays.column_norms_squared(part))
        return row_norms, xp.concat(column_norms)

    def gram(self, rows: Array) -> Array:
        """H over ``rows``, from the kept columns."""
        gram = self._active.gram(rows) / self._samples
        if self._ridge:
            gram = gram + self._ridge * arrays.identity(rows.shape[0], like=gram)
        return gram

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between ``rows`` and ``others``; the others are not kept."""
        return self._active.products(rows, self._X.columns(others)) / self._samples

    def product(self, rows: Array, block: Array) -> Array:
        """H[:, rows] @ block by two products with X."""
        image = self._active.combine(rows, block) / self._samples
        product = self._X.transposed_product(image)
        if self._ridge:
            product = product + self._ridge * arrays.scatter_rows(block, rows, self.shape[0])
        return product


class ActiveColumns:
    """Columns of a design that are in use, with their inner products.

    Each is taken from X once and kept as a row of one array with some room to spare; when that is
    full, columns that went out of use give up their places.

    Parameters
    ----------
    X : Design
        Where the columns come from.
    """

    def __init__(self, X: Design) -> None:
        self._X = X
        self._place: dict[int, int] = {}  # the row that holds a column of X
        self._rows = arrays.zeros((0, X.shape[0]), like=X.prototype)
        self._gram = arrays.zeros((0, 0), like=X.prototype)

    def gram(self, index: Array) -> Array:
        """Inner products of the columns ``index``."""
        places = self._places(index)
        return arrays.take_columns(arrays.take_rows(self._gram, places), places)

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
            self._fetch_all(wanted)
        elif missing:
            self._fetch(missing, set(wanted))
        return arrays.indices([self._place[column] for column in wanted], self._X.prototype)

    def _fetch_all(self, wanted: list[int]) -> None:
        room = len(wanted) + len(wanted) // 8 + 16
        # the old ones go before the new ones come: they may be large
        self._rows = self._gram = arrays.zeros((0, 0), like=self._X.prototype)
        places = arrays.indices(range(len(wanted)), self._X.prototype)
        rows = arrays.zeros((room, self._X.shape[0]), like=self._X.prototype)
        columns = self._X.columns(arrays.indices(wanted, self._X.prototype))
        self._rows = arrays.put_rows(rows, places, columns.T)
        self._gram = self._rows @ self._rows.T
        self._place = {column: place for place, column in enumerate(wanted)}

    def _fetch(self, missing: list[int], wanted: set[int]) -> None:
        empty = set(range(self._rows.shape[0])) - set(self._place.values())
        given_up = {place for column, place in self._place.items() if column not in wanted}
        chosen = sorted([*sorted(empty), *sorted(given_up)][: len(missing)])
        columns = self._X.columns(arrays.indices(missing, self._X.prototype))
        places = arrays.indices(chosen, self._X.prototype)
        self._rows = arrays.put_rows(self._rows, places, columns.T)
        block = (self._rows @ columns).T
        self._gram = arrays.put_rows(self._gram, places, block)
        self._gram = arrays.put_rows(self._gram.T, places, block).T
        reused = set(chosen)
        self._place = {c: place for c, place in self._place.items() if place not in reused}
        self._place.update(zip(missing, chosen, strict=True))
