"""The statistical error: how large the gradient at the truth is along thin matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.theory.quantity import Quantity
from thinrank.theory.sparse_eigenvalues import MAX_SUPPORTS, Method, check_method, subsets

# Random starts of the search, in addition to the rows with the largest norms.
_STARTS = 20


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
    check_method(method)
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
        method = "exact" if count <= MAX_SUPPORTS else "bound"
    if method == "exact":
        return _exact(G, rank, rows, columns, names)
    if method == "bound":
        return _bound(G, rank, rows, columns)
    return _search(G, rank, rows, columns, random_state)


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

    Parameters
    ----------
    n_samples, n_features, n_targets : int
        n, p and k.
    rank, row_sparsity, column_sparsity : int
        Sizes of Δ; the rank is 2r in the theorem.
    noise : float, default=1.0
        σ, the standard deviation (variance proxy) of the errors.
    largest_eigenvalue : float, default=1.0
        κ: the largest eigenvalue of XᵀX/n over supports of ``row_sparsity`` rows.
    level : float or None, default=None
        δ; None for 1/max(p, k), as in the paper.

    Returns
    -------
    Quantity
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


def _size(block: np.ndarray, rank: int) -> np.ndarray:
    """Root of the sum of the largest squared singular values, of the last two axes."""
    values = np.linalg.svd(block, compute_uv=False)[..., :rank]
    return np.sqrt(np.sum(values**2, axis=-1))


def _exact(G: np.ndarray, rank: int, rows: int, columns: int, names: tuple[str, str]) -> Quantity:
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
            best = max(best, float(_size(blocks, rank).max()))
    count = math.comb(p, rows) * math.comb(k, columns)
    return Quantity(best, "exact", "everything" if count == 1 else f"all {count} supports")


def _bound(G: np.ndarray, rank: int, rows: int, columns: int) -> Quantity:
    squares = np.sort(G**2, axis=1)[:, ::-1]
    by_row = np.sort(squares[:, :columns].sum(axis=1))[::-1][:rows].sum()
    across = np.sort(G.T**2, axis=1)[:, ::-1]
    by_column = np.sort(across[:, :rows].sum(axis=1))[::-1][:columns].sum()
    candidates = {
        "the largest singular values of the gradient": float(_size(G, rank)),
        "the largest entries of the largest rows": math.sqrt(by_row),
        "the largest entries of the largest columns": math.sqrt(by_column),
    }
    how = min(candidates, key=lambda name: candidates[name])
    return Quantity(candidates[how], "bound", how)


def _search(G: np.ndarray, rank: int, rows: int, columns: int, seed: int) -> Quantity:
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
        value = float(_size(G[np.ix_(S, T)], rank))
        if value <= best * (1 + 1e-12):
            return best
        best = value
