"""Tests of rows of coefficients: p-values of predictors, given other predictors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thinrank.inference.directed_tests import (
    DirectedScores,
    directed_p_values,
    directed_scores,
    prior_weights,
)
from thinrank.inference.neighbour_evidence import Products, residuals_given
from thinrank.inference.neighbours import find_neighbours
from thinrank.inference.row_scores import combined_p_values, row_scores
from thinrank.inference.structure import Structure, find_structure, structure_without

# Largest number of predictors whose neighbours are searched; others, with larger preliminary
# p-values, have p-value 1, which is never too small.
_MOST_NODES = 2000
# A predictor whose squared norm, given others, is below this fraction depends on them.
_DEPENDENT = 1e-10


class RowTests(NamedTuple):
    """Results of row tests."""

    p_values: np.ndarray  # (n_features,) one p-value per predictor
    # (n_features,) weights of the p-values, from the evidence of neighbours; their mean is 1
    weights: np.ndarray
    rank: int  # number of shared directions
    n_working: int  # number of predictors in the working set
    n_neighbours: float  # mean number of neighbours


def row_tests_given_all(X: np.ndarray, Y: np.ndarray) -> RowTests:
    """Tests of each row given all other predictors, from ordinary least squares.

    For independent Gaussian rows of noise with any covariance the p-values are exact: the
    directions depend on the responses only through their projection on the other predictors and
    through the covariance of what is left, given which the direction of the predictor in question
    is uniform (Läuter, Glimm and Kropf 1998). Both are found without that predictor, and so is the
    evidence from its neighbours.
    """
    n, p = X.shape
    k = Y.shape[1]
    data, structure = Products.of(X, Y), find_structure(X, Y)
    left, values, right = np.linalg.svd(X, full_matrices=False)
    rank = int(np.count_nonzero(values > np.sqrt(_DEPENDENT) * values[0]))
    basis = left[:, :rank]
    # column j: the part of predictor j that the others leave, over its squared norm
    own = basis @ (right[:rank] / values[:rank, None])
    cross = (own / np.linalg.norm(own, axis=0)).T @ Y
    fit = basis.T @ Y
    residual = Y.T @ Y - fit.T @ fit
    neighbours = find_neighbours(X, np.arange(p))
    scores = []
    for j, near in enumerate(neighbours):
        without = structure_without(X, Y, structure, j)
        given = residuals_given(data, j, _apart(without.support, j, near), near)
        covariance = residual + np.outer(cross[j], cross[j])
        evidence = given.expected, given.alternatives
        scores.append(
            directed_scores(cross[j], covariance, without.directions, n - rank, p, *evidence)
        )
    p_values = directed_p_values(scores, k, np.full(p, n - rank))
    # predictors in a linear dependence cannot be told from the others in it
    p_values[np.any(np.abs(right[rank:]) > np.sqrt(_DEPENDENT), axis=0)] = 1.0
    return _tests(p_values, scores, structure, neighbours)


def row_tests_given_selected(X: np.ndarray, Y: np.ndarray) -> RowTests:
    """Tests of each row given its neighbours and the working set (double selection).

    Each predictor is regressed on the union of two sets: predictors that predict it, and the
    working set of predictors that predict the responses, without itself; the responses too. Their
    residuals are tested for correlation. An omitted predictor matters only if it is neither
    related to this predictor nor strong. If predictors are Gaussian and all neighbours are found,
    p-values are valid whatever the effects and the noise are.
    """
    (n, p), k = X.shape, Y.shape[1]
    data, structure = Products.of(X, Y), find_structure(X, Y)
    nodes = _candidates(X, Y, structure)
    neighbours = find_neighbours(X, nodes)
    scores = [DirectedScores(np.nan, 0.0, 0.0, 0, np.nan)] * p
    freedom = np.full(p, n - 1)
    for j, near in zip(nodes, neighbours, strict=True):
        without = structure_without(X, Y, structure, j)
        given = residuals_given(data, j, _apart(without.support, j, near), near)
        freedom[j] -= given.n_given
        if given.square > _DEPENDENT:
            scores[j] = directed_scores(
                given.cross / np.sqrt(given.square),
                given.covariance,
                without.directions,
                freedom[j],
                p,
                given.expected,
                given.alternatives,
            )
    return _tests(directed_p_values(scores, k, freedom), scores, structure, neighbours)


def _apart(support: np.ndarray, j: int, near: np.ndarray) -> np.ndarray:
    """The working set without a predictor and its neighbours."""
    left_out = {j, *near.tolist()}
    return np.array([i for i in support.tolist() if i not in left_out], dtype=np.intp)


def _tests(
    p_values: np.ndarray,
    scores: list[DirectedScores],
    structure: Structure,
    neighbours: list[np.ndarray],
) -> RowTests:
    return RowTests(
        p_values,
        prior_weights(np.array([score.odds for score in scores])),
        structure.directions.shape[1],
        len(structure.support),
        float(np.mean([len(near) for near in neighbours] or [0])),
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
    norms[norms**2 < _DEPENDENT] = np.inf
    scores = row_scores((rest.T @ residual) / norms[:, None], residual.T @ residual, directions)
    freedom = n - 1 - len(support)
    p_values = combined_p_values(scores, directions.shape[1], k, freedom)
    p_values[support] = -1.0
    return np.sort(np.argsort(p_values, kind="stable")[:_MOST_NODES])
