"""Tests of rows of coefficients: p-values of predictors, given other predictors.

If a predictor with an effect is left out, its neighbors take over this effect: the fit of the
predictor from them is related to the responses in the direction and with the sign of the effect.
The residual of the predictor, which is tested, is independent of this fit if there is no effect.
Therefore both the direction of the test and the weight of its p-value may depend on the fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from thinrank.inference.row_p_values import (
    NOISE_FLOOR,
    combined_p_values,
    directed_test,
    prior_weights,
    relative_variances,
    scores,
)
from thinrank.inference.structure import (
    DEPENDENT,
    Structure,
    find_neighbours,
    find_structure,
    structure_without,
)

# Largest number of predictors whose neighbors are searched; others, with larger preliminary
# p-values, have p-value 1, which is never too small.
_MOST_NODES = 2000


class RowTests(NamedTuple):
    """Results of row tests."""

    p_values: np.ndarray  # (n_features,) one p-value per predictor
    # (n_features,) weights of the p-values, from the evidence of neighbors; their mean is 1
    weights: np.ndarray
    rank: int  # number of shared directions
    n_working: int  # number of predictors in the working set
    n_neighbours: float  # mean number of neighbors


class _Residuals(NamedTuple):
    """Residuals of a predictor and of responses, given others, and evidence from neighbors."""

    own: np.ndarray  # (n_samples,) residual of the predictor
    # (n_targets,) products of the residual of the predictor with those of the responses
    cross: np.ndarray
    covariance: np.ndarray  # (n_targets, n_targets) products of the residuals of the responses
    n_given: int  # number of predictors that are adjusted for
    # (n_targets, 1 + n_near) products of the responses with the fit of the predictor from its
    # neighbors, and with each neighbor in place of it, in units of the norm, given the working
    # set only. Without columns if neighbors explain little
    expected: np.ndarray


def row_tests_given_all(X: np.ndarray, Y: np.ndarray, robust: bool) -> RowTests:
    """Tests of each row given all other predictors, from ordinary least squares.

    For independent Gaussian rows of noise with one covariance the p-values are exact: directions
    and evidence from neighbors are found without the predictor in question, given which its own
    direction is uniform (Läuter, Glimm and Kropf 1998).
    """
    p = X.shape[1]
    left, values, right = np.linalg.svd(X, full_matrices=False)
    rank = int(np.count_nonzero(values > np.sqrt(DEPENDENT) * values[0]))
    basis = left[:, :rank]
    # column j: the part of predictor j that the others leave
    own = basis @ (right[:rank] / values[:rank, None])
    own /= np.linalg.norm(own, axis=0)
    cross = own.T @ Y
    residual = Y - basis @ (basis.T @ Y)
    squares = residual.T @ residual
    variances = relative_variances(residual, basis) if robust else np.ones(len(X))

    def test(j: int, given: _Residuals, directions: np.ndarray) -> tuple[float, float]:
        covariance, freedom = squares + np.outer(cross[j], cross[j]), len(X) - rank
        inflation = max(float(own[:, j] ** 2 @ variances), 1.0)
        data = cross[j], covariance, directions, freedom, p, given.expected, inflation
        return directed_test(*data)

    tests = _tests(X, Y, find_structure(X, Y), np.arange(p), test)
    # predictors in a linear dependence cannot be told from the others in it
    tests.p_values[np.any(np.abs(right[rank:]) > np.sqrt(DEPENDENT), axis=0)] = 1.0
    return tests


def row_tests_given_selected(X: np.ndarray, Y: np.ndarray, robust: bool) -> RowTests:
    """Tests of each row given its neighbors and the working set (double selection).

    An omitted predictor matters only if it is related to this one but no neighbor, and has an
    effect but is not in the working set. If predictors are Gaussian and all neighbors are found,
    p-values are valid whatever the effects and the covariance of the noise are.
    """
    (n, p), structure = X.shape, find_structure(X, Y)
    basis = np.linalg.qr(X[:, structure.support])[0]
    residual = Y - basis @ (basis.T @ Y)
    variances = relative_variances(residual, basis) if robust else np.ones(n)

    def test(j: int, given: _Residuals, directions: np.ndarray) -> tuple[float, float]:
        freedom, norm = n - 1 - given.n_given, np.linalg.norm(given.own)
        if norm**2 <= DEPENDENT:
            return 1.0, np.nan
        inflation = max(float((given.own / norm) ** 2 @ variances), 1.0)
        data = given.cross / norm, given.covariance, directions, freedom, p
        return directed_test(*data, given.expected, inflation)

    return _tests(X, Y, structure, _candidates(X, Y, structure), test)


def _tests(
    X: np.ndarray,
    Y: np.ndarray,
    structure: Structure,
    nodes: np.ndarray,
    test: Callable[[int, _Residuals, np.ndarray], tuple[float, float]],
) -> RowTests:
    """Test some predictors, each with the structure that is found without it."""
    rows, cross, squares = np.ascontiguousarray(X.T), X.T @ Y, Y.T @ Y
    p_values, odds = np.ones(X.shape[1]), np.full(X.shape[1], np.nan)
    neighbours = find_neighbours(X, nodes)
    for j, near in zip(nodes, neighbours, strict=True):
        without = structure_without(X, Y, structure, j)
        working = np.setdiff1d(without.support, [j, *near])
        given = _residuals_given(rows, cross, squares, j, working, near)
        p_values[j], odds[j] = test(j, given, without.directions)
    return RowTests(
        p_values,
        prior_weights(odds),
        structure.directions.shape[1],
        len(structure.support),
        float(np.mean([len(near) for near in neighbours] or [0])),
    )


def _residuals_given(
    rows: np.ndarray,
    cross: np.ndarray,
    squares: np.ndarray,
    j: int,
    working: np.ndarray,
    near: np.ndarray,
) -> _Residuals:
    """Residuals of predictor j given a working set and its neighbors.

    Shapes: ``rows`` (n_features, n_samples) the predictors, of norm 1, ``cross`` (n_features,
    n_targets) their products with the responses, ``squares`` those of the responses.
    """
    (p, n), start = rows.shape, len(working)
    given = np.concatenate([working, near])
    if len(given) == 0:
        return _Residuals(rows[j], cross[j], squares, 0, cross[:0].T)
    columns = rows[given]
    root = np.linalg.cholesky(columns @ columns.T + NOISE_FLOOR * np.eye(len(given)))
    sides = np.column_stack([columns @ rows[j], cross[given]])
    solved = solve_triangular(root, sides, lower=True, check_finite=False)
    own, fits = solved[:, 0], solved[:, 1:]
    # the factor's last block belongs to the neighbors given the working set
    block, size = root[start:, start:], float(own[start:] @ own[start:])
    expected = cross[:0].T
    # neighbors that explain little, or less than twice what chance ones do, give no evidence
    if size > max(0.1, 4 * np.log(p) / n):
        alternatives = block @ fits[start:] / np.linalg.norm(block, axis=1)[:, None]
        expected = np.vstack([own[start:] @ fits[start:] / np.sqrt(size), alternatives]).T
    coefficients = solve_triangular(root, own, lower=True, trans="T", check_finite=False)
    return _Residuals(
        rows[j] - coefficients @ columns,
        cross[j] - own @ fits,
        squares - fits.T @ fits,
        len(given),
        expected,
    )


def _candidates(X: np.ndarray, Y: np.ndarray, structure: Structure) -> np.ndarray:
    """Predictors that are tested: the working set and those of small preliminary p-value."""
    (n, p), k = X.shape, Y.shape[1]
    if p <= _MOST_NODES:
        return np.arange(p)
    support, directions = structure.support, structure.directions
    basis = np.linalg.qr(X[:, support])[0]
    rest, residual = X - basis @ (basis.T @ X), Y - basis @ (basis.T @ Y)
    norms = np.linalg.norm(rest, axis=0)
    norms[norms**2 < DEPENDENT] = np.inf
    found = scores((rest.T @ residual) / norms[:, None], residual.T @ residual, directions)
    p_values = combined_p_values(*found, directions.shape[1], k, n - 1 - len(support))
    p_values[support] = -1.0
    return np.sort(np.argsort(p_values, kind="stable")[:_MOST_NODES])
