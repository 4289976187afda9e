"""Least squares on some of the rows, from what is known about all of them."""

from __future__ import annotations

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design, QuadraticForm
from thinrank.losses.forms import AdjustableRidge, GramForm, blockwise_cross_norms

__all__ = ["Remainder"]


class Remainder(AdjustableRidge):
    """The quadratic form of the rows that remain when some are taken out.

    With moments of all the data, H = XᵀX/n and C = XᵀY/n, and the rows A of X and B of Y that are
    taken out, the remaining n' = n − h rows have XᵀX = nH − AᵀA and XᵀY = nC − AᵀB; about
    their own means a·aᵀ/n' and a·bᵀ/n' come off too, a and b the sums of the rows taken out, since
    all rows together sum to zero. So one XᵀY and one Gram matrix serve every split of the data.

    Parameters
    ----------
    whole : QuadraticForm
        Of all the rows, without ridge.
    X_out, Y_out : Design
        The rows taken out, in the units of ``whole`` and times the roots of their weights.
    root_out : array of shape (h,)
        Roots of the weights.
    center : bool
        Whether all rows together are centred, and so the remaining ones shall be.
    scale : bool
        Whether the remaining columns of X shall have unit root mean square.

    Attributes
    ----------
    center_x, center_y : arrays of shapes (p,) and (k,)
        Means of the remaining rows, in the units of ``whole``; zero without ``center``.
    inverse_scale : array of shape (p,)
        What columns are multiplied with: ones without ``scale``, and zero for columns that are
        constant.
    """

    def __init__(
        self,
        whole: QuadraticForm,
        X_out: Design,
        Y_out: Design,
        root_out: Array,
        *,
        center: bool,
        scale: bool,
    ) -> None:
        xp = arrays.namespace(whole.prototype)
        self._ridge = 0.0
        self._whole, self._X_out, self._Y_out = whole, X_out, Y_out
        self.shape, self.prototype = whole.shape, whole.prototype
        self.samples = whole.samples - float(xp.sum(root_out * root_out))
        self.observations = self.samples * self.shape[1]
        self._sum_x, self._sum_y = (
            X_out.transposed_product(root_out),
            Y_out.transposed_product(root_out),
        )
        if not center:
            self._sum_x, self._sum_y = self._sum_x * 0, self._sum_y * 0
        self.center_x, self.center_y = -self._sum_x / self.samples, -self._sum_y / self.samples
        out = arrays.norm(Y_out.column_norms()) ** 2
        left = whole.samples * whole.constant - out - arrays.inner(self._sum_y, -self.center_y)
        self.constant = max(left, 0.0) / self.samples
        mean_squares = self._mean_squares()
        # a column that is constant on the remaining rows, to rounding, is dropped
        noise = 1e3 * arrays.eps(mean_squares) * whole.samples / self.samples
        live = mean_squares > noise * whole.diagonal()
        mean_squares = xp.where(live, mean_squares, mean_squares * 0)
        units = mean_squares if scale else xp.astype(live, mean_squares.dtype)
        self.inverse_scale = xp.sqrt(arrays.ratio(1.0, units))
        self._diagonal = mean_squares * self.inverse_scale**2
        self._norms: tuple[Array, Array] | None = None

    def _mean_squares(self) -> Array:
        out = self._X_out.column_norms() ** 2 - self._sum_x * self.center_x
        xp = arrays.namespace(out)
        left = (self._whole.samples * self._whole.diagonal() - out) / self.samples
        return xp.clip(left, min=0.0)

    def held(self) -> GramForm:
        """The same form with H and C in full, for many small fits."""
        everything = arrays.indices(range(self.shape[0]), self.prototype)
        gram, cross = self.with_ridge(0.0).gram(everything), self.cross_columns(0, self.shape[1])
        return GramForm(gram, cross, self.constant, self.samples, self._ridge)

    def diagonal(self) -> Array:
        """Diagonal of H."""
        return self._diagonal + self._ridge if self._ridge else self._diagonal

    def cross_rows(self, rows: Array) -> Array:
        """Rows of C."""
        out = self._Y_out.transposed_product(self._X_out.columns(rows)).T
        cross = self._whole.samples * self._whole.cross_rows(rows) - out
        cross += arrays.take_rows(self._sum_x, rows)[:, None] * self.center_y
        cross *= (arrays.take_rows(self.inverse_scale, rows) / self.samples)[:, None]
        return cross

    def cross_columns(self, first: int, last: int) -> Array:
        """Columns of C from ``first`` to before ``last``."""
        index = arrays.indices(range(first, last), self.prototype)
        cross = self._whole.samples * self._whole.cross_columns(first, last)
        cross -= self._X_out.transposed_product(self._Y_out.columns(index))
        cross += self._sum_x[:, None] * self.center_y[first:last]
        cross *= (self.inverse_scale / self.samples)[:, None]
        return cross

    def cross_norms(self) -> tuple[Array, Array]:
        """Squared norms of the rows and of the columns of C."""
        if self._norms is None:
            self._norms = blockwise_cross_norms(self)
        return self._norms

    def gram(self, rows: Array) -> Array:
        """H over ``rows``."""
        gram = self._centred_gram(self._whole.gram(rows), rows, rows)
        if self._ridge:
            gram += self._ridge * arrays.identity(rows.shape[0], like=gram)
        return gram

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between ``rows`` and ``others``."""
        return self._centred_gram(self._whole.gram_between(rows, others), rows, others)

    def _centred_gram(self, whole: Array, rows: Array, others: Array) -> Array:
        block = self._X_out.columns(rows)
        other_block = block if others is rows else self._X_out.columns(others)
        gram = self._whole.samples * whole - block.T @ other_block
        gram += arrays.take_rows(self._sum_x, rows)[:, None] * arrays.take_rows(
            self.center_x, others
        )
        gram *= (arrays.take_rows(self.inverse_scale, rows) / self.samples)[:, None]
        gram *= arrays.take_rows(self.inverse_scale, others)
        return gram

    def gradient(self, rows: Array, U: Array, V: Array) -> Array:
        """H[:, rows] @ U − C @ V."""
        own = U * arrays.take_rows(self.inverse_scale, rows)[:, None]  # in the units of the whole
        gradient = self._whole.samples * self._whole.gradient(rows, own, V)
        residual = self._X_out.columns(rows) @ own - self._Y_out @ V
        gradient -= self._X_out.transposed_product(residual)
        means = arrays.take_rows(self.center_x, rows) @ own - self.center_y @ V
        gradient += self._sum_x[:, None] * means
        gradient *= (self.inverse_scale / self.samples)[:, None]
        if self._ridge:
            gradient += self._ridge * arrays.scatter_rows(U, rows, self.shape[0])
        return gradient
