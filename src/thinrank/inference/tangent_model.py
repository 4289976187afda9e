"""Least squares on chosen predictors, restricted to the directions that keep the rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, stats

# Level of the tests that the rank and the predictors of a fit suffice. It is low because a larger
# model is valid too, but has wider intervals.
SUFFICIENCY_LEVEL = 0.01


class LowRankFit:
    """Y = AΘ + E by least squares, and with Θ of rank r on a support; no intercept in A and Y.

    Shapes: ``A`` (n_samples, s), ``Y`` (n_samples, k); ``support`` are the columns of A on which Θ
    is not zero, ``columns`` the responses whose coefficients span its row space. ``used`` are the
    degrees of freedom of the intercept and of the predictors that are always kept.
    """

    def __init__(
        self,
        A: np.ndarray,
        Y: np.ndarray,
        columns: np.ndarray,
        rank: int,
        support: np.ndarray,
        used: int,
    ) -> None:
        s, k = A.shape[1], Y.shape[1]
        self.A, self.Y = A, Y
        self.df = len(A) - used - s  # degrees of freedom of the residuals
        basis, triangle = linalg.qr(A, mode="economic")
        # almost nothing is left of a column when those before it are regressed out
        if np.any(np.abs(np.diag(triangle)) <= 1e-9 * np.linalg.norm(triangle, axis=0)):
            raise ValueError(
                "the predictors that are adjusted for must be linearly independent, but one is a "
                "combination of others: leave it out and fit again"
            )
        root = linalg.solve_triangular(triangle, np.eye(s))
        self.inverse = root @ root.T  # (s, s), G⁻¹ with G = AᵀA
        self.least_squares = linalg.solve_triangular(triangle, basis.T @ Y)  # (s, k), B
        left = Y - basis @ (basis.T @ Y)
        self.noise = left.T @ left / self.df  # (k, k), Σ, unbiased
        # factors of Θ̂ = URᵀ with responses weighted by the noise, and M with U = BM, N = MRᵀ
        self.U, self.R, self.M = np.zeros((s, rank)), np.zeros((k, rank)), np.zeros((k, rank))
        self.weakest_layer = 0.0
        if not rank:
            return
        noise = self.noise[np.ix_(columns, columns)]
        scale = np.sqrt(np.diag(noise))
        scale[~(scale > 0)] = 1.0  # of responses without noise
        basis, triangle = linalg.qr(A[:, support], mode="economic")
        fitted = basis.T @ Y[:, columns]
        _, values, right = linalg.svd(fitted / scale, full_matrices=False)
        self.R[columns] = right[:rank].T * scale[:, None]
        self.M[columns] = right[:rank].T / scale[:, None]
        self.U[support] = linalg.solve_triangular(triangle, fitted @ self.M[columns])
        # squared size of the weakest layer, relative to the largest layer of noise alone, which is
        # √(sλ) + √k with λ the largest eigenvalue of the correlations of the noise
        largest = max(float(np.linalg.eigvalsh(noise / np.outer(scale, scale))[-1]), 0.0)
        limit = (len(support) * largest) ** 0.5 + len(columns) ** 0.5
        self.weakest_layer = float(values[rank - 1] / limit) ** 2


class TangentModel(LowRankFit):
    """Y = AΘ + E with Θ near a matrix of low rank.

    The estimate is the least squares fit B, projected on the tangent space of the matrices of
    rank r at the reduced-rank fit Θ̂ = U·Rᵀ. With G = AᵀA, P = U(UᵀGU)⁻¹UᵀG and the projection N
    on the row space of Θ̂, weighted by the inverse variances of the noise, it is
    PB + (I − P)BN. If A has exactly the predictors of Θ̂, it is Θ̂ itself.
    """

    def __init__(self, *data: Any, projected: bool) -> None:
        """Data of :class:`LowRankFit`, and whether the estimate is projected; if not, it is B."""
        super().__init__(*data)
        U, R, M, noise = self.U, self.R, self.M, self.noise
        self.projected = projected
        self.fit = U @ R.T  # (s, k)
        self.row_projection = N = M @ R.T if projected else np.eye(len(noise))  # (k, k)
        fitted = self.A @ U
        inverse = np.linalg.inv(fitted.T @ fitted)
        self.left_covariance = U @ inverse @ U.T  # (s, s), the part of G⁻¹ along Θ̂
        along = U @ (inverse @ (fitted.T @ self.Y))
        self.estimate = along + (self.least_squares - along) @ N  # (s, k)
        self.row_noise = N.T @ noise @ N  # (k, k), within the row space

    def variances(self, rows: np.ndarray) -> np.ndarray:
        """Variances of the entries of ``rows @ estimate``, of shape (m, k)."""
        whole = np.einsum("ij,jl,il->i", rows, self.inverse, rows)[:, None]
        along = np.einsum("ij,jl,il->i", rows, self.left_covariance, rows)[:, None]
        across = np.maximum(whole - along, 0.0)
        return along * np.diag(self.noise) + across * np.diag(self.row_noise)

    def functional_variance(self, left: np.ndarray, right: np.ndarray) -> float:
        """Variance of ⟨left·rightᵀ, estimate⟩ to first order, for left (s, q) and right (k, q)."""
        along = left.T @ self.left_covariance @ left
        across = left.T @ self.inverse @ left - along
        within = right.T @ self.row_noise @ right
        whole = np.sum(along * (right.T @ self.noise @ right)) + np.sum(across * within)
        return max(float(whole), 0.0) if np.isfinite(whole) else np.nan


def sufficient_rank(A: np.ndarray, Y: np.ndarray, rank: int, used: int) -> int:
    """The smallest rank from ``rank`` on that Bartlett's test does not reject."""
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
