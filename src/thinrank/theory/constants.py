"""The constants of the paper's theorem for a given problem, and whether its conditions hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import hard_threshold
from thinrank.core.factors import Factors
from thinrank.estimators.description import as_numbers
from thinrank.minimize import check_sizes
from thinrank.theory.suprema import Method, Quantity, sparse_eigenvalues, statistical_error


@dataclass(frozen=True)
class Constants:
    """Everything that Theorem 1 needs to know of a problem, from :func:`constants`.

    ``print`` shows the numbers and how they were obtained.

    Attributes
    ----------
    rank, true_rows, true_columns : int
        r, s₁* and s₂* of Θ*.
    rows, columns : int
        s₁ and s₂ of the algorithm.
    ratio : float
        c = min(s₁/s₁*, s₂/s₂*); infinite if no row and no column is thresholded.
    xi_squared : float
        ξ² = 1 + 2/√(c − 1): how much hard thresholding can increase the squared distance.
    eigenvalues : (Quantity, Quantity)
        μ and L, restricted strong convexity and smoothness, over (2c + 1)·s₁* = 2s₁ + s₁* rows.
    mu_min : float
        ⅛·min{1, μL/(μ + L)}.
    sigma_1, sigma_r : float
        Largest and smallest positive singular value of Θ*.
    radius : float
        I₀, the largest distance d(Z, Z*) of an iterate.
    start_radius : float
        Largest ‖Θ⁰ − Θ*‖ of a start.
    statistical_error : Quantity or None
        e_stat; None if the problem is a matrix X, which does not determine it.
    contraction, error_factor : float
        The numbers 4/5 and 11/8 of the bound for one step; 2/5 and 1 as printed in the paper.
    printed : bool
        Whether the constants are those that the paper prints.
    """

    rank: int
    true_rows: int
    true_columns: int
    rows: int
    columns: int
    ratio: float
    xi_squared: float
    eigenvalues: tuple[Quantity, Quantity]
    mu_min: float
    sigma_1: float
    sigma_r: float
    radius: float
    start_radius: float
    statistical_error: Quantity | None
    contraction: float
    error_factor: float
    printed: bool

    @property
    def mu(self) -> float:
        """Restricted strong convexity."""
        return self.eigenvalues[0].value

    @property
    def smooth(self) -> float:
        """L: restricted smoothness."""
        return self.eigenvalues[1].value

    def largest_step(self, start: Factors) -> float:
        """The admissible step η = 1/(16‖Z⁰‖²)·min{1/(2(μ + L)), 1}, from thresholded factors."""
        return self.step_limit(start) / 2

    def step_limit(self, iterate: Factors) -> float:
        """The condition on η of the lemma for one step: 1/(8‖Z‖²)·min{1/(2(μ + L)), 1}."""
        stacked = np.concatenate([as_numbers(iterate.U), as_numbers(iterate.V)])  # Z = [U; V]
        square = np.linalg.norm(stacked, 2) ** 2
        return float(min(1 / (2 * (self.mu + self.smooth)), 1.0) / (8 * square))

    def beta(self, step: float) -> float:
        """β = ξ²(1 − contraction·ημ_minσ_r), the factor on d² in every iteration."""
        return self.xi_squared * (1 - self.contraction * step * self.mu_min * self.sigma_r)

    def smallest_ratio(self, step: float) -> float:
        """The c above which β < 1: 1 + 4((1 − x)/x)², x = contraction·ημ_minσ_r."""
        x = self.contraction * step * self.mu_min * self.sigma_r
        return 1 + 4 * ((1 - x) / x) ** 2 if x > 0 else math.inf

    def error_limit(self, step: float) -> float:
        """The largest e_stat with which iterates stay within ``radius``; 0 if β ≥ 1."""
        beta = self.beta(step)
        if beta >= 1:
            return 0.0
        square = (1 - beta) / (self.xi_squared * step) * _harmonic(self.mu, self.smooth)
        return self.radius * math.sqrt(square / self.error_factor)

    def one_step(self, distance: float, step: float) -> float:
        """The lemma's bound on d²(Z⁺, Z*) after a step from Z with d(Z, Z*) = ``distance``."""
        return self.beta(step) * distance**2 + self._noise(step)

    def bound(self, distance: float, step: float, n_iter: int) -> np.ndarray:
        """Theorem 1's bound on d²(Zᵗ, Z*) for t = 0, …, ``n_iter``.

        With η = ``step`` and d(Z⁰, Z*) = ``distance`` it is βᵗ·d²(Z⁰, Z*) +
        ξ²η/(1 − β)·(L + μ)/(Lμ)·e_stat²; infinite for t > 0 if β ≥ 1.
        """
        beta = self.beta(step)
        t = np.arange(n_iter + 1)
        if beta >= 1:
            return np.where(t == 0, distance**2, math.inf)
        return beta**t * distance**2 + self._noise(step) / (1 - beta)

    def theta_bound(self, distance: float, step: float, n_iter: int) -> np.ndarray:
        """Theorem 1's bound on ‖Θᵗ − Θ*‖², 4σ₁ times that on d²; arguments of :meth:`bound`."""
        return 4 * self.sigma_1 * self.bound(distance, step, n_iter)

    def _noise(self, step: float) -> float:
        if self.statistical_error is None:
            raise ValueError(
                "the statistical error is not known: pass a loss to constants, not a matrix X"
            )
        error = self.statistical_error.value
        harmonic = _harmonic(self.mu, self.smooth)
        if error == 0 or harmonic == 0:
            return math.inf if error else 0.0
        return self.xi_squared * step * self.error_factor * error**2 / harmonic

    def __str__(self) -> str:
        error = self.statistical_error or "not known without responses"
        threshold = "nothing is thresholded" if math.isinf(self.ratio) else f"c = {self.ratio:g}"
        which = "as printed in the paper" if self.printed else "corrected"
        return "\n".join(
            [
                f"Constants of Theorem 1 ({which})",
                f"  rank {self.rank}, true supports {self.true_rows} × {self.true_columns}, "
                f"supports of the algorithm {self.rows} × {self.columns} ({threshold})",
                f"  μ      {self.eigenvalues[0]}",
                f"  L      {self.eigenvalues[1]}",
                f"  μ_min  {self.mu_min:.4g}",
                f"  ξ²     {self.xi_squared:.4g}",
                f"  σ₁, σᵣ {self.sigma_1:.4g}, {self.sigma_r:.4g}",
                f"  I₀     {self.radius:.4g}: the largest distance d(Z, Z*)",
                f"  start  {self.start_radius:.4g}: the largest ‖Θ⁰ − Θ*‖",
                f"  e_stat {error}",
            ]
        )


def constants(
    problem: Any,
    truth: Any,
    *,
    row_sparsity: int | None = None,
    column_sparsity: int | None = None,
    method: Method = "auto",
    printed: bool = False,
    random_state: int = 0,
) -> Constants:
    """The constants of Theorem 1 for a problem with a known Θ*.

    With a global minimizer Θ̂ in place of Θ* these are the constants of the deterministic version:
    the bound is then one on the distance to Θ̂.

    Shapes: ``problem`` (n_samples, n_features), ``truth`` (n_features, n_targets).
    ``row_sparsity``, ``column_sparsity``: None if it does not threshold.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(200, 8, 6, 1, 2, 2, random_state=0)
    >>> found = tr.theory.constants(tr.losses.LeastSquares(X, Y), truth)
    >>> found.eigenvalues[0].kind, found.xi_squared
    ('exact', 1.0)
    """
    factors = _as_truth(truth)
    p, k = factors.shape
    if factors.rank == 0:
        raise ValueError("truth must not be zero: the theorem needs a positive singular value")
    rows, columns = check_sizes((p, k), factors.rank, row_sparsity, column_sparsity)
    true = len(factors.row_support), len(factors.column_support)
    ratio = min(
        _ratio("row_sparsity", rows, true[0], p), _ratio("column_sparsity", columns, true[1], k)
    )
    wide = min(2 * rows + true[0], p), min(2 * columns + true[1], k)
    eigenvalues = sparse_eigenvalues(problem, wide[0], method=method, random_state=random_state)
    mu, smooth = map(float, eigenvalues)
    mu_min = min(1.0, _harmonic(mu, smooth)) / 8
    values = np.asarray(factors.singular_values())
    sigma_1, sigma_r = float(values[0]), float(values[-1])
    xi_squared = 1 + 2 / math.sqrt(ratio - 1)
    square = 4 / 5 * mu_min * sigma_r / max(mu + smooth, 0.5)
    radius = square if printed else math.sqrt(square)
    start = min(sigma_r, radius / math.sqrt(xi_squared) * math.sqrt(sigma_r)) / 5
    error = None
    if hasattr(problem, "full_gradient"):
        gradient = problem.full_gradient(arrays.from_numpy(factors.theta, problem.prototype))[1]
        error = statistical_error(
            gradient, 2 * factors.rank, *wide, method=method, random_state=random_state
        )
    return Constants(
        factors.rank,
        *true,
        rows,
        columns,
        ratio,
        xi_squared,
        eigenvalues,
        mu_min,
        sigma_1,
        sigma_r,
        radius,
        start,
        error,
        # what the proof of the contraction gives once its factor 2 is kept; see the guide page on
        # the theory: (1 − 4/5·ημ_minσ_r)·d² and 11/8·η(L + μ)/(Lμ)·e_stat². The paper prints others
        *((2 / 5, 1.0) if printed else (4 / 5, 11 / 8)),
        printed,
    )


@dataclass(frozen=True)
class Conditions:
    """The conditions of Theorem 1, from :func:`check_conditions`; ``print`` lists them.

    Attributes
    ----------
    items : list of (str, float, str, float, bool)
        The inequalities: what is compared, its value, the relation that is required, with what,
        and whether it holds, up to rounding for ≤.
    step : float
        The step size η.
    start_distance : float
        d(Z⁰, Z*) of the thresholded start.
    smallest_ratio : float
        c = s/s* above which β < 1 with this step.
    """

    items: list[tuple[str, float, str, float, bool]]
    step: float
    start_distance: float
    smallest_ratio: float

    @property
    def hold(self) -> bool:
        """Whether all of them hold, so that Theorem 1 applies."""
        return all(holds for *_, holds in self.items)

    def __str__(self) -> str:
        head = "Theorem 1 applies" if self.hold else "Theorem 1 does not apply"
        lines = [f"{head}; step {self.step:.4g}"]
        for name, value, relation, limit, holds in self.items:
            verdict = "holds" if holds else "VIOLATED"
            lines.append(f"  {verdict:<8}  {name} {relation} {limit:.4g}: {value:.4g}")
        return "\n".join(lines)


def check_conditions(
    constants: Constants, truth: Any, start: Any, step: float | None = None
) -> Conditions:
    """Check every condition of Theorem 1 for a start and a step size.

    ``truth`` and ``start`` are Θ* and Θ⁰, as factors or matrices; ``step``: η, None for the largest
    that is admissible.
    """
    target = _as_truth(truth)
    theta = as_numbers(start.theta if isinstance(start, Factors) else start)
    # lines 3 and 4 of the algorithm: balanced factors of Θ⁰ of rank r, thresholded
    first = Factors.from_theta(theta, constants.rank)
    first = Factors(
        hard_threshold(first.U, constants.rows), hard_threshold(first.V, constants.columns)
    )
    largest = constants.largest_step(first)
    step = largest if step is None else float(step)
    distance = first.distance(target)
    gap = float(np.linalg.norm(theta - target.theta))
    mu, beta = constants.mu, constants.beta(step)
    limits = [("‖Θ⁰ − Θ*‖", gap, constants.start_radius), ("step size η", step, largest)]
    if constants.statistical_error is not None:
        error = constants.statistical_error.value
        limits.append(("e_stat", error, constants.error_limit(step)))
    items = [("μ", mu, ">", 0.0, mu > 0), ("β", beta, "<", 1.0, beta < 1)]
    items += [(*each[:2], "≤", each[2], each[1] <= each[2] * (1 + 1e-12)) for each in limits]
    return Conditions(items, step, distance, constants.smallest_ratio(step))


def _harmonic(mu: float, smooth: float) -> float:
    return mu * smooth / (mu + smooth) if mu + smooth > 0 else 0.0


def _as_truth(truth: Any) -> Factors:
    """Θ* as balanced factors in NumPy, without singular values that are zero up to rounding."""
    if isinstance(truth, Factors):
        return Factors(as_numbers(truth.U), as_numbers(truth.V)).balanced()
    theta = as_numbers(truth)
    if theta.ndim != 2:
        raise ValueError(f"truth must be Factors or a matrix, got an array of shape {theta.shape}")
    return Factors.from_theta(theta, min(theta.shape))


def _ratio(name: str, size: int, true: int, limit: int) -> float:
    """s/s*, infinite if nothing is thresholded."""
    if size == limit:
        return math.inf
    if size <= true:
        raise ValueError(
            f"{name} must be None or larger than that of the truth, {true}: the theorem needs "
            f"c > 1; got {size}"
        )
    return size / true
