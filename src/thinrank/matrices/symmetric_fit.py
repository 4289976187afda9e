"""Low-rank fits to the known pairs of a symmetric matrix."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse.linalg import eigsh

from thinrank.linalg import FULL_SVD_SIZE
from thinrank.matrices.pairs import FilledOperator, LowRank, Pairs

# Rounds of imputation of fits that are compared with others.
ROUNDS = 3
# In matrices with at most this number of nodes single rows give further starting points.
_SMALL = 50


def leading(E: np.ndarray | FilledOperator, rank: int, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues that are largest in absolute value, in decreasing order, with eigenvectors."""
    n = E.shape[0]
    rank = min(rank, n)
    if isinstance(E, np.ndarray) and (n <= FULL_SVD_SIZE or rank > n // 4):
        values, vectors = np.linalg.eigh(E)
    else:
        # a start without symmetry that depends on nothing but n
        first = np.cos(np.arange(n) * 1.7) + 0.5
        if not np.any(E @ first):  # nothing to iterate on: E is zero
            return np.zeros(rank), np.eye(n, rank)
        values, vectors = eigsh(E, k=min(rank, n - 1), which="LM", v0=first, tol=tol)
    order = np.argsort(-np.abs(values), kind="stable")[:rank]
    return values[order], vectors[:, order]


def fit_nodes(
    pairs: Pairs,
    rank: int,
    nodes: np.ndarray | None = None,
    *,
    center: bool,
    rounds: int,
) -> LowRank:
    """Fit mean + V diag(λ) Vᵀ to the known pairs, with V zero outside some nodes, if not None.

    Unknown pairs, and the diagonal where it is unknown, are replaced by the fit, the leading
    eigenvectors are computed, and so on: each round lowers the sum of squares over the known pairs.
    """
    inside = pairs if nodes is None else pairs.restricted(nodes)
    n = inside.n_nodes
    center = center and pairs.count > 0  # no pair is known when the only one is held out
    mean = pairs.total / pairs.count if center else 0.0
    fit = LowRank(mean, np.zeros(0), np.zeros((n, 0)))
    if rank == 0:
        return fit
    once = pairs.is_complete and not center
    for _ in range(rounds):
        before = fit.values
        fit = LowRank(fit.mean, *leading(inside.filled(fit), rank, 0.0 if once else 1e-3))
        if center:
            fit = LowRank((pairs.total - inside.sum_of(fit)) / pairs.count, fit.values, fit.vectors)
        if once or (len(before) and np.allclose(before, fit.values, 0, 1e-6 * abs(fit.values[0]))):
            break
    return fit


def scatter(fit: LowRank, nodes: np.ndarray, n_nodes: int) -> LowRank:
    """The fit of some nodes as one of all nodes, zero elsewhere."""
    vectors = np.zeros((n_nodes, fit.rank))
    vectors[nodes] = fit.vectors
    return LowRank(fit.mean, fit.values, vectors)


def best_nodes(
    pairs: Pairs, rank: int, size: int, *, center: bool, rounds: int, thorough: bool = False
) -> tuple[np.ndarray, LowRank]:
    """Nodes and fit of given rank and number of nodes.

    For given components the best nodes are those with the largest scores, the rows of E V; for
    given nodes the components are those of the block. Both are improved by turns, from several
    starting points; with ``thorough``, from every row of a small matrix, too.
    """
    n = pairs.n_nodes
    if size >= n:
        return np.arange(n), fit_nodes(pairs, rank, center=center, rounds=rounds)
    starts = _starts(pairs, rank, size, center, thorough)
    found = (_alternate(pairs, nodes, rank, size, center) for nodes in starts)
    _, nodes = max(found, key=lambda each: each[0])
    return nodes, fit_nodes(pairs, rank, nodes, center=center, rounds=rounds)


def gain(pairs: Pairs, nodes: np.ndarray, fit: LowRank) -> float:
    """By how much the components lower the sum of squares over the known entries."""
    inside = pairs.restricted(nodes)
    E = inside.filled(fit)
    cross = float(np.sum((E @ fit.vectors) * fit.vectors @ fit.values))
    square = float(fit.values @ fit.values)
    # unknown entries of E are those of the fit: both products count their squares
    i, j = inside.unknown
    hidden = 2 * float(np.sum(fit.at(i, j) ** 2))
    if not pairs.keeps_diagonal:
        hidden += float(np.sum((fit.vectors**2 @ fit.values) ** 2))
    return 2 * (cross - hidden) - (square - hidden)


def _top(scores: np.ndarray, size: int) -> np.ndarray:
    """Positions of the largest, sorted; ties go to the earlier."""
    return np.sort(np.argsort(-scores, kind="stable")[:size])


def _starts(
    pairs: Pairs, rank: int, size: int, center: bool, thorough: bool
) -> Iterator[np.ndarray]:
    whole = fit_nodes(pairs, rank, center=center, rounds=2)
    yield _top(np.sum((whole.vectors * whole.values) ** 2, axis=1), size)
    yield _top(pairs.peaks(whole.mean), size)
    if thorough and pairs.n_nodes <= _SMALL and not pairs.is_sparse:
        E = np.abs(np.asarray(pairs.filled(whole)))
        for i in range(pairs.n_nodes):
            row = E[i].copy()
            row[i] = np.inf
            yield _top(row, size)


def _alternate(
    pairs: Pairs, nodes: np.ndarray, rank: int, size: int, center: bool
) -> tuple[float, np.ndarray]:
    """Improve nodes and components by turns until the nodes stay the same."""
    best = (-np.inf, nodes)
    while True:
        fit = fit_nodes(pairs, rank, nodes, center=center, rounds=ROUNDS)
        reached = gain(pairs, nodes, fit)
        if not reached > best[0]:
            return best
        best = (reached, nodes)
        whole = scatter(fit, nodes, pairs.n_nodes)
        nodes = _top(np.sum((pairs.filled(whole) @ whole.vectors) ** 2, axis=1), size)
