"""Evidence for the effect of a predictor from its neighbours, without its own residual.

If a predictor with an effect is left out, its neighbours take over this effect: the fit of the
predictor from them is related to the responses in the direction and with the sign of the effect.
The residual of the predictor, which is tested, is independent of this fit if there is no effect.
Therefore both the direction of the test and the weight of its p-value may depend on the fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

# Added to the products of predictors that are adjusted for, which may depend on each other.
_JITTER = 1e-12
# Neighbours that explain less than this fraction of a predictor, or less than twice what chance
# neighbours explain, give no evidence.
_EXPLAINED = 0.1


class Products(NamedTuple):
    """The data of all tests."""

    # (n_features, n_samples) the predictors, of norm 1, in the order of memory in which few of them
    # are taken quickly
    rows: np.ndarray
    cross: np.ndarray  # (n_features, n_targets) xᵀY
    responses: np.ndarray  # (n_targets, n_targets) yᵀY

    @classmethod
    def of(cls, X: np.ndarray, Y: np.ndarray) -> Products:
        """The products of centred predictors of norm 1 and centred responses."""
        return cls(np.ascontiguousarray(X.T), X.T @ Y, Y.T @ Y)


class Residuals(NamedTuple):
    """Residuals of a predictor and of responses, given others, and evidence from neighbours."""

    square: float  # squared norm of the residual of the predictor
    # (n_targets,) products of the residual of the predictor with those of the responses
    cross: np.ndarray
    covariance: np.ndarray  # (n_targets, n_targets) products of the residuals of the responses
    n_given: int  # number of predictors that are adjusted for
    # (n_targets,) products of the responses with the fit of the predictor from its neighbours, in
    # units of the norm of the fit, given the working set only. None if neighbours explain little
    expected: np.ndarray | None
    alternatives: np.ndarray  # (n_near, n_targets) the same for each neighbour in place of the fit


def residuals_given(data: Products, j: int, working: np.ndarray, near: np.ndarray) -> Residuals:
    """Residuals of predictor j given a working set and its neighbours."""
    p, n = data.rows.shape
    given = np.concatenate([working, near])
    if len(given) == 0:
        return Residuals(1.0, data.cross[j], data.responses, 0, None, data.cross[:0])
    columns = data.rows[given]
    root = np.linalg.cholesky(columns @ columns.T + _JITTER * np.eye(len(given)))
    sides = np.column_stack([columns @ data.rows[j], data.cross[given]])
    solved = solve_triangular(root, sides, lower=True, check_finite=False)
    own, fits = solved[:, 0], solved[:, 1:]
    # the factor's last block belongs to the neighbours given the working set
    start = len(working)
    size = float(own[start:] @ own[start:])
    expected = None
    if size > max(_EXPLAINED, 4 * np.log(p) / n):
        expected = own[start:] @ fits[start:] / np.sqrt(size)
    block = root[start:, start:]
    alternatives = block @ fits[start:] / np.linalg.norm(block, axis=1)[:, None]
    return Residuals(
        float(1 - own @ own),
        data.cross[j] - own @ fits,
        data.responses - fits.T @ fits,
        len(given),
        expected,
        alternatives,
    )
