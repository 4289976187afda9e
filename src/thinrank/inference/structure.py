"""Structure, found quickly: a working set of predictors, directions of effects, neighbors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thinrank.inference.row_p_values import NOISE_FLOOR, combined_p_values, scores

# Rows per predictor of a working set at least, so that residuals remain, and per response, so that
# their covariance can be inverted: further responses are replaced by principal components.
_ROWS_EACH = 4
# A predictor whose squared norm, given others, is below this fraction depends on them.
DEPENDENT = 1e-10


class Structure(NamedTuple):
    """A working set of predictors, and the directions of their effects."""

    support: np.ndarray  # sorted positions of the predictors
    # (n_targets, rank) span of the coefficients of the working set, after reduction to its
    # estimated rank
    directions: np.ndarray
    order: np.ndarray  # the predictors in the order in which they joined
    # what later selections that begin with the same predictors need not compute again
    basis: np.ndarray  # (n_samples, s): orthonormal, a predictor given the earlier ones
    loadings: np.ndarray  # (n_features, s): products of all predictors with the basis
    fits: np.ndarray  # (s, n_targets): products of the basis with the responses


def few_responses(Y: np.ndarray) -> np.ndarray:
    """The responses, or fewer principal components of them."""
    n, k = Y.shape
    left, values, _ = np.linalg.svd(Y, full_matrices=False)
    rank = int(np.count_nonzero(values > 1e-10 * values.max(initial=0.0)))
    most = min(rank, max(n // _ROWS_EACH, 1))
    return Y if most == k else left[:, :most] * values[:most]


def _directions(fit: np.ndarray, products: np.ndarray, n: int) -> np.ndarray:
    """Directions of the responses in which predictors have effects, by reduced-rank regression.

    From QᵀY, for an orthonormal basis Q of the predictors, and YᵀY. The rank is the number of
    singular values, in units of the noise, above √s + √k, the largest of noise alone; at least 1.
    """
    s, k = fit.shape
    if s == 0:
        return np.zeros((k, 0))
    noise = (products - fit.T @ fit) / (n - 1 - s)
    root = np.linalg.cholesky(noise + NOISE_FLOOR * np.eye(k))
    _, values, right = np.linalg.svd(np.linalg.solve(root, fit.T).T, full_matrices=False)
    rank = max(int(np.count_nonzero(values > np.sqrt(s) + np.sqrt(k))), 1)
    return root @ right[:rank].T


def structure_without(X: np.ndarray, Y: np.ndarray, structure: Structure, j: int) -> Structure:
    """The structure found without a predictor, since others joined given its noise."""
    place = np.flatnonzero(structure.order == j)
    return find_structure(X, Y, structure, int(place[0])) if len(place) else structure


def find_structure(
    X: np.ndarray, Y: np.ndarray, known: Structure | None = None, first: int = 0
) -> Structure:
    """A working set by forward selection with row tests.

    The predictor with the smallest p-value joins, while that is at most 1/n_features. With a known
    structure, its first predictors are in the set and the next one is left out.
    """
    n, p = X.shape
    k = Y.shape[1]
    most, level = min(n // _ROWS_EACH, p), min(1 / p, 0.5)
    support = np.empty(most, dtype=np.intp)
    basis, loadings = np.empty((n, most)), np.empty((p, most))
    fits, products = np.empty((most, k)), Y.T @ Y
    free = np.ones(p, dtype=bool)
    if known is not None:
        support[:first] = known.order[:first]
        basis[:, :first] = known.basis[:, :first]
        loadings[:, :first] = known.loadings[:, :first]
        fits[:first] = known.fits[:first]
        free[known.order[: first + 1]] = False
    # squared norms of predictors, and products with the responses, given those that joined
    squares = np.einsum("ij,ij->j", X, X) - np.sum(loadings[:, :first] ** 2, axis=1)
    cross = X.T @ Y - loadings[:, :first] @ fits[:first]
    size = first
    while size < most:
        free &= squares > DEPENDENT
        left, fit = np.flatnonzero(free), fits[:size]
        freedom = n - 1 - size
        if len(left) == 0 or freedom <= k + 1:
            break
        directions = _directions(fit, products, n)
        scaled = cross[left] / np.sqrt(squares[left, None])
        found = scores(scaled, products - fit.T @ fit, directions)
        p_values = combined_p_values(*found, directions.shape[1], k, freedom)
        best = np.lexsort((-found[1], p_values))[0]
        if p_values[best] > level:
            break
        chosen, before = int(left[best]), basis[:, :size]
        own = X[:, chosen] - before @ loadings[chosen, :size]
        own -= before @ (before.T @ own)  # once more, against rounding errors
        own /= np.linalg.norm(own)
        support[size], free[chosen] = chosen, False
        basis[:, size], loadings[:, size], fits[size] = own, X.T @ own, own @ Y
        squares -= loadings[:, size] ** 2
        cross -= np.outer(loadings[:, size], fits[size])
        size += 1
    order, fits = support[:size], fits[:size]
    directions = _directions(fits, products, n)
    return Structure(np.sort(order), directions, order, basis[:, :size], loadings[:, :size], fits)


def find_neighbours(X: np.ndarray, nodes: np.ndarray) -> list[np.ndarray]:
    """For some predictors, the others that help to predict them.

    By forward regressions, whose sizes minimize n·log(RSS) + 2·log(p)·size (risk inflation).
    """
    n, p = X.shape
    most = min(30, p - 1, n // 8)
    if most < 1:
        return [np.zeros(0, dtype=np.intp) for _ in nodes]
    blocks = np.split(nodes, range(100, len(nodes), 100))  # to bound the memory
    return [near for block in blocks for near in _neighbours_of_block(X, block, most)]


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
        if np.all(size - best >= 2):
            break
        correlations = np.abs(X.T @ residual)
        correlations[nodes, here] = 0.0
        correlations[chosen, here[:, None]] = 0.0
    return [np.sort(chosen[b, : best[b]]) for b in here]
