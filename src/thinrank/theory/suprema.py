"""Extremes over sparse supports: curvature of the loss, and the statistical error of a gradient."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any, Literal, get_args

import numpy as np

from thinrank import arrays
from thinrank.core.checks import check_choice, positive_integer
from thinrank.core.contracts import require
from thinrank.designs import as_design
from thinrank.estimators.description import as_numbers
from thinrank.minimize import check_size

Kind = Literal["exact", "bound", "estimate"]
Method = Literal["auto", "exact", "bound", "search"]

# Supports that "auto" enumerates: about a second for supports of 10 rows.
_MAX_SUPPORTS = 20_000
# Starts of a search.
_STARTS = 20


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


def sparse_eigenvalues(
    problem: Any, size: int, *, method: Method = "auto", random_state: int = 0
) -> tuple[Quantity, Quantity]:
    """Smallest and largest eigenvalue of XᵀX/n over all supports of a given number of rows.

    They are the constants μ and L of restricted strong convexity and smoothness; of another loss,
    its extreme curvatures. An estimate is above the true μ and below the true L.

    Shapes: ``problem`` (n_samples, n_features).

    Notes
    -----
    Matrices of rank 1 attain the extremes, so that limits on the rank and on the columns do not
    change them. The Gram matrix of all rows is kept in memory.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> X = np.random.default_rng(0).standard_normal((50, 12))
    >>> print(*tr.theory.sparse_eigenvalues(X, 3), sep="; ")
    0.409 (exact: all 220 supports); 2.125 (exact: all 220 supports)
    """
    check_choice("method", method, get_args(Method))
    if method == "bound":
        raise ValueError('method="bound" is for statistical_error, use "search"')
    p, gram = _rows_and_gram(problem)
    check_size("size", size, p, "the rows of Θ")
    size, count = int(size), math.comb(p, int(size))
    kind: Kind = "estimate"
    if method == "exact" or (method == "auto" and count <= _MAX_SUPPORTS):
        batches = [_curvatures(problem, gram, supports) for supports in subsets(p, size)]
        low, high = min(a.min() for a, _ in batches), max(b.max() for _, b in batches)
        kind, how = "exact", "all rows" if count == 1 else f"all {count} supports"
    elif gram is not None:
        low, high = _descend(gram, size), -_descend(-gram, size)
        how = f"the best of {_STARTS} local searches"
    else:
        rng = np.random.default_rng(random_state)
        supports = [rng.permutation(p)[:size] for _ in range(_STARTS)]
        smallest, largest = _curvatures(problem, gram, np.sort(supports, axis=1))
        low, high, how = smallest.min(), largest.max(), f"{_STARTS} random supports"
    return Quantity(max(float(low), 0.0), kind, how), Quantity(float(high), kind, how)


def _rows_and_gram(problem: Any) -> tuple[int, np.ndarray | None]:
    """Number of rows of Θ, and XᵀX/n; None for a loss without such a matrix."""
    if not hasattr(problem, "value_and_gradient"):
        design = as_design(problem)
        return design.shape[1], as_numbers(design.gram()) / design.shape[0]
    require(problem, "curvature", "sparse_eigenvalues")
    rows = problem.shape[0]
    if "quadratic" not in problem.capabilities:
        return rows, None
    every = arrays.indices(range(rows), problem.prototype)
    return rows, as_numbers(problem.quadratic().gram(every))


def _curvatures(
    loss: Any, gram: np.ndarray | None, supports: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest curvature over each support, of shape (count, size)."""
    if gram is not None:
        values = np.linalg.eigvalsh(gram[supports[:, :, None], supports[:, None, :]])
        return values[:, 0], values[:, -1]
    ends = [loss.curvature(arrays.indices(s.tolist(), loss.prototype)) for s in supports]
    return np.array([e[0] for e in ends]), np.array([e[1] for e in ends])


def subsets(total: int, size: int, batch: int = 2_000) -> Iterator[np.ndarray]:
    """All subsets of a size, in batches of shape (count, size)."""
    every = combinations(range(total), size)
    while chunk := list(islice(every, batch)):
        yield np.array(chunk, dtype=np.int64).reshape(len(chunk), size)


def _descend(matrix: np.ndarray, size: int) -> float:
    """A small eigenvalue over supports of a size: rows are added, then exchanged, one at a time."""
    diagonal = matrix.diagonal()  # the first rows have the smallest eigenvalues with another one
    pairs = _smaller_eigenvalue(diagonal[:, None], matrix, diagonal[None, :])
    np.fill_diagonal(pairs, np.inf)
    starts = np.argsort(pairs.min(axis=1), kind="stable")[:_STARTS]
    return min(_descend_from(matrix, size, [int(start)]) for start in starts)


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

    It is the root of the sum of the ``rank`` largest squared singular values of G_ST, maximized
    over supports S and T.

    Shapes: ``gradient`` (n_features, n_targets). ``row_sparsity``, ``column_sparsity``: None
    for no limit.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> G = np.diag([3.0, 4.0, 1.0])
    >>> print(tr.theory.statistical_error(G, rank=2, row_sparsity=2, column_sparsity=2))
    5 (exact: all 9 supports)
    """
    check_choice("method", method, get_args(Method))
    G = as_numbers(gradient)
    if G.ndim != 2 or not np.isfinite(G).all():
        raise ValueError(f"gradient must be a finite matrix, got an array of shape {G.shape}")
    p, k = G.shape
    rows, columns = (
        limit if size is None else min(positive_integer(name, size), limit)
        for name, size, limit in (
            ("row_sparsity", row_sparsity, p),
            ("column_sparsity", column_sparsity, k),
        )
    )
    rank = min(positive_integer("rank", rank), rows, columns)
    count = math.comb(p, rows) * math.comb(k, columns)
    if method == "exact" or (method == "auto" and count <= _MAX_SUPPORTS):
        best = 0.0
        for lines in subsets(p, rows, batch=50):
            for others in subsets(k, columns, batch=50):
                blocks = G[lines[:, None, :, None], others[None, :, None, :]]
                best = max(best, float(_block_size(blocks, rank).max()))
        return Quantity(best, "exact", "everything" if count == 1 else f"all {count} supports")
    if method == "search":
        return _search_error(G, rank, rows, columns, random_state)
    return _bound_error(G, rank, rows, columns)


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


def _block_size(block: np.ndarray, rank: int) -> np.ndarray:
    """Root of the sum of the largest squared singular values, of the last two axes."""
    values = np.linalg.svd(block, compute_uv=False)[..., :rank]
    return np.sqrt(np.sum(values**2, axis=-1))


def _bound_error(G: np.ndarray, rank: int, rows: int, columns: int) -> Quantity:
    def by_lines(A: np.ndarray, lines: int, entries: int) -> float:
        largest = np.sort(A**2, axis=1)[:, A.shape[1] - entries :].sum(axis=1)
        return math.sqrt(np.sort(largest)[len(A) - lines :].sum())

    candidates = {
        "the largest singular values of the gradient": float(_block_size(G, rank)),
        "the largest entries of the largest rows": by_lines(G, rows, columns),
        "the largest entries of the largest columns": by_lines(G.T, columns, rows),
    }
    how = min(candidates, key=lambda name: candidates[name])
    return Quantity(candidates[how], "bound", how)


def _search_error(G: np.ndarray, rank: int, rows: int, columns: int, seed: int) -> Quantity:
    rng = np.random.default_rng(seed)
    starts = [np.argsort(-np.sum(G**2, axis=1), kind="stable")[:rows]]
    starts += [rng.permutation(G.shape[0])[:rows] for _ in range(_STARTS)]
    best = max(_alternate(G, rank, rows, columns, start) for start in starts)
    return Quantity(best, "estimate", f"the best of {_STARTS + 1} searches")


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
