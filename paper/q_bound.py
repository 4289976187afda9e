"""The paper's bound on the error of multi-task fitted Q-iteration."""

from __future__ import annotations

import math


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
    """Upper bound on (1/k)·Σ‖Q* − Q^π‖² from the paper's theorem.

    With Q_max = 1/(1 − γ) for rewards in [0, 1] it is ::

        C/(1−γ)⁴ · Q_max²L⁴/n · (r + s₁/k·(r + log p)) + 4Q_max²/(1−γ)⁴ · (C·β^T + γ^T)²,

    where the first term is the statistical error of the regressions, which decreases as 1/n, and
    the second term is the error that remains after T iterations. The theorem does not give the
    value of the constant C.

    Parameters
    ----------
    n_samples : float
        n, the number of rows of the regression: design states times actions.
    n_tasks : int
        k, the number of tasks.
    n_features : int
        p, the number of rows of Θ: actions times features.
    rank : int
        r, the rank of Θ.
    row_sparsity : int
        s₁, the number of non-zero rows of Θ.
    discount : float
        The discount γ, between 0 and 1.
    feature_norm : float, default=1.0
        L, the largest norm of φ(s).
    q_max : float, default=None
        Largest action value; 1/(1 − γ) if None.
    n_iterations : float, default=math.inf
        T, the number of iterations. If infinite, the second term is zero.
    contraction : float, default=0.5
        The contraction factor β of gradient descent, in [0, 1).
    constant : float, default=1.0
        The constant C.

    Returns
    -------
    float

    Examples
    --------
    >>> from paper.q_bound import q_error_bound
    >>> known = dict(n_tasks=20, n_features=600, rank=3, row_sparsity=10, discount=0.9)
    >>> q_error_bound(100, **known) / q_error_bound(200, **known)
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
