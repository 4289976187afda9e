"""What predictors that are always kept explain of a design, as a matrix of low rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.designs.dense import column_blocks
from thinrank.designs.transformed import ROUNDING, Transformed


@dataclass(frozen=True, eq=False)
class KeptBasis:
    """Some columns Z, centered or not, as a basis B = (Z − 1·centerᵀ) T with BᵀAB = I.

    A is the diagonal matrix of the sample weights. The weighted least squares fit of any matrix
    M on Z is B·L with the loadings L = BᵀAM, and its coefficients are T·L. If columns of Z depend
    on others, they are the coefficients of least norm, for columns scaled to the same size.
    """

    # (n_samples, r) B, where r is the rank of Z. Rows of weight 0 have their values, too
    basis: Array
    dual: Array  # (n_samples, r) AB
    transform: Array  # (n_kept, r) T
    center: Array | None  # (n_kept,) the weighted means of Z that were subtracted
    sizes: Array  # (n_kept,) root mean squares of the columns of Z about zero

    def loadings(self, design: Design) -> Array:
        """BᵀAX of shape (r, n_features), for a design X of the same rows.

        In single precision the sum of many numbers is inaccurate, so the loadings of the residuals
        are added as a correction.
        """
        loadings = design.transposed_product(self.dual).T
        if arrays.itemsize(design.prototype) >= 8 or not loadings.shape[0]:
            return loadings
        left_over = Transformed(design, removed=Factors(self.basis, loadings.T))
        parts = [self.dual.T @ left_over.columns(index) for index in column_blocks(design)]
        return loadings + arrays.namespace(loadings).concat(parts, axis=1)

    def explained(self, design: Design) -> Factors:
        """B(BᵀAX): the weighted least squares fits of the columns of a design of the same rows."""
        return Factors(self.basis, self.loadings(design).T)

    def of_rows(self, Z: Array) -> Array:
        """(Z − 1·centerᵀ) T for other rows of the kept columns."""
        return (Z if self.center is None else Z - self.center) @ self.transform

    def coefficients(self, loadings: Array) -> Array:
        """Coefficients of the columns of Z, of shape (n_kept, q), from loadings of shape (r, q)."""
        return self.transform @ loadings

    def rounding_errors(self, loadings: Array) -> Array:
        """Largest rounding errors of residuals with some loadings, as root mean squares.

        They are proportional to the terms of Z·coefficients, which is subtracted: these are larger
        than their sum if columns of Z are nearly dependent.
        """
        xp = arrays.namespace(loadings)
        terms = self.sizes @ xp.abs(self.coefficients(loadings))
        return ROUNDING * arrays.eps(loadings) * terms


def kept_basis(Z: Any, *, like: Array, sample_weight: Any = None, center: bool = True) -> KeptBasis:
    """The basis of some columns ``Z`` of shape (n_samples, n_kept)."""
    xp = arrays.namespace(like)
    # the decomposition is in double precision, as Z is narrow and everything else depends on it
    values = xp.astype(arrays.from_numpy(Z, like), xp.float64)
    weight = arrays.zeros((values.shape[0],), values) + 1
    if sample_weight is not None:
        weight = xp.astype(arrays.from_numpy(sample_weight, like), xp.float64)
    share = weight / xp.sum(weight)
    sizes = xp.sqrt(share @ values**2)
    if not bool(xp.all(xp.isfinite(sizes))):
        raise ValueError("X must be finite, and so must be the sums of squares of its columns")
    mean = share @ values if center else None
    moved = values if mean is None else values - mean
    floor = ROUNDING * arrays.eps(like)
    live = xp.sqrt(share @ moved**2) > floor * sizes
    scale = arrays.divide_or_zero(1.0, sizes) * xp.astype(live, values.dtype)
    basis, transform = _orthonormal(moved * scale, xp.sqrt(share), floor)
    total = float(xp.sum(weight))

    def converted(x: Array) -> Array:
        return xp.astype(x, like.dtype)

    return KeptBasis(
        converted(basis / total**0.5),
        converted(weight[:, None] * basis / total**0.5),
        converted(scale[:, None] * transform / total**0.5),
        None if mean is None else converted(mean),
        converted(sizes),
    )


def _orthonormal(Z: Array, roots: Array, floor: float) -> tuple[Array, Array]:
    """B = Z T with orthonormal columns diag(roots)·B, and T, without directions below ``floor``."""
    xp = arrays.namespace(Z)
    _, values, right = xp.linalg.svd(roots[:, None] * Z, full_matrices=False)
    rank = int(xp.count_nonzero(values > floor * Z.shape[1] ** 0.5))
    transform = right[:rank, :].T / values[:rank]
    basis = Z @ transform
    if rank == 0:
        return basis, transform
    # the division has magnified rounding errors, so that B is orthogonal only about
    _, triangle = xp.linalg.qr(roots[:, None] * basis)
    correction = xp.linalg.inv(triangle)
    return basis @ correction, transform @ correction
