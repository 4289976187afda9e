"""Tests of rows of coefficients: p-values of predictors, given other predictors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thinrank.inference.neighbours import find_neighbours
from thinrank.inference.row_scores import RowScores, combined_p_values, row_scores
from thinrank.inference.structure import find_structure, structure_without

__all__ = ["RowTests", "row_tests_given_all", "row_tests_given_selected"]

# Largest number of predictors whose neighbours are searched; others, with larger preliminary
# p-values, have p-value 1, which is never too small.
_MOST_NODES = 2000
# A predictor whose squared norm, given others, is below this fraction depends on them.
_DEPENDENT = 1e-10


class RowTests(NamedTuple):
    """Results of row tests.

    Attributes
    ----------
    p_values : ndarray of shape (n_features,)
        One p-value per predictor.
    rank : int
        Number of shared directions.
    n_working : int
        Number of predictors in the working set.
    n_neighbours : float
        Mean number of neighbours; NaN for tests given all other predictors.
    """

    p_values: np.ndarray
    rank: int
    n_working: int
    n_neighbours: float


def row_tests_given_all(X: np.ndarray, Y: np.ndarray) -> RowTests:
    """Tests of each row given all other predictors, from ordinary least squares.

    For independent Gaussian rows of noise with any covariance the p-values are exact: the
    directions depend on the responses only through their projection on the other predictors and
    through the covariance of what is left, given which the direction of the predictor in question
    is uniform (Läuter, Glimm and Kropf 1998). Both are found without that predictor.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centred predictors of norm 1.
    Y : ndarray of shape (n_samples, k)
        Centred responses, with n_samples > n_features + k + 1.

    Returns
    -------
    RowTests
    """
    n, p = X.shape
    k = Y.shape[1]
    structure = find_structure(X, Y)
    left, values, right = np.linalg.svd(X, full_matrices=False)
    rank = int(np.count_nonzero(values > np.sqrt(_DEPENDENT) * values[0]))
    basis = left[:, :rank]
    # column j: the part of predictor j that the others leave, over its squared norm
    own = basis @ (right[:rank] / values[:rank, None])
    cross = (own / np.linalg.norm(own, axis=0)).T @ Y
    fit = basis.T @ Y
    residual = Y.T @ Y - fit.T @ fit
    shared, every = np.empty(p), np.empty(p)
    ranks = np.empty(p, dtype=int)
    for j in range(p):
        directions = structure_without(X, Y, structure, j).directions
        part = row_scores(cross[j : j + 1], residual + np.outer(cross[j], cross[j]), directions)
        shared[j], every[j], ranks[j] = part.shared[0], part.all[0], directions.shape[1]
    p_values = combined_p_values(RowScores(shared, every), ranks, k, n - rank)
    # predictors in a linear dependence cannot be told from the others in it
    p_values[np.any(np.abs(right[rank:]) > np.sqrt(_DEPENDENT), axis=0)] = 1.0
    return RowTests(p_values, structure.directions.shape[1], len(structure.support), np.nan)


def row_tests_given_selected(X: np.ndarray, Y: np.ndarray) -> RowTests:
    """Tests of each row given its neighbours and the working set (double selection).

    Each predictor is regressed on the union of two sets: predictors that predict it, and the
    working set of predictors that predict the responses, without itself; the responses too. Their
    residuals are tested for correlation. An omitted predictor matters only if it is neither
    related to this predictor nor strong. If predictors are Gaussian and all neighbours are found,
    p-values are valid whatever the effects and the noise are.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centred predictors of norm 1.
    Y : ndarray of shape (n_samples, k)
        Centred responses, linearly independent, at most a quarter of the number of rows.

    Returns
    -------
    RowTests
    """
    p, k = X.shape[1], Y.shape[1]
    structure = find_structure(X, Y)
    support, directions = structure.support, structure.directions
    basis = np.linalg.qr(X[:, support])[0]
    rest, residual = X - basis @ (basis.T @ X), Y - basis @ (basis.T @ Y)
    nodes = _candidates(rest, residual, structure.directions, support)
    neighbours = find_neighbours(X, nodes)
    shared, every = np.zeros(p), np.zeros(p)
    ranks, freedom = np.zeros(p, dtype=int), np.full(p, len(X) - 1)
    in_support = np.isin(np.arange(p), support)
    for j, near in zip(nodes, neighbours, strict=True):
        if j in structure.order:
            without = structure_without(X, Y, structure, j)
            own = without.directions
            part, used = _given(X[:, np.union1d(without.support, near)], X[:, j], Y, own)
        else:
            more = near[~in_support[near]]
            own = directions
            part, used = _given(rest[:, more], rest[:, j], residual, own)
            used += len(support)
        if part is not None:
            shared[j], every[j] = part.shared[0], part.all[0]
        ranks[j], freedom[j] = own.shape[1], len(X) - 1 - used
    p_values = combined_p_values(RowScores(shared, every), ranks, k, freedom)
    p_values[every == 0] = 1.0
    sizes = [len(near) for near in neighbours]
    return RowTests(p_values, directions.shape[1], len(support), float(np.mean(sizes or [0])))


def _given(
    others: np.ndarray, x: np.ndarray, Y: np.ndarray, directions: np.ndarray
) -> tuple[RowScores | None, int]:
    """Scores of a predictor given others (None if they explain it), and the number of these."""
    if others.shape[1]:
        basis = np.linalg.qr(others)[0]
        x, Y = x - basis @ (basis.T @ x), Y - basis @ (basis.T @ Y)
    square = float(x @ x)
    if square < _DEPENDENT:
        return None, others.shape[1]
    return row_scores((x @ Y)[None] / np.sqrt(square), Y.T @ Y, directions), others.shape[1]


def _candidates(
    rest: np.ndarray, residual: np.ndarray, directions: np.ndarray, support: np.ndarray
) -> np.ndarray:
    """Predictors that are tested: the working set and those of small preliminary p-value."""
    p, k = rest.shape[1], residual.shape[1]
    if p <= _MOST_NODES:
        return np.arange(p)
    norms = np.linalg.norm(rest, axis=0)
    norms[norms**2 < _DEPENDENT] = np.inf
    scores = row_scores((rest.T @ residual) / norms[:, None], residual.T @ residual, directions)
    freedom = len(rest) - 1 - len(support)
    p_values = combined_p_values(scores, directions.shape[1], k, freedom)
    p_values[support] = -1.0
    return np.sort(np.argsort(p_values, kind="stable")[:_MOST_NODES])
