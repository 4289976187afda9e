"""Rank and nodes of a graph, chosen by pairs that are left out of the fit.

The pairs are divided at random into parts. Each part in turn is treated as unknown, and the
components of the others predict it (edge cross-validation: Li, Levina and Zhu, "Network
cross-validation by edge sampling", Biometrika 107, 2020). What is assumed of the noise is only
that it is independent from pair to pair: its variance may depend on the pair, and its tails may be
heavy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from thinrank.matrices.decomposition import CLEAR_ERRORS, FOLDS, PATIENCE
from thinrank.matrices.pairs import Pairs
from thinrank.matrices.symmetric_fit import ROUNDS, best_nodes, scatter

# A component is kept if its products with the pairs left out sum to CLEAR_ERRORS standard errors.
# In 30 graphs each of seven kinds of pure noise, the largest of 8 components exceeded it in about
# one graph in twenty.
# Components tried first; twice as many if the last of them is kept.
_FIRST_RANKS = 8


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Pairs that were left out, and what each component predicts for them."""

    residuals: np.ndarray  # (n_pairs,) entries minus the mean
    features: np.ndarray  # (n_pairs, rank) predictions of the components
    weights: np.ndarray  # (n_pairs,) number of pairs that each stands for
    # (rank,) sum of the products of a component with the residuals of those before it, divided by
    # its standard error
    z: np.ndarray
    # (rank,) from 0 to 1: the factor of each component with which it predicts best
    shrinkage: np.ndarray

    @classmethod
    def from_parts(cls, parts: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> HeldOut:
        """Pool the parts and compute what each component contributes."""
        residuals, features, weights = (np.concatenate(some) for some in zip(*parts, strict=True))
        rank = features.shape[1]
        z, shrinkage = np.zeros(rank), np.zeros(rank)
        left = residuals.copy()
        for k in range(rank):
            products = weights * left * features[:, k]
            total, spread = products.sum(), np.sqrt(np.sum(products**2))
            square = np.sum(weights * features[:, k] ** 2)
            if total > 0 and square > 0:
                z[k], shrinkage[k] = total / spread, min(total / square, 1.0)
                left -= shrinkage[k] * features[:, k]
        return cls(residuals, features, weights, z, shrinkage)

    def rank(self) -> int:
        """Number of components up to the last one that is clear."""
        above = np.flatnonzero(self.z > CLEAR_ERRORS)
        return int(above[-1]) + 1 if len(above) else 0

    def predictions(self, rank: int) -> np.ndarray:
        """What the leading components predict together."""
        return self.features[:, :rank] @ self.shrinkage[:rank]

    def error(self, rank: int) -> float:
        """Mean squared error of the predictions of the leading components."""
        left = self.residuals - self.predictions(rank)
        return float(self.weights @ left**2 / max(self.weights.sum(), 1.0))


@dataclass(frozen=True, eq=False)
class GraphSizes:
    """What the search chose, and what it tried."""

    rank: int  # number of components and of nodes
    size: int
    center: bool  # whether a mean of the pairs is subtracted
    tried: HeldOut  # predictions of the components that were tried at the chosen number of nodes
    errors: dict[int, float]  # held-out error for each number of nodes
    share: float  # factor of these components in the scores of pairs
    # (rank of all nodes,) factors of the components of all nodes in the scores of pairs; empty if
    # they add nothing
    everywhere: np.ndarray


def splits(
    pairs: Pairs, seed: int
) -> Iterator[tuple[Pairs, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Training pairs and, for each part, its pairs with values and weights.

    In a sparse matrix the stored entries of a part are removed and the others are multiplied by
    FOLDS / (FOLDS - 1), so that their expectation stays; pairs that are 0 are sampled, as many as
    are stored.
    """
    rng = np.random.default_rng(seed)
    i, j = pairs.observed()
    values = pairs.at(i, j)
    part = rng.permutation(len(i)) % FOLDS
    for fold in range(FOLDS):
        out = part == fold
        if not pairs.is_sparse:
            yield pairs.without(i[out], j[out]), i[out], j[out], values[out], np.ones(out.sum())
            continue
        zeros = _zero_pairs(pairs, max(len(i), 1), rng)
        n_zeros = pairs.n_nodes * (pairs.n_nodes - 1) // 2 - len(i) - len(pairs.unknown[0])
        weight = n_zeros / FOLDS / max(len(zeros[0]), 1)
        yield (
            _thinned(pairs, i[out], j[out], FOLDS / (FOLDS - 1)),
            np.concatenate([i[out], zeros[0]]),
            np.concatenate([j[out], zeros[1]]),
            np.concatenate([values[out], np.zeros(len(zeros[0]))]),
            np.concatenate([np.ones(out.sum()), np.full(len(zeros[0]), weight)]),
        )


def held_out(pairs: Pairs, rank: int, size: int, *, center: bool, seed: int) -> HeldOut:
    """Predict each part of the pairs from the others with a given rank and number of nodes."""
    parts = []
    for training, i, j, values, weights in splits(pairs, seed):
        nodes, fit = best_nodes(training, rank, size, center=center, rounds=ROUNDS)
        whole = scatter(fit, nodes, pairs.n_nodes)
        features = whole.vectors[i] * whole.vectors[j] * whole.values
        parts.append((values - whole.mean, features, weights))
    return HeldOut.from_parts(parts)


def choose_graph_sizes(
    pairs: Pairs,
    *,
    rank: int | None,
    size: int | None,
    centers: Sequence[bool],
    seed: int,
) -> GraphSizes:
    """Choose rank and number of nodes, where they are None, and whether a mean is subtracted."""
    n = pairs.n_nodes
    first = n if size is None else size
    best = []
    for center in centers:
        tried = _ranks(pairs, rank, first, center, seed)
        chosen = tried.rank() if rank is None else rank
        best.append((tried.error(chosen), center, chosen, tried))
    error, center, chosen, tried = min(best, key=lambda each: each[0])
    errors = {first: error}
    share, everywhere = 1.0, np.zeros(0)
    if size is None:
        found = _fewer_nodes(pairs, max(chosen, 1), center, seed, errors)
        if found < n:
            again = _ranks(pairs, rank, found, center, seed)
            # the rank of few nodes may differ: noise no longer hides small components
            at_found = again.rank() if rank is None else rank
            if again.error(at_found) < error:
                share, rest = _combined(again, at_found, tried, chosen)
                everywhere = rest * tried.shrinkage[: chosen if rest else 0]
                chosen, tried, first = at_found, again, found
    if chosen == 0:
        first = 0
    return GraphSizes(chosen, first, center, tried, errors, share, everywhere)


def _combined(few: HeldOut, rank: int, every: HeldOut, rank_of_all: int) -> tuple[float, float]:
    """Factors with which the predictions of few and of all nodes are best together.

    With few nodes all pairs outside them have the same score, although the fit of all nodes orders
    them a little better than chance.
    """
    root = np.sqrt(few.weights)
    both = np.column_stack([few.predictions(rank), every.predictions(rank_of_all)])
    factors, _ = nnls(root[:, None] * both, root * few.residuals)
    return float(factors[0]), float(factors[1])


def _ranks(pairs: Pairs, rank: int | None, size: int, center: bool, seed: int) -> HeldOut:
    """Predictions of enough components for the last of them to be below the level."""
    most = max(size // 3, 1)
    tried = min(_FIRST_RANKS, most) if rank is None else rank
    while True:
        found = held_out(pairs, tried, size, center=center, seed=seed)
        if rank is not None or tried == most or found.rank() < tried:
            return found
        tried = min(2 * tried, most)


def _fewer_nodes(pairs: Pairs, rank: int, center: bool, seed: int, errors: dict[int, float]) -> int:
    """The number of nodes with the smallest held-out error; all that were tried go to errors."""

    def try_size(size: int) -> float:
        errors[size] = held_out(pairs, rank, size, center=center, seed=seed).error(rank)
        return errors[size]

    fewest = rank + 1
    if pairs.n_nodes not in errors:
        try_size(pairs.n_nodes)
    size, worse = pairs.n_nodes // 2, 0
    while size >= fewest and worse < PATIENCE:
        worse = worse + 1 if try_size(size) > min(errors.values()) else 0
        size //= 2
    for factor in (2**0.5, 2**0.25):
        best = min(errors, key=errors.__getitem__)
        for size in {round(best / factor), round(best * factor)} - set(errors):
            if fewest <= size < pairs.n_nodes:
                try_size(size)
    return min(errors, key=errors.__getitem__)


def _thinned(pairs: Pairs, i: np.ndarray, j: np.ndarray, factor: float) -> Pairs:
    known = pairs.known.copy()
    known[np.concatenate([i, j]), np.concatenate([j, i])] = 0.0
    known.eliminate_zeros()
    return Pairs(known * factor, pairs.unknown, pairs.keeps_diagonal)


def _zero_pairs(
    pairs: Pairs, number: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Random known pairs of a sparse matrix that are 0."""
    i = rng.integers(pairs.n_nodes, size=number)
    j = rng.integers(pairs.n_nodes, size=number)
    keep = (i != j) & (pairs.at(i, j) == 0) & ~pairs.is_unknown(i, j)
    return np.minimum(i, j)[keep], np.maximum(i, j)[keep]
