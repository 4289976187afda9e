"""A symmetric matrix of which some pairs, and perhaps the diagonal, are unknown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator


@dataclass(frozen=True, eq=False)
class LowRank:
    """The symmetric matrix mean + V diag(λ) Vᵀ."""

    mean: float  # the same number for every pair
    values: np.ndarray  # (rank,) λ, of either sign
    vectors: np.ndarray  # (n_nodes, rank) V, with orthonormal columns

    @property
    def rank(self) -> int:
        """Number of components."""
        return len(self.values)

    def at(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """V diag(λ) Vᵀ, without the mean, at some pairs."""
        return np.einsum("pk,k,pk->p", self.vectors[i], self.values, self.vectors[j])


@dataclass(frozen=True, eq=False)
class Pairs:
    """A symmetric matrix S with unknown pairs."""

    known: Any  # (n_nodes, n_nodes) array or csr_array, 0 where S is unknown
    unknown: tuple[np.ndarray, np.ndarray]  # the two nodes of each pair
    keeps_diagonal: bool

    @property
    def is_sparse(self) -> bool:
        """Whether only the entries that are not 0 are stored."""
        return sp.issparse(self.known)

    @property
    def n_nodes(self) -> int:
        """Number of rows and of columns."""
        return int(self.known.shape[0])

    @property
    def is_complete(self) -> bool:
        """Whether nothing is unknown."""
        return self.keeps_diagonal and len(self.unknown[0]) == 0

    @cached_property
    def count(self) -> int:
        """Number of known entries; a pair has two."""
        n = self.n_nodes
        return n * n - 2 * len(self.unknown[0]) - (0 if self.keeps_diagonal else n)

    @cached_property
    def total(self) -> float:
        """Sum of the known entries."""
        return float(self.known.sum())

    def sum_of(self, fit: LowRank) -> float:
        """Sum of V diag(λ) Vᵀ over the known entries."""
        everything = float(fit.values @ fit.vectors.sum(axis=0) ** 2)
        everything -= 2 * float(fit.at(*self.unknown).sum())
        if not self.keeps_diagonal:
            everything -= float(np.sum(fit.vectors**2 @ fit.values))
        return everything

    def filled(self, fit: LowRank) -> np.ndarray | FilledOperator:
        """S minus the mean, with V diag(λ) Vᵀ where S is unknown."""
        if self.is_sparse:
            n = self.n_nodes
            every, (i, j) = np.arange(0 if self.keeps_diagonal else n), self.unknown
            rows, columns = np.concatenate([i, j, every]), np.concatenate([j, i, every])
            entries = fit.at(rows, columns) + fit.mean
            unknown = sp.csr_array((entries, (rows, columns)), shape=(n, n))
            return FilledOperator(self.known + unknown, fit.mean)
        filled = self.known - fit.mean
        i, j = self.unknown
        filled[i, j] = filled[j, i] = fit.at(i, j)
        if not self.keeps_diagonal:
            np.fill_diagonal(filled, fit.vectors**2 @ fit.values)
        return filled

    def restricted(self, nodes: np.ndarray) -> Pairs:
        """The matrix of some nodes."""
        place = np.full(self.n_nodes, -1)
        place[nodes] = np.arange(len(nodes))
        i, j = place[self.unknown[0]], place[self.unknown[1]]
        inside = (i >= 0) & (j >= 0)
        return Pairs(self.known[nodes][:, nodes], (i[inside], j[inside]), self.keeps_diagonal)

    def without(self, i: np.ndarray, j: np.ndarray) -> Pairs:
        """The same with further pairs unknown, for a dense matrix."""
        known = self.known.copy()
        known[i, j] = known[j, i] = 0.0
        unknown = np.concatenate([self.unknown[0], i]), np.concatenate([self.unknown[1], j])
        return Pairs(known, unknown, self.keeps_diagonal)

    def observed(self) -> tuple[np.ndarray, np.ndarray]:
        """Known pairs above the diagonal; of a sparse matrix those that are stored."""
        if self.is_sparse:
            upper = sp.triu(self.known, 1, format="coo")
            return upper.row.astype(np.intp), upper.col.astype(np.intp)
        mask = np.triu(np.ones((self.n_nodes, self.n_nodes), dtype=bool), 1)
        i, j = self.unknown
        mask[np.minimum(i, j), np.maximum(i, j)] = False
        rows, columns = np.nonzero(mask)
        return rows, columns

    def at(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Entries of S at some pairs, 0 where it is unknown."""
        found = self.known[i, j]
        return np.asarray(found.toarray() if sp.issparse(found) else found).ravel()

    def is_unknown(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Which of some pairs are unknown."""
        n = self.n_nodes
        a, b = self.unknown
        codes = np.minimum(a, b) * n + np.maximum(a, b)
        return np.isin(np.minimum(i, j) * n + np.maximum(i, j), codes)

    def peaks(self, mean: float) -> np.ndarray:
        """Sum of the fourth powers of the known entries of each node minus the mean, in some unit.

        Nodes of a small dense block have large ones where its component is below the noise.
        """
        stored = sp.csr_array(self.known, copy=True)
        # zeros and unknown entries contribute about the same to every node
        unit = float(np.max(np.abs(stored.data), initial=abs(mean))) or 1.0  # of which powers exist
        stored.data = ((stored.data - mean) / unit) ** 4 - (mean / unit) ** 4
        return np.asarray(stored.sum(axis=1)).ravel()


class FilledOperator(LinearOperator):
    """A sparse matrix minus a number."""

    def __init__(self, entries: Any, mean: float) -> None:
        super().__init__(float, entries.shape)
        self._entries, self._mean = entries, mean

    def _matmat(self, V: np.ndarray) -> np.ndarray:
        return self._entries @ V - self._mean * V.sum(axis=0)
