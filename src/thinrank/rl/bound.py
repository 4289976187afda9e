"""The bound of the paper's theorem on the error of multi-task fitted Q-iteration."""

from __future__ import annotations

import math

__all__ = ["q_error_bound"]


def q_error_bound(
    n_samples: float,
    *,
    n_tasks: int,
    n_features: int,
    rank: int,
    row_sparsity: int,
    discount: float,
    feature_norm: float = 1.0,
    q_max: float | None = None,
    n_iterations: float = math.inf,
    contraction: float = 0.5,
    constant: float = 1.0,
) -> float:
    """Right-hand side of the theorem on (1/k)·Σ‖Q* − Q^π‖².

    With Q_max = 1/(1 − γ) for rewards in [0, 1] it is

        C/(1−γ)⁴ · Q_max²L⁴/n · (r + s₁/k·(r + log p)) + 4Q_max²/(1−γ)⁴ · (C·β^T + γ^T)²,

    where the first term is the statistical error of the regressions and falls as 1/n, and the
    second is what T iterations leave. The theorem does not give the constant C.

    Parameters
    ----------
    n_samples : float
        n, the rows of the regression: design states times actions.
    n_tasks, n_features, rank, row_sparsity : int
        k, p = A·p_s, r and s₁.
    discount : float
        γ, below 1.
    feature_norm : float
        L, the largest norm of φ(s).
    q_max : float, optional
        Largest value; 1/(1 − γ) when missing.
    n_iterations : float
        T; infinite leaves the first term alone.
    contraction : float
        β of gradient descent, in [0, 1).
    constant : float
        C.

    Returns
    -------
    float

    Examples
    --------
    >>> import thinrank as tr
    >>> known = dict(n_tasks=20, n_features=600, rank=3, row_sparsity=10, discount=0.9)
    >>> tr.rl.q_error_bound(100, **known) / tr.rl.q_error_bound(200, **known)
    2.0
    """
    for name, value in (
        ("n_samples", n_samples),
        ("n_tasks", n_tasks),
        ("n_features", n_features),
        ("rank", rank),
        ("row_sparsity", row_sparsity),
    ):
        if not value > 0:
            raise ValueError(f"{name} must be positive, got {value!r}")
    if not 0 < discount < 1:
        raise ValueError(f"discount must be in (0, 1) for the bound, got {discount!r}")
    if not 0 <= contraction < 1:
        raise ValueError(f"contraction must be in [0, 1), got {contraction!r}")
    if not n_iterations >= 0:
        raise ValueError(f"n_iterations must be at least 0, got {n_iterations!r}")
    largest = 1 / (1 - discount) if q_max is None else q_max
    scale = largest**2 / (1 - discount) ** 4
    size = rank + row_sparsity / n_tasks * (rank + math.log(n_features))
    statistical = constant * scale * feature_norm**4 * size / n_samples
    left = constant * contraction**n_iterations + discount**n_iterations
    return statistical + 4 * scale * left**2
