"""Scores of pairs of nodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from thinrank.matrices.decomposition import BLOCK_ENTRIES
from thinrank.matrices.pairs import LowRank, Pairs

# Largest influence of a pair on its own prediction that is taken out. It is near 1 for a node that
# is a component by itself; dividing by nearly 0 would then only enlarge noise.
_MOST_INFLUENCE = 0.9


class Links(NamedTuple):
    """Pairs of nodes with their scores, the strongest first.

    Attributes
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        Indices of the nodes, or their names if the matrix was a data frame.
    scores : ndarray of shape (n_pairs,)
        The expected entries.
    """

    pairs: np.ndarray
    scores: np.ndarray


def pair_indices(pairs: Any, n_nodes: int, names: np.ndarray | None) -> np.ndarray:
    """Pairs of names or of indices as an array of indices of shape (n_pairs, 2)."""
    table = np.asarray(pairs)
    if table.size == 0:
        return np.zeros((0, 2), dtype=np.intp)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(
            f"pairs must have shape (n_pairs, 2), one row for each pair, got shape {table.shape}"
        )
    if table.dtype.kind in "iu":
        if table.min() < 0 or table.max() >= n_nodes:
            raise ValueError(
                f"pairs must contain indices from 0 to {n_nodes - 1}, got "
                f"{table.min()} to {table.max()}"
            )
        return table.astype(np.intp)
    if names is None:
        raise ValueError(
            f"pairs must contain integers, the indices of the nodes, got {table.dtype}; names are "
            "known only after fitting a data frame"
        )
    place = {name: k for k, name in enumerate(names)}
    missing = [name for name in table.ravel() if name not in place]
    if missing:
        raise ValueError(f"pairs has the name {str(missing[0])!r}, which is not the name of a node")
    return np.array([[place[a], place[b]] for a, b in table], dtype=np.intp)


def score_pairs(
    fit: LowRank, influence: np.ndarray, pairs: Pairs, i: np.ndarray, j: np.ndarray
) -> np.ndarray:
    """What is expected of each pair if its own entry were unknown."""
    expected = fit.at(i, j)
    own = np.where(pairs.is_unknown(i, j) | (i == j), 0.0, _own(influence[i], influence[j]))
    return fit.mean + (expected - own * (pairs.at(i, j) - fit.mean)) / (1 - own)


def strongest_pairs(
    fit: LowRank, influence: np.ndarray, pairs: Pairs, top: int, *, absolute: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs with the largest scores among those that are 0 or unknown."""
    n = pairs.n_nodes
    rows = max(1, BLOCK_ENTRIES // n)
    kept, scores = np.zeros((0, 2), dtype=np.intp), np.zeros(0)
    for first in range(0, n, rows):
        block = np.arange(first, min(first + rows, n))
        i, j = _candidates(pairs, block)
        latest = score_pairs(fit, influence, pairs, i, j)
        kept = np.concatenate([kept, np.column_stack([i, j])])
        scores = np.concatenate([scores, latest])
        order = np.argsort(-(np.abs(scores) if absolute else scores), kind="stable")[:top]
        kept, scores = kept[order], scores[order]
    return kept, scores


def _own(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Influence of an entry on its own fit: that of the projection on the tangent space."""
    inside = (a > 0) & (b > 0)  # the fit is zero at the other pairs, whatever their entries are
    return np.where(inside, np.minimum(a + b - a * b, _MOST_INFLUENCE), 0.0)


def _candidates(pairs: Pairs, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of some nodes with later ones whose entry is 0 or unknown."""
    entries = pairs.known[block]
    linked = entries.toarray() if sp.issparse(entries) else entries
    i, j = np.nonzero((linked == 0) & (np.arange(pairs.n_nodes) > block[:, None]))
    return block[i], j
