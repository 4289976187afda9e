"""Predictors that predict a predictor: one regression per predictor, each of its own size."""

from __future__ import annotations

import numpy as np

# Predictors that are regressed at the same time, to bound the memory.
_BLOCK = 100
# Largest number of neighbours, and the number of further steps after the best size.
_MOST, _PATIENCE = 30, 2


def find_neighbours(X: np.ndarray, nodes: np.ndarray) -> list[np.ndarray]:
    """For some predictors, the others that help to predict them.

    A forward regression of each predictor on the others. Its size minimises
    n·log(RSS) + 2·log(p)·size, the risk inflation criterion: a neighbour joins if its partial
    correlation is above what is expected by chance of the largest of p.
    """
    n, p = X.shape
    most = min(_MOST, p - 1, n // 8)
    if most < 1:
        return [np.zeros(0, dtype=np.intp) for _ in nodes]
    found: list[np.ndarray] = []
    for first in range(0, len(nodes), _BLOCK):
        found += _neighbours_of_block(X, nodes[first : first + _BLOCK], most)
    return found


def _neighbours_of_block(X: np.ndarray, nodes: np.ndarray, most: int) -> list[np.ndarray]:
    n, p = X.shape
    target = X[:, nodes]
    here = np.arange(len(nodes))
    chosen = np.empty((len(nodes), 0), dtype=np.intp)
    correlations = np.abs(X.T @ target)
    correlations[nodes, here] = 0.0
    scores = [np.zeros(len(nodes))]
    for size in range(1, most + 1):
        chosen = np.column_stack([chosen, correlations.argmax(axis=0)])
        columns = X.T[chosen]  # (block, size, n)
        gram = columns @ columns.transpose(0, 2, 1) + 1e-10 * np.eye(size)
        cross = np.einsum("bsn,nb->bs", columns, target)
        weights = np.linalg.solve(gram, cross[..., None])[..., 0]
        residual = target - np.einsum("bsn,bs->nb", columns, weights)
        rss = np.maximum(np.sum(residual**2, axis=0), 1e-12)
        scores.append(n * np.log(rss) + 2 * np.log(p) * size)
        best = np.argmin(scores, axis=0)
        if np.all(size - best >= _PATIENCE):
            break
        correlations = np.abs(X.T @ residual)
        correlations[nodes, here] = 0.0
        correlations[chosen, here[:, None]] = 0.0
    return [np.sort(chosen[b, : best[b]]) for b in here]
