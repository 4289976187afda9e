"""Estimates and standard errors of the layers of a fit: its singular values and left vectors."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from sklearn.utils.extmath import svd_flip

from thinrank.inference.fitted_supports import FittedSupports
from thinrank.inference.tangent_model import TangentModel


def layer_estimates(found: FittedSupports, scaled: bool) -> tuple[np.ndarray, np.ndarray]:
    """Singular values d and left vectors u, or d·u if ``scaled``, and their standard errors.

    The standard errors are those of first order perturbations of a singular value decomposition,
    for errors in the tangent space. They are NaN for layers with equal singular values.

    Shapes: both (1 + n_features, rank), the singular values first.
    """
    model, p, r = found.model, found.X.shape[1], found.rank
    u, d, vt = linalg.svd(model.fit, full_matrices=False)
    u, vt = svd_flip(u[:, :r], vt[:r])  # the largest entry of a left vector is positive
    d, v = d[:r], vt.T
    between = _rotations(d)
    step, change = _steps(model, u, v, between)
    sizes = np.ones(r) if scaled else np.where(d > 0, d, np.nan)
    vectors, errors = np.full((p, r), np.nan), np.full((p, r), np.nan)
    vectors[found.adjusted] = u * d + change if scaled else u + (change - u * step) / sizes
    value_errors = np.zeros(r)
    for layer in range(r):
        variance = model.functional_variance(u[:, [layer]], v[:, [layer]])
        value_errors[layer] = np.sqrt(variance)
        for row, predictor in enumerate(found.adjusted):
            left, right = _weights(u, v, between, layer, row)
            if not scaled:
                left = np.hstack([left, -u[row, layer] * u[:, [layer]]]) / sizes[layer]
                right = np.hstack([right, v[:, [layer]]])
            errors[predictor, layer] = np.sqrt(model.functional_variance(left, right))
    others = np.setdiff1d(np.flatnonzero(~found.constant), found.adjusted)
    outside, variances = found.each_added(others, model.row_projection @ v)
    vectors[others], errors[others] = outside / sizes, np.sqrt(variances) / sizes
    return np.vstack([d + step, vectors]), np.vstack([value_errors, errors])


def _rotations(d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """d_l·d_m/(d_l² − d_m²) and d_m²/(d_l² − d_m²) for layers l and m; 0 for l = m."""
    share = d / d[0] if d[0] > 0 else d
    gaps = share[:, None] ** 2 - share**2
    gaps[gaps == 0] = np.nan
    np.fill_diagonal(gaps, np.inf)
    return np.outer(share, share) / gaps, share**2 / gaps


def _steps(
    model: TangentModel, u: np.ndarray, v: np.ndarray, between: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Changes of d and d·u from the fit to the estimate; zero unless more is adjusted for."""
    moved = model.estimate - model.fit
    inner = u.T @ moved @ v
    turns = between[0] * inner + between[1] * inner.T
    return np.diag(inner).copy(), moved @ v + u @ turns.T


def _weights(
    u: np.ndarray, v: np.ndarray, between: tuple[np.ndarray, np.ndarray], layer: int, row: int
) -> tuple[np.ndarray, np.ndarray]:
    """Factors of the derivative of (d·u)[row] of a layer with respect to the coefficients.

    d·u = Θv, so that its derivative is that of Θ times v, plus Θ times the derivative of v.
    """
    unit = np.zeros((len(u), 1))
    unit[row] = 1.0
    own, other = u[:, [layer]], np.delete(np.arange(u.shape[1]), layer)
    first, second = (part[layer, other] * u[row, other] for part in between)
    left = np.hstack([unit, own * first, u[:, other] * second])
    repeated = np.repeat(v[:, [layer]], len(other), axis=1)
    return left, np.hstack([v[:, [layer]], v[:, other], repeated])
