"""Extremes over sparse supports: curvature of the loss, and the statistical error of a gradient."""

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

Kind = Literal["exact", "bound", "estimate"]
Method = Literal["auto", "exact", "bound", "search"]

# Supports that "auto" enumerates: about a second for supports of 10 rows.
_MAX_SUPPORTS = 20_000
# Supports whose eigenvalues are computed in one batch.
_BATCH = 2_000
# Random starts of the search, and as many pairs of rows with extreme eigenvalues.
_STARTS = 10


@dataclass(frozen=True)
class Quantity:
    """A number that says whether it is exact, a bound or an estimate.

    ``float(quantity)`` is the number, ``str(quantity)`` adds how it was obtained.

    Attributes
    ----------
    value : float
        The number.
    kind : {"exact", "bound", "estimate"}
        "exact" up to rounding; "bound" is on the safe side for the statement that it is used in;
        "estimate" comes from a search that may have missed the extreme, and is on the other side.
    how : str
        How it was obtained.
    """

    value: float
    kind: Kind
    how: str

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.kind}: {self.how})"


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
        μ and L. An estimate is above the true μ and below the true L.
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
    _check_method(method)
    curvatures = _Curvatures(problem)
    p = curvatures.rows
    if not isinstance(size, Integral) or isinstance(size, bool) or not 1 <= size <= p:
        raise ValueError(f"size must be an integer from 1 to {p} (the rows of Θ), got {size!r}")
    size = int(size)
    if method == "auto":
        method = "exact" if math.comb(p, size) <= _MAX_SUPPORTS else "search"
    if method == "exact":
        return _exact(curvatures, size)
    if method == "bound":
        raise ValueError('method="bound" is for statistical_error, use "search"')
    return _search(curvatures, size, random_state)


def _check_method(method: Any) -> None:
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


def statistical_error(
    gradient: Any,
    rank: int,
    row_sparsity: int | None = None,
    column_sparsity: int | None = None,
    *,
    method: Method = "auto",
    random_state: int = 0,
) -> Quantity:
    """e_stat = sup ⟨G, Δ⟩ over ‖Δ‖ ≤ 1 of a given rank with few non-zero rows and columns.

    It is the root of the sum of the ``rank`` largest squared singular values of G_ST, maximised
    over supports S and T.

    Shapes: ``gradient`` (n_features, n_targets). ``row_sparsity``, ``column_sparsity``: None
    for no limit.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> G = np.diag([3.0, 4.0, 1.0])
    >>> print(tr.theory.statistical_error(G, rank=2, row_sparsity=2, column_sparsity=2))
    5 (exact: all 3 sets of rows)
    """
    _check_method(method)
    G = arrays.to_numpy(gradient) if arrays.is_array(gradient) else np.asarray(gradient)
    G = G.astype(np.float64)
    if G.ndim != 2:
        raise ValueError(f"gradient must be a matrix, got an array of shape {G.shape}")
    p, k = G.shape
    rows = p if row_sparsity is None else min(_positive("row_sparsity", row_sparsity), p)
    columns = (
        k if column_sparsity is None else min(_positive("column_sparsity", column_sparsity), k)
    )
    rank = min(_positive("rank", rank), rows, columns)
    if math.comb(k, columns) < math.comb(p, rows):
        G, rows, columns, names = G.T, columns, rows, ("columns", "rows")
    else:
        names = ("rows", "columns")
    count = _supports(G.shape, rank, rows, columns)
    if method == "auto":
        method = "exact" if count <= _MAX_SUPPORTS else "bound"
    if method == "exact":
        return _exact_error(G, rank, rows, columns, names)
    if method == "bound":
        return _bound_error(G, rank, rows, columns)
    return _search_error(G, rank, rows, columns, random_state)


def statistical_error_bound(
    n_samples: int,
    n_features: int,
    n_targets: int,
    rank: int,
    row_sparsity: int,
    column_sparsity: int,
    *,
    noise: float = 1.0,
    largest_eigenvalue: float = 1.0,
    level: float | None = None,
) -> Quantity:
    """The bound on e_stat of the paper's lemma, with the constants of its proof.

    8σ·√(κ/n · (s₁·log p + s₂·log k + r(s₁ + s₂)·log 6 + log(1/δ))), which holds with probability
    1 − δ for independent sub-Gaussian errors. The sizes are those of the matrices Δ in the
    definition of e_stat. The proof in the paper uses s₁ and s₂ of the algorithm, where the
    definition has (2c + 1)·s₁* and (2c + 1)·s₂*; pass the latter for a bound that is proved.

    ``largest_eigenvalue`` is κ, that of XᵀX/n over supports of ``row_sparsity`` rows; ``rank`` is
    2r in the theorem, ``noise`` is σ (variance proxy), and ``level`` is δ, None for 1/max(p, k), as
    in the paper.
    """
    wider = max(n_features, n_targets)
    delta = 1 / wider if level is None else level
    if not 0 < delta < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    entropy = row_sparsity * math.log(n_features) + column_sparsity * math.log(n_targets)
    entropy += rank * (row_sparsity + column_sparsity) * math.log(6) + math.log(1 / delta)
    value = 8 * noise * math.sqrt(largest_eigenvalue / n_samples * entropy)
    return Quantity(value, "bound", f"the lemma, with probability at least {1 - delta:.4g}")


def _positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or int(value) != value or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")
    return int(value)


def _supports(shape: tuple[int, int], rank: int, rows: int, columns: int) -> int:
    """Number of supports to try: the norms decide on the columns if the rank is no limit."""
    count = math.comb(shape[0], rows)
    return count if rank >= min(rows, columns) else count * math.comb(shape[1], columns)


def _block_size(block: np.ndarray, rank: int) -> np.ndarray:
    """Root of the sum of the largest squared singular values, of the last two axes."""
    values = np.linalg.svd(block, compute_uv=False)[..., :rank]
    return np.sqrt(np.sum(values**2, axis=-1))


def _exact_error(
    G: np.ndarray, rank: int, rows: int, columns: int, names: tuple[str, str]
) -> Quantity:
    best = 0.0
    p, k = G.shape
    if rank >= min(rows, columns):
        squares = G**2
        for sets in subsets(p, rows):
            weights = np.sort(squares[sets].sum(axis=1), axis=1)[:, k - columns :]
            best = max(best, float(np.sqrt(weights.sum(axis=1).max())))
        tried = "everything" if rows == p else f"all {math.comb(p, rows)} sets of {names[0]}"
        return Quantity(best, "exact", tried)
    for sets in subsets(p, rows, batch=50):
        for others in subsets(k, columns, batch=50):
            blocks = G[sets[:, None, :, None], others[None, :, None, :]]
            best = max(best, float(_block_size(blocks, rank).max()))
    count = math.comb(p, rows) * math.comb(k, columns)
    return Quantity(best, "exact", "everything" if count == 1 else f"all {count} supports")


def _bound_error(G: np.ndarray, rank: int, rows: int, columns: int) -> Quantity:
    squares = np.sort(G**2, axis=1)[:, ::-1]
    by_row = np.sort(squares[:, :columns].sum(axis=1))[::-1][:rows].sum()
    across = np.sort(G.T**2, axis=1)[:, ::-1]
    by_column = np.sort(across[:, :rows].sum(axis=1))[::-1][:columns].sum()
    candidates = {
        "the largest singular values of the gradient": float(_block_size(G, rank)),
        "the largest entries of the largest rows": math.sqrt(by_row),
        "the largest entries of the largest columns": math.sqrt(by_column),
    }
    how = min(candidates, key=lambda name: candidates[name])
    return Quantity(candidates[how], "bound", how)


def _search_error(G: np.ndarray, rank: int, rows: int, columns: int, seed: int) -> Quantity:
    rng = np.random.default_rng(seed)
    starts = [np.argsort(-np.sum(G**2, axis=1), kind="stable")[:rows]]
    starts += [rng.permutation(G.shape[0])[:rows] for _ in range(2 * _STARTS)]
    best = max(_alternate(G, rank, rows, columns, start) for start in starts)
    return Quantity(best, "estimate", f"the best of {2 * _STARTS + 1} searches")


def _alternate(G: np.ndarray, rank: int, rows: int, columns: int, S: np.ndarray) -> float:
    """Alternate between columns and rows, each chosen exactly for the row space of the other."""
    best = 0.0
    T = np.arange(G.shape[1])
    while True:
        left = np.linalg.svd(G[np.ix_(S, T)], full_matrices=False)[0][:, :rank]
        T = np.argsort(-np.sum((left.T @ G[S]) ** 2, axis=0), kind="stable")[:columns]
        right = np.linalg.svd(G[np.ix_(S, T)], full_matrices=False)[2][:rank]
        S = np.argsort(-np.sum((G[:, T] @ right.T) ** 2, axis=1), kind="stable")[:rows]
        value = float(_block_size(G[np.ix_(S, T)], rank))
        if value <= best * (1 + 1e-12):
            return best
        best = value
