"""A coefficient matrix held as the product of two thin factors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.journal import storable


@storable
@dataclass(frozen=True, eq=False)
class Factors:
    """The matrix Θ = U Vᵀ, with few non-zero rows in U and in V.

    Parameters
    ----------
    U : array of shape (m1, r)
        Left factor; for regression one row per predictor.
    V : array of shape (m2, r)
        Right factor; for regression one row per response. Same library, dtype and device as U.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> theta = tr.Factors(U=np.array([[1.0], [0.0], [2.0]]), V=np.array([[3.0], [0.0]]))
    >>> theta.rank, theta.row_support, theta.column_support
    (1, array([0, 2]), array([0]))
    """

    U: Array
    V: Array

    def __post_init__(self) -> None:
        if self.U.ndim != 2 or self.V.ndim != 2 or self.U.shape[1] != self.V.shape[1]:
            raise ValueError(
                "U and V must be matrices with the same number of columns: "
                f"U has shape {tuple(self.U.shape)}, V has shape {tuple(self.V.shape)}"
            )

    @classmethod
    def from_theta(cls, theta: Array, rank: int) -> Factors:
        """Balanced factors of the best rank-``rank`` approximation of a dense matrix.

        Rows and columns of zeros are left out of the singular value decomposition, which is
        truncated for large matrices.
        """
        rows = arrays.true_positions(arrays.row_norms_squared(theta) > 0)
        columns = arrays.true_positions(arrays.row_norms_squared(theta.T) > 0)
        if rows.shape[0] == 0:
            return cls.zero(theta.shape, like=theta)
        core = arrays.submatrix(theta, rows, columns)
        small = cls.from_svd(*linalg.truncated_svd(core, rank))
        V = arrays.scatter_rows(small.V, columns, theta.shape[1])
        return cls.on_rows(small.U, rows, theta.shape[0], V)

    @classmethod
    def on_rows(cls, U: Array, rows: Array, size: int, V: Array) -> Factors:
        """Factors whose left factor has ``size`` rows, those outside the sorted ``rows`` zero."""
        return cls(arrays.scatter_rows(U, rows, size), V)

    @classmethod
    def from_svd(cls, left: Array, values: Array, right: Array, size: int | None = None) -> Factors:
        """U = left·values^½ and V = right·values^½, without the values that are zero.

        ``size`` is the larger dimension of the matrix, if rows of zeros were left out.
        """
        values = arrays.to_numpy(values)
        # an exact zero becomes about this large by rounding
        floor = arrays.eps(left) * (size or max(left.shape[0], right.shape[0]))
        kept = int(np.count_nonzero(values > floor * values[0])) if values.shape[0] else 0
        root = arrays.from_numpy(np.sqrt(values[:kept]), left)
        return cls(left[:, :kept] * root, right[:, :kept] * root)

    @classmethod
    def zero(cls, shape: tuple[int, int], like: Array, rank: int = 0) -> Factors:
        """The zero matrix, with empty supports; rank 1 for losses that do not take rank 0."""
        return cls(arrays.zeros((shape[0], rank), like), arrays.zeros((shape[1], rank), like))

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (m1, m2) of Θ."""
        return self.U.shape[0], self.V.shape[0]

    @property
    def rank(self) -> int:
        """Number of columns of U and V."""
        return self.V.shape[1]

    @property
    def row_support(self) -> Array:
        """Sorted indices of the rows of U that are not zero."""
        return arrays.nonzero_rows(self.U)

    @property
    def column_support(self) -> Array:
        """Sorted indices of the rows of V (columns of Θ) that are not zero."""
        return arrays.nonzero_rows(self.V)

    @property
    def rows_in_use(self) -> Array:
        """The rows of U that are not zero."""
        return _without_zero_rows(self.U)

    @property
    def columns_in_use(self) -> Array:
        """The rows of V that are not zero."""
        return _without_zero_rows(self.V)

    @property
    def theta(self) -> Array:
        """Θ as a dense (m1, m2) array, computed at each call."""
        return self.U @ self.V.T

    def norm(self) -> float:
        """Frobenius norm of Θ, without forming it."""
        square = arrays.inner(self.U.T @ self.U, self.V.T @ self.V)
        return max(square, 0.0) ** 0.5

    def singular_values(self) -> Array:
        """Singular values of Θ, decreasing, without forming it."""
        if self.rank == 0:
            return arrays.zeros((0,), like=self.U)
        return arrays.from_numpy(self._small_svd()[1], self.U)

    def balanced(self) -> Factors:
        """The same Θ with UᵀU = VᵀV diagonal, without directions of singular value zero."""
        if self.rank == 0:
            return self
        rows, columns = self.row_support, self.column_support
        small = Factors.from_svd(*self._small_svd(), max(self.shape))
        V = arrays.scatter_rows(small.V, columns, self.shape[1])
        return Factors.on_rows(small.U, rows, self.shape[0], V)

    def compact(self) -> Factors:
        """The same Θ without directions of singular value zero, balanced if there are some."""
        balanced = self.balanced()
        return self if balanced.rank == self.rank else balanced

    def with_column_units(self, columns: Array) -> Factors:
        """Factors of Θ·diag(columns) with the same U, for positive units; not balanced."""
        return Factors(self.U, self.V * columns[:, None])

    def scaled(self, rows: Array | None = None, factor: float = 1.0) -> Factors:
        """Balanced factors of factor·diag(rows)·Θ, the matrix Θ in other units."""
        return Factors(self.U * factor, self.V).with_units(rows).balanced()

    def with_units(self, rows: Array | None) -> Factors:
        """Factors of diag(rows)·Θ with the same V, for rows in other units.

        They are not balanced: if the units differ by many orders of magnitude, a decomposition
        would give small rows the rounding errors of large ones, or drop directions as zero.
        """
        if rows is None:
            return self
        support = self.row_support
        U = self.rows_in_use * arrays.take_rows(rows, support)[:, None]
        return Factors.on_rows(U, support, self.shape[0], self.V)

    def distance(self, other: Factors) -> float:
        """Subspace distance d(Z, Z*) of the paper, Z = [U; V] and Z* = [U*; V*].

        d² is the minimum over orthogonal O of ‖U − U*O‖² + ‖V − V*O‖², in closed form by
        orthogonal Procrustes: with UᵀU* + VᵀV* = A S Bᵀ the best O is B Aᵀ. The factor
        of lower rank is padded with zero columns. Both should be balanced, as the paper's Z* is.
        """
        if self.shape != other.shape:
            raise ValueError(
                f"both matrices must have the same shape, got {self.shape} and {other.shape}"
            )
        xp = arrays.namespace(self.U, other.U)
        mine = xp.concat([self.U, self.V], axis=0)
        theirs = xp.concat([other.U, other.V], axis=0)
        width = max(self.rank, other.rank)
        mine, theirs = (linalg.padded(z, (z.shape[0], width)) for z in (mine, theirs))
        if width == 0:
            return 0.0
        left, _, right = xp.linalg.svd(theirs.T @ mine, full_matrices=False)
        return arrays.norm(mine - theirs @ (left @ right))

    def _small_svd(self) -> tuple[Array, Array, Array]:
        """Thin SVD of U Vᵀ without its rows and columns of zeros, from two QR decompositions."""
        U, V = self.rows_in_use, self.columns_in_use
        qr = arrays.namespace(U).linalg.qr
        (q_u, r_u), (q_v, r_v) = qr(U), qr(V)
        left, values, right = linalg.svd(r_u @ r_v.T)
        return q_u @ left, values, q_v @ right.T


def _without_zero_rows(a: Array) -> Array:
    used = arrays.nonzero_rows(a)
    return a if used.shape[0] == a.shape[0] else arrays.take_rows(a, used)
