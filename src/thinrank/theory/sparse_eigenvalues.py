"""Restricted strong convexity and smoothness: extreme eigenvalues over sparse supports."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np

from thinrank import arrays
from thinrank.core.contracts import require
from thinrank.designs import as_design
from thinrank.theory.quantity import Quantity

Method = Literal["auto", "exact", "bound", "search"]

# Supports that "auto" enumerates: about a second for supports of 10 rows.
MAX_SUPPORTS = 20_000
# Supports whose eigenvalues are computed in one batch.
_BATCH = 2_000
# Random starts of the search, and as many pairs of rows with extreme eigenvalues.
_STARTS = 10


@dataclass(frozen=True)
class SparseEigenvalues:
    """Smallest and largest curvature of a loss over matrices with few non-zero rows.

    For least squares these are the extreme eigenvalues of H_SS over all sets S of ``size`` rows,
    H = XᵀX/n + ridge·I: the constants μ and L of restricted strong convexity and smoothness.

    Attributes
    ----------
    size : int
        Number of rows.
    smallest, largest : Quantity
        μ and L. A bound is below the true μ and above the true L; an estimate is above the true μ
        and below the true L.
    """

    size: int
    smallest: Quantity
    largest: Quantity

    @property
    def condition(self) -> float:
        """L/μ; infinite if μ is 0."""
        low = self.smallest.value
        return self.largest.value / low if low > 0 else math.inf

    def __str__(self) -> str:
        return (
            f"over supports of {self.size} rows: smallest eigenvalue {self.smallest}, "
            f"largest {self.largest}"
        )


def sparse_eigenvalues(
    problem: Any, size: int, *, method: Method = "auto", random_state: int = 0
) -> SparseEigenvalues:
    """Extreme eigenvalues of XᵀX/n over all supports of a given number of rows.

    Shapes: ``problem`` (n_samples, n_features).

    Notes
    -----
    Matrices of rank 1 attain the extremes, so that limits on the rank and on the columns do not
    change them. The Gram matrix of all rows is kept in memory.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> X = np.random.default_rng(0).standard_normal((50, 12))
    >>> found = tr.theory.sparse_eigenvalues(X, 3)
    >>> print(found.smallest, found.largest, sep="; ")
    0.409 (exact: all 220 supports); 2.125 (exact: all 220 supports)
    """
    check_method(method)
    curvatures = _Curvatures(problem)
    p = curvatures.rows
    if not isinstance(size, Integral) or isinstance(size, bool) or not 1 <= size <= p:
        raise ValueError(f"size must be an integer from 1 to {p} (the rows of Θ), got {size!r}")
    size = int(size)
    if method == "auto":
        method = "exact" if math.comb(p, size) <= MAX_SUPPORTS else "search"
    if method == "exact":
        return _exact(curvatures, size)
    if method == "bound":
        return _bound(curvatures, size)
    return _search(curvatures, size, random_state)


def check_method(method: Any) -> None:
    """Raise a ValueError unless ``method`` is a known one."""
    if method not in get_args(Method):
        raise ValueError(f"method must be one of {get_args(Method)}, got {method!r}")


class _Curvatures:
    """Extreme curvatures over supports, from a Gram matrix if the loss has one."""

    def __init__(self, problem: Any) -> None:
        self.gram: np.ndarray | None = None
        if not hasattr(problem, "value_and_gradient"):
            design = as_design(problem)
            self.rows = design.shape[1]
            self.gram = _numbers(design.gram()) / design.shape[0]
            return
        require(problem, "curvature", "sparse_eigenvalues")
        self.rows = problem.shape[0]
        self._loss = problem
        if "quadratic" in problem.capabilities:
            every = arrays.indices(range(self.rows), problem.prototype)
            self.gram = _numbers(problem.quadratic().gram(every))

    def over(self, supports: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest curvature over each support, of shape (count, size)."""
        if self.gram is not None:
            values = np.linalg.eigvalsh(self.gram[supports[:, :, None], supports[:, None, :]])
            return values[:, 0], values[:, -1]
        like = self._loss.prototype
        ends = [self._loss.curvature(arrays.indices(s.tolist(), like)) for s in supports]
        return np.array([e[0] for e in ends]), np.array([e[1] for e in ends])


def subsets(total: int, size: int, batch: int = _BATCH) -> Iterator[np.ndarray]:
    """All subsets of a size, in batches of shape (count, size)."""
    every = combinations(range(total), size)
    while chunk := list(islice(every, batch)):
        yield np.array(chunk, dtype=np.int64).reshape(len(chunk), size)


def _exact(curvatures: _Curvatures, size: int) -> SparseEigenvalues:
    low, high = math.inf, -math.inf
    for supports in subsets(curvatures.rows, size):
        smallest, largest = curvatures.over(supports)
        low, high = min(low, float(smallest.min())), max(high, float(largest.max()))
    count = math.comb(curvatures.rows, size)
    how = "all rows" if count == 1 else f"all {count} supports"
    return SparseEigenvalues(
        size, Quantity(max(low, 0.0), "exact", how), Quantity(high, "exact", how)
    )


def _bound(curvatures: _Curvatures, size: int) -> SparseEigenvalues:
    low, high = (float(e[0]) for e in curvatures.over(np.arange(curvatures.rows)[None, :]))
    how_low = how_high = "the eigenvalues over all rows"
    gram = curvatures.gram
    if gram is not None:
        others = np.abs(gram - np.diag(gram.diagonal()))
        radii = np.sort(others, axis=1)[:, curvatures.rows - size + 1 :].sum(axis=1)
        inner = float(np.min(gram.diagonal() - radii))
        outer = float(np.max(gram.diagonal() + radii))
        if inner > low:
            low, how_low = inner, "Gershgorin's circles"
        if outer < high:
            high, how_high = outer, "Gershgorin's circles"
    return SparseEigenvalues(
        size, Quantity(max(low, 0.0), "bound", how_low), Quantity(high, "bound", how_high)
    )


def _search(curvatures: _Curvatures, size: int, seed: int) -> SparseEigenvalues:
    p, gram = curvatures.rows, curvatures.gram
    if gram is None:
        rng = np.random.default_rng(seed)
        supports = np.array([np.sort(rng.permutation(p)[:size]) for _ in range(2 * _STARTS)])
        smallest, largest = curvatures.over(supports)
        low, high = float(smallest.min()), float(largest.max())
        how = f"{2 * _STARTS} random supports"
    else:
        low, high = _descend(gram, size, seed), -_descend(-gram, size, seed)
        how = f"the best of {2 * _STARTS} local searches"
    return SparseEigenvalues(
        size, Quantity(max(low, 0.0), "estimate", how), Quantity(high, "estimate", how)
    )


def _descend(matrix: np.ndarray, size: int, seed: int) -> float:
    """A small eigenvalue over supports of a size: rows are added, then exchanged, one at a time.

    The starts are the pairs of rows with the smallest eigenvalues, and random rows.
    """
    p = matrix.shape[0]
    rng = np.random.default_rng(seed)
    starts: list[list[int]] = [[int(i)] for i in rng.permutation(p)[:_STARTS]]
    if size > 1:
        diagonal = matrix.diagonal()
        pairs = _smaller_eigenvalue(diagonal[:, None], matrix, diagonal[None, :])
        pairs[np.tril_indices(p)] = np.inf
        best = np.argsort(pairs, axis=None)[: min(_STARTS, p * (p - 1) // 2)]
        starts += [[int(i) for i in np.unravel_index(place, pairs.shape)] for place in best]
    else:
        starts.append([int(np.argmin(matrix.diagonal()))])
    return min(_descend_from(matrix, size, start) for start in starts)


def _descend_from(matrix: np.ndarray, size: int, support: list[int]) -> float:
    while len(support) < size:
        support = _with_best(matrix, support)
    value, vector = _smallest(matrix, support)
    while size < len(matrix):
        weakest = int(np.argmin(np.abs(vector)))
        other = _with_best(matrix, support[:weakest] + support[weakest + 1 :])
        new, vector = _smallest(matrix, other)
        if not new < value - 1e-12 * abs(value):
            break
        value, support = new, other
    return value


def _with_best(matrix: np.ndarray, support: list[int]) -> list[int]:
    """Add the row with the smallest eigenvalue in the plane of it and the present eigenvector."""
    if not support:
        return [int(np.argmin(matrix.diagonal()))]
    value, vector = _smallest(matrix, support)
    values = _smaller_eigenvalue(value, matrix[:, support] @ vector, matrix.diagonal())
    values[support] = np.inf
    return [*support, int(np.argmin(values))]


def _smallest(matrix: np.ndarray, support: list[int]) -> tuple[float, np.ndarray]:
    """Smallest eigenvalue over a support, with its eigenvector."""
    values, vectors = np.linalg.eigh(matrix[np.ix_(support, support)])
    return float(values[0]), vectors[:, 0]


def _smaller_eigenvalue(a: Any, b: Any, c: Any) -> np.ndarray:
    """The smaller eigenvalue of [[a, b], [b, c]], entry by entry."""
    return np.asarray((a + c - np.sqrt((a - c) ** 2 + 4 * np.square(b))) / 2)


def _numbers(array: Any) -> np.ndarray:
    return arrays.to_numpy(array).astype(np.float64)
