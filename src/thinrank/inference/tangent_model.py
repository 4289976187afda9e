"""Least squares on chosen predictors, restricted to the directions that keep the rank."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg, stats

# Level of the tests that the rank and the predictors of a fit suffice. It is low because a larger
# model is valid too, but has wider intervals.
SUFFICIENCY_LEVEL = 0.01
# A column of A whose norm falls below this share when those before it are regressed out depends on
# them linearly.
_DEPENDENT = 1e-9


@dataclass(frozen=True, eq=False)
class TangentModel:
    """Y = AΘ + E with Θ near a matrix of low rank; A and Y are free of the intercept.

    The estimate is the least squares fit B, projected on the tangent space of the matrices of
    rank r at the reduced-rank fit Θ̂ = U·Rᵀ. With G = AᵀA, P = U(UᵀGU)⁻¹UᵀG and the projection N
    on the row space of Θ̂, weighted by the inverse variances of the noise, it is
    PB + (I − P)BN. If A has exactly the predictors of Θ̂, it is Θ̂ itself.
    """

    A: np.ndarray  # (n_samples, s) predictors that are adjusted for
    Y: np.ndarray  # (n_samples, k) responses
    columns: np.ndarray  # responses whose coefficients span the row space
    rank: int  # rank r
    support: np.ndarray  # columns of A on which Θ̂ is not zero
    used: int  # degrees of freedom that the intercept and the predictors that are always kept used
    projected: bool = True  # whether the estimate is projected; otherwise it is B

    @cached_property
    def df(self) -> int:
        """Degrees of freedom of the residuals of B."""
        return len(self.A) - self.used - self.A.shape[1]

    @cached_property
    def _triangle(self) -> tuple[np.ndarray, np.ndarray]:
        basis, triangle = linalg.qr(self.A, mode="economic")
        sizes = np.abs(np.diag(triangle))
        norms = np.sqrt(np.sum(triangle**2, axis=0))
        if np.any(sizes <= _DEPENDENT * norms):
            raise ValueError(
                "the predictors that are adjusted for must be linearly independent, but one is a "
                "combination of others: leave it out and fit again"
            )
        return basis, triangle

    @cached_property
    def inverse(self) -> np.ndarray:
        """G⁻¹, of shape (s, s)."""
        root = linalg.solve_triangular(self._triangle[1], np.eye(self.A.shape[1]))
        return root @ root.T

    @cached_property
    def least_squares(self) -> np.ndarray:
        """B, of shape (s, k)."""
        basis, triangle = self._triangle
        return linalg.solve_triangular(triangle, basis.T @ self.Y)

    @cached_property
    def noise(self) -> np.ndarray:
        """Covariance of the noise in the responses, of shape (k, k), unbiased."""
        basis = self._triangle[0]
        left = self.Y - basis @ (basis.T @ self.Y)
        return left.T @ left / self.df

    @cached_property
    def scale(self) -> np.ndarray:
        """Standard deviations of the noise in ``columns``, 1 for responses without noise."""
        deviations = np.sqrt(np.diag(self.noise)[self.columns])
        return np.where(deviations > 0, deviations, 1.0)

    @cached_property
    def _whitened(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Least squares on the support with orthonormal predictors Q, where A = QR there.

        R, the coefficients, and the singular values and right vectors of these over ``scale``.
        """
        basis, triangle = linalg.qr(self.A[:, self.support], mode="economic")
        fitted = basis.T @ self.Y[:, self.columns]
        _, values, right = linalg.svd(fitted / self.scale, full_matrices=False)
        return triangle, fitted, values, right.T

    @cached_property
    def weakest_layer(self) -> float:
        """Squared size of the weakest layer, relative to the largest layer of noise alone.

        The latter is √(sλ) + √k, with λ the largest eigenvalue of the correlations of the noise.
        """
        noise = self.noise[np.ix_(self.columns, self.columns)] / np.outer(self.scale, self.scale)
        largest = max(float(np.linalg.eigvalsh(noise)[-1]), 0.0)
        limit = (len(self.support) * largest) ** 0.5 + len(self.columns) ** 0.5
        return float(self._whitened[2][self.rank - 1] / limit) ** 2

    @cached_property
    def factors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """U, R and the map M from rows of B to rows of U, so that N = MRᵀ."""
        s, k, t = self.A.shape[1], self.Y.shape[1], self.columns
        U, R, M = np.zeros((s, self.rank)), np.zeros((k, self.rank)), np.zeros((k, self.rank))
        if not self.rank:
            return U, R, M
        triangle, fitted, _, right = self._whitened
        right = right[:, : self.rank]
        R[t] = right * self.scale[:, None]
        M[t] = right / self.scale[:, None]
        U[self.support] = linalg.solve_triangular(triangle, fitted @ M[t])
        return U, R, M

    @cached_property
    def fit(self) -> np.ndarray:
        """The reduced-rank fit Θ̂, of shape (s, k)."""
        U, R, _ = self.factors
        return U @ R.T

    @cached_property
    def row_projection(self) -> np.ndarray:
        """N, of shape (k, k); rows of B are multiplied by it from the right."""
        if not self.projected:
            return np.eye(self.Y.shape[1])
        _, R, M = self.factors
        return M @ R.T

    @cached_property
    def left_inverse(self) -> np.ndarray:
        """(UᵀGU)⁻¹, of shape (r, r)."""
        fitted = self.A @ self.factors[0]
        return np.linalg.inv(fitted.T @ fitted)

    @cached_property
    def left_covariance(self) -> np.ndarray:
        """U(UᵀGU)⁻¹Uᵀ, the part of G⁻¹ along the column space of Θ̂."""
        U = self.factors[0]
        return U @ self.left_inverse @ U.T

    @cached_property
    def estimate(self) -> np.ndarray:
        """PB + (I − P)BN, of shape (s, k)."""
        U, B = self.factors[0], self.least_squares
        along = U @ (self.left_inverse @ ((self.A @ U).T @ self.Y)) if self.rank else 0 * B
        return along + (B - along) @ self.row_projection

    @cached_property
    def row_noise(self) -> np.ndarray:
        """NᵀΣN: the noise within the row space, of shape (k, k)."""
        N = self.row_projection
        return N.T @ self.noise @ N

    @cached_property
    def second_order(self) -> float:
        """Factor τ of the variance that comes from errors in both factors at the same time."""
        M = self.factors[2]
        return float(np.trace(M.T @ self.noise @ M @ self.left_inverse)) if self.rank else 0.0

    @cached_property
    def noise_beside(self) -> np.ndarray:
        """Variances of the noise outside of the row space, of shape (k,)."""
        beside = np.eye(len(self.noise)) - self.row_projection
        return np.einsum("ji,jl,li->i", beside, self.noise, beside)

    def variances(self, rows: np.ndarray) -> np.ndarray:
        """Variances of the entries of ``rows @ estimate``, of shape (m, k).

        Shapes: ``rows`` (m, s).
        """
        whole = np.einsum("ij,jl,il->i", rows, self.inverse, rows)[:, None]
        along = np.einsum("ij,jl,il->i", rows, self.left_covariance, rows)[:, None]
        across = np.maximum(whole - along, 0.0)
        return (
            along * np.diag(self.noise)
            + across * np.diag(self.row_noise)
            + across * self.second_order * self.noise_beside
        )

    def functional_variance(self, left: np.ndarray, right: np.ndarray) -> float:
        """Variance of ⟨left·rightᵀ, estimate⟩, to first order.

        Shapes: ``left`` (s, q), ``right`` (k, q).
        """
        along = left.T @ self.left_covariance @ left
        across = left.T @ self.inverse @ left - along
        within = right.T @ self.row_noise @ right
        whole = np.sum(along * (right.T @ self.noise @ right)) + np.sum(across * within)
        return max(float(whole), 0.0) if np.isfinite(whole) else np.nan


def sufficient_rank(A: np.ndarray, Y: np.ndarray, rank: int, used: int) -> int:
    """The smallest rank from ``rank`` on that Bartlett's test does not reject.

    Shapes: ``A`` (n_samples, s).
    """
    s, t = A.shape[1], Y.shape[1]
    largest = min(s, t)
    if rank >= largest or len(A) - used <= s + t:
        return min(rank, largest)  # no room to test
    bases = [linalg.qr(part, mode="economic")[0] for part in (A, Y)]
    correlations = linalg.svdvals(bases[0].T @ bases[1])
    with np.errstate(divide="ignore"):
        terms = -np.log1p(-(np.minimum(correlations, 1.0) ** 2))
    weight = len(A) - used - (s + t + 1) / 2
    for r in range(rank, largest):
        if stats.chi2.sf(weight * terms[r:].sum(), (s - r) * (t - r)) > SUFFICIENCY_LEVEL:
            return r
    return largest
