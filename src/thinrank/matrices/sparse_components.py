"""Principal components with few features, for given numbers of components and features."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.designs import Dense, Transformed
from thinrank.matrices.decomposition import BLOCK_ENTRIES
from thinrank.matrices.given_sizes import alternate, loadings, nearest, singular_triplets

# Up to this number of sets of features all are tried, in less than 0.1 s.
_MAX_SUBSETS = 5000
# Candidate numbers of features grow by these factors below and above _FINE: near the number of
# features of a sparse component every feature counts, in dense ones a few per cent do not.
_FINE = 50
_FINE_STEP, _COARSE_STEP = 1.15, 1.5


def shared_support(A: Design, rank: int, features: int, seed: int = 0) -> Array:
    """Orthonormal directions of largest variance that use at most ``features`` features in all."""
    A = compressed(A)
    n, p = A.shape
    if features >= p:
        return leading_directions(A, rank, seed)
    if comb(p, features) <= _MAX_SUBSETS:
        chosen = _best_subset(arrays.to_numpy(A.gram()), rank, features)
        support = arrays.indices(chosen.tolist(), A.prototype)
    else:
        support = nearest(A, rank, n, features, seed=seed).column_support
    small = leading_directions(Dense(A.columns(support)), rank)
    return arrays.scatter_rows(small, support, p)


def own_supports(A: Design, features: Sequence[int], seed: int = 0) -> tuple[Array, Array]:
    """Directions with supports of their own, one after another, and the same orthogonalised.

    Each has the largest variance in the data without their projection on the directions before
    it (orthogonalised projection deflation, Mackey 2008).
    """
    A = compressed(A)
    V = Q = arrays.zeros((A.shape[1], 0), A.prototype)
    xp = arrays.namespace(V)
    for count in features:
        v = shared_support(without(A, Q), 1, count, seed)
        q = orthogonal_part(v, Q)
        if q.shape[1] == 0:
            break
        V, Q = xp.concat([V, v], axis=1), xp.concat([Q, q], axis=1)
    return V, Q


def orthogonal_part(v: Array, Q: Array) -> Array:
    """A direction without its part in the span of Q, of length 1; no column if nothing is left."""
    rest = v - Q @ (Q.T @ v)
    rest = rest - Q @ (Q.T @ rest)
    length = arrays.norm(rest)
    if v.shape[1] == 0 or length <= 1e3 * arrays.eps(v):
        return v[:, :0]
    return rest / length


def without(A: Design, Q: Array) -> Design:
    """A without the projections of its rows on the orthonormal columns of Q."""
    return Transformed(A, removed=Factors(A @ Q, Q)) if Q.shape[1] else A


def compressed(A: Design) -> Design:
    """A design with the same inner products of columns, dense and with few rows where possible."""
    n, p = A.shape
    if n * p > BLOCK_ENTRIES or (hasattr(A, "array") and n <= p):
        return A
    everything = A.columns(arrays.indices(range(p), A.prototype))
    return Dense(arrays.namespace(everything).linalg.qr(everything)[1] if n > p else everything)


def leading_directions(A: Design, rank: int, seed: int = 0) -> Array:
    """Leading right singular vectors, without those of singular value 0."""
    n, p = A.shape
    if n * p <= BLOCK_ENTRIES:
        everything = A.columns(arrays.indices(range(p), A.prototype))
        values, V = linalg.leading_right_vectors(everything, rank)
    else:
        _, values, V = singular_triplets(A, rank, seed)
    values = arrays.to_numpy(values)[:rank]
    floor = max(n, p) * arrays.eps(A.prototype) * max(values, default=0.0)
    return V[:, : int(np.count_nonzero(values > floor))]


# --------------------------------------------------------------------------- many sizes


def feature_counts(least: int, most: int) -> list[int]:
    """Candidate numbers of features from ``most`` down to ``least``, finer for small numbers."""
    counts, count = [most], least
    while count < most:
        counts.append(count)
        step = _FINE_STEP if count < _FINE else _COARSE_STEP
        count = max(count + 1, int(step * count))
    return sorted(set(counts), reverse=True)


def shared_supports_along(A: Design, start: Array, counts: Sequence[int]) -> list[Array]:
    """Spaces of directions with a shared support, for decreasing numbers of features.

    Alternating projections, each from the space with the next larger number of features.
    """
    n, p = A.shape
    found, (rows, right) = [], loadings(A, A @ start, n)
    for count in counts:
        V = start
        if count < p:
            _, rows, chosen, small, right = alternate(A, rows, right, n, count)
            V = arrays.scatter_rows(small, chosen, p)
        found.append(V)
    return found


def _best_subset(gram: np.ndarray, rank: int, size: int) -> np.ndarray:
    """The features whose leading principal components have the largest sum of variances."""
    sets = np.array(list(combinations(range(gram.shape[0]), size)))
    values = np.linalg.eigvalsh(gram[sets[:, :, None], sets[:, None, :]])
    return sets[np.argmax(values[:, -rank:].sum(axis=1))]
